"""What `ruler sources` shows: the sources' states, the books' rights and the audit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from builder.console import err, out, table
from builder.errata import errata
from builder.sources import restricted


@contextmanager
def steps_bar(verb: str, steps: int) -> Iterator[Callable[[], None]]:
    """A progress bar over so many steps; call it after each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(verb, total=steps)
        yield lambda: bar.advance(task)


def show_sources(dataset: str, states: list[dict[str, Any]]) -> None:
    """Each source of ruler with its state; of oneruler one row a language."""
    if dataset == "ruler":
        columns = ("source", "state", "variant", "bytes", "licence")
        table("", *columns, rows=[tuple(state[key] for key in columns) for state in states])
        return
    languages: dict[str, list[dict[str, Any]]] = {}
    for state in states:
        languages.setdefault(state["language"] or "nouns", []).append(state)
    rows = [
        (
            code,
            _state(files),
            sum(file["bytes"] for file in files),
            "perhaps not" if files[0]["restricted"] else "",
            next((f["title"] for f in files if f["source"].startswith("book-")), files[0]["title"]),
        )
        for code, files in languages.items()
    ]
    out.print()
    table("", "oneruler", "state", "bytes", "free everywhere", "book", rows=rows)


def _state(files: list[dict[str, Any]]) -> str:
    kinds = {file["state"] for file in files}
    if len(kinds) == 1:
        return kinds.pop()
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
        "Missing ones: ruler sources fetch, or name a folder with --mirror. Without them, the"
    )
    out.print("project's own texts: --sources embedded.")


def show_audit(found: dict[str, Any], tokenizer: str, as_json: bool) -> None:
    """The findings of builder.audit as tables, or as JSON."""
    if as_json:
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return
    faults: dict[str, list[str]] = {}
    for fault in found["faults"]:
        faults.setdefault(fault["erratum"], []).append(fault["language"])
    known = {erratum.id: erratum.what for erratum in errata()}
    rows: list[tuple[Any, ...]]
    rows = [(id, _listed(codes), known.get(id, "")) for id, codes in faults.items()]
    table("Faults that are mended on reading", "erratum", "languages", "what", rows=rows)
    out.print()
    kept = [(said["language"], said["file"], said["what"]) for said in found["wording"]]
    table("Kept as published", "language", "file", "what", rows=kept)
    out.print()
    columns = {
        "language": "language",
        "characters": "characters",
        "sentences": "sentences",
        "longest_sentence": "longest",
        "tokens": "tokens",
        "begun_at_128k": "begun at 128k",
    }
    rows = [tuple(book[key] for key in columns) for book in found["books"]]
    table(f"Books; tokens by {tokenizer}", *columns.values(), rows=rows)
    out.print()
    noise = {
        "spaced_letters": "words with their letters apart",
        "mixed_words": "words in two scripts",
        "note_marks": "marks of footnotes",
        "long_numbers": "numbers of seven digits or more",
    }
    rows = [
        (book["language"], book[key], what)
        for book in found["books"]
        for key, what in noise.items()
        if book[key]
    ]
    table("Noise in the books", "language", "count", "what", rows=rows)
    out.print()
    columns = {"language": "language", "entries": "entries", "words": "words of cwe"}
    columns |= {"with_spaces": "with spaces"}
    rows = [
        (*(row[key] for key in columns), ", ".join(dict.fromkeys(row["scripts"].values())))
        for row in found["dictionaries"]
    ]
    table("Dictionaries (en: wonderwords)", *columns.values(), "scripts", rows=rows)
    out.print(f"\nNouns that are unique in all languages: {found['nouns']['kept']} of 100.")
    for disagreement in found["disagreements"]:
        out.print(disagreement, markup=False)
    if not found["disagreements"]:
        out.print("The errata and the files agree.")


def _listed(codes: list[str]) -> str:
    return " ".join(codes) if len(codes) < 25 else f"all {len(codes)}"
