"""What `ruler sources` and `ruler tokenizers` show: what a build reads and counts with."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from ruler_builder.text.sources import Source, State, restricted
from ruler_builder.tokens.model_tokenizer import ModelTokenizer, frozen_datasets
from ruler_common.names import DEFAULT_TOKENIZER
from ruler_common.text import COLUMNS, print_table, sentences, show


def show_sources(dataset: str, states: list[tuple[Source, State]]) -> None:
    """Each source of ruler with its state; of oneruler one row a language."""
    if dataset == "ruler":
        rows = [(source.name, state, source.canonical.file.bytes) for source, state in states]
        licences = [_below(source.canonical.licence) for source, _ in states]
        print_table("", "source", "state", "bytes", rows=rows, below=licences)
        return
    languages: dict[str, list[tuple[Source, State]]] = {}
    for source, state in states:
        languages.setdefault(source.language or "nouns", []).append((source, state))
    perhaps_not_free = restricted()
    by_language = [
        (
            code,
            _state(files),
            sum(source.canonical.file.bytes for source, _ in files),
            "perhaps not" if code in perhaps_not_free else "",
        )
        for code, files in languages.items()
    ]
    books = [
        next((source for source, _ in files if source.name.startswith("book-")), files[0][0])
        for files in languages.values()
    ]
    show()
    columns = ("oneruler", "state", "bytes", "free everywhere")
    titles = [_below(book.canonical.title) for book in books]
    print_table("", *columns, rows=by_language, below=titles)


def _below(text: str) -> str:
    """Return a text in lines below a row."""
    return fill(text, COLUMNS, initial_indent="    ", subsequent_indent="    ")


def _state(files: list[tuple[Source, State]]) -> str:
    kinds = list({state for _, state in files})
    if len(kinds) == 1:
        return kinds[0]
    return ", ".join(f"{source.name} {state}" for source, state in files if state != "present")


def show_rights() -> None:
    """Print what is known about books that may not be free everywhere."""
    show("\nBooks that may not be free everywhere (build leaves them out: --skip-restricted):")
    for code, status in restricted().items():
        show(f"  {code}  {status}")
    show()


def show_remedy() -> None:
    """Print what to do about missing sources."""
    show(
        sentences(
            "Missing ones: ruler sources fetch, or name a folder with --mirror. Without them, the "
            "project's own texts: --sources embedded."
        )
    )


def show_tokenizers(named: dict[str, dict[str, Any]]) -> None:
    """Print the named tokenizers, and the families of models that have them."""
    rows = [
        (name, entry["library"], ", ".join(entry["models"]) or entry["title"])
        for name, entry in named.items()
    ]
    print_table("", "name", "counted by", "of models named", rows=rows)
    show("Any other: --tokenizer NAME=hf:ORG/NAME[@REVISION] or NAME=FOLDER")
    show("Which frozen rows are exact for a model: ruler tokenizers --for MODEL")


def show_model_tokenizer(tokenizer: ModelTokenizer) -> None:
    """Print which frozen rows are exact for a model, or how to build rows that are."""
    if tokenizer.name is None:
        text = (
            f"No frozen rows were fitted with the tokenizer of '{tokenizer.model}'. To build rows "
            "that are exact for it: ruler build custom --tokenizer "
            f"NAME={tokenizer.spec} --lengths 4k"
        )
        show(sentences(text))
        return
    suffix = "" if tokenizer.name == DEFAULT_TOKENIZER else f"_{tokenizer.name}"
    rows = f"frozen rows such as all_8k{suffix} ({' and '.join(frozen_datasets(tokenizer.name))})"
    if tokenizer.proved:
        text = (
            f"'{tokenizer.model}' has the vocabulary, merges and pre-tokenizer of "
            f"{tokenizer.name}, so its token counts are the same: {rows} are exact for it."
        )
    else:
        text = (
            f"By its name, '{tokenizer.model}' has the tokenizer {tokenizer.name}, so {rows} "
            f"should fit it. Its files were not compared: {tokenizer.reason}"
        )
    show(sentences(text))
