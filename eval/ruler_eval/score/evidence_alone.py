"""Scores relative to the control `0k`: what a long context leaves of what a model can do at all.

At `0k` a row asks the same with its evidence alone, so a low score there says that the task is not
understood, and a score that falls from there that the length is not. Both are in percent:

    mark_relative(cells)                   # cells["vt_4k"]["relative_to_0k"] = 87.5
    mean_relative(cells_of_a_length, cells)      # the mean over tasks by their mean at 0k
"""

from __future__ import annotations

from collections.abc import Mapping

from ruler_common.names import EVIDENCE_ALONE, languages_of
from ruler_eval.score.results_file import Cell

Cells = Mapping[str, Cell]
Place = tuple[str, str | None, str]


def is_alone(cell: Cell) -> bool:
    """Whether a cell is of the control, which has no window."""
    return cell["length"] == EVIDENCE_ALONE


def mark_relative(cells: Cells) -> None:
    """Enter `relative_to_0k` in every cell whose task has a score above 0 at `0k`."""
    alone = _alone(cells)
    for cell in cells.values():
        control = alone.get(_place(cell))
        if not is_alone(cell) and cell["score"] is not None and control:
            cell["relative_to_0k"] = 100 * cell["score"] / control


def mean_relative(here: Cells, cells: Cells) -> float | None:
    """The mean score of some cells by the mean of their tasks at `0k`; None where one lacks it."""
    alone = _alone(cells)
    if not alone:
        return None
    pairs = [
        (cell["score"], alone.get(_place(cell)))
        for cell in here.values()
        if cell["score"] is not None and not is_alone(cell)
    ]
    controls = [control for _, control in pairs if control is not None]
    if len(controls) < len(pairs) or not sum(controls):
        return None
    return 100 * sum(score for score, _ in pairs) / sum(controls)


def _alone(cells: Cells) -> dict[Place, float]:
    """The scores at `0k`."""
    return {
        _place(cell): cell["score"]
        for cell in cells.values()
        if is_alone(cell) and cell["score"] is not None
    }


def _place(cell: Cell) -> Place:
    return cell["task"], cell["tokenizer"], languages_of(cell)
