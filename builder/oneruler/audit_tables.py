"""Print the report of `ruler sources audit`: errors, errors of wording, books, dictionaries."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from builder.common.terminal import out, table
from builder.oneruler.audit import AuditReport
from builder.oneruler.errata import errata
from ruler_dataset import LANGUAGES

_NOISE = {
    "spaced_letters": "words with their letters apart",
    "mixed_words": "words in two scripts",
    "note_marks": "marks of footnotes",
    "long_numbers": "numbers of seven digits or more",
}
"""Measures of a book that are shown where they are not zero."""


def show_audit(found: AuditReport, tokenizer: str, as_json: bool) -> None:
    """Print the report as tables, or as JSON."""
    if as_json:
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return
    faults: dict[str, list[str]] = {}
    for fault in found["faults"]:
        faults.setdefault(fault["erratum"], []).append(fault["language"])
    known = {erratum.id: erratum.what for erratum in errata()}
    rows: list[tuple[Any, ...]]
    rows = [(id, _listed(codes), known.get(id, "")) for id, codes in faults.items()]
    table("Errors that are corrected on reading", "erratum", "languages", "what", rows=rows)
    out.print()
    kept = [(one["language"], one["file"], one["what"]) for one in found["wording"]]
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
    rows = [tuple(book.get(key, "") for key in columns) for book in found["books"]]
    table(f"Books; tokens by {tokenizer}", *columns.values(), rows=rows)
    out.print()
    rows = [
        (book["language"], count, what)
        for book in found["books"]
        for key, what in _NOISE.items()
        if (count := book["measures"][key])
    ]
    table("Noise in the books", "language", "count", "what", rows=rows)
    out.print()
    rows = [
        (
            row["language"],
            row["entries"],
            row["words"],
            row["with_spaces"],
            ", ".join(dict.fromkeys(row["scripts"].values())),
        )
        for row in found["dictionaries"]
    ]
    columns_shown = ("language", "entries", "words of cwe", "with spaces", "scripts")
    table("Dictionaries (en: wonderwords)", *columns_shown, rows=rows)
    out.print(f"\nNouns that keys are drawn from: {found['kept_nouns']} of 100.")
    for disagreement in found["disagreements"]:
        out.print(disagreement, markup=False)
    if not found["disagreements"]:
        out.print("The errata and the files agree.")


def _listed(codes: Sequence[str]) -> str:
    every = len(LANGUAGES) - 1  # the dictionaries' errata do not apply to English
    return " ".join(codes) if len(codes) < every else f"all {len(codes)}"
