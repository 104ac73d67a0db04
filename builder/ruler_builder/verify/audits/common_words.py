"""Audit a row of cwe, or of ONERULER's cwe_easy and cwe_hard: the counts of a numbered list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ruler_builder.verify.audits.shared import MAX_COUNTED, AuditInputs, context_of, fold
from ruler_common.rows import Row

_ITEM = re.compile(r"(?:^| )(\d+)\. ")


def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Yield what is wrong with a cwe row: counts of the list, words shared with the text."""
    yield from audit_list(row, inputs)
    templates, number = inputs.templates, inputs.params.num_cw
    head, _, tail = templates["input"].partition("{context}")
    head = head.format(n=number)
    tail = tail.format(n=number, question=templates["question"].format(n=number))
    wording = f"{head}{tail}{templates['prefix'].format(n=number)}".casefold()
    example = row["input"][: row["context_start"]].removesuffix(head).casefold().split()
    for word in row["outputs"]:
        if word.casefold() in wording:
            yield f"the reference '{word}' occurs in the wording around the list"
        if inputs.params.examples and word.casefold() in example:
            yield f"the reference '{word}' occurs in the solved example too"


def audit_list(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Yield what is wrong with a numbered list whose common words are the references.

    Each common word appears `times.common` times and every other word `times.uncommon` times, which
    is fewer; no common word is part of another word. This is the whole audit of a row of ONERULER.
    """
    times = inputs.params.counts(inputs.entry["max_length"])
    common, words = row["outputs"], list_items(context_of(row))
    if words is None:
        yield "the context is not a list numbered from 1"
        return
    tally = Counter(words)
    if len(common) != inputs.params.num_cw or len(set(common)) != len(common):
        yield f"there are {len(set(common))} references, not {inputs.params.num_cw}"
    for word in common:
        if tally[word] != times.common:
            yield f"the common word '{word}' appears {tally[word]} times, not {times.common}"
    for word in tally.keys() - set(common):
        if tally[word] != times.uncommon:
            yield f"the word '{word}' appears {tally[word]} times, not {times.uncommon}"
            break
    folded = {fold(word) for word in tally}
    if len(folded) < len(tally):
        yield "two words differ only in case or width"
    joined = "\n".join(folded)
    for word in common:
        if joined.count(fold(word)) > 1:
            yield f"reference '{word}' is part of another word of the list"
    if row["evidence"]:
        yield "a list has no needles, but there is evidence"
    if not inputs.entry["exhausted"]:
        longest = sorted(tally, key=len)[-MAX_COUNTED:]
        unit = max((inputs.count(f" {len(words) + 1}. {word}") for word in longest), default=0)
        yield from inputs.check_full(row, unit * times.uncommon * 5 // 4)


def list_items(text: str) -> list[str] | None:
    """Return the words of a numbered list `1. word 2. word …`; None if it is not one."""
    parts = _ITEM.split(text)
    words, numbers = parts[2::2], parts[1::2]
    if parts[0] or numbers != [str(number) for number in range(1, len(words) + 1)]:
        return None
    return words
