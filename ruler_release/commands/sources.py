"""`ruler sources` and `ruler tokenizers`: what a build reads and counts with."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from ruler_common.text import plain
from ruler_release import completion
from ruler_release.commands.flags import Mirror, NoDataset

app = typer.Typer(name="sources", help="List the sources, or fetch them.")

_FOR = "A folder, a Hub repository (ORG/NAME), or a name such as gpt-4o."
_SUITE = "Of this suite, such as oneruler; else of ruler and oneruler."
_NAMES = "Sources, a dataset (oneruler), a language (pl), a tokenizer; all sources if none."


@app.callback(invoke_without_command=True)
def list_sources(
    context: typer.Context,
    suite: Annotated[
        str | None, Option("--suite", help=_SUITE, autocompletion=completion.suites)
    ] = None,
    mirror: Mirror = None,
    dataset: NoDataset = None,
) -> None:
    """List each source with its state, size and licence.

    Example: `ruler sources --suite oneruler`
    """
    if context.invoked_subcommand is not None:
        return
    from ruler_builder.suites.suite import read_suite
    from ruler_builder.text.sources import Store, states
    from ruler_common.names import TASKS
    from ruler_release.tables import source_tables

    store = Store(mirror)
    datasets = [read_suite(suite).dataset] if suite else list(TASKS)
    for name in datasets:
        source_tables.show_sources(name, states(store, name))
    if datasets == ["oneruler"]:
        source_tables.show_rights()
    source_tables.show_remedy()


@app.command()
def fetch(
    names: Annotated[list[str] | None, Argument(help=_NAMES)] = None,
    mirror: Mirror = None,
) -> None:
    """Download sources and tokenizers into the cache, except for those that are there already.

    Example: `ruler sources fetch essays squad`, `ruler sources fetch oneruler-nouns pl ko`
    """
    from ruler_builder.text.sources import Store, named_sources
    from ruler_builder.tokens.tokenizers import named, pinned_files
    from ruler_common import terminal

    store = Store(mirror)
    counted = [name for name in names or () if name in named()]
    files = [(name, file) for name in counted for file in pinned_files(name)]
    others = [name for name in names or () if name not in counted]
    if others or not counted:
        found = named_sources(others)
        files += [(name, source.canonical.file) for name, source in found.items()]
    for name, file in files:
        with terminal.bytes_bar(name, file.bytes) as advance:
            path = store.get(file, advance)
        typer.echo(plain(f"{name}: {path}"))


def tokenizers(
    model: Annotated[str | None, Option("--for", metavar="MODEL", help=_FOR)] = None,
) -> None:
    """List the named tokenizers, or say which frozen rows are exact for a model's tokenizer.

    Example: `ruler tokenizers --for Qwen/Qwen3-8B`
    """
    from ruler_builder.release.model_tokenizer import find_model_tokenizer
    from ruler_builder.tokens.tokenizers import named
    from ruler_release.tables import source_tables

    if model is None:
        source_tables.show_tokenizers(named())
    else:
        source_tables.show_model_tokenizer(find_model_tokenizer(model))
