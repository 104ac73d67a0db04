"""Check the rows of RULER's five task families, read back with the wording in the manifest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from builder.checks.breaches import (
    Breach,
    FileRules,
    Law,
    context_of,
    leading,
    only_in_evidence,
    pattern_of,
    texts_of,
)
from builder.tasks.task_rules import list_counts
from ruler_dataset import Row


def _niah(row: Row, rules: FileRules) -> Iterator[Breach]:
    context, task = context_of(row), rules.task
    needle = pattern_of(rules.wording["needle"], types=r"\w+", key=r"\S+", value=r"\S+")
    found = [(match["key"], match["value"]) for match in needle.finditer(context)]
    values = Counter(value for _, value in found)
    keys = Counter(key for key, _ in found)
    asked = {key for key, value in found if value in row["outputs"]}
    for value in (value for value, times in values.items() if times > 1):
        yield Breach(Law.UNAMBIGUOUS, f"value '{value}' stands in {values[value]} needles")
    drawn = {
        match["key"]
        for text in texts_of(row, True) + texts_of(row, False)
        if (match := needle.fullmatch(text))
    }
    for key, times in keys.items():
        expected = task["values"] if key in drawn else 1
        if times != expected:
            yield Breach(Law.UNAMBIGUOUS, f"key '{key}' stands in {times} needles, not {expected}")
    for key in asked:
        if not re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", row["question"]):
            yield Breach(Law.UNAMBIGUOUS, f"key '{key}' is not asked, but its value is a reference")
        if set(row["outputs"]).isdisjoint(value for k, value in found if k == key):
            yield Breach(Law.UNAMBIGUOUS, f"key '{key}' has no value among the references")
    if len(asked) != task["queries"] or len(row["outputs"]) != task["queries"] * task["values"]:
        yield Breach(
            Law.UNAMBIGUOUS, f"{len(asked)} keys asked with {len(row['outputs'])} references"
        )
    full = task["haystack"] == "needles"
    expected = task["keys"] * task["values"]
    if len(row["evidence"]) != expected or (not full and len(found) != expected):
        yield Breach(
            Law.UNAMBIGUOUS,
            f"{len(found)} needles, {len(row['evidence'])} in evidence, not {expected}",
        )
    for answer in (True, False):
        for text in texts_of(row, answer):
            match = needle.fullmatch(text)
            if match is None:
                yield Breach(Law.POSITIONS, f"evidence holds no needle: '{text[:80]}'")
            elif (match["value"] in row["outputs"]) is not answer:
                yield Breach(Law.POSITIONS, f"evidence '{text[:80]}' is marked answer={answer}")
    yield from only_in_evidence(row, context)


_ASSIGNMENTS = {
    "2025": r"^VAR (\w+) = (?:VAR (\w+) |(\d+))$",
    "2024": r"VAR (\w+) = (?:VAR (\w+) |(\d+))(?= |\Z)",
    "essay": r"VAR (\w+) = (?:VAR (\w+)|(\d+))\.",
}
"""An assignment in each layout: its name, and the name or the value that is assigned."""


def _variable_tracking(row: Row, rules: FileRules) -> Iterator[Breach]:
    context, task = context_of(row), rules.task
    in_essays = task["haystack"] == "essay"
    pattern = _ASSIGNMENTS["essay" if in_essays else task["layout"]]
    lines = re.findall(pattern, context, re.MULTILINE)
    names = Counter(name for name, _, _ in lines)
    values = Counter(value for _, _, value in lines if value)
    for name in (name for name, times in names.items() if times > 1):
        yield Breach(Law.UNAMBIGUOUS, f"variable '{name}' is assigned {names[name]} times")
    for value in (value for value, times in values.items() if times > 1):
        yield Breach(Law.UNAMBIGUOUS, f"value '{value}' is assigned {values[value]} times")
    bound, asked = [], re.search(r"\d+", row["question"])
    for name, source, value in lines:
        if (asked and value == asked[0]) or source in bound:
            bound.append(name)
    if bound != row["outputs"]:
        yield Breach(
            Law.UNAMBIGUOUS, f"the chain binds {bound}, the references are {row['outputs']}"
        )
    expected = task["chains"] * (task["hops"] + 1)
    if len(lines) != expected or len(row["evidence"]) != expected:
        yield Breach(
            Law.UNAMBIGUOUS, f"{len(lines)} assignments, {len(row['evidence'])} in evidence"
        )
    for answer in (True, False):
        for text in texts_of(row, answer):
            own = r"VAR (\w+) = (?:VAR \w+|\d+)\." if in_essays else r"VAR (\w+) = (?:VAR \w+ |\d+)"
            match = re.fullmatch(own, text)
            if match is None or (match[1] in bound) is not answer:
                yield Breach(Law.POSITIONS, f"evidence '{text[:80]}' is marked answer={answer}")
    yield from only_in_evidence(row, context)


def _common_words(row: Row, rules: FileRules) -> Iterator[Breach]:
    items = re.findall(r"(\d+)\. (\S+)", context_of(row))
    if [number for number, _ in items] != [str(i + 1) for i in range(len(items))]:
        yield Breach(Law.UNAMBIGUOUS, "the list is not numbered from 1 in order")
    tally = Counter(word.casefold() for _, word in items)
    common, uncommon = list_counts("common_words", rules.task, row["max_length"])
    yield from leading(row["outputs"], tally, [common] * rules.task["num_cw"])
    odd = [word for word, times in tally.items() if times not in (common, uncommon)]
    if odd:
        yield Breach(Law.UNAMBIGUOUS, f"word '{odd[0]}' appears {tally[odd[0]]} times")


def _frequent_words(row: Row, rules: FileRules) -> Iterator[Breach]:
    tally = Counter(context_of(row).split(" "))
    noise, times = tally.most_common(1)[0]
    if noise != "...":
        yield Breach(Law.UNAMBIGUOUS, f"the most frequent word is '{noise}', not the noise word")
    del tally[noise]
    counts = sorted(tally.values(), reverse=True)[: rules.task["words"]]
    yield from leading(row["outputs"], tally, counts)
    if counts and times <= counts[0]:
        yield Breach(Law.UNAMBIGUOUS, f"the noise word appears {times} times, the next {counts[0]}")


def _question_answering(row: Row, rules: FileRules) -> Iterator[Breach]:
    context = context_of(row)
    if rules.task["no_documents"]:  # the grammar holds the whole prompt to its wording
        return
    before, after = rules.wording["document"].split("{document}")
    label = pattern_of(before, i=r"\d+")
    numbers = [match["i"] for match in label.finditer(context)]
    if numbers != [str(i + 1) for i in range(len(numbers))]:
        yield Breach(Law.UNAMBIGUOUS, "the documents are not numbered from 1 in order")
    answers = [output.casefold() for output in row["outputs"]]
    gold = [(row["input"][s["start"] : s["end"]], s["answer"]) for s in row["evidence"]]
    if not gold:
        yield Breach(Law.POSITIONS, "no gold document in evidence")
    holding = [any(answer in text.casefold() for answer in answers) for text, _ in gold]
    for (text, answer), holds in zip(gold, holding, strict=True):
        if context.count(text) != 1:
            yield Breach(
                Law.UNAMBIGUOUS, f"gold document '{text[:60]}' occurs {context.count(text)} times"
            )
        if answer is not (holds or not any(holding)):
            yield Breach(Law.POSITIONS, f"gold document '{text[:60]}' is marked answer={answer}")
    for span in row["evidence"]:
        head = row["input"][: span["start"]]
        foot = row["input"][span["end"] :]
        if not re.search(label.pattern + r"\Z", head[-40:]) or not foot.startswith(after + "\n\n"):
            yield Breach(
                Law.POSITIONS, f"evidence {span['start']}…{span['end']} is not a whole document"
            )


FAMILIES: dict[str, Callable[[Row, FileRules], Iterator[Breach]]] = {
    "niah": _niah,
    "variable_tracking": _variable_tracking,
    "common_words": _common_words,
    "frequent_words": _frequent_words,
    "question_answering": _question_answering,
}
