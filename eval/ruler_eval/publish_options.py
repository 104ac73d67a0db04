"""The options of `ruler results`: publish.py, which uses them, is slow to import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ruler_common.options import Option, check_options


@dataclass(frozen=True, kw_only=True)
class ResultsOptions:
    """The options of `ruler results`."""

    path: Annotated[
        Path,
        Option(
            "The results.json of `ruler score`, or the RUN folder that contains it.",
            argument=True,
            metavar="RESULTS",
        ),
    ]
    model: Annotated[
        str, Option("The model's repository, ORG/MODEL.", short="-m", metavar="ORG/MODEL")
    ]
    dataset_repo: Annotated[
        str | None,
        Option("The benchmark on the Hub, ORG/ruler. Default: the repository of the run."),
    ] = None
    revision: Annotated[
        str | None,
        Option(
            "The benchmark's commit or tag. Default: the commit that the run was scored against."
        ),
    ] = None
    source: Annotated[
        str | None, Option("A URL where predictions and results.json can be seen.")
    ] = None
    out: Annotated[Path, Option("Folder of the model's files.", short="-o")] = Path()
    create_pr: Annotated[bool, Option("Open the pull request on the Hub.")] = False
    allow_missing: Annotated[bool, Option("Accept a run with missing rows; the notes say so.")] = (
        False
    )
    custom_rows: Annotated[bool, Option("Accept custom rows; the notes say so.")] = False

    def __post_init__(self) -> None:
        check_options(self)
