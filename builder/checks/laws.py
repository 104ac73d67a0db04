"""The laws of a release, row by row, from the row and the manifest alone (laws 1 to 4).

    for breach in breaches(row, rules):
        breach.law, breach.what           # 3, "key 'able-cat' occurs in 2 needles, not 1"

Each family's context is read back by the wording in the manifest: needles, assignments, numbered
words, documents. Law 5 is checked across files and law 6 on the bytes, in verify.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from builder.checks import oneruler_laws as oneruler
from builder.checks import ruler_laws as ruler
from builder.checks.breaches import Breach, Row, Rules

__all__ = ["Breach", "Rules", "asked", "breaches", "haystack"]

FAMILIES = {**ruler.FAMILIES, **oneruler.FAMILIES}


def breaches(row: Row, tokens: int, rules: Rules) -> Iterator[Breach]:
    """Every breach of laws 1 to 4 in a row whose input and prefix have so many tokens."""
    yield from _length(row, tokens, rules)
    yield from _spans(row)
    yield from _references(row)
    yield from FAMILIES[rules.task["family"]](row, rules)


def _length(row: Row, tokens: int, rules: Rules) -> Iterator[Breach]:
    entry = rules.entry
    for column in ("task", "max_length", "language", "instruction_language"):
        if row[column] != entry[column]:
            yield Breach(1, f"{column} is {row[column]!r}, the file's is {entry[column]!r}")
    if row["length"] != tokens + row["max_new_tokens"]:
        yield Breach(1, f"length is {row['length']}, counted {tokens + row['max_new_tokens']}")
    if row["max_new_tokens"] != rules.task["max_new_tokens"]:
        yield Breach(1, f"max_new_tokens is {row['max_new_tokens']}")
    spare = row["max_length"] - rules.reserve - row["length"]
    if spare < 0:
        yield Breach(1, f"over-long by {-spare} tokens")
    if spare >= entry["unit"] and not entry["exhausted"]:
        yield Breach(2, f"{spare} tokens are free, a unit of the haystack has {entry['unit']}")


def _spans(row: Row) -> Iterator[Breach]:
    start, end, text = row["context_start"], row["context_end"], row["input"]
    if not 0 < start < end < len(text):
        yield Breach(4, f"the context {start}…{end} lies outside the input")
        return
    if row["question"] not in text[end:]:
        yield Breach(4, "the question does not follow the context")
    for span in row["evidence"]:
        depth = (span["start"] - start) / (end - start)
        if not start <= span["start"] < span["end"] <= end:
            yield Breach(4, f"evidence {span['start']}…{span['end']} lies outside the context")
        elif abs(depth - span["depth"]) > 1e-5:
            yield Breach(4, f"depth {span['depth']:.5f} should be {depth:.5f}")


def _references(row: Row) -> Iterator[Breach]:
    outputs = row["outputs"]
    if not outputs:
        yield Breach(3, "no reference")
    if row["task"].startswith("qa"):
        return  # annotators' answers overlap by nature
    for one in outputs:
        if sum(one.casefold() in other.casefold() for other in outputs) > 1:
            yield Breach(3, f"reference '{one}' is part of another")


def asked(row: Row, rules: Rules) -> tuple[str, str]:
    """What a row asks, and among which rows of its number that must be the same (law 5).

    Rows of a task ask the same at every length and under every tokenizer; where words are parallel
    (ONERULER's niah), in every language.
    """
    if rules.task["family"] in oneruler.ASKED:
        scope, found = oneruler.ASKED[rules.task["family"]](row, rules)
    else:
        scope, found = "", [row["question"], row["outputs"]]
    return scope, json.dumps(found, ensure_ascii=False)


def haystack(row: Row, rules: Rules) -> str | None:
    """The text that all rows of a file must have from its beginning; None if they need not."""
    if rules.task["family"] == "multilingual_niah":
        return oneruler.bare(row, rules)
    return None
