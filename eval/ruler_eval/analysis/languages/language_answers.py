"""What ONERULER's answers hold: reasoning, words right, prompt tokens, kinds of errors.

ONERULER (arXiv:2503.01996), Figures 6B, 18 to 20, 23 and 24, from the cells of a results.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from typing_extensions import TypedDict

from ruler_common.names import GROUPS, languages_of
from ruler_eval.score.results_file import Cell, lengths_of

Cells = Mapping[str, Cell]
NIAH = GROUPS["oneruler"]["niah"]


class WordsRight(TypedDict):
    """How many of the ten words a model's cwe answers held; three kinds of rows apart.

    `wrong` is the mean of rows that ended by themselves and were wrong, as in Figure 23.
    """

    length: str
    task: str
    right_rows: int
    wrong_rows: int
    wrong: float | None
    truncated_rows: int
    truncated: float | None


def reasoning(cells: Cells) -> list[dict[str, Any]]:
    """Mean reasoning tokens of right and of wrong niah answers by length (Figure 20)."""
    found = []
    for length in lengths_of(cells.values()):
        tokens: dict[bool, list[int]] = {True: [], False: []}
        for cell in cells.values():
            known = cell["rows"].get("thinking_tokens")
            if cell["task"] in NIAH and cell["length"] == length and known:
                for count, score in zip(known, cell["rows"]["score"], strict=True):
                    if count is not None:
                        tokens[score == 1].append(count)
        if tokens[True] or tokens[False]:
            right, wrong = _mean(tokens[True]), _mean(tokens[False])
            found.append({"length": length, "right": right, "wrong": wrong})
    return found


def words_right(cells: Cells) -> list[WordsRight]:
    """How many of the ten words were right, by length and task (Figure 23)."""
    found: list[WordsRight] = []
    for length, task in product(lengths_of(cells.values()), GROUPS["oneruler"]["cwe"]):
        words: dict[str, list[int]] = {"right": [], "wrong": [], "truncated": []}
        for cell in cells.values():
            if (cell["length"], cell["task"]) != (length, task):
                continue
            rows, cut = cell["rows"], set(cell["rows"]["truncated"])
            columns = (rows["index"], rows["score"], rows["found"])
            for index, score, count in zip(*columns, strict=True):
                kind = "truncated" if index in cut else "right" if score == 1 else "wrong"
                words[kind].append(count)
        if any(words.values()):
            found.append(
                {
                    "length": length,
                    "task": task,
                    "right_rows": len(words["right"]),
                    "wrong_rows": len(words["wrong"]),
                    "wrong": _mean(words["wrong"]),
                    "truncated_rows": len(words["truncated"]),
                    "truncated": _mean(words["truncated"]),
                }
            )
    return found


def prompt_tokens(cells: Cells) -> dict[str, dict[str, float]]:
    """Mean prompt tokens as the model counted them, by length, then languages (Figure 24).

    Of models with several tokenizers on one release these are the same texts.
    """
    found: dict[str, dict[str, float]] = {}
    groups: dict[tuple[str, str], list[int]] = {}
    for cell in cells.values():
        known = [count for count in cell["rows"].get("prompt_tokens", []) if count]
        groups.setdefault((cell["length"], languages_of(cell)), []).extend(known)
    for (length, languages), counts in groups.items():
        if counts:
            found.setdefault(length, {})[languages] = sum(counts) / len(counts)
    return found


def error_kinds(
    errors: Iterable[Mapping[str, Any]], place: Callable[[Mapping[str, Any]], str]
) -> dict[str, dict[str, int]]:
    """The kinds of errors by what `place` says of each: language, task (Figures 6B, 18 and 19)."""
    found: dict[str, Counter[str]] = {}
    for error in errors:
        found.setdefault(place(error), Counter())[str(error["kind"])] += 1
    return {name: dict(kinds.most_common()) for name, kinds in sorted(found.items())}


def _mean(values: list[int]) -> float | None:
    return sum(values) / len(values) if values else None
