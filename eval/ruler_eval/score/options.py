"""The options of `ruler score` and `ruler errors`, for the command and the Python call.

ScoreOptions("runs/qwen", threshold="base")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from ruler_common.names import parse_length
from ruler_common.options import Option, Place, check_options

TRUNCATION_RULES = ("protocol", "wrong", "score")
FILES, RULES = "What the files do not say", "Rules"


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """Which predictions are read, on which release, and what their files do not say."""

    files: Annotated[
        Place | Iterable[Place],
        Option(
            "A RUN folder, or prediction files: of the reference code, lm-evaluation-harness, "
            "kvpress, Inspect or ONERULER's authors, or JSONL, CSV or Parquet with index and "
            "prediction; any other file with --columns (docs/formats.md).",
            argument=True,
            metavar="FILES...",
        ),
    ] = field(kw_only=False)
    dataset: Annotated[
        Place | None,
        Option(
            "The release: a folder or Hub repository. Default: the one the run was made on.",
            short="-d",
            metavar="RELEASE",
        ),
    ] = None
    revision: Annotated[str | None, Option("The release's tag or commit on the Hub.")] = None
    name: Annotated[str | None, Option("What to call the model.")] = None
    length: Annotated[
        str | None, Option("The length of files that do not give it, such as 4k.", panel=FILES)
    ] = None
    tokenizer: Annotated[
        str | None,
        Option("The tokenizer of the release that such files were run on.", panel=FILES),
    ] = None
    config: Annotated[
        str | None,
        Option(
            "The configuration of files that do not name it, such as niah_none_64k_pl.",
            panel=FILES,
        ),
    ] = None
    columns: Annotated[
        str | None,
        Option(
            "Which column holds what, in files of no known format.",
            panel=FILES,
            metavar="prediction=generation,index=id",
        ),
    ] = None
    references: Annotated[
        Path | str | None,
        Option(
            "The reference code's data folder (TASK.jsonl, TASK/validation.jsonl), for files "
            "without references, such as its submission.csv.",
            panel=FILES,
        ),
    ] = None

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(PredictionOptions):
    """The options of scoring. Scores are 0 … 100."""

    out: Annotated[
        Path | str | None,
        Option(
            "The results file. Default: results.json in the RUN folder; of files none is written.",
            short="-o",
            metavar="FILE",
        ),
    ] = None
    partial: Annotated[
        bool,
        Option("Leave missing rows out, and mark the result; else they are wrong.", panel=RULES),
    ] = False
    truncated: Annotated[
        str,
        Option(
            "What a truncated answer counts: protocol (RULER: by its text; ONERULER: wrong), wrong "
            "or score.",
            panel=RULES,
            choices=TRUNCATION_RULES,
        ),
    ] = "protocol"
    compat: Annotated[
        str | None,
        Option(
            "authors: score ONERULER as its authors' script does.",
            panel=RULES,
            choices=("authors",),
        ),
    ] = None
    threshold: Annotated[
        str | float,
        Option(
            "Threshold of the effective length: chat (85.6), base (79.4), or a score.",
            panel=RULES,
            metavar="chat|base|SCORE",
        ),
    ] = "chat"
    claimed: Annotated[
        str | None,
        Option('The model\'s claimed length, such as 1m, for ">128K".', panel=RULES),
    ] = None

    progress: bool = False
    """Show a bar; the command always does."""

    def __post_init__(self) -> None:
        from ruler_eval.score.aggregates import parse_baseline

        super().__post_init__()
        parse_baseline(self.threshold)
        if self.claimed is not None:
            parse_length(self.claimed.lower())


@dataclass(frozen=True, kw_only=True)
class ErrorsOptions(PredictionOptions):
    """The options of sorting wrong answers."""

    truncated: Annotated[
        str | None,
        Option(
            "How a truncated answer counts in files that `ruler score` has not scored: "
            "protocol, wrong or score. A scored run keeps the rules it was scored by.",
            choices=TRUNCATION_RULES,
        ),
    ] = None
    strict: Annotated[bool, Option("Also sort right answers with something extra.")] = False
    out: Annotated[
        Path | str | None,
        Option(
            "Write every wrong row and its kind as JSON lines.",
            short="-o",
            metavar="FILE",
        ),
    ] = None
