"""What `ruler sources audit` shows: mended faults, what stays, books, dictionaries."""

from __future__ import annotations

import json
import sys
from typing import Any

from builder.common.terminal import out, table
from builder.oneruler.errata import errata


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
