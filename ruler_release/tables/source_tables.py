"""What `ruler sources` shows: sources, and the books' rights."""

from __future__ import annotations

from textwrap import fill

from ruler_builder.sources.registry import SourceState, restricted
from ruler_common.terminal import COLUMNS, out, print_table, sentences


def show_sources(dataset: str, states: list[SourceState]) -> None:
    """Each source of ruler with its state; of oneruler one row a language."""
    if dataset == "ruler":
        rows = [(s["source"], s["state"], s["bytes"]) for s in states]
        licences = [_below(state["licence"]) for state in states]
        print_table("", "source", "state", "bytes", rows=rows, below=licences)
        return
    languages: dict[str, list[SourceState]] = {}
    for state in states:
        languages.setdefault(state["language"] or "nouns", []).append(state)
    by_language = [
        (
            code,
            _state(files),
            sum(file["bytes"] for file in files),
            "perhaps not" if files[0]["restricted"] else "",
        )
        for code, files in languages.items()
    ]
    books = [
        next((f["title"] for f in files if f["source"].startswith("book-")), files[0]["title"])
        for files in languages.values()
    ]
    out.print()
    columns = ("oneruler", "state", "bytes", "free everywhere")
    print_table("", *columns, rows=by_language, below=list(map(_below, books)))


def _below(text: str) -> str:
    """A text in lines below a row."""
    return fill(text, COLUMNS, initial_indent="    ", subsequent_indent="    ")


def _state(files: list[SourceState]) -> str:
    kinds = list({file["state"] for file in files})
    if len(kinds) == 1:
        return kinds[0]
    odd = [f"{file['source']} {file['state']}" for file in files if file["state"] != "present"]
    return ", ".join(odd)


def show_rights() -> None:
    """What is known of the books that may not be free everywhere."""
    out.print("\nBooks that may not be free everywhere (build leaves them out: --skip-restricted):")
    for code, status in restricted().items():
        out.print(f"  {code}  {status}", highlight=False)
    out.print()


def show_remedy() -> None:
    """What to do about missing sources."""
    out.print(
        sentences(
            "Missing ones: ruler sources fetch, or name a folder with --mirror. Without them, the "
            "project's own texts: --sources embedded."
        )
    )
