"""Audit a row of vt: chains, names, references, evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ruler_builder.verify.audits.shared import (
    AuditInputs,
    check_no_stray_references,
    check_spans,
    context_of,
)
from ruler_common.rows import Row

# A line that assigns a name to another name ends with a space, as in the reference code.
_LINE = re.compile(r"VAR ([A-Z]+) = (?:([1-9][0-9]{4})|VAR ([A-Z]+) )")
_SENTENCE = re.compile(r"VAR ([A-Z]+) = (?:([1-9][0-9]{4})|VAR ([A-Z]+))\.")


def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Yield what is wrong with a vt row: chains, names, references, evidence."""
    params = inputs.params
    context, start = context_of(row), row["context_start"]
    pattern = _SENTENCE if params.haystack == "essay" else _LINE
    assignments = list(pattern.finditer(context))
    value_of: dict[str, str] = {}
    for match in assignments:
        name, value, source = match.groups()
        if name in value_of:
            yield f"variable '{name}' is assigned more than once"
        elif source and source not in value_of:
            yield f"'{source}' is used before it is assigned"
        elif len(name) != params.name_letters:
            yield f"the name '{name}' does not have {params.name_letters} letters"
        value_of.setdefault(name, value or value_of.get(source, ""))
    asked = re.search(r"[1-9][0-9]{4}", row["question"])
    value = asked[0] if asked else ""
    chain = [name for name, end in value_of.items() if end == value]
    if row["outputs"] != chain:
        yield f"the references {row['outputs']} are not the names bound to '{value}', in order"
    sizes = sorted(Counter(value_of.values()).values())
    if sizes != [params.hops + 1] * params.chains:
        yield f"there are chains of {sizes} names, not {params.chains} of {params.hops + 1}"
    yield from check_no_stray_references(row)
    yield from check_spans(
        row, [(start + m.start(), start + m.end(), value_of[m[1]] == value) for m in assignments]
    )
    example = row["input"][:start]
    for name in sorted(set(re.findall(r"VAR ([A-Z]+) =", example))):
        if holding := [output for output in row["outputs"] if name in output]:
            yield f"the example's name '{name}' is part of '{holding[0]}'"
    if value in example:
        yield f"the asked value {value} occurs in the example too"
    if params.haystack == "noise":
        noise = inputs.noise
        unit = inputs.count(f"{noise}\n{noise}") - inputs.count(noise)
        if params.layout == "2024":
            unit = inputs.count(f"{noise}\n {noise}\n {noise}") - inputs.count(noise)
        yield from inputs.check_full(row, unit)
