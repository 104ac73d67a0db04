"""Check a row of RULER's cwe without the code that makes rows (section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator

from ruler_builder.families.audit import AuditContext, check_list
from ruler_builder.suites.wording import filled
from ruler_common.rows import Row


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a cwe row: counts of the list, words shared with the text."""
    yield from check_list(row, about, about.params.counts(about.entry["max_length"]))
    frame = filled(about.templates, n=about.params.num_cw)
    wording = f"{frame.head}{frame.tail}{frame.prefix}".casefold()
    example = row["input"][: row["context_start"]].removesuffix(frame.head).casefold().split()
    for word in row["outputs"]:
        if word.casefold() in wording:
            yield f"the reference '{word}' occurs in the wording around the list"
        if about.params.examples and word.casefold() in example:
            yield f"the reference '{word}' occurs in the solved example too"
