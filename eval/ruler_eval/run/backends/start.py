"""Start a backend by its name; what a backend needs is imported only then."""

from __future__ import annotations

import math
import os
import sys
from importlib.util import find_spec

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import Release
from ruler_eval.run.backends.backend import Backend, ModelOptions
from ruler_eval.run.backends.secrets import check_address, check_key

BACKENDS = ("vllm", "openai", "hf", "oracle")
WITHOUT_PREFIX_CACHE = ("hf", "oracle")
"""Backends that gain nothing from prompts with a common beginning one after another."""


def shares_prefixes(name: str) -> bool:
    """Whether prompts with a common beginning should come one after another."""
    return name not in WITHOUT_PREFIX_CACHE


def check_sampling(options: ModelOptions) -> None:
    """Refuse with a RulerError what no model can be sampled with."""
    if not (math.isfinite(options.temperature) and options.temperature >= 0):
        raise RulerError("--temperature takes a number of 0 (greedy) or more.")
    if not 0 < options.top_p <= 1:
        raise RulerError("--top-p takes a number above 0, up to 1.")


def check_options(name: str, options: ModelOptions) -> None:
    """Refuse with a RulerError what no backend can run with, before anything is started."""
    check_sampling(options)
    if not (math.isfinite(options.timeout) and options.timeout > 0):
        raise RulerError("--timeout takes seconds, more than 0.")
    if not (math.isfinite(options.give_up_after) and options.give_up_after >= 0):
        raise RulerError("--give-up-after takes seconds, 0 or more.")
    if options.chat_template is not None and name not in ("vllm", "hf"):
        raise RulerError(
            "--chat-template is for --backend vllm and hf: a server uses its own template "
            "(vllm serve MODEL --chat-template FILE)."
        )
    if name != "openai" and (options.omit or options.provider or options.stream):
        raise RulerError("--omit, --provider and --stream are for --backend openai.")
    if wrong := [field for field in options.omit if field not in options.sampling]:
        raise RulerError(f"--omit takes {', '.join(options.sampling)}, not '{wrong[0]}'.")
    if name == "openai":
        check_address(options.base_url or os.environ.get("OPENAI_BASE_URL"))
        check_key("OPENAI_API_KEY")


def check_installed(name: str) -> None:
    """Refuse with a RulerError an engine that is not here, before its model's tokenizer is read."""
    if name == "vllm" and name not in sys.modules and find_spec(name) is None:
        raise _lacking(name, name)


def _lacking(backend: str, package: str) -> RulerError:
    return RulerError(
        f"The {backend} backend needs the package '{package}': "
        f"pip install 'ruler-release[{backend}]'"
    )


def start(name: str, options: ModelOptions, release: Release) -> Backend:
    """Start a backend by its name; a RulerError says what to install or correct.

    `release` is the one whose rows are to be answered: the oracle reads their references.
    """
    try:
        if name == "vllm":
            from ruler_eval.run.backends.vllm_engine import VLLM

            return VLLM(options)
        if name == "openai":
            from ruler_eval.run.backends.server.backend import OpenAIServer

            return OpenAIServer(options)
        if name == "hf":
            from ruler_eval.run.backends.hf_model import Transformers

            return Transformers(options)
        from ruler_eval.run.backends.oracle import Oracle

        return Oracle(release)
    except ModuleNotFoundError as error:
        raise _lacking(name, (error.name or "").partition(".")[0]) from error
    except ImportError as error:  # a library that is there and does not load
        reason = " ".join(str(error).split())
        raise RulerError(f"The {name} backend cannot be loaded: {reason}.") from error
