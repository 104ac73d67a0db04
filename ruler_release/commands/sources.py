"""`ruler sources` and `ruler tokenizers`: what a build reads and counts with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ruler_common.options import Option
from ruler_common.text import show

Mirror = Annotated[
    Path | None, Option("Folder that holds the sources; searched first.", envvar="RULER_MIRROR")
]


@dataclass(frozen=True)
class SourcesCommand:
    """The flags of `ruler sources`."""

    suite: Annotated[
        str | None, Option("Of this suite, such as oneruler. Default: of ruler and oneruler.")
    ] = None
    mirror: Mirror = None


def list_sources(options: SourcesCommand) -> None:
    """List each source with its state, size and licence, or fetch them.

    Example: ruler sources --suite oneruler
    """
    from ruler_builder.tasks.registry import read_suite
    from ruler_builder.text.sources import Store, states
    from ruler_common.names import TASKS
    from ruler_release.tables import source_tables

    store = Store(options.mirror)
    datasets = [read_suite(options.suite).dataset] if options.suite else list(TASKS)
    for name in datasets:
        source_tables.show_sources(name, states(store, name))
    if datasets == ["oneruler"]:
        source_tables.show_rights()
    source_tables.show_remedy()


@dataclass(frozen=True)
class FetchSourcesCommand:
    """The flags of `ruler sources fetch`."""

    names: Annotated[
        tuple[str, ...],
        Option(
            "Sources, a dataset (oneruler), a language (pl), a tokenizer. Default: all sources.",
            argument=True,
            metavar="[NAME...]",
        ),
    ] = ()
    mirror: Mirror = None


def fetch(options: FetchSourcesCommand) -> None:
    """Download sources and tokenizers into the cache, except for those that are there already.

    Example: ruler sources fetch essays squad

    Example: ruler sources fetch oneruler-nouns pl ko
    """
    from ruler_builder.text.sources import Store, named_sources
    from ruler_builder.tokens.tokenizers import named, pinned_files

    store = Store(options.mirror)
    tokenizers_asked = [name for name in options.names if name in named()]
    sources_asked = [name for name in options.names if name not in named()]
    files = [(name, file) for name in tokenizers_asked for file in pinned_files(name)]
    if sources_asked or not tokenizers_asked:
        for name, source in named_sources(sources_asked).items():
            files.append((name, source.canonical.file))
    for name, file in files:
        path = store.get(file, progress=True)
        show(f"{name}: {path}")


@dataclass(frozen=True)
class TokenizersCommand:
    """The flags of `ruler tokenizers`."""

    model: Annotated[
        str | None,
        Option(
            "A folder, a Hub repository (ORG/NAME), or a name such as gpt-4o.",
            flag="--for",
            metavar="MODEL",
        ),
    ] = None


def tokenizers(options: TokenizersCommand) -> None:
    """List the named tokenizers, or say which frozen rows are exact for a model's tokenizer.

    Example: ruler tokenizers --for Qwen/Qwen3-8B
    """
    from ruler_builder.tokens.model_tokenizer import find_model_tokenizer
    from ruler_builder.tokens.tokenizers import named
    from ruler_release.tables import source_tables

    if options.model is None:
        source_tables.show_tokenizers(named())
    else:
        source_tables.show_model_tokenizer(find_model_tokenizer(options.model))
