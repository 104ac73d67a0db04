"""The options of `ruler doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from ruler_common.errors import RulerError
from ruler_common.options import Option, check_options, names_in, options_of
from ruler_eval.run.options import RunOptions

WHAT, SERVER = "What to test", "Server or engine"
DEFAULT_LOAD = 32
"""Requests sent at once in the load condition."""
GROUP_SIZE = 8
"""Prompts sent at once in the neighbours condition, including the row itself."""


def _as_in_run(name: str) -> Option:
    """Return the option of `ruler run`, moved to the panel of the server."""
    return replace(options_of(RunOptions)[name], panel=SERVER)


@dataclass(frozen=True, kw_only=True)
class Level:
    """How thorough an examination is."""

    rows: int
    max_loss: float
    """The largest loss, in points, that a sound verdict may miss."""


LEVELS = {
    "quick": Level(rows=32, max_loss=40),
    "usual": Level(rows=200, max_loss=10),
    "thorough": Level(rows=600, max_loss=5),
}


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The options of an examination of one model on one server or engine."""

    base_url: Annotated[
        str | None, Option("The server, such as http://localhost:8000/v1.", panel=WHAT)
    ] = None
    model: Annotated[str, Option("The model's name on the server.", panel=WHAT, short="-m")] = ""
    dataset: Annotated[str, Option("The release.", panel=WHAT, short="-d", metavar="RELEASE")] = (
        "ruler"
    )
    lengths: Annotated[
        tuple[str, ...],
        Option(
            "Lengths, such as 4k,32k. Default: the shortest, and the longest up to 32k.",
            panel=WHAT,
            parse=names_in,
            metavar="NAMES",
        ),
    ] = ()
    configs: Annotated[
        tuple[str, ...],
        Option(
            "Configurations instead of lengths, such as niah_4k,qa_1_32k.",
            panel=WHAT,
            short="-c",
            parse=names_in,
            metavar="NAMES",
        ),
    ] = ()
    out: Annotated[
        Path,
        Option(
            "The folder for all answers; an examination in an existing folder is resumed.",
            panel=WHAT,
            short="-o",
        ),
    ] = Path("doctor")
    rows: Annotated[
        int | None,
        Option(
            "Total number of rows over all configurations. Default: 200; 32 with --quick, 600 with "
            "--thorough.",
            panel=WHAT,
            min=1,
        ),
    ] = None
    load: Annotated[
        int, Option("Concurrent requests in the load condition.", panel=WHAT, min=2)
    ] = DEFAULT_LOAD
    level: str = "usual"
    backend: Annotated[
        str, Option("The backend.", panel=SERVER, short="-b", choices=("openai", "vllm"))
    ] = "openai"
    tokenizer: Annotated[
        str | None,
        Option(
            "The model's tokenizer. Needed to test the conditions text and template, and to check "
            "the server's token counts exactly.",
            panel=SERVER,
        ),
    ] = None
    mode: Annotated[
        str | None,
        Option("The prompt mode.", panel=SERVER, choices=("prefill", "chat", "completion")),
    ] = None
    provider: Annotated[str | None, _as_in_run("provider")] = None
    max_model_len: Annotated[int | None, _as_in_run("max_model_len")] = None
    timeout: Annotated[float, _as_in_run("timeout")] = 3600.0
    engine_args: Annotated[Mapping[str, Any], _as_in_run("engine_args")] = field(
        default_factory=dict
    )
    price: Annotated[tuple[float, float] | None, _as_in_run("price")] = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.backend == "openai" and self.base_url is None:
            raise RulerError(
                "Name the server with --base-url URL, or a finished run: ruler doctor RUN."
            )
        if not self.model:
            raise RulerError("Name the model with --model NAME, as the server knows it.")

    @property
    def row_count(self) -> int:
        """The maximum number of rows."""
        return self.rows or LEVELS[self.level].rows

    @property
    def max_loss(self) -> float:
        """The largest loss, in points, that a sound verdict may miss."""
        return LEVELS[self.level].max_loss

    def run_options(self) -> RunOptions:
        """Return the options of a run on the same server or engine."""
        return RunOptions(
            self.dataset,
            configs=self.configs,
            backend=self.backend,
            out=self.out,
            model=self.model,
            base_url=self.base_url,
            tokenizer=self.tokenizer,
            provider=self.provider,
            max_model_len=self.max_model_len,
            timeout=self.timeout,
            engine_args=self.engine_args,
            concurrency=max(self.load, GROUP_SIZE),
        )
