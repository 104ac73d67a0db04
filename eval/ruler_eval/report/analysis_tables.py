"""The tables of `ruler correlate`: plain text, or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ruler_common.terminal import line_of, narrow_table, sentences
from ruler_eval.analysis.complexity import Panel
from ruler_eval.report.table_parts import number

_CAUTION = 0.6  # a correlation by chance that is worth a word


def correlation(found: Mapping[str, Any], markdown: bool = False) -> str:
    """The tables of `ruler correlate`: the matrix in leaf order, then the clusters as they join.

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
    parts.append(narrow_table(["task", *map(str, range(1, len(tasks) + 1))], matrix, markdown))
    if merges:
        parts += ["Clusters as they join, by their rows above (average linkage of 1 − r)"]
        parts += [narrow_table(["cluster", "joins", "distance"], merges, markdown, left=(0, 1))]
    if found["constant"]:
        same = f"Never change, so correlate with nothing: {', '.join(found['constant'])}"
        parts.append(sentences(same, markdown))
    if found["left_out"]:
        parts.append(f"Left out, because tasks are missing there: {len(found['left_out'])} pairs")
    return "\n\n".join(parts)


def complexity(found: Sequence[Panel], markdown: bool = False) -> str:
    """A table for each panel of Figures 2 and 3: the parameter's values by lengths."""
    parts = []
    for panel in found:
        rows = [
            [line.value, line.task, *(number(line.scores.get(length)) for length in panel.lengths)]
            for line in panel.lines
        ]
        parameter = panel.title.rpartition(": ")[2]
        header = [parameter, "task", *(length.upper() for length in panel.lengths)]
        title = line_of(f"{panel.title} ({panel.tokenizer})", markdown)
        parts += [title, narrow_table(header, rows, markdown, left=(0, 1))]
    return "\n\n".join(parts)


def _range(rows: Iterable[int]) -> str:
    """`3` or `3-5`."""
    ends = sorted(rows)
    return "-".join(map(str, dict.fromkeys((ends[0], ends[-1]))))
