"""`ruler verify`."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from ruler_release import api
from ruler_release.commands.flags import Mirror, Root, TokenizerPlaces, Workers


def verify(
    root: Root,
    workers: Workers = 1,
    mirror: Mirror = None,
    tokenizers: TokenizerPlaces = None,
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Prove the laws of a release from its files alone; exit code 1 if one is broken.

    Example: `ruler verify ruler --workers 2`
    """
    from ruler_release.tables import verdict

    report = api.verify(root, workers=workers, mirror=mirror, tokenizers=tokenizers, progress=True)
    verdict.show_report(root, report, as_json)
    if not report.ok:
        raise typer.Exit(1)
