"""`ruler verify`."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from ruler_release import api
from ruler_release.api.arguments import filled
from ruler_release.commands.flags import LanguageFolders, Mirror, Root, TokenizerPlaces, Workers

_LAWS_ONLY = "Make no row anew: the laws alone."


def verify(
    root: Root,
    workers: Workers = None,
    mirror: Mirror = None,
    tokenizers: TokenizerPlaces = None,
    language_folders: LanguageFolders = None,
    laws_only: Annotated[bool, Option("--laws-only", help=_LAWS_ONLY)] = False,
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Prove a release: its laws from the files, and that every row is the one a build makes.

    A file is proved by the frozen rows of its data version, or made anew from the manifest. Exit
    code 1 if something is wrong; 3 if a file cannot be made anew here, unless --laws-only, or its
    tokenizer is not here.

    Example: `ruler verify ruler`
    """
    asked = locals()
    from ruler_release.tables import verdict

    report = filled(api.verify, asked, language_folders=language_folders or (), progress=True)
    verdict.show_report(root, report, as_json)
    if not report.ok:
        raise typer.Exit(1)
    if not (report.proved or laws_only) or report.uncounted:
        raise typer.Exit(3)
