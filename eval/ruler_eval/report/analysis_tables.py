"""Write the tables of `ruler errors`, and of `ruler analyze` for RULER, as text or Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ruler_common.text import (
    COLUMNS,
    line_of,
    number,
    number_of,
    picked,
    sentences,
    table,
    titled,
    width,
)
from ruler_eval.analysis.errors import KINDS

if TYPE_CHECKING:
    from ruler_eval.analysis.complexity import Panel

_CORRELATION_NOTE = """Lengths of one model are not independent: scores of most tasks fall with the
length, so tasks that measure different things correlate too."""
_MAX_EXAMPLE = 60  # characters of a reference or an answer in an example

Error = Mapping[str, Any]
"""A wrong row, as `ruler errors --out` writes it."""


# ---- Errors --------------------------------------------------------------------------------------


def errors(wrong_rows: Sequence[Error], markdown: bool = False) -> str:
    """Return a row for each configuration and kind: rows, share of the wrong ones, an example."""
    if not wrong_rows:
        return "No wrong answers."
    by_config: dict[str, dict[str, list[Error]]] = {}
    kinds = set()
    for error in wrong_rows:
        by_kind = by_config.setdefault(error["config"], {})
        by_kind.setdefault(error["kind"], []).append(error)
        kinds.add(error["kind"])
    rows, examples = [], []
    for config, by_kind in by_config.items():
        wrong = sum(map(len, by_kind.values()))
        for kind in KINDS:
            if kind not in by_kind:
                continue
            same = by_kind[kind]
            example = _example(same[0])
            rows.append(
                {
                    "configuration": config,
                    "kind": kind,
                    "rows": str(len(same)),
                    "share": f"{100 * len(same) / wrong:.0f} %",
                    "mean": _detail(kind, same),
                    "an example": example,
                }
            )
            examples.append(_indented(example))
    columns = ["configuration", "kind", "rows", "share", "mean"]
    if markdown:
        columns.append("an example")
    header, cells = picked(rows, columns)
    left_aligned = (0, 1, len(header) - 1) if markdown else (0, 1)
    meanings = [sentences(f"{kind}: {KINDS[kind]}", markdown) for kind in KINDS if kind in kinds]
    parts = [table(header, cells, markdown, left_aligned, examples), "\n".join(meanings)]
    if memory := _from_memory(by_config, markdown):
        parts.append(memory)
    return "\n\n".join(parts)


def _from_memory(by_config: Mapping[str, Mapping[str, list[Error]]], markdown: bool) -> str:
    """Return the share of wrong answers that equal the model's answer without documents.

    The text is empty if there are no answers without documents.
    """
    rows = []
    for config, by_kind in by_config.items():
        compared = [error for same in by_kind.values() for error in same if "memory" in error]
        if compared:
            same = sum(error["kind"] == "from memory" for error in compared)
            share = f"{100 * same / len(compared):.0f} %"
            rows.append([config, str(len(compared)), str(same), share])
    title = "Wrong answers equal to the answer without documents (RULER, section 5)"
    return titled(title, ["configuration", "wrong", "from memory", "share"], rows, markdown)


def _detail(kind: str, same: Sequence[Error]) -> str:
    """Return the mean distance of distractors from the right evidence, or how many were right."""
    gaps = [error["gap"] for error in same if error["gap"] is not None]
    if gaps:
        return f"{100 * sum(gaps) / len(gaps):.0f} % of depth away"
    if kind == "incomplete":
        right = sum(error["found"] for error in same) / len(same)
        wanted = sum(error["of"] for error in same) / len(same)
        return f"{right:.1f} of {wanted:.1f}"
    return ""


def _example(error: Error) -> str:
    """Return a row's references and the answer, shortened."""
    references, answer = _shortened(", ".join(error["outputs"])), "nothing"
    if error["prediction"] is not None:
        answer = repr(_shortened(error["prediction"]))
    text = f"row {error['index']}: {references} <- {answer}"
    if error.get("needle"):
        text += f", at {100 * error['depth']:.0f} %: {_shortened(error['needle'])}"
    return text.replace("|", "/")


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_EXAMPLE else text[: _MAX_EXAMPLE - 1] + "…"


def _indented(example: str) -> str:
    """Return an example as one line below its row; "…" ends one that is too long."""
    line = "  " + line_of(example)
    if width(line) <= COLUMNS:
        return line
    while width(line) > COLUMNS - 1:
        line = line[:-1]
    return line + "…"


# ---- RULER's figures -----------------------------------------------------------------------------


def correlation(analysis: Mapping[str, Any], markdown: bool = False) -> str:
    """Return the matrix in leaf order, then the clusters in the order in which they join.

    A cluster is a range of the matrix's rows, because the leaves of a branch are neighbours.
    """
    tasks, pairs = analysis["tasks"], len(analysis["observations"])
    matrix = []
    for line, (task, row) in enumerate(zip(tasks, analysis["correlation"], strict=True), 1):
        matrix.append([f"{line} {task}", *(f"{r:.2f}" for r in row)])
    parts = [f"Correlation over {pairs} pairs of model and length"]
    parts.append(sentences(_CORRELATION_NOTE, markdown))
    parts.append(table(["task", *map(str, range(1, len(tasks) + 1))], matrix, markdown))
    merges = []
    for merge in analysis["merges"]:
        row = []
        for cluster in merge["clusters"]:
            lines = sorted(1 + tasks.index(task) for task in cluster)
            row.append(str(lines[0]) if len(lines) == 1 else f"{lines[0]}-{lines[-1]}")
        merges.append([*row, f"{merge['distance']:.3f}"])
    if merges:
        parts.append("Clusters as they join, by their rows above (average linkage of 1 − r)")
        parts.append(table(["cluster", "joins", "distance"], merges, markdown, left=(0, 1)))
    if analysis["constant"]:
        constant = f"Left out, because their scores never change: {', '.join(analysis['constant'])}"
        parts.append(sentences(constant, markdown))
    if analysis["left_out"]:
        pairs_left_out = number_of(len(analysis["left_out"]), "pair")
        parts.append(f"Left out, because tasks are missing: {pairs_left_out}")
    return "\n\n".join(parts)


def complexity(panels: Sequence[Panel], markdown: bool = False) -> str:
    """Return a table for each panel of Figures 2 and 3: the parameter's values by lengths."""
    parts = []
    for panel in panels:
        rows = []
        for line in panel.lines:
            scores = [number(line.scores.get(length)) for length in panel.lengths]
            rows.append([line.value, line.task, *scores])
        parameter = panel.title.rpartition(": ")[2]
        header = [parameter, "task", *map(str.upper, panel.lengths)]
        title = f"{panel.title} ({panel.tokenizer})"
        parts += [line_of(title, markdown), table(header, rows, markdown, left=(0, 1))]
    return "\n\n".join(parts)
