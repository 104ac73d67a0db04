"""Start a backend by its name; what a backend needs is imported only then."""

from __future__ import annotations

from eval.run.backends.backend import Backend, ModelOptions
from ruler_dataset import RulerError, check_name

BACKENDS = ("vllm", "openai", "hf", "oracle")
FORMER_NAMES = {"solver": "oracle"}
"""Names of earlier versions that still work."""


def known_backend(name: str) -> str:
    """The name of a backend; a RulerError for one that does not exist."""
    return FORMER_NAMES.get(name) or check_name("backend", name, BACKENDS, "ruler run --help")


def start(name: str, options: ModelOptions) -> Backend:
    """Start a backend by its name; a RulerError says what to install or mend."""
    name = known_backend(name)
    try:
        if name == "vllm":
            from eval.run.backends.vllm_engine import VLLM

            return VLLM(options)
        if name == "openai":
            from eval.run.backends.openai_server import OpenAI

            return OpenAI(options)
        if name == "hf":
            from eval.run.backends.hf_model import Transformers

            return Transformers(options)
        from eval.run.backends.oracle import Oracle

        return Oracle()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise RulerError(
            f"The {name} backend needs the package '{missing}': pip install 'ruler-release[{name}]'"
        ) from error
