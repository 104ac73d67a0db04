"""Read RULER's niah back: noise, essays or needle lines with the task's needles, nothing else.

    One of the special magic numbers for able-cat is: 1234567.

Section 3.1 and Table 5: what types keys and values have, how many there are, and who is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from builder.checks.breaches import FileRules, context_of, pattern_of
from builder.checks.grammar.reading import Reading, framed, spans
from builder.checks.grammar.running_text import running_text
from builder.checks.sources_at_hand import key_words
from builder.sources.corpora import NOISE
from ruler_dataset import Row

STRINGS = {
    "words": r"[^\W\d_]+-[^\W\d_]+",
    "numbers": r"[1-9][0-9]{6}",
    "uuids": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
}
"""How a key or a value of each type is written."""
_LONGEST, _SLACK = 32, 2  # lines counted; tokens that a line may have more where it meets another


def read_niah(row: Row, about: FileRules) -> Reading:
    """Read a niah row back."""
    reading, task = Reading(), about.task
    template = about.wording["needle"].replace("{types}", task["value_type"])
    kinds = {"key": STRINGS[task["key_type"]], "value": STRINGS[task["value_type"]]}
    needle = pattern_of(template, **kinds)
    asked = _frame(reading, row, about)
    context, start = context_of(row), row["context_start"]
    found = list(needle.finditer(context))
    for match in found:
        for name in ("key", "value"):
            if task[f"{name}_type"] == "words" and not _of_the_lists(match[name]):
                reading.fault(f"the {name} '{match[name]}' is not of the word lists")
    values: dict[str, list[str]] = {}
    for match in found:
        values.setdefault(match["key"], []).append(match["value"])
    chunks = [sorted(values.get(key, [])) for key in asked]
    per_key, outputs = task["values"], row["outputs"]
    given = [sorted(outputs[i : i + per_key]) for i in range(0, len(outputs), per_key)]
    if given != chunks:
        reading.fault(f"the references {outputs} are not the values of {asked}, in this order")
    at = [(start + m.start(), start + m.end(), m["key"] in asked) for m in found]
    if about.alone:
        expected = task["keys"] * task["values"]
        between = " " if task["haystack"] == "essay" else "\n"
        if len(found) != expected or len(values) != task["keys"]:
            reading.fault(f"there are {len(found)} needles of {len(values)} keys, not {expected}")
        if context != between.join(match[0] for match in found):
            reading.fault("there is more than the evidence")
        spans(reading, row, at)
        return reading
    if task["haystack"] == "needles":
        lines = _needle_lines(reading, row, context, needle, at)
        longest = sorted(lines, key=len)[-_LONGEST:]
        reading.unit = max(about.count("\n" + line) for line in longest) * 5 // 4 + _SLACK
        return reading
    if len(found) != task["keys"] * task["values"] or len(values) != task["keys"]:
        expected = task["keys"] * task["values"]
        reading.fault(f"the context has {len(found)} needles of {len(values)} keys, not {expected}")
    spans(reading, row, at)
    if task["haystack"] == "noise":
        needles = {match[0] for match in found}
        for line in dict.fromkeys(context.split("\n")):
            if line != NOISE and line not in needles:
                reading.fault(f"a line is neither noise nor a needle: {line[:80]!r}")
        if len(needles) < len(found) or context.count("\n" + NOISE) < 1:
            reading.fault("a needle stands twice, or there is no noise")
        reading.unit = about.count(f"{NOISE}\n{NOISE}") - about.count(NOISE)
        return reading
    gaps = [(match.start(), match.end()) for match in found]
    running_text(reading, context, gaps, " ", template, about.sources.essays(), about.count)
    reading.origin = "essays"
    for key in asked:
        if key in (reading.text or ""):
            reading.fault(f"the asked key '{key}' stands in the essays' text")
    return reading


def _needle_lines(
    reading: Reading,
    row: Row,
    context: str,
    needle: re.Pattern[str],
    at: list[tuple[int, int, bool]],
) -> list[str]:
    """Every line is a needle; the evidence are the asked ones among them. Returns the lines."""
    lines = context.split("\n")
    for line in lines:
        if needle.fullmatch(line) is None:
            reading.fault(f"a line is no needle: {line[:80]!r}")
            break
    spans(reading, row, [span for span in at if span[2] or _is_evidence(row, span)])
    if not any(span[2] for span in at):
        reading.fault("no line has the asked key")
    return lines


def _is_evidence(row: Row, span: tuple[int, int, bool]) -> bool:
    """Whether a distractor is entered in the evidence, as the task's further keys are."""
    return any((e["start"], e["end"]) == span[:2] for e in row["evidence"])


def _frame(reading: Reading, row: Row, about: FileRules) -> list[str]:
    """Hold the text around the context to the wording; returns the asked keys, in their order."""
    task = about.task
    many = task["queries"] * task["values"] > 1
    template: Mapping[str, Any] = about.wording["many" if many else "one"]
    names = {"types": task["value_type"], "type": task["value_type"].removesuffix("s")}
    key = STRINGS[task["key_type"]]
    list_of_keys = key if task["queries"] == 1 else rf"(?:{key}, )+and {key}"
    question = template["question"]
    for name, word in names.items():
        question = question.replace(f"{{{name}}}", word)
    match = pattern_of(question, query=list_of_keys).fullmatch(row["question"])
    if match is None:
        reading.fault(f"the question is not the wording's: {row['question'][:80]!r}")
        return []
    query = match["query"]
    asked = [part.removeprefix("and ") for part in query.split(", ")]
    if len(set(asked)) != task["queries"]:
        reading.fault(f"the question asks for {len(set(asked))} keys, not {task['queries']}")
    names["query"] = query
    question = template["question"].format(**names)
    head, tail = template["input"].split("{context}")
    framed(
        reading,
        row,
        head.format(**names),
        tail.format(question=question, **names),
        prefix=template["prefix"].format(**names),
        question=question,
    )
    return asked


def _of_the_lists(pair: str) -> bool:
    adjectives, nouns = key_words()
    adjective, _, noun = pair.partition("-")
    return adjective in adjectives and noun in nouns
