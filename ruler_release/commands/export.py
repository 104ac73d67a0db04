"""`ruler export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ruler_common.errors import RulerError
from ruler_common.options import Option, check_options, names_in
from ruler_common.text import number_of, show

FORMATS = ("upstream", "kvpress", "lm-eval", "lighteval", "nemo")
"""Those of export_release.py, which is slow to import."""


@dataclass(frozen=True)
class ExportCommand:
    """The flags of `ruler export`."""

    source: Annotated[str, Option("The release.", argument=True, metavar="DIR_OR_REPO")]
    form: Annotated[
        str,
        Option(
            "The tool; upstream is the reference code's JSON lines.",
            flag="--format",
            choices=FORMATS,
        ),
    ]
    to: Annotated[Path, Option("The folder to create.")]
    configs: Annotated[
        tuple[str, ...] | None,
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
        check_options(self)
        if self.configs == ():
            raise RulerError("--configs names no configuration: leave it out to export all.")


def export(options: ExportCommand) -> None:
    """Write a release in the format of another tool, without changing its rows.

    Example: ruler export ruler --format lm-eval --to tasks --configs all_4k
    """
    from ruler_eval.export import export_release

    exported = export_release.export(
        options.source,
        options.form,
        options.to,
        list(options.configs or ()),
        options.tokenizer,
        options.revision,
    )
    rows = number_of(exported.rows, "row")
    configs = number_of(exported.configs, "configuration")
    show(f"{rows} of {configs} in '{options.to}'. Next: {exported.next}")
