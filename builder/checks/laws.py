"""Check one row of a release: its length, its window, its references and its evidence.

    for breach in breaches(row, tokens, rules):
        breach.law.title, breach.what     # "unambiguous", "key 'able-cat' stands in 2 needles"

Each task family's context is read back with the wording in the manifest: needles, assignments,
numbered words, documents. What needs several files, or their bytes, is checked in verify.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from builder.checks import oneruler_laws as oneruler
from builder.checks import ruler_laws as ruler
from builder.checks.breaches import Breach, FileRules, Law
from builder.tasks.wording import perfect_answers
from ruler_dataset import Row

_Column = Literal["task", "max_length", "language", "instruction_language"]
_OF_THE_FILE: tuple[_Column, ...] = ("task", "max_length", "language", "instruction_language")
FAMILIES = {**ruler.FAMILIES, **oneruler.FAMILIES}


def breaches(row: Row, tokens: int, rules: FileRules) -> Iterator[Breach]:
    """Every breach in one row, whose `input` + `answer_prefix` have `tokens` tokens."""
    yield from _length(row, tokens, rules)
    yield from _spans(row, rules)
    yield from _references(row)
    yield from FAMILIES[rules.task["family"]](row, rules)


def unanswerable(
    row: Row, counts: Callable[[Sequence[str]], list[int]], rules: FileRules
) -> Iterator[Breach]:
    """A row none of whose right answers fits `max_new_tokens`; `counts` gives texts' tokens."""
    family = rules.task["family"]
    end = row["input"][row["context_end"] :] if family in oneruler.FAMILIES else ""
    needed = min(counts(perfect_answers(family, row["outputs"], end)), default=0)
    if needed > row["max_new_tokens"]:
        yield Breach(
            Law.ANSWERABLE,
            f"the right answer takes {needed} tokens, max_new_tokens is {row['max_new_tokens']}",
        )


def _length(row: Row, tokens: int, rules: FileRules) -> Iterator[Breach]:
    entry = rules.entry
    for column in _OF_THE_FILE:
        if row[column] != entry[column]:
            yield Breach(
                Law.LENGTH, f"{column} is {row[column]!r}, the file's is {entry[column]!r}"
            )
    if row["length"] != tokens + row["max_new_tokens"]:
        yield Breach(
            Law.LENGTH, f"length is {row['length']}, counted {tokens + row['max_new_tokens']}"
        )
    if row["max_new_tokens"] != rules.task["max_new_tokens"]:
        yield Breach(Law.LENGTH, f"max_new_tokens is {row['max_new_tokens']}")
    if rules.alone:
        return
    spare = row["max_length"] - rules.reserve - row["length"]
    if spare < 0:
        yield Breach(Law.LENGTH, f"over-long by {-spare} tokens")
    if spare >= entry["unit"] and not entry["exhausted"]:
        yield Breach(
            Law.FULL, f"{spare} tokens are free, a unit of the haystack has {entry['unit']}"
        )


def _spans(row: Row, rules: FileRules) -> Iterator[Breach]:
    start, end, text = row["context_start"], row["context_end"], row["input"]
    if rules.task.get("no_documents") and 0 < start == end < len(text) and not row["evidence"]:
        return
    if not 0 < start < end < len(text):
        yield Breach(Law.POSITIONS, f"the context {start}…{end} lies outside the input")
        return
    if row["question"] not in text[end:]:
        yield Breach(Law.POSITIONS, "the question does not follow the context")
    for span in row["evidence"]:
        depth = (span["start"] - start) / (end - start)
        if not start <= span["start"] < span["end"] <= end:
            yield Breach(
                Law.POSITIONS, f"evidence {span['start']}…{span['end']} lies outside the context"
            )
        elif not abs(depth - span["depth"]) <= 1e-5:  # no number is neither
            yield Breach(Law.POSITIONS, f"depth {span['depth']:.5f} should be {depth:.5f}")


def _references(row: Row) -> Iterator[Breach]:
    outputs = row["outputs"]
    if not outputs:
        yield Breach(Law.UNAMBIGUOUS, "no reference")
    if row["task"].startswith("qa"):
        return  # annotators' answers overlap by nature
    for one in outputs:
        if sum(one.casefold() in other.casefold() for other in outputs) > 1:
            yield Breach(Law.UNAMBIGUOUS, f"reference '{one}' is part of another")


def asked(row: Row, rules: FileRules) -> tuple[str, str]:
    """A scope, and what the row asks as JSON; rows of one index and scope must ask the same.

    Rows of a task ask the same at every length and under every tokenizer: the scope is then empty.
    Word lists of ONERULER differ from language to language: their scope is the language.
    """
    if rules.task["family"] in oneruler.ASKED:
        scope, found = oneruler.ASKED[rules.task["family"]](row, rules)
    else:
        scope, found = "", [row["question"], row["outputs"]]
    return scope, json.dumps(found, ensure_ascii=False)
