"""The options of `ruler doctor`: what to test, and how `ruler run` would reach the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from ruler_common.errors import RulerError
from ruler_common.options import (
    NameOrNames,
    Option,
    OptionsOf,
    Place,
    check_options,
    names_in,
    several,
)
from ruler_eval.run.options import SAMPLERS, RunOptions

WHAT, SERVER = "What to test", "Server or engine"
DEFAULT_LOAD = 32
"""Requests sent at once in the load condition."""
HF = "hf"
"""The value of --against for transformers."""


OF_ENGINE = OptionsOf(
    RunOptions,
    names=(
        "mode",
        "thinking",
        "direct",
        "system",
        "revision",
        "data_revision",
        "chat_template",
        "max_model_len",
        "engine_args",
        "provider",
        "timeout",
        "give_up_after",
        "stream",
        "omit",
        *SAMPLERS,
        "price",
    ),
    panel=SERVER,
)


@dataclass(frozen=True, kw_only=True)
class Level:
    """How thorough an examination is."""

    rows: int
    """Rows of an examination of one server."""
    rows_against: int
    """Rows of a comparison of two deployments."""
    max_loss: float
    """The largest loss, in points, that a sound verdict may miss."""


LEVELS = {
    "quick": Level(rows=32, rows_against=100, max_loss=40),
    "usual": Level(rows=200, rows_against=300, max_loss=10),
    "thorough": Level(rows=600, rows_against=600, max_loss=5),
}


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The options of an examination of one model on one server or engine."""

    base_url: Annotated[
        NameOrNames | None,
        Option(
            "The server, such as http://localhost:8000/v1; several are asked in turn.",
            panel=WHAT,
            parse=names_in,
            metavar="URL",
        ),
    ] = None
    model: Annotated[str, Option("The model's name on the server.", panel=WHAT, short="-m")] = ""
    against: Annotated[
        str | None,
        Option(
            "Compare with another deployment: the URL of a server, hf (transformers, in this "
            "process), or the RUN folder of stored answers.",
            panel=WHAT,
            metavar="URL|hf|RUN",
        ),
    ] = None
    against_model: Annotated[
        str | None,
        Option("The model's name there, or its folder for hf. Default: --model.", panel=WHAT),
    ] = None
    save: Annotated[
        Path | None,
        Option(
            "Only store the answers that --against RUN compares, in this folder.",
            panel=WHAT,
            metavar="RUN",
        ),
    ] = None
    dataset: Annotated[Place, Option("The release.", panel=WHAT, short="-d", metavar="RELEASE")] = (
        "ruler"
    )
    lengths: Annotated[
        tuple[str, ...],
        Option(
            "Lengths, such as 4k,32k. Default: the shortest, and the longest up to 32k; with "
            "--against the shortest.",
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
        Place | None,
        Option(
            "The folder for all answers. Default: doctor-MODEL-DATE; an examination that was "
            "interrupted continues.",
            panel=WHAT,
            short="-o",
            metavar="DIR",
        ),
    ] = None
    rows: Annotated[
        int | None,
        Option(
            "Number of rows over all configurations. Default: 200; 32 with --quick, 600 with "
            "--thorough; with --against 300, 100 or 600.",
            panel=WHAT,
            min=1,
        ),
    ] = None
    load: Annotated[
        int,
        Option("Concurrent requests under load, and with --against.", panel=WHAT, min=2, max=1000),
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
    engine: Annotated[Mapping[str, Any], OF_ENGINE] = field(default_factory=dict)
    """The options of `ruler run` that are set, by name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", several(self.base_url))
        engine = {name: value for name, value in self.engine.items() if value is not None}
        object.__setattr__(self, "engine", engine)
        check_options(self)
        if self.backend == "openai" and not self.base_url:
            raise RulerError(
                "Name the server with --base-url URL, or a finished run: ruler doctor RUN."
            )
        if not self.model:
            raise RulerError("Name the model with --model NAME, as the server knows it.")
        if self.against is not None and self.save is not None:
            raise RulerError("--save stores answers, and --against compares them: choose one.")
        if self.save is not None and self.out is not None:
            raise RulerError("--save names the folder: leave --out out.")
        if self.against_model is not None and self.against is None:
            raise RulerError("--against-model names the model of --against: add --against.")
        if not self.compares:
            return
        temperature = self.engine.get("temperature")
        is_sampled = str(self.engine.get("thinking", "off")) != "off" and temperature is None
        if temperature or is_sampled:
            raise RulerError(
                "Answers are compared word for word, which needs greedy decoding: leave "
                "--thinking out and --temperature at 0."
            )

    @property
    def compares(self) -> bool:
        """Whether answers are compared with those of another deployment, now or later."""
        return self.against is not None or self.save is not None

    @property
    def stored_answers(self) -> Path | None:
        """The folder of stored answers, if --against is neither a server nor hf."""
        if self.against is None or self.against == HF or "://" in self.against:
            return None
        return Path(self.against)

    @property
    def row_count(self) -> int:
        """The maximum number of rows."""
        level = LEVELS[self.level]
        return self.rows or (level.rows_against if self.compares else level.rows)

    @property
    def max_loss(self) -> float:
        """The largest loss, in points, that a sound verdict may miss."""
        return LEVELS[self.level].max_loss

    def run_options(self, configs: tuple[str, ...], out: Path) -> RunOptions:
        """Return the options of a run of these configurations on the same server or engine."""
        return RunOptions(
            self.dataset,
            configs=configs,
            backend=self.backend,
            out=out,
            model=self.model,
            base_url=self.base_url or (),
            tokenizer=self.tokenizer,
            **self.engine,
        )
