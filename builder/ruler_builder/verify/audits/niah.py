"""Audit a row of niah: needles, keys, values, references, evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ruler_builder.verify.audits.shared import (
    AuditInputs,
    check_no_stray_references,
    check_spans,
    context_of,
    longest_line,
    pattern_of,
)
from ruler_common.rows import Row

STRINGS = {
    "words": r"[^\W\d_]+-[^\W\d_]+",
    "numbers": r"[1-9][0-9]{6}",
    "uuids": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
}
"""How a key or a value of each type is written."""


def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Yield what is wrong with a niah row: needles, keys, values, references, evidence."""
    params = inputs.params
    context, start = context_of(row), row["context_start"]
    template = inputs.templates["needle"].replace("{types}", params.value_type)
    needle = pattern_of(template, key=STRINGS[params.key_type], value=STRINGS[params.value_type])
    needles = list(needle.finditer(context))
    asked = _asked_keys(row, inputs)
    if len(set(asked)) != params.queries:
        yield f"the question asks for {len(set(asked))} keys, not {params.queries}"
    values: dict[str, list[str]] = {}
    for match in needles:
        values.setdefault(match["key"], []).append(match["value"])
    for value, times in Counter(match["value"] for match in needles).items():
        if times > 1:
            yield f"value '{value}' occurs in {times} needles"
    references = [
        sorted(row["outputs"][at : at + params.values])
        for at in range(0, len(row["outputs"]), params.values)
    ]
    if references != [sorted(values.get(key, [])) for key in asked]:
        yield f"the references {row['outputs']} are not the values of {asked}, in this order"
    yield from check_no_stray_references(row)
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
    for key, key_values in values.items():
        if len(key_values) != (params.values if key in keys else 1):
            yield f"key '{key}' occurs in {len(key_values)} needles"
    for key in asked:
        if context.count(key) != sum(match[0].count(key) for match in needles):
            yield f"the asked key '{key}' occurs in the context outside its needles"
    if params.haystack == "needles":
        yield from inputs.check_full(row, longest_line(context.split("\n"), inputs.count))
    elif params.haystack == "noise":
        noise = inputs.noise
        yield from inputs.check_full(row, inputs.count(f"{noise}\n{noise}") - inputs.count(noise))


def _asked_keys(row: Row, inputs: AuditInputs) -> list[str]:
    """Return the keys that the question asks for, in its order; none if it is another question."""
    params = inputs.params
    many = params.queries * params.values > 1
    types = params.value_type
    question = inputs.templates["many" if many else "one"]["question"]
    question = question.replace("{types}", types).replace("{type}", types.removesuffix("s"))
    key = STRINGS[params.key_type]
    keys = key if params.queries == 1 else rf"(?:{key}, )+and {key}"
    match = pattern_of(question, query=keys).fullmatch(row["question"])
    return [part.removeprefix("and ") for part in match["query"].split(", ")] if match else []
