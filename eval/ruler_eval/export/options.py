"""The options of `ruler export`, for the command and the Python call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from ruler_common.errors import RulerError
from ruler_common.options import NameOrNames, Option, Place, check_options, names_in

FORMATS = ("upstream", "kvpress", "lm-eval", "lighteval", "nemo", "gym")
"""Those of export_release.py, which is slow to import."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What is exported, in which format, and where to."""

    dataset: Annotated[
        Place,
        Option("A release folder or Hub repository.", argument=True, metavar="RELEASE"),
    ] = field(kw_only=False)
    format: Annotated[
        str, Option("The tool; upstream is the reference code's JSON lines.", choices=FORMATS)
    ]
    to: Annotated[Place, Option("The folder to create.", metavar="DIR")]
    configs: Annotated[
        NameOrNames | None,
        Option(
            "Configurations, groups too: niah_mk_4k,vt_8k, *_4k. Default: all.",
            short="-c",
            parse=names_in,
            metavar="NAMES",
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        Option("Rows of this tokenizer. Default: tekken, or the release's only tokenizer."),
    ] = None
    revision: Annotated[str | None, Option("The release's tag or commit on the Hub.")] = None

    def __post_init__(self) -> None:
        if self.format == "inspect":
            raise RulerError(
                "Inspect needs no export: inspect eval ruler_release/ruler -T dataset=RELEASE "
                "-T config=all_4k --model MODEL"
            )
        check_options(self)
        if self.configs == ():
            raise RulerError("--configs names no configuration: leave it out to export all.")
