"""Start the backend of a run, and make its prompter.

A backend is a server, perhaps launched here, transformers or the oracle.
"""

from __future__ import annotations

from collections.abc import Mapping

from ruler_common.errors import RulerError, missing_packages
from ruler_common.manifest import FileEntry
from ruler_eval.frozen_release import Release
from ruler_eval.run.backend import Backend
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompter


def start_backend(
    options: RunOptions, release: Release, files: Mapping[str, FileEntry] | None = None
) -> Backend:
    """Start the backend of a run; its packages are imported only then.

    Args:
        options: The options of the run.
        release: The release that is run: the oracle reads its references.
        files: The files of the run: vllm sets its context window for them.

    Raises RulerError that says what to install or correct.
    """
    name = options.backend
    try:
        if name == "vllm":
            from ruler_eval.run.launch import LaunchedServer

            return LaunchedServer(options, release, files)
        if name == "openai":
            from ruler_eval.run.server import Server

            return Server(options)
        if name == "hf":
            from ruler_eval.run.hf_model import Transformers

            return Transformers(options)
        if name == "batch":
            from ruler_eval.run.batch import BatchAnswers, BatchRequests

            kind = BatchAnswers if options.answers else BatchRequests
            return kind(options, release)
        from ruler_eval.run.oracle import Oracle

        return Oracle(options, release)
    except ModuleNotFoundError as error:
        raise missing_packages(name, f"The {name} backend") from error
    except ImportError as error:  # a library that is installed but does not load
        reason = " ".join(str(error).split())
        raise RulerError(f"The {name} backend cannot be loaded: {reason}.") from error


def choose_mode(options: RunOptions, backend: Backend) -> str:
    """Return the prompt mode of a run: the one that was named, or the backend's default."""
    return options.mode or ("chat" if options.reasoning.on else backend.default_mode())


def make_prompter(options: RunOptions, mode: str, backend: Backend) -> Prompter:
    """Return what renders the rows of a run. Raises RulerError if the mode is not possible."""
    return Prompter(
        mode,
        backend.tokenizer,
        options.direct,
        options.reasoning,
        counts_tokens=backend.needs_token_ids,
        system=options.system,
        server_template=backend.server_template,
    )
