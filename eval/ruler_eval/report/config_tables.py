"""The tables of `ruler score` with a row a configuration: troubles, shared documents, depths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from ruler_common.terminal import narrow_table
from ruler_eval.report.table_parts import titled
from ruler_eval.score.results import Cell, Results

Trouble = Literal[
    "missing", "failed", "does_not_fit", "cut", "cut_scored",
    "thinking", "thinking_cut", "duplicated",
]  # fmt: skip
TROUBLES: tuple[Trouble, ...] = get_args(Trouble)
TROUBLE_NAMES: Mapping[str, str] = {
    "missing": "missing",
    "failed": "failed",
    "does_not_fit": "did not fit the window",
    "cut": "truncated",
    "cut_scored": "scored though truncated",
    "thinking": "with reasoning",
    "thinking_cut": "ended within reasoning",
    "duplicated": "answered twice",
}
"""The counts of results.json in words; `failed` includes those that did not fit."""


def troubles(results: Results, markdown: bool = False) -> str:
    """The counts beside the score, for the configurations that have any."""
    cells = results["configurations"]
    shown = [name for name in TROUBLES if any(cell[name] for cell in cells.values())]
    rows = [
        [config, str(cell["n"]), *(str(cell[name]) for name in shown)]
        for config, cell in cells.items()
        if any(cell[name] for name in shown)
    ]
    title = "Rows that are missing, failed or truncated"
    header = ["configuration", "n", *(TROUBLE_NAMES[name] for name in shown)]
    return titled(title, header, rows, markdown)


def shared_documents(results: Results, markdown: bool = False) -> str:
    """The configurations whose rows share documents, and the design effect on their intervals."""
    rows = [
        [name, str(cell["n"]), str(cell["documents"]), f"{cell['design_effect']:.2f}"]
        for name, cell in results["configurations"].items()
        if "documents" in cell and "design_effect" in cell
    ]
    title = "Rows that share documents, and so are known less well"
    header = ["configuration", "n", "documents", "design effect"]
    return titled(title, header, rows, markdown)


def by_depth(cells: Mapping[str, Cell], markdown: bool = False) -> str:
    """Ten bins of depth, in whole percent, for each configuration that has evidence."""
    rows = [
        [name, *("-" if b["score"] is None else f"{b['score']:.0f}" for b in cell["depth"])]
        for name, cell in cells.items()
        if cell["depth"]
    ]
    header = ["depth of the evidence, %", *(str(10 * place) for place in range(10))]
    return narrow_table(header, rows, markdown) if rows else ""
