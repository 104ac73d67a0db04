"""Check a row of RULER's niah without the code that makes rows (section 3.1 and Table 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ruler_builder.families.audit import (
    AuditContext,
    check_spans,
    context_of,
    longest_line,
    only_in_evidence,
    pattern_of,
)
from ruler_builder.families.niah.params import NiahParams, niah_frame
from ruler_builder.sources.corpora import NOISE
from ruler_common.rows import Row

STRINGS = {
    "words": r"[^\W\d_]+-[^\W\d_]+",
    "numbers": r"[1-9][0-9]{6}",
    "uuids": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
}
"""How a key or a value of each type is written."""


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a niah row: needles, keys, values, references, evidence."""
    params: NiahParams = about.params
    context, start = context_of(row), row["context_start"]
    template = about.templates["needle"].replace("{types}", params.value_type)
    needle = pattern_of(template, key=STRINGS[params.key_type], value=STRINGS[params.value_type])
    needles = list(needle.finditer(context))
    asked = _asked_keys(row, about)
    if len(set(asked)) != params.queries:
        yield f"the question asks for {len(set(asked))} keys, not {params.queries}"
    values: dict[str, list[str]] = {}
    for match in needles:
        values.setdefault(match["key"], []).append(match["value"])
    for value, times in Counter(match["value"] for match in needles).items():
        if times > 1:
            yield f"value '{value}' occurs in {times} needles"
    given = [
        sorted(row["outputs"][at : at + params.values])
        for at in range(0, len(row["outputs"]), params.values)
    ]
    if given != [sorted(values.get(key, [])) for key in asked]:
        yield f"the references {row['outputs']} are not the values of {asked}, in this order"
    yield from only_in_evidence(row)
    drawn = needles
    if params.haystack == "needles":  # the task's own needles are those in the evidence
        listed = {span["start"] - start for span in row["evidence"]}
        drawn = [match for match in needles if match["key"] in asked or match.start() in listed]
    yield from check_spans(
        row, [(start + m.start(), start + m.end(), m["key"] in asked) for m in drawn]
    )
    if len(drawn) != params.keys * params.values:
        yield f"the context has {len(drawn)} needles, not {params.keys * params.values}"
    keys = {match["key"] for match in drawn}
    for key, found in values.items():
        if len(found) != (params.values if key in keys else 1):
            yield f"key '{key}' occurs in {len(found)} needles"
    for key in asked:
        if context.count(key) != sum(match[0].count(key) for match in needles):
            yield f"the asked key '{key}' occurs in the context outside its needles"
    if params.haystack == "needles":
        yield from about.not_full(row, longest_line(context.split("\n"), about.count))
    elif params.haystack == "noise":
        yield from about.not_full(row, about.count(f"{NOISE}\n{NOISE}") - about.count(NOISE))


def _asked_keys(row: Row, about: AuditContext) -> list[str]:
    """Return the keys that the question asks for, in its order; none if it is another question."""
    params: NiahParams = about.params
    many = params.queries * params.values > 1
    question = niah_frame(about.templates, params.value_type, many, "{query}").question
    key = STRINGS[params.key_type]
    keys = key if params.queries == 1 else rf"(?:{key}, )+and {key}"
    match = pattern_of(question, query=keys).fullmatch(row["question"])
    return [part.removeprefix("and ") for part in match["query"].split(", ")] if match else []
