"""Read RULER's niah back: noise, essays or needle lines with the task's needles, nothing else.

    One of the special magic numbers for able-cat is: 1234567.

Section 3.1 and Table 5: what types keys and values have, how many there are, and who is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial
from heapq import nlargest
from itertools import chain

from ruler_builder.families.niah.params import niah_frame
from ruler_builder.reading.breaches import FileRules, context_of, pattern_of
from ruler_builder.reading.reading import Reading, framed, only_in_evidence, spans
from ruler_builder.reading.running_text import running_text
from ruler_builder.reading.sources_at_hand import key_words
from ruler_builder.sources.corpora import NOISE
from ruler_common.rows import Row

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
        reading.ambiguous(f"the references {outputs} are not the values of {asked}, in this order")
    at = [(start + m.start(), start + m.end(), m["key"] in asked) for m in found]
    expected = task["keys"] * task["values"]
    evidence = {(e["start"], e["end"]) for e in row["evidence"]}  # the task's further keys' too
    drawn = {m["key"] for m, span in zip(found, at, strict=True) if span[:2] in evidence}
    _unambiguous(reading, values, drawn, per_key)
    only_in_evidence(reading, row)
    if about.alone:
        between = " " if task["haystack"] == "essay" else "\n"
        if len(found) != expected or len(values) != task["keys"]:
            reading.fault(f"there are {len(found)} needles of {len(values)} keys, not {expected}")
        if context != between.join(match[0] for match in found):
            reading.fault("there is more than the evidence")
        spans(reading, row, at)
        return reading
    if task["haystack"] == "needles":  # the evidence are the asked ones among the lines
        lines = context.split("\n")
        if (other := next((one for one in lines if not needle.fullmatch(one)), None)) is not None:
            reading.fault(f"a line is no needle: {other[:80]!r}")
        spans(reading, row, [span for span in at if span[2] or span[:2] in evidence])
        if (there := len(row["evidence"])) != expected:
            reading.ambiguous(f"{there} needles are in evidence, not {expected}")
        longest = nlargest(_LONGEST, lines, key=len)
        reading.unit = max(about.count("\n" + line) for line in longest) * 5 // 4 + _SLACK
        return reading
    if len(found) != expected or len(values) != task["keys"]:
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
        reading.unit_least = reading.unit - _SLACK
        return reading
    gaps = [(match.start(), match.end()) for match in found]
    running_text(reading, context, gaps, " ", template, about.sources.essays(), about.count)
    reading.origin = "essays"
    for key in asked:
        if key in (reading.text or ""):
            reading.fault(f"the asked key '{key}' stands in the essays' text")
    return reading


def _unambiguous(
    reading: Reading, values: Mapping[str, list[str]], drawn: Collection[str], per_key: int
) -> None:
    """A key of the task stands in as many needles as it has values, any other string in one."""
    for key, found in values.items():
        right = per_key if key in drawn else 1
        if len(found) != right:
            reading.ambiguous(f"key '{key}' stands in {len(found)} needles, not {right}")
    for value, times in Counter(chain.from_iterable(values.values())).items():
        if times > 1:
            reading.ambiguous(f"value '{value}' stands in {times} needles")


def _frame(reading: Reading, row: Row, about: FileRules) -> list[str]:
    """Hold the text around the context to the wording; returns the asked keys, in their order."""
    task = about.task
    many = task["queries"] * task["values"] > 1
    frame = partial(niah_frame, about.wording, task["value_type"], many)
    key = STRINGS[task["key_type"]]
    list_of_keys = key if task["queries"] == 1 else rf"(?:{key}, )+and {key}"
    match = pattern_of(frame("{query}").question, query=list_of_keys).fullmatch(row["question"])
    if match is None:
        reading.ambiguous(f"the question is not the wording's: {row['question'][:80]!r}")
        return []
    asked = [part.removeprefix("and ") for part in match["query"].split(", ")]
    if len(set(asked)) != task["queries"]:
        reading.fault(f"the question asks for {len(set(asked))} keys, not {task['queries']}")
    framed(reading, row, frame(match["query"]))
    return asked


def _of_the_lists(pair: str) -> bool:
    adjectives, nouns = key_words()
    adjective, _, noun = pair.partition("-")
    return adjective in adjectives and noun in nouns
