"""Check a row of ONERULER's cwe without the code that makes rows (section 2)."""

from __future__ import annotations

from collections.abc import Iterator

from ruler_builder.families.audit import AuditContext, check_list
from ruler_common.rows import Row


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a cwe row: the counts of the words in the list."""
    yield from check_list(row, about, about.params.counts(about.entry["max_length"]))
