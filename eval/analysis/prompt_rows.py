"""A row made from its prompt alone, for files that hold prompts and no evidence.

    row_of_prompt("A special magic … is: 1234567. …", ["1234567"], "niah_single_1", None)

Context, needles and gold documents are found by the wording of the reference code's templates; in
ONERULER's niah tasks every number of seven digits is a needle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eval.frozen_release import Row

_NEEDLE = re.compile(r"One of the special magic \w+ for [^\n]{1,120}? is: ([\w-]+)\.")
_NUMBER = re.compile(r"(?<!\d)\d{7}(?!\d)")
_ASSIGNMENT = re.compile(r"VAR ([A-Z]+) = (?:VAR [A-Z]+|\d+)")
_HEADS = {
    "vt": "hidden in the following text.",
    "cwe": "Memorize the ones that appear most often.",
    "fwe": "most frequently appeared coded words.",
    "qa": "The following are given documents.",
    "niah": "afterwards.",
}
"""The last words before the context; an example before it ends with the same words."""
_TAILS = {
    "qa": "Answer the question based on the given documents.",
    "niah": "What ",
}
"""The first words after the context; "Question:" where none are here."""


def row_of_prompt(
    prompt: str,
    outputs: Sequence[str],
    task: str,
    language: str | None,
    columns: Mapping[str, Any] | None = None,
) -> Row:
    """The row's input, context (character offsets), references and evidence.

    `columns` may hold them as a release has them (an exported row does); then they are taken.
    """
    columns = columns or {}
    row: Row = {"input": prompt, "outputs": list(outputs), "none_word": columns.get("none_word")}
    if {"context_start", "context_end", "evidence"} <= columns.keys():
        names = ("context_start", "context_end", "evidence", "question")
        return row | {name: columns[name] for name in names if name in columns}
    start, end = 0, len(prompt)
    if language is None:
        family = task.split("_")[0]
        head = prompt.rfind(_HEADS.get(family, ""))
        start = head + len(_HEADS[family]) if head >= 0 and family in _HEADS else 0
        tail = prompt.rfind(_TAILS.get(family, "Question:"), start)
        end = tail if tail > start else len(prompt)
    row |= {"context_start": start, "context_end": end}
    row["evidence"] = list(_evidence(row, task, language))
    return row


def _evidence(row: Row, task: str, language: str | None) -> list[dict[str, Any]]:
    start, end = row["context_start"], row["context_end"]
    text, wanted = row["input"], [reference.casefold() for reference in row["outputs"]]
    if task.startswith("niah"):
        pattern = _NEEDLE if language is None else _NUMBER
    elif task == "vt":
        pattern = _ASSIGNMENT
    elif task.startswith("qa"):
        pattern = re.compile(r"Document \d+:\n(?:(?!\n\nDocument \d+:\n).)+", re.DOTALL)
    else:
        return []
    found = []
    for match in pattern.finditer(text, start, end):
        value = match[match.lastindex or 0].casefold()
        gold = value in wanted
        if task.startswith("qa"):
            gold = any(reference in value for reference in wanted)
        found.append(
            {
                "start": match.start(),
                "end": match.end(),
                "depth": (match.start() - start) / max(1, end - start),
                "answer": gold,
            }
        )
    return found
