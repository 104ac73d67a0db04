"""`ruler export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_common.text import number_of, plain
from ruler_release import completion
from ruler_release.commands.flags import names_in

_FORMAT = "upstream (the reference code's JSON lines), kvpress, lm-eval, lighteval or nemo."
_CONFIGS = "Configurations, separated by commas, groups too: niah_mk_4k,vt_8k, *_4k."
_TOKENIZER = "Whose rows; default: tekken's, or those of the only tokenizer there is."


def export(
    source: Annotated[str, Argument(metavar="DIR_OR_REPO", help="The release.")],
    form: Annotated[str, Option("--format", help=_FORMAT, autocompletion=completion.formats)],
    to: Annotated[Path, Option(help="The folder to make.")],
    configs: Annotated[
        str,
        Option(
            "--configs",
            "-c",
            help=_CONFIGS,
            show_default=False,
            autocompletion=completion.configurations,
        ),
    ] = "",
    tokenizer: Annotated[str | None, Option(help=_TOKENIZER)] = None,
    revision: Annotated[str | None, Option(help="The release's revision on the Hub.")] = None,
) -> None:
    """Write a release in the form another tool reads; its rows stay as they are.

    Example: `ruler export ruler --format lm-eval --to tasks --configs all_4k`
    """
    from ruler_eval.export import export_release

    names = names_in(configs)
    if configs and not names:
        raise RulerError("--configs names no configuration: leave it out to export all.")
    done = export_release.export(source, form, to, names, tokenizer, revision)
    held = f"{number_of(done.rows, 'row')} of {number_of(done.configs, 'configuration')}"
    typer.echo(plain(f"{held} in '{to}'. Next: {done.next}"))
