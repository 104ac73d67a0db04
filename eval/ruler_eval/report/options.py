"""The options of `ruler report`, for the command and the Python call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from ruler_common.names import check_name
from ruler_common.options import NameOrNames, Option, Place, check_options, names_in, several
from ruler_eval.report.formats import CHARTS, FORMATS


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of a page."""

    runs: Annotated[
        Place | Iterable[Place],
        Option(
            "RUN folders, or results.json files of `ruler score`.", argument=True, metavar="RUN..."
        ),
    ] = field(kw_only=False)
    out: Annotated[Place, Option("The page.", short="-o", metavar="FILE")] = "report.html"
    title: Annotated[str | None, Option("The title of the page.")] = None
    names: Annotated[
        NameOrNames,
        Option(
            "What to call each model, in order; repeatable.",
            flag="--name",
            repeatable=True,
            metavar="TEXT",
        ),
    ] = ()
    dataset: Annotated[
        Place | None,
        Option(
            "The release that the runs were made on. Default: as each run names it.",
            short="-d",
            metavar="RELEASE",
        ),
    ] = None
    revision: Annotated[str | None, Option("The release's tag or commit on the Hub.")] = None
    references: Annotated[
        Path | str | None,
        Option("The data folder by which runs without a release were scored."),
    ] = None
    doctor: Annotated[
        Path | None,
        Option("Folder of `ruler doctor`, whose verdict the page shows.", metavar="DIR"),
    ] = None
    every_error: Annotated[
        bool,
        Option(
            "Sort every wrong row into its kind of error, which takes up to half a minute for "
            "39,000 rows to 128k. By default only the first rows of each configuration are sorted "
            "in such a large release."
        ),
    ] = False

    figures: Annotated[
        Place | None,
        Option("Also write every figure of the page into this folder.", metavar="DIR"),
    ] = None
    format: Annotated[
        NameOrNames,
        Option(
            "The formats of --figures: svg and pdf (charts; extra `figures`), csv, "
            "latex, markdown, json, text.",
            parse=names_in,
            metavar="FORMATS",
        ),
    ] = ("svg",)

    def __post_init__(self) -> None:
        check_options(self)
        for name in several(self.format):
            check_name("--format", name, (*CHARTS, *FORMATS))
