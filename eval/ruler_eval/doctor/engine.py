"""The server under test: what it is, how a run reaches it, and whether its template is whole.

    with open_engine(options, release) as engine:
        engine.run, engine.provider.name, engine.mode

With `--backend vllm` the server is started here, once for all sides. Everything that `ruler run`
refuses before its first row is refused here with the same sentence, except for a chat template that
does not keep the user's text: that is the strongest evidence there is, and becomes the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ruler_common.errors import RulerError, missing_packages
from ruler_common.options import several
from ruler_eval.doctor.conditions import COLD, testable
from ruler_eval.doctor.plan import RowPlan
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.run.backend import Backend
from ruler_eval.run.chat_template import LostText
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import PROMPT_COLUMNS
from ruler_eval.run.prompts import Prompter
from ruler_eval.run.providers import Provider
from ruler_eval.run.start_backend import choose_mode, make_prompter, start_backend

try:
    from ruler_eval.run.server import Server
except ModuleNotFoundError as error:
    raise missing_packages("openai", "`ruler doctor` without RUN") from error

PROBE_ROW: PartialRow = {
    "index": 0,
    "input": "Say yes.",
    "answer_prefix": "",
    "max_new_tokens": 1,
}
"""A short row, to see how a prompt is tokenized."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A server or engine as the runs of an examination reach it."""

    run: RunOptions
    """The options of a run on it."""
    backend: Backend
    """A client that is open during the examination."""
    prompter: Prompter | None
    """Renders rows as a run does; None if the template cannot be used."""
    provider: Provider | None
    window: int | None
    """The context window in tokens, if it is known."""
    mode: str
    counts: Literal["exact", "unchecked"] = "unchecked"
    """Whether prompts are counted by the model's tokenizer or the server before they are sent."""
    has_bos: bool = False
    """Whether prompts that are sent as token ids begin with a BOS."""
    lost_text: str = ""
    """What the server's chat template does to the user's text; empty if it keeps it."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why conditions cannot be tested."""
    salts_prompts: bool = False
    """Whether a line at the start of each prompt keeps prefix caches apart."""

    def cached_tokens(self) -> float | None:
        """Return the tokens that the server has read from its prefix cache, from its /metrics."""
        counts = [
            float(line.rpartition(" ")[2])
            for line in self.backend.metrics().splitlines()
            if line.startswith(("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"))
            and "_created" not in line
        ]
        return sum(counts) if counts else None


@contextmanager
def open_engine(options: RunOptions, release: Release, salt: str | None = None) -> Iterator[Engine]:
    """Start or ask the server, and check what a run would check before its first row.

    Args:
        options: The options of a run on it, which name the configurations of the rows one by one.
        release: The release.
        salt: The salt of the examination; None if prefix caches do not matter.

    Raises RulerError.
    """
    asked = options if salt is None else replace(options, cache_salt=f"{salt}/{COLD}")
    files = {config: release.entry(config) for config in several(options.configs)}
    backend = start_backend(asked, release, files)
    try:
        run = options
        if options.backend == "vllm":
            run = _reach_launched(options, backend)
        mode = choose_mode(options, backend)
        run = replace(run, mode=mode)
        prompter, lost_text = None, ""
        try:
            prompter = make_prompter(options, mode, backend)
            backend.check_mode(mode, prompter.template_arguments)
        except LostText as error:
            if backend.tokenizer is not None:  # a template on this machine
                raise
            lost_text = str(error)
        reasons = testable(run.tokenizer, mode)[1]
        if "template" not in reasons and not lost_text:
            lost_text, reason = _check_template(run, mode)
            if reason:
                reasons["template"] = reason
        yield Engine(
            run=run,
            backend=backend,
            prompter=prompter,
            provider=backend.provider if isinstance(backend, Server) else None,
            window=backend.context_window,
            mode=mode,
            counts="exact" if _counts(prompter, backend) else "unchecked",
            has_bos=prompter is not None and _has_bos(prompter),
            lost_text=lost_text,
            reasons=reasons,
            salts_prompts=backend.salts_prompts,
        )
    finally:
        backend.close()


def _reach_launched(options: RunOptions, backend: Backend) -> RunOptions:
    """Return the options of a run on a server that was started here.

    With --chat-template the server renders the prompts: its template is that file.
    """
    tokenizer = options.tokenizer or options.model
    return replace(
        backend.options, cache_salt=None, tokenizer=None if options.chat_template else tokenizer
    )


def _check_template(run: RunOptions, mode: str) -> tuple[str, str]:
    """Return what the server's template does to a text, and why it cannot be tested, or ""."""
    try:
        server = Server(replace(run, tokenizer=None))
    except RulerError as error:
        return "", str(error).rstrip(".")
    try:
        prompter = make_prompter(run, mode, server)
        server.check_mode(mode, prompter.template_arguments)
    except LostText as error:
        return str(error), ""
    except RulerError as error:
        return "", str(error).rstrip(".")
    finally:
        server.close()
    return "", ""


def _counts(prompter: Prompter | None, backend: Backend) -> bool:
    """Return whether prompts are counted before they are sent."""
    return prompter is not None and backend.count(prompter("probe", PROBE_ROW)) is not None


def _has_bos(prompter: Prompter) -> bool:
    """Return whether the token ids of prompts begin with a BOS."""
    bos = getattr(prompter.tokenizer, "bos_token_id", None)
    token_ids: Any = prompter("probe", PROBE_ROW).token_ids
    return bool(token_ids and bos is not None and token_ids[0] == bos)


def check_rows_fit(
    engine: Engine, release: Release, plan: RowPlan, server: str = "the server"
) -> None:
    """Raise RulerError before anything is sent if the first row of a configuration does not fit.

    `server` is what a sentence calls it.
    """
    if engine.window is None or engine.prompter is None:
        return
    first: dict[str, int] = {}
    for config, index in plan.keys:
        first.setdefault(config, index)
    for config, index in first.items():
        (row,) = release.some_rows(config, PROMPT_COLUMNS, [index])
        prompt = engine.prompter(config, row)
        tokens, unit = engine.backend.count(prompt), "tokens"
        if tokens is None:
            tokens, unit = prompt.row_tokens, "tokens as the release counts them, an estimate"
        if tokens + prompt.max_tokens > engine.window:
            raise RulerError(
                f"The rows of {config} do not fit: row {index} has {tokens:,} {unit}, and "
                f"{prompt.max_tokens:,} more for the answer; {server}'s context window is "
                f"{engine.window:,}. Choose shorter rows (--lengths, --configs), give the server a "
                "longer context or, if that length is wrong, --max-model-len."
            )
