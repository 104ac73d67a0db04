"""Make the tables of numbers that the page shows below its figures.

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
    "reasoning": "reasoning",
    "resources": "resources",
    "scripts": "scripts",
}
"""The tables with the rows of all models, by name, and the key of their rows in `analyze`."""


class NumberTable(NamedTuple):
    """A table below a figure."""

    caption: str
    header: list[str]
    rows: list[list[str]]


def tables(page: PageData) -> dict[str, NumberTable]:
    """Return the table of every figure by the figure's name; of a heat map by `heat-SERIES`."""
    return dict(_named_tables(page))


def _named_tables(page: PageData) -> Iterator[tuple[str, NumberTable]]:
    for i, group in enumerate(page["groups"]):
        yield "average" if i == 0 else f"category-{i}", _curve(page, group)
    yield "losses", _losses(page)
    for heat in page["heat_maps"]:
        yield f"heat-{heat['series']}", _heat(page, heat, "task")
    for i, panel in enumerate(page["complexity"]):
        yield f"complexity-{i}", _complexity(page, panel)
    for pair in page["pairs"]:
        yield f"differences-{pair['a']}-{pair['b']}", _differences(page, pair)
    for depth in page["needles"]:
        yield f"needles-{depth['series']}", _depth(page, depth)
    for depth in page["depth"]:
        yield f"depth-{depth['series']}-{depth['task']}", _depth(page, depth)
    for series in page["series"]:
        yield f"errors-{series['id']}", _errors(page, series)
    correlation = page["correlation"]
    if correlation is not None:
        rows = [
            [task, *(f"{r:.2f}" for r in coefficients)]
            for task, coefficients in zip(
                correlation["tasks"], correlation["correlation"], strict=True
            )
        ]
        caption = f"Correlation over {len(correlation['observations'])} pairs of model and length"
        yield "correlation", NumberTable(caption, ["task", *correlation["tasks"]], rows)
    if page["languages"] is not None:
        yield from _languages(page, page["languages"])


def _label(page: PageData, series: int) -> str:
    return page["series"][series]["label"]


def _losses(page: PageData) -> NumberTable:
    """Return the change of each group from its shortest length to each longer one."""
    rows = []
    for group in page["groups"]:
        for row in group["rows"]:
            for loss in row["losses"]:
                rows.append(
                    [
                        _label(page, row["series"]),
                        "all tasks" if group["name"] == "all" else group["name"],
                        f"{loss['shorter'].upper()} to {loss['longer'].upper()}",
                        f"{loss['difference']:+.1f}",
                        bounds(loss["interval"]),
                        f"{loss['rows']:,}",
                    ]
                )
    caption = "Change with length in points, paired by row, with 95 % intervals"
    return NumberTable(caption, ["model", "tasks", "lengths", "change", "95 %", "rows"], rows)


def _curve(page: PageData, group: Group) -> NumberTable:
    rows = []
    for length in page["lengths"]:
        for row in group["rows"]:
            mean = row["lengths"].get(length["name"])
            if mean is not None:
                rows.append(
                    [
                        length["label"],
                        _label(page, row["series"]),
                        number(mean["score"]),
                        bounds(mean["interval"]),
                        f"{mean['tasks']} of {mean['of']}",
                    ]
                )
    header = ["length", "model", "score", "95 % interval", "tasks"]
    return NumberTable(f"Scores by length, {group['name']}", header, rows)


def _heat(page: PageData, heat: HeatMap, row_header: str) -> NumberTable:
    rows = []
    for name, cells in zip(heat["rows"], heat["cells"], strict=True):
        for length, cell in zip(page["lengths"], cells, strict=True):
            if cell is not None:
                troubles = [f"{TROUBLE_NAMES[k]} {v}" for k, v in cell["troubles"].items()]
                rows.append(
                    [
                        name,
                        length["label"],
                        number(cell["score"]),
                        bounds(cell["interval"]),
                        number(cell["strict"]),
                        str(cell["n"]),
                        ", ".join(troubles),
                    ]
                )
    header = [row_header, "length", "score", "95 % interval", "strict", "rows", "of these"]
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
    languages = {item["language"] for item in pair["differences"] if item["task"]}
    rows = []
    for item in pair["differences"]:
        name = item["task"] or ("mean" if item["length"] else "mean over all")
        if len(languages) > 1 and item["language"] == EVERY_LANGUAGE:
            name += ", mean over languages"
        elif len(languages) > 1 and item["language"]:
            name += f", {item['language']}"
        rows.append(
            [
                name,
                (item["length"] or "all").upper(),
                number(item["a"]),
                number(item["b"]),
                f"{item['difference']:+.1f}",
                bounds(item["interval"]),
                p_value(item["p"]),
                p_value(item["p_holm"]),
                "-" if item["n"] is None else str(item["n"]),
            ]
        )
    header = ["task", "length", *names, "difference", "95 % interval", "p", "p (Holm)", "rows"]
    return NumberTable(f"{names[0]} minus {names[1]}", header, rows)


def _depth(page: PageData, depth: DepthMap) -> NumberTable:
    lengths = [item for item in page["lengths"] if item["name"] in depth["lengths"]]
    rows = []
    for i in range(10):
        row = [f"{10 * i} to {10 * i + 10} %"]
        for length in lengths:
            depth_bin = depth["lengths"][length["name"]][i]
            if depth_bin["score"] is None:
                row.append("-")
            else:
                row.append(f"{depth_bin['score']:.1f} ({depth_bin['n']})")
        rows.append(row)
    caption = f"{depth['task']} by depth, {_label(page, depth['series'])}: score (references)"
    return NumberTable(caption, ["depth", *(item["label"] for item in lengths)], rows)


def _errors(page: PageData, series: Series) -> NumberTable:
    rows = []
    for task in page["errors"]["tasks"]:
        if task["series"] == series["id"]:
            for kind, count in task["kinds"].items():
                share = f"{100 * count / task['sorted']:.0f} %"
                wrong_rows_sorted = f"{task['sorted']:,} of {task['wrong']:,}"
                rows.append([task["task"], kind, str(count), share, wrong_rows_sorted])
    header = ["task", "kind", "rows", "share of the sorted", "wrong rows sorted"]
    return NumberTable(f"Kinds of errors, {series['label']}", header, rows)


def _languages(page: PageData, languages: Languages) -> Iterator[tuple[str, NumberTable]]:
    for heat in languages["heat_maps"]:
        yield f"languages-{heat['series']}", _heat(page, heat, "language")
    models = [(page["runs"][model["run"]]["label"], model) for model in languages["models"]]
    for label, model in models:
        pairs = [
            [text, instruction, number(score)]
            for text, scores in model["cross_lingual"].items()
            for instruction, score in scores.items()
        ]
        header = ["text", "instruction", "score"]
        yield f"cross-{model['run']}", NumberTable(f"Two languages, {label}", header, pairs)
    for name, key in _LANGUAGE_TABLES.items():
        table = MODEL_TABLES[key]
        rows = [
            [*row[: table.names], label, *row[table.names :]]
            for label, model in models
            for row in table.rows(model[key])
        ]
        header = [*table.header[: table.names], "model", *table.header[table.names :]]
        yield name, NumberTable(table.title, header, rows)
