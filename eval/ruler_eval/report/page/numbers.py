"""The numbers beneath the page's figures, as tables; and how a number is written on the page.

tables(page)["average"].rows[0]          # ["4K", "Qwen", "97.4", "[96.1, 98.3]", "13 of 13"]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ruler_eval.report.language_tables import MODEL_TABLES
from ruler_eval.report.page.model import (
    ComplexityPanel,
    DepthMap,
    Group,
    HeatMap,
    Languages,
    PageData,
    Pair,
    Series,
)
from ruler_eval.report.table_parts import bounds, number, p_value
from ruler_eval.report.terminal import TROUBLE_NAMES
from ruler_eval.score.aggregates import EVERY_LANGUAGE

_LANGUAGE_TABLES = {
    "ranking": "languages",
    "none": "none_ablation",
    **{name: name for name in ("reasoning", "resources", "scripts")},
}
"""The tables of all models together, and what `analyze` calls their rows."""


class NumberTable(NamedTuple):
    """A table beneath a figure: what it is of, its header and its rows of text."""

    caption: str
    header: list[str]
    rows: list[list[str]]


def tables(page: PageData) -> dict[str, NumberTable]:
    """Every figure's table, by the figure's name; heat maps are `heat-SERIES`."""
    return dict(_tables(page))


def _tables(page: PageData) -> Iterator[tuple[str, NumberTable]]:
    for place, group in enumerate(page["groups"]):
        yield f"category-{place}" if place else "average", _curve(page, group)
    yield "losses", _losses(page)
    for heat in page["heat_maps"]:
        yield f"heat-{heat['series']}", _heat(page, heat, "task")
    for place, panel in enumerate(page["complexity"]):
        yield f"complexity-{place}", _complexity(page, panel)
    for pair in page["pairs"]:
        yield f"differences-{pair['a']}-{pair['b']}", _differences(page, pair)
    for depth in page["needles"]:
        yield f"needles-{depth['series']}", _depth(page, depth)
    for depth in page["depth"]:
        yield f"depth-{depth['series']}-{depth['task']}", _depth(page, depth)
    for one in page["series"]:
        yield f"errors-{one['id']}", _errors(page, one)
    if (found := page["correlation"]) is not None:
        rows = [
            [task, *(f"{r:.2f}" for r in line)]
            for task, line in zip(found["tasks"], found["correlation"], strict=True)
        ]
        caption = f"Correlation over {len(found['observations'])} pairs of model and length"
        yield "correlation", NumberTable(caption, ["task", *found["tasks"]], rows)
    if page["languages"] is not None:
        yield from _languages(page, page["languages"])


def _label(page: PageData, series: int) -> str:
    return page["series"][series]["label"]


def _losses(page: PageData) -> NumberTable:
    """Return the change of each group from its shortest length to each longer one."""
    rows = [
        [
            page["series"][row["series"]]["label"],
            "all tasks" if group["name"] == "all" else group["name"],
            f"{loss['shorter'].upper()} to {loss['longer'].upper()}",
            f"{loss['difference']:+.1f}",
            bounds(loss["interval"]),
            f"{loss['rows']:,}",
        ]
        for group in page["groups"]
        for row in group["rows"]
        for loss in row["losses"]
    ]
    caption = "Change with length in points, paired by row, with 95 % intervals"
    return NumberTable(caption, ["model", "tasks", "lengths", "change", "95 %", "rows"], rows)


def _curve(page: PageData, group: Group) -> NumberTable:
    rows = [
        [
            *(length["label"], _label(page, row["series"]), number(mean["score"])),
            *(bounds(mean["interval"]), f"{mean['tasks']} of {mean['of']}"),
        ]
        for length in page["lengths"]
        for row in group["rows"]
        if (mean := row["lengths"].get(length["name"])) is not None
    ]
    header = ["length", "model", "score", "95 % interval", "tasks"]
    return NumberTable(f"Scores by length, {group['name']}", header, rows)


def _heat(page: PageData, heat: HeatMap, first: str) -> NumberTable:
    rows = []
    for name, cells in zip(heat["rows"], heat["cells"], strict=True):
        for length, cell in zip(page["lengths"], cells, strict=True):
            if cell is not None:
                troubles = [f"{TROUBLE_NAMES[k]} {v}" for k, v in cell["troubles"].items()]
                shown = [number(cell["score"]), bounds(cell["interval"]), number(cell["strict"])]
                rows.append([name, length["label"], *shown, str(cell["n"]), ", ".join(troubles)])
    header = [first, "length", "score", "95 % interval", "strict", "rows", "of these"]
    return NumberTable(f"{_label(page, heat['series'])}: every cell", header, rows)


def _complexity(page: PageData, panel: ComplexityPanel) -> NumberTable:
    rows = [
        [line["value"], line["task"], length["label"], number(line["scores"][length["name"]])]
        for line in panel["lines"]
        for length in page["lengths"]
        if length["name"] in line["scores"]
    ]
    header = [panel["title"].rpartition(": ")[2], "task", "length", "score"]
    return NumberTable(f"{_label(page, panel['series'])}, {panel['title']}", header, rows)


def _differences(page: PageData, pair: Pair) -> NumberTable:
    names = [page["runs"][pair[side]]["label"] for side in ("a", "b")]
    several = len({item["language"] for item in pair["differences"] if item["task"]}) > 1
    rows = [
        [
            (item["task"] or ("mean" if item["length"] else "mean over all"))
            + (f", {_in_words(item['language'])}" if several and item["language"] else ""),
            *((item["length"] or "all").upper(), number(item["a"]), number(item["b"])),
            *(f"{item['difference']:+.1f}", bounds(item["interval"]), p_value(item["p"])),
            p_value(item["p_holm"]),
            "-" if item["n"] is None else str(item["n"]),
        ]
        for item in pair["differences"]
    ]
    header = ["task", "length", *names, "difference", "95 % interval", "p", "p (Holm)", "rows"]
    return NumberTable(f"{names[0]} minus {names[1]}", header, rows)


def _in_words(languages: str) -> str:
    return "mean over languages" if languages == EVERY_LANGUAGE else languages


def _depth(page: PageData, depth: DepthMap) -> NumberTable:
    lengths = [item for item in page["lengths"] if item["name"] in depth["lengths"]]
    rows = []
    for place in range(10):
        bins = [depth["lengths"][item["name"]][place] for item in lengths]
        texts = (
            "-" if one["score"] is None else f"{one['score']:.1f} ({one['n']})" for one in bins
        )
        rows.append([f"{10 * place} to {10 * place + 10} %", *texts])
    caption = f"{depth['task']} by depth, {_label(page, depth['series'])}: score (references)"
    return NumberTable(caption, ["depth", *(item["label"] for item in lengths)], rows)


def _errors(page: PageData, series: Series) -> NumberTable:
    rows = [
        [
            *(task["task"], kind, str(count), f"{100 * count / task['sorted']:.0f} %"),
            f"{task['sorted']:,} of {task['wrong']:,}",
        ]
        for task in page["errors"]["tasks"]
        if task["series"] == series["id"]
        for kind, count in task["kinds"].items()
    ]
    header = ["task", "kind", "rows", "share of the sorted", "wrong rows sorted"]
    return NumberTable(f"Kinds of errors, {series['label']}", header, rows)


def _languages(page: PageData, found: Languages) -> Iterator[tuple[str, NumberTable]]:
    for heat in found["heat_maps"]:
        yield f"languages-{heat['series']}", _heat(page, heat, "language")
    models = [(page["runs"][model["run"]]["label"], model) for model in found["models"]]
    for name, model in models:
        pairs = [
            [text, instruction, number(score)]
            for text, scores in model["cross_lingual"].items()
            for instruction, score in scores.items()
        ]
        header = ["text", "instruction", "score"]
        yield f"cross-{model['run']}", NumberTable(f"Two languages, {name}", header, pairs)
    for name, key in _LANGUAGE_TABLES.items():
        table = MODEL_TABLES[key]
        shown = [
            [*row[: table.names], label, *row[table.names :]]
            for label, model in models
            for row in table.rows(model[key])
        ]
        header = [*table.header[: table.names], "model", *table.header[table.names :]]
        yield name, NumberTable(table.title, header, shown)
