"""What `ruler errors` and `ruler analyze` print: plain text, or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ruler_common.terminal import COLUMNS, line_of, sentences, table, width
from ruler_eval.analysis.complexity import Panel
from ruler_eval.analysis.errors import KINDS
from ruler_eval.report.table_parts import number, picked, titled

_CAUTION = 0.6  # a correlation by chance that is worth a word
_SHOWN = 60  # characters of a reference or an answer in an example


def errors(found: Sequence[dict[str, Any]], markdown: bool = False) -> str:
    """Return a row for each configuration and kind.

    Rows, share of the wrong ones; below it an example.
    """
    if not found:
        return "No wrong answers."
    rows = []
    for config in dict.fromkeys(error["config"] for error in found):
        wrong = [error for error in found if error["config"] == config]
        for kind in KINDS:
            same = [error for error in wrong if error["kind"] == kind]
            if same:
                row = {"configuration": config, "kind": kind, "rows": str(len(same))}
                row["share"] = f"{100 * len(same) / len(wrong):.0f} %"
                rows.append({**row, "mean": _detail(kind, same), "an example": _example(same[0])})
    columns = ["configuration", "kind", "rows", "share", "mean", *["an example"] * markdown]
    kinds = [kind for kind in KINDS if any(error["kind"] == kind for error in found)]
    meanings = "\n".join(sentences(f"{kind}: {KINDS[kind]}", markdown) for kind in kinds)
    header, cells = picked(rows, columns)
    left = (0, 1, len(header) - 1) if markdown else (0, 1)
    below = [_indented(row["an example"]) for row in rows]
    parts = [table(header, cells, markdown, left, below), meanings]
    parts.append(from_memory(found, markdown))
    return "\n\n".join(filter(None, parts))


def from_memory(found: Sequence[dict[str, Any]], markdown: bool = False) -> str:
    """Return the share of wrong answers that are the model's own without documents.

    "" where not known.
    """
    known = [error for error in found if "memory" in error]
    rows = []
    for config in dict.fromkeys(error["config"] for error in known):
        wrong = [error for error in known if error["config"] == config]
        same = sum(error["kind"] == "from memory" for error in wrong)
        rows.append([config, str(len(wrong)), str(same), f"{100 * same / len(wrong):.0f} %"])
    title = "Wrong answers that are the model's own without documents (RULER, section 5)"
    return titled(title, ["configuration", "wrong", "from memory", "share"], rows, markdown)


def _detail(kind: str, errors: Sequence[dict[str, Any]]) -> str:
    """How many of n were found, or how near the distractor stood to the gold."""
    gaps = [error["gap"] for error in errors if error["gap"] is not None]
    if gaps:
        return f"{100 * sum(gaps) / len(gaps):.0f} % of depth away"
    if kind == "incomplete":
        found = sum(error["found"] for error in errors) / len(errors)
        of = sum(error["of"] for error in errors) / len(errors)
        return f"{found:.1f} of {of:.1f}"
    return ""


def _example(error: dict[str, Any]) -> str:
    wanted = _short(", ".join(error["outputs"]))
    given = "nothing" if error["prediction"] is None else repr(_short(error["prediction"]))
    whose = ""
    if error.get("needle"):
        whose = f", at {100 * error['depth']:.0f} %: {_short(error['needle'])}"
    return f"row {error['index']}: {wanted} <- {given}{whose}".replace("|", "/")


def _indented(example: str) -> str:
    """Return an example below its row.

    What does not fit the line is left out, and a sign says so.
    """
    line = "  " + line_of(example)
    if width(line) <= COLUMNS:
        return line
    while width(line) > COLUMNS - 1:
        line = line[:-1]
    return line + "…"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def correlation(found: Mapping[str, Any], markdown: bool = False) -> str:
    """Return the tables of `ruler analyze`.

    The matrix in leaf order, then the clusters as they join.

    A cluster is a range of the matrix's rows: the leaves of a dendrogram's branch stand together.
    """
    tasks, number_of = found["tasks"], len(found["observations"])
    place = {task: i for i, task in enumerate(tasks, 1)}
    matrix = [
        [f"{i} {task}", *(f"{r:.2f}" for r in row)]
        for i, (task, row) in enumerate(zip(tasks, found["correlation"], strict=True), 1)
    ]
    merges = [
        [
            *(_range(place[task] for task in side) for side in merge["clusters"]),
            f"{merge['distance']:.3f}",
        ]
        for merge in found["merges"]
    ]
    parts = [f"Correlation over {number_of} pairs of model and length"]
    if found["by_chance"] >= _CAUTION:
        caution = (
            f"Caution: with {number_of} observations tasks that have nothing to do with each other "
            f"reach ±{found['by_chance']:.2f} in one case of twenty."
        )
        parts.append(sentences(caution, markdown))
    parts.append(table(["task", *map(str, range(1, len(tasks) + 1))], matrix, markdown))
    if merges:
        parts += ["Clusters as they join, by their rows above (average linkage of 1 − r)"]
        parts += [table(["cluster", "joins", "distance"], merges, markdown, left=(0, 1))]
    if found["constant"]:
        same = f"Never change, so correlate with nothing: {', '.join(found['constant'])}"
        parts.append(sentences(same, markdown))
    if found["left_out"]:
        parts.append(f"Left out, because tasks are missing there: {len(found['left_out'])} pairs")
    return "\n\n".join(parts)


def complexity(found: Sequence[Panel], markdown: bool = False) -> str:
    """Return a table for each panel of Figures 2 and 3: the parameter's values by lengths."""
    parts = []
    for panel in found:
        rows = [
            [line.value, line.task, *(number(line.scores.get(length)) for length in panel.lengths)]
            for line in panel.lines
        ]
        parameter = panel.title.rpartition(": ")[2]
        header = [parameter, "task", *(length.upper() for length in panel.lengths)]
        title = line_of(f"{panel.title} ({panel.tokenizer})", markdown)
        parts += [title, table(header, rows, markdown, left=(0, 1))]
    return "\n\n".join(parts)


def _range(rows: Iterable[int]) -> str:
    """`3` or `3-5`."""
    ends = sorted(rows)
    return "-".join(map(str, dict.fromkeys((ends[0], ends[-1]))))
