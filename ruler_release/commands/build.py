"""`ruler build`, and what else is done with releases as a whole: list and verify."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_release import api, completion
from ruler_release.api.arguments import filled
from ruler_release.commands.flags import (
    LanguageFolders,
    Mirror,
    NoDataset,
    Root,
    Suite,
    TokenizerPlaces,
    Workers,
    arguments_of,
)

if TYPE_CHECKING:
    from ruler_builder.release.plan import BuildSize

_LANGUAGES = (
    "Of oneruler, comma-separated: pl, en-ko (text English, instruction Korean), all, or default: "
    "all 26 and en, ko, pl in six pairs."
)
_TOKENIZER = "A name, NAME=hf:ORG/NAME[@REVISION] or NAME=FOLDER; repeatable."
_LENGTHS = (
    "Comma-separated: 4k,128k,1m, 0k (evidence alone), 10000; or all. If not given: all, after "
)
_LENGTHS += "a question."
_TASKS = "Comma-separated tasks or groups; or default, every task."
_SOURCES = "`embedded`, or NAME=embedded; repeatable."
_YES = "Ask nothing, however many rows."
_MANY_ROWS = 10_000


@arguments_of(api.build)
def build(
    root: Root,
    suite: Suite = "ruler",
    tokenizers: Annotated[
        list[str] | None,
        Option("--tokenizer", help=_TOKENIZER, autocompletion=completion.tokenizers),
    ] = None,
    lengths: Annotated[str | None, Option(help=_LENGTHS, autocompletion=completion.lengths)] = None,
    tasks: Annotated[str, Option(help=_TASKS, autocompletion=completion.tasks)] = "default",
    languages: Annotated[
        str, Option(help=_LANGUAGES, autocompletion=completion.languages)
    ] = "default",
    language_folders: LanguageFolders = None,
    workers: Workers = None,
    mirror: Mirror = None,
    sources: Annotated[list[str] | None, Option(help=_SOURCES)] = None,
    yes: Annotated[bool, Option("--yes", help=_YES)] = False,
    dataset: NoDataset = None,
    **more: Any,
) -> None:
    """Build a release, or extend one; stopped anywhere, the same command resumes.

    Example: `ruler build ruler --tokenizer qwen2.5 --lengths 4k,128k --workers 2`

    Example: `ruler build oneruler --suite oneruler --languages pl,ko --lengths 8k`
    """
    asked = locals()
    from ruler_release.tables import release_tables

    def on_size(size: BuildSize) -> None:
        release_tables.show_size(size)
        if lengths is None and not yes and size.rows > _MANY_ROWS:
            _ask(size)

    read: dict[str, Any] = {"tasks": tasks.split(","), "languages": languages.split(",")}
    read |= {"lengths": (lengths or "all").split(","), "tokenizers": tokenizers or "tekken"}
    read |= {"language_folders": language_folders or (), "on_size": on_size, "progress": True}
    built = filled(api.build, asked, **read, **more)
    release_tables.show_built(root, built)


def _ask(size: BuildSize) -> None:
    """Let somebody at a terminal decide; elsewhere raise RulerError."""
    if not sys.stdin.isatty():
        raise RulerError(
            f"Without --lengths this makes {size.rows:,} rows: name lengths, such as "
            "--lengths 4k,8k, or add --yes."
        )
    if not typer.confirm("Make them all?"):
        typer.echo("Nothing was made. Some lengths alone: --lengths 4k,8k")
        raise typer.Exit(1)


def list_release(
    release: Annotated[str, Argument(help="A folder, or a Hub repository ORG/NAME.")],
) -> None:
    """Show what a release holds.

    Example: `ruler list ruler`
    """
    from ruler_dataset import manifest_of
    from ruler_release.tables import release_tables

    release_tables.show_files(manifest_of(release))


@arguments_of(api.verify)
def verify(
    root: Root,
    workers: Workers = None,
    mirror: Mirror = None,
    tokenizers: TokenizerPlaces = None,
    language_folders: LanguageFolders = None,
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False,
    *,
    audit: bool,
) -> None:
    """Verify a release: the digests of its files, its rows, the manifest and the card.

    Rows are frozen ones of their data version, or are built again from the manifest and compared;
    the first row, column and character that differ are named. Exit code 1 if something is wrong; 3
    if a file cannot be built again here.

    Example: `ruler verify ruler`
    """
    asked = locals()
    from ruler_release.tables import release_tables

    report = filled(api.verify, asked, language_folders=language_folders or (), progress=True)
    release_tables.show_report(root, report, as_json)
    if not report.ok:
        raise typer.Exit(1)
    if not report.proved:
        raise typer.Exit(3)
