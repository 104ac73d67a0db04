"""`ruler sources` and `ruler tokenizers`: the sources and tokenizers of a build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

from ruler_builder.options import MIRROR
from ruler_common.names import DEFAULT_TOKENIZER, TASKS
from ruler_common.options import Option
from ruler_common.text import TERMINAL_WIDTH, sentences, show, table

if TYPE_CHECKING:
    from ruler_builder.text.sources import Source, State
    from ruler_builder.tokens.model_tokenizer import ModelTokenizer


@dataclass(frozen=True)
class SourcesCommand:
    """The flags of `ruler sources`."""

    suite: Annotated[
        str | None, Option("A suite, such as oneruler. Default: ruler and oneruler.")
    ] = None
    mirror: Annotated[Path | None, MIRROR] = None


def list_sources(options: SourcesCommand) -> None:
    """List the sources with their state, size and licence.

    Example: ruler sources --suite oneruler
    """
    from ruler_builder.pinned import Store
    from ruler_builder.tasks.registry import read_suite
    from ruler_builder.text.sources import source_states

    store = Store(options.mirror)
    datasets = [read_suite(options.suite).dataset] if options.suite else list(TASKS)
    states = {name: source_states(store, name) for name in datasets}
    for name in datasets:
        show_sources(name, states[name])
    if datasets == ["oneruler"]:
        show_rights()
    if any(state != "present" for files in states.values() for _, state in files):
        show_remedy()


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
    mirror: Annotated[Path | None, MIRROR] = None


def fetch(options: FetchSourcesCommand) -> None:
    """Download sources and tokenizers that are not in the cache yet.

    Example: ruler sources fetch essays squad

    Example: ruler sources fetch oneruler-nouns pl ko
    """
    from ruler_builder.pinned import Store
    from ruler_builder.text.sources import named_sources
    from ruler_builder.tokens.tokenizers import named, pinned_files

    store = Store(options.mirror)
    tokenizer_names = [name for name in options.names if name in named()]
    source_names = [name for name in options.names if name not in named()]
    files = [(name, file) for name in tokenizer_names for file in pinned_files(name)]
    if source_names or not tokenizer_names:
        for name, source in named_sources(source_names).items():
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
            "A folder, a GGUF file, a Hub repository (ORG/NAME), or a name such as gpt-4o.",
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

    if options.model is None:
        show_tokenizers(named())
    else:
        show_model_tokenizer(find_model_tokenizer(options.model))


# ---- What is shown -------------------------------------------------------------------------------


def show_sources(dataset: str, states: list[tuple[Source, State]]) -> None:
    """Print the sources and their state; for oneruler one line per language."""
    if dataset == "ruler":
        rows, licences = [], []
        for source, state in states:
            rows.append((source.name, state, f"{source.canonical.file.bytes:,}"))
            licences.append(_below(source.canonical.licence))
        show(table(["source", "state", "bytes"], rows, left=(0, 1), below=licences))
        return
    from ruler_builder.text.sources import restricted_books

    languages: dict[str, list[tuple[Source, State]]] = {}
    for source, state in states:
        languages.setdefault(source.language or "nouns", []).append((source, state))
    perhaps_not_free = restricted_books()
    by_language, titles = [], []
    for code, files in languages.items():
        size, book = 0, files[0][0]
        for source, _ in files:
            size += source.canonical.file.bytes
            if source.name.startswith("book-"):
                book = source
        free = "perhaps not" if code in perhaps_not_free else ""
        by_language.append((code, _state(files), f"{size:,}", free))
        titles.append(_below(book.canonical.title))
    columns = ("oneruler", "state", "bytes", "free everywhere")
    show()
    show(table(columns, by_language, left=(0, 1, 3), below=titles))


def _below(text: str) -> str:
    """Return a text as indented lines below a row."""
    return fill(text, TERMINAL_WIDTH, initial_indent="    ", subsequent_indent="    ")


def _state(files: list[tuple[Source, State]]) -> str:
    kinds = list({state for _, state in files})
    if len(kinds) == 1:
        return kinds[0]
    return ", ".join(f"{source.name} {state}" for source, state in files if state != "present")


def show_rights() -> None:
    """Print what is known about books that may not be free everywhere."""
    from ruler_builder.text.sources import restricted_books

    show("\nBooks that may not be free everywhere (build leaves them out: --skip-restricted):")
    for code, status in restricted_books().items():
        show(f"  {code}  {status}")
    show()


def show_remedy() -> None:
    """Print what to do about missing sources."""
    show(
        sentences(
            "To get missing sources: ruler sources fetch, or name a folder with --mirror. To build "
            "without them from the project's embedded texts: --sources embedded."
        )
    )


def show_tokenizers(named: dict[str, dict[str, Any]]) -> None:
    """Print the named tokenizers and the models that use them."""
    rows = [
        (name, entry["library"], ", ".join(entry["models"]) or entry["title"])
        for name, entry in named.items()
    ]
    show(table(["name", "library", "used by models named"], rows, left=(0, 1, 2)))
    show("For any other: --tokenizer NAME=hf:ORG/NAME[@REVISION], NAME=FOLDER or NAME=FILE.gguf")
    show("To see which frozen rows are exact for a model: ruler tokenizers --for MODEL")


def show_model_tokenizer(tokenizer: ModelTokenizer) -> None:
    """Print which frozen rows are exact for a model, or how to build rows that are."""
    from ruler_builder.tasks.base import DATA_VERSION
    from ruler_builder.tokens.model_tokenizer import frozen_datasets

    if tokenizer.name is None:
        text = (
            f"No frozen rows are exact for the tokenizer of '{tokenizer.model}'. To build rows "
            "that are: ruler build custom --tokenizer "
            f"NAME={tokenizer.spec} --lengths 4k"
        )
        show(sentences(text))
        return
    suffix = "" if tokenizer.name == DEFAULT_TOKENIZER else f"_{tokenizer.name}"
    datasets = frozen_datasets(tokenizer.name, DATA_VERSION)
    rows = f"frozen rows such as all_8k{suffix} ({' and '.join(datasets)})"
    if tokenizer.by_ids:
        text = (
            f"The tokenizer of '{tokenizer.model}' gives the ids of {tokenizer.name} to the "
            f"project's embedded texts, so its token counts are the same: {rows} are exact for it."
        )
    elif tokenizer.proved:
        text = (
            f"'{tokenizer.model}' has the vocabulary, merges and pre-tokenizer of "
            f"{tokenizer.name}, so its token counts are the same: {rows} are exact for it."
        )
    else:
        text = (
            f"Judging by its name, '{tokenizer.model}' uses the tokenizer {tokenizer.name}, so "
            f"{rows} should be exact for it. Its files were not compared: {tokenizer.reason}"
        )
    show(sentences(text))
