"""Read ONERULER's niah back: a book's sentences with the task's needles between them.

    The special magic number for "apple" is: 1234567.

Section 2 and Figure 9: the published prompt in the instruction's language around a text in the
other or the same one; keys are nouns of the parallel lists, values seven digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from builder.checks.breaches import FileRules, context_of, pattern_of
from builder.checks.grammar.reading import Reading, framed, spans
from builder.checks.grammar.running_text import running_text
from ruler_dataset import Row


def read_book(row: Row, about: FileRules) -> Reading:
    """Read a multilingual niah row back."""
    reading, task = Reading(), about.task
    text = about.languages[about.entry["language"]]
    instruction = about.languages[about.entry["instruction_language"]]
    nouns = "|".join(re.escape(noun) for noun in sorted(text["nouns"], key=len, reverse=True))
    template = text["parts"]["needle"]
    needle = pattern_of(template, key=nouns, value=r"[1-9][0-9]{6}")
    context, start = context_of(row), row["context_start"]
    found = list(needle.finditer(context))
    asked = _frame(reading, row, about, instruction)
    nouns_asked = [text["nouns"][instruction["nouns"].index(noun)] for noun in asked]
    values: dict[str, list[str]] = {}
    for match in found:
        values.setdefault(match["key"], []).append(match["value"])
    if len(values) != task["keys"] or any(len(v) != task["values"] for v in values.values()):
        reading.fault(f"the context has {len(found)} needles of {len(values)} keys")
    expected = [sorted(values.get(noun, [])) for noun in nouns_asked]
    if task["absent"]:
        expected = [[instruction["none_word"]]]
        if any(noun in values for noun in nouns_asked):
            reading.fault(f"the absent key '{nouns_asked[0]}' has a needle")
    size = len(expected[0]) if expected else 1
    outputs = row["outputs"]
    given = [sorted(outputs[i : i + size]) for i in range(0, len(outputs), size or 1)]
    if given != expected:
        reading.fault(f"the references {outputs} are not the values of {asked}, in this order")
    carrying = set() if task["absent"] else set(nouns_asked)
    spans(reading, row, ((start + m.start(), start + m.end(), m["key"] in carrying) for m in found))
    separator = text["separator"]
    source = about.sources.book(about.entry["language"], len(context))
    gaps = [(match.start(), match.end()) for match in found]
    running_text(reading, context, gaps, separator, template, source, about.count)
    reading.origin = f"book-{about.entry['language']}"
    return reading


def _frame(reading: Reading, row: Row, about: FileRules, language: Mapping[str, Any]) -> list[str]:
    """Hold the prompt to the published one; returns the nouns asked for, in their order."""
    task, parts, separator = about.task, language["parts"], language["separator"]
    template = parts["question_one" if task["queries"] == 1 else "question_many"]
    bare = template[template.index(">") + 1 :].strip()
    nouns = "|".join(re.escape(noun) for noun in sorted(language["nouns"], key=len, reverse=True))
    names = {f"query{i + 1}": nouns for i in range(task["queries"])}
    match = pattern_of(bare, **names).fullmatch(row["question"])
    if match is None:
        reading.fault(f"the question is not the prompt's: {row['question'][:80]!r}")
        return []
    asked = template.format(**match.groupdict())
    head, tail = parts["task"].split("{context}")
    if_no = parts["if_no"]
    if not task["none_sentence"]:
        if_no = if_no[if_no.rindex("</") :]
    tail += separator.join([asked, parts["please_list"], if_no])
    tail += parts["answer_prefix"] + separator + parts["answer"]
    framed(
        reading,
        row,
        head,
        tail,
        question=row["question"],
        none_word=language["none_word"] if task["none_sentence"] else "",
    )
    return [match[name] for name in names]
