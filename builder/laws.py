"""The laws of a release, row by row, from the row and the manifest alone (laws 1 to 4).

    for breach in breaches(row, rules):
        breach.law, breach.what           # 3, "key 'able-cat' occurs in 2 needles, not 1"

Each family's context is read back by the wording in the manifest: needles, assignments, numbered
words, documents. Law 5 is checked across files and law 6 on the bytes, in verify.py.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Breach(NamedTuple):
    """A law a row breaks, and how."""

    law: int
    what: str


@dataclass(frozen=True)
class Rules:
    """What a file's rows are held to, from the manifest."""

    entry: Mapping[str, Any]
    task: Mapping[str, Any]
    wording: Mapping[str, Any]
    reserve: int


Row = Mapping[str, Any]


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


def _pattern(template: str, **groups: str) -> re.Pattern[str]:
    """A template as a pattern: each {name} is the group of that name."""
    pattern = re.escape(template)
    for name, group in groups.items():
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P<{name}>{group})", 1)
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P={name})")
    return re.compile(pattern)


def _context(row: Row) -> str:
    return row["input"][row["context_start"] : row["context_end"]]


def _texts(row: Row, answer: bool) -> list[str]:
    return [
        row["input"][span["start"] : span["end"]]
        for span in row["evidence"]
        if span["answer"] is answer
    ]


def _niah(row: Row, rules: Rules) -> Iterator[Breach]:
    context, task = _context(row), rules.task
    needle = _pattern(rules.wording["needle"], types=r"\w+", key=r"\S+", value=r"\S+")
    found = [(match["key"], match["value"]) for match in needle.finditer(context)]
    values = Tally(value for _, value in found)
    keys = Tally(key for key, _ in found)
    asked = {key for key, value in found if value in row["outputs"]}
    for value in (value for value, times in values.items() if times > 1):
        yield Breach(3, f"value '{value}' stands in {values[value]} needles")
    drawn = {
        match["key"]
        for text in _texts(row, True) + _texts(row, False)
        if (match := needle.fullmatch(text))
    }
    for key, times in keys.items():
        expected = task["values"] if key in drawn else 1
        if times != expected:
            yield Breach(3, f"key '{key}' stands in {times} needles, not {expected}")
    for key in asked:
        if not re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", row["question"]):
            yield Breach(3, f"key '{key}' is not asked, but its value is a reference")
        if set(row["outputs"]).isdisjoint(value for k, value in found if k == key):
            yield Breach(3, f"key '{key}' has no value among the references")
    if len(asked) != task["queries"] or len(row["outputs"]) != task["queries"] * task["values"]:
        yield Breach(3, f"{len(asked)} keys asked with {len(row['outputs'])} references")
    full = task["haystack"] == "needles"
    expected = task["keys"] * task["values"]
    if len(row["evidence"]) != expected or (not full and len(found) != expected):
        yield Breach(3, f"{len(found)} needles, {len(row['evidence'])} in evidence, not {expected}")
    for answer in (True, False):
        for text in _texts(row, answer):
            match = needle.fullmatch(text)
            if match is None:
                yield Breach(4, f"evidence holds no needle: '{text[:80]}'")
            elif (match["value"] in row["outputs"]) is not answer:
                yield Breach(4, f"evidence '{text[:80]}' is marked answer={answer}")
    yield from _only_in_evidence(row, context)


def _only_in_evidence(row: Row, context: str) -> Iterator[Breach]:
    carrying = _texts(row, True)
    for output in row["outputs"]:
        there, known = context.count(output), sum(text.count(output) for text in carrying)
        if there != known or not known:
            yield Breach(3, f"reference '{output}' occurs {there} times, {known} in evidence")


def _variable_tracking(row: Row, rules: Rules) -> Iterator[Breach]:
    context, task = _context(row), rules.task
    lines = re.findall(r"^VAR (\w+) = (?:VAR (\w+)|(\d+))$", context, re.MULTILINE)
    names = Tally(name for name, _, _ in lines)
    values = Tally(value for _, _, value in lines if value)
    for name in (name for name, times in names.items() if times > 1):
        yield Breach(3, f"variable '{name}' is assigned {names[name]} times")
    for value in (value for value, times in values.items() if times > 1):
        yield Breach(3, f"value '{value}' is assigned {values[value]} times")
    bound, asked = [], re.search(r"\d+", row["question"])
    for name, source, value in lines:
        if (asked and value == asked[0]) or source in bound:
            bound.append(name)
    if bound != row["outputs"]:
        yield Breach(3, f"the chain binds {bound}, the references are {row['outputs']}")
    expected = task["chains"] * (task["hops"] + 1)
    if len(lines) != expected or len(row["evidence"]) != expected:
        yield Breach(3, f"{len(lines)} assignments, {len(row['evidence'])} in evidence")
    for answer in (True, False):
        for text in _texts(row, answer):
            match = re.fullmatch(r"VAR (\w+) = \S.*", text)
            if match is None or (match[1] in bound) is not answer:
                yield Breach(4, f"evidence '{text[:80]}' is marked answer={answer}")
    yield from _only_in_evidence(row, context)


def _common_words(row: Row, rules: Rules) -> Iterator[Breach]:
    items = re.findall(r"(\d+)\. (\S+)", _context(row))
    if [int(number) for number, _ in items] != list(range(1, len(items) + 1)):
        yield Breach(3, "the list is not numbered from 1 in order")
    tally = Tally(word.casefold() for _, word in items)
    short = "short_" if row["max_length"] < 4096 else ""
    common, uncommon = rules.task[f"{short}freq_cw"], rules.task[f"{short}freq_ucw"]
    yield from _leading(row, tally, [common] * rules.task["num_cw"])
    odd = [word for word, times in tally.items() if times not in (common, uncommon)]
    if odd:
        yield Breach(3, f"word '{odd[0]}' appears {tally[odd[0]]} times")


def _frequent_words(row: Row, rules: Rules) -> Iterator[Breach]:
    tally = Tally(_context(row).split(" "))
    noise, times = tally.most_common(1)[0]
    if noise != "...":
        yield Breach(3, f"the most frequent word is '{noise}', not the noise word")
    del tally[noise]
    counts = sorted(tally.values(), reverse=True)[: rules.task["words"]]
    yield from _leading(row, tally, counts)
    if counts and times <= counts[0]:
        yield Breach(3, f"the noise word appears {times} times, the next {counts[0]}")


def _leading(row: Row, tally: Mapping[str, int], counts: list[int]) -> Iterator[Breach]:
    """The references have these counts, strictly above every other word's, and are part of none."""
    asked = {output.casefold(): output for output in row["outputs"]}
    found = sorted((tally.get(word, 0) for word in asked), reverse=True)
    if found != counts:
        yield Breach(3, f"the references appear {found} times, not {counts}")
    best = max((times for word, times in tally.items() if word not in asked), default=0)
    if found and best >= found[-1]:
        yield Breach(3, f"a tie: another word appears {best} times, a reference {found[-1]}")
    joined = "\n".join(tally)
    for word, output in asked.items():
        if joined.count(word) != 1:
            yield Breach(3, f"reference '{output}' is part of another word of the list")


def _question_answering(row: Row, rules: Rules) -> Iterator[Breach]:
    context = _context(row)
    before, after = rules.wording["document"].split("{document}")
    label = _pattern(before, i=r"\d+")
    numbers = [int(match["i"]) for match in label.finditer(context)]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Breach(3, "the documents are not numbered from 1 in order")
    answers = [output.casefold() for output in row["outputs"]]
    gold = [(row["input"][s["start"] : s["end"]], s["answer"]) for s in row["evidence"]]
    if not gold:
        yield Breach(4, "no gold document in evidence")
    holding = [any(answer in text.casefold() for answer in answers) for text, _ in gold]
    for (text, answer), holds in zip(gold, holding, strict=True):
        if context.count(text) != 1:
            yield Breach(3, f"gold document '{text[:60]}' occurs {context.count(text)} times")
        if answer is not (holds or not any(holding)):
            yield Breach(4, f"gold document '{text[:60]}' is marked answer={answer}")
    for span in row["evidence"]:
        head = row["input"][: span["start"]]
        foot = row["input"][span["end"] :]
        if not re.search(label.pattern + r"\Z", head[-40:]) or not foot.startswith(after + "\n\n"):
            yield Breach(4, f"evidence {span['start']}…{span['end']} is not a whole document")


FAMILIES: dict[str, Callable[[Row, Rules], Iterator[Breach]]] = {
    "niah": _niah,
    "variable_tracking": _variable_tracking,
    "common_words": _common_words,
    "frequent_words": _frequent_words,
    "question_answering": _question_answering,
}
