"""A row made from its prompt alone, for files that hold prompts and no evidence.

    row_of_prompt("A special magic … is: 1234567. …", ["1234567"], niah.FAMILY)

Context, needles and gold documents are found by the wording that their family has for them, that of
the reference code's templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruler_eval.families.answer_text import find_whole
from ruler_eval.families.family import Family
from ruler_eval.frozen_release import PartialRow


def row_of_prompt(
    prompt: str, outputs: Sequence[str], family: Family, columns: Mapping[str, Any] | None = None
) -> PartialRow:
    """The row's input, context (character offsets), references and evidence.

    `columns` may hold them as a release has them (an exported row does); then they are taken.
    """
    columns = columns or {}
    row: PartialRow = {"input": prompt, "outputs": list(outputs)}
    row["none_word"] = columns.get("none_word")
    if {"context_start", "context_end", "evidence"} <= columns.keys():
        names = ("context_start", "context_end", "evidence", "question")
        return row | {name: columns[name] for name in names if name in columns}
    head, tail = family.before_context, family.after_context
    found = prompt.rfind(head) if head else -1
    start = found + len(head) if found >= 0 else 0
    found = prompt.rfind(tail, start) if tail else -1
    end = found if found > start else len(prompt)
    row |= {"context_start": start, "context_end": end}
    row["evidence"] = list(_evidence(row, family.evidence)) if family.evidence else []
    return row


def _evidence(row: PartialRow, pattern: re.Pattern[str]) -> Iterator[dict[str, Any]]:
    start, end = row["context_start"], row["context_end"]
    wanted = [reference.casefold() for reference in row["outputs"]]
    for match in pattern.finditer(row["input"], start, end):
        text = match[match.lastindex or 0].casefold()
        whole = bool(match.lastindex)
        gold = text in wanted if whole else any(find_whole(word, text) >= 0 for word in wanted)
        if not (whole or gold):
            continue  # a document without the reference is no evidence
        yield {
            "start": match.start(),
            "end": match.end(),
            "depth": (match.start() - start) / max(1, end - start),
            "answer": gold,
        }
