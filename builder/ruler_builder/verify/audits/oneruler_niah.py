"""Audit a row of ONERULER's niah tasks: needles, references, evidence."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from ruler_builder.verify.audits.shared import (
    AuditInputs,
    check_no_stray_references,
    check_spans,
    context_of,
    fold,
    pattern_of,
)
from ruler_common.rows import Row

_LONG_NUMBER = re.compile(r"\d\d{6,}")  # in any script; found faster than by \d{7,}


def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Yield what is wrong with a multilingual niah row: needles, references, evidence."""
    params = inputs.params
    text = inputs.languages[inputs.entry["language"]]
    instruction = inputs.languages[inputs.entry["instruction_language"]]
    context, start = context_of(row), row["context_start"]
    pattern = pattern_of(
        text["parts"]["needle"], key=_one_of(text["nouns"]), value=r"[1-9][0-9]{6}"
    )
    needles = list(pattern.finditer(context))
    values: dict[str, list[str]] = {}
    for match in needles:
        values.setdefault(match["key"], []).append(match["value"])
    if sorted(map(len, values.values())) != [params.values] * params.keys:
        yield f"the context has {len(needles)} needles of {len(values)} keys"
    asked = _asked_nouns(row, params, instruction)
    if len(set(asked)) != params.queries:
        yield f"the question asks for {len(set(asked))} nouns, not {params.queries}"
    nouns = [text["nouns"][instruction["nouns"].index(noun)] for noun in asked]
    expected = [sorted(values.get(noun, [])) for noun in nouns]
    if params.absent:
        expected, carrying = [[instruction["none_word"]]], set()
        for noun in nouns:
            for key in values:
                if fold(noun) in fold(key) or fold(key) in fold(noun):
                    yield f"the absent key '{noun}' occurs in a needle as '{key}'"
    else:
        carrying = set(nouns)
        yield from check_no_stray_references(row)
    size = max(1, len(expected[0])) if expected else 1
    outputs = row["outputs"]
    if [sorted(outputs[at : at + size]) for at in range(0, len(outputs), size)] != expected:
        yield f"the references {outputs} are not the right ones for {asked}, in this order"
    none_word = instruction["none_word"] if params.none_sentence else ""
    if row["none_word"] != none_word:
        yield f"none_word is '{row['none_word']}', not '{none_word}'"
    yield from check_spans(
        row, [(start + m.start(), start + m.end(), m["key"] in carrying) for m in needles]
    )
    runs = " ".join(unicodedata.normalize("NFKC", run) for run in _LONG_NUMBER.findall(context))
    for value, times in Counter(match["value"] for match in needles).items():
        if times > 1 or runs.count(value) != 1:
            yield f"value '{value}' occurs elsewhere in the context too"


def _asked_nouns(row: Row, params: Any, instruction: Any) -> list[str]:
    """Return the nouns that the question asks for, in its order; none if it is another question."""
    names = {f"query{place + 1}": _one_of(instruction["nouns"]) for place in range(params.queries)}
    template = instruction["parts"]["question_one" if params.queries == 1 else "question_many"]
    question = template[template.index(">") + 1 :].strip()
    match = pattern_of(question, **names).fullmatch(row["question"])
    return [match[name] for name in names] if match else []


def _one_of(nouns: Collection[str]) -> str:
    """Return a regular expression for any of these nouns, a longer one before its beginnings."""
    return "|".join(re.escape(noun) for noun in sorted(nouns, key=len, reverse=True))
