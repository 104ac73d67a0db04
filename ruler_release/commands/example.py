"""`ruler example`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument


def example(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder to make.")] = Path(
        "ruler-example"
    ),
) -> None:
    """Write a real model's answers and say what to try on them: no model, no network, no release.

    Example: `ruler example`
    """
    from ruler_eval.example.write_example import FIRST_LINE, write_example

    write_example(folder)
    typer.echo(
        f"A real model's answers are in '{folder}'; README.md there says of which rows. Try:"
    )
    references = f"--references {folder / 'references'}"
    for command in (
        f"score {folder / 'run'} {references} --beside published",
        f"score {folder / FIRST_LINE} {references}",
        f"errors {folder / 'run'} {references}",
        f"compare {folder / 'run'} {folder / FIRST_LINE}",
        f"report {folder / 'run'} {folder / FIRST_LINE} {references} "
        f"--out {folder / 'report.html'}",
    ):
        typer.echo(f"  ruler {command}")
