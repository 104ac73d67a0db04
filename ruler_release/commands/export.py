"""`ruler export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ruler_common.errors import RulerError
from ruler_common.options import Option, check_options, names_in
from ruler_common.text import number_of, show

FORMATS = ("upstream", "kvpress", "lm-eval", "lighteval", "nemo")


@dataclass(frozen=True)
class ExportCommand:
    """The flags of `ruler export`."""

    source: Annotated[str, Option("The release.", argument=True, metavar="DIR_OR_REPO")]
    form: Annotated[
        str,
        Option(
            "The tool that reads it; upstream: the reference code's JSON lines.",
            flag="--format",
            choices=FORMATS,
        ),
    ]
    to: Annotated[Path, Option("The folder to make.")]
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
        Option("Rows fitted under this tokenizer. Default: tekken, or the only one there is."),
    ] = None
    revision: Annotated[str | None, Option("The release's tag or commit on the Hub.")] = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.configs == ():
            raise RulerError("--configs names no configuration: leave it out to export all.")


def export(options: ExportCommand) -> None:
    """Write a release in the form another tool reads; its rows stay as they are.

    Example: ruler export ruler --format lm-eval --to tasks --configs all_4k
    """
    from ruler_eval.export import export_release

    done = export_release.export(
        options.source,
        options.form,
        options.to,
        list(options.configs or ()),
        options.tokenizer,
        options.revision,
    )
    held = f"{number_of(done.rows, 'row')} of {number_of(done.configs, 'configuration')}"
    show(f"{held} in '{options.to}'. Next: {done.next}")
