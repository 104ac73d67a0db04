"""Check a row of RULER's vt without the code that makes rows (section 3.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ruler_builder.families.audit import AuditContext, check_spans, context_of, only_in_evidence
from ruler_builder.families.variable_tracking.params import ChainParams
from ruler_builder.sources.corpora import NOISE
from ruler_common.rows import Row

# A line that assigns a name to another name ends with a space, as in the reference code.
_LINE = re.compile(r"VAR ([A-Z]+) = (?:([1-9][0-9]{4})|VAR ([A-Z]+) )")
_SENTENCE = re.compile(r"VAR ([A-Z]+) = (?:([1-9][0-9]{4})|VAR ([A-Z]+))\.")


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a vt row: chains, names, references, evidence."""
    params: ChainParams = about.params
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
    yield from only_in_evidence(row)
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
        unit = about.count(f"{NOISE}\n{NOISE}") - about.count(NOISE)
        if params.layout == "2024":
            unit = about.count(f"{NOISE}\n {NOISE}\n {NOISE}") - about.count(NOISE)
        yield from about.not_full(row, unit)
