"""The numbers beneath the page's figures, as tables; and how a number is written on the page.

tables(page)["average"].rows[0]          # ["4K", "Qwen", "97.4", "[96.1, 98.3]", "13 of 13"]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eval.report.page.page_model import (
    ComplexityPanel,
    DepthMap,
    Group,
    HeatMap,
    PageData,
    Pair,
    Series,
)
from eval.report.score_tables import TROUBLES, bounds, number, p_value
from eval.score.results_file import Mean

TROUBLE_NAMES = {
    "missing": "missing",
    "failed": "failed",
    "does_not_fit": "did not fit the window",
    "cut": "truncated",
    "cut_scored": "truncated, but scored",
    "thinking": "with reasoning",
    "thinking_cut": "ended within reasoning",
    "duplicated": "answered twice",
}
"""The counts of results.json in words; `failed` includes those that did not fit."""


@dataclass(frozen=True)
class NumberTable:
    """A table beneath a figure: what it is of, its header and its rows of text."""

    caption: str
    header: list[str]
    rows: list[list[str]]


def trouble_names() -> dict[str, str]:
    """Every count of results.json with its words, in order."""
    return {name: TROUBLE_NAMES[name] for name in TROUBLES}


def tables(page: PageData) -> dict[str, NumberTable]:
    """Every figure's table, by the figure's name; heat maps are `heat-SERIES`."""
    found = {}
    for place, group in enumerate(page["groups"]):
        found["average" if place == 0 else f"category-{place}"] = _curve(page, group)
    for heat in page["heat_maps"]:
        found[f"heat-{heat['series']}"] = _heat(page, heat, "task")
    for place, panel in enumerate(page["complexity"]):
        found[f"complexity-{place}"] = _complexity(page, panel)
    for pair in page["pairs"]:
        found[f"differences-{pair['a']}-{pair['b']}"] = _differences(page, pair)
    for depth in page["depth"]:
        found[f"depth-{depth['series']}-{depth['task']}"] = _depth(page, depth)
    for one in page["series"]:
        found[f"errors-{one['id']}"] = _errors(page, one)
    if page["languages"] is not None:
        for heat in page["languages"]["heat_maps"]:
            found[f"languages-{heat['series']}"] = _heat(page, heat, "language")
        found |= dict(_languages(page))
    return found


def _label(page: PageData, series: int) -> str:
    return page["series"][series]["label"]


def _curve(page: PageData, group: Group) -> NumberTable:
    rows = [
        [
            length["label"],
            _label(page, row["series"]),
            number(mean["score"]),
            bounds(mean["interval"]),
            f"{mean['tasks']} of {mean['of']}",
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
    rows = []
    for item in pair["differences"]:
        place = item["task"] or ("mean" if item["length"] else "mean over all")
        place += f", {item['language']}" if several and item["language"] else ""
        rows.append(
            [
                place,
                (item["length"] or "all").upper(),
                number(item["a"]),
                number(item["b"]),
                f"{item['difference']:+.1f}",
                bounds(item["interval"]),
                p_value(item["p"]),
                "-" if item["n"] is None else str(item["n"]),
            ]
        )
    header = ["task", "length", *names, "difference", "95 % interval", "p", "rows"]
    return NumberTable(f"{names[0]} minus {names[1]}", header, rows)


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


def _languages(page: PageData) -> Iterator[tuple[str, NumberTable]]:
    languages = page["languages"]
    assert languages is not None
    models = [(page["runs"][model["run"]]["label"], model) for model in languages["models"]]
    for model in languages["models"]:
        pairs = [
            [text, instruction, number(score)]
            for text, scores in model["cross_lingual"].items()
            for instruction, score in scores.items()
        ]
        name = page["runs"][model["run"]]["label"]
        header = ["text", "instruction", "score"]
        yield f"cross-{model['run']}", NumberTable(f"Two languages, {name}", header, pairs)
    rows = [
        [
            *(str(item["rank"]), item["language"], name),
            *(number(item["score"]), bounds(item["interval"]), _whole(item["articles"])),
        ]
        for name, model in models
        for item in model["languages"]
    ]
    header = ["rank", "language", "model", "score", "95 % interval", "Wikipedia articles"]
    yield "ranking", NumberTable("Languages by their mean over the niah tasks", header, rows)
    rows = [
        [
            *(item["languages"], item["length"].upper(), name, number(item["with_none"])),
            *(number(item["without"]), f"{item['difference']:+.1f}", bounds(item["interval"])),
        ]
        for name, model in models
        for item in model["none_ablation"]
    ]
    header = ["language", "length", "model", "none offered", "not offered", "difference"]
    yield "none", NumberTable("The offer to answer “none”", [*header, "95 % interval"], rows)
    rows = [
        [item["length"].upper(), name, _whole(item["right"]), _whole(item["wrong"])]
        for name, model in models
        for item in model["reasoning"]
    ]
    header = ["length", "model", "tokens of right answers", "of wrong answers"]
    yield "reasoning", NumberTable("Reasoning tokens of niah answers", header, rows)
    rows = [
        [item["length"].upper(), name]
        + [text for key in ("high", "low") for text in _mean(item[key])]
        + [number(item["gap"])]
        for name, model in models
        for item in model["resources"]
    ]
    header = ["length", "model", "high", "95 % interval", "low", "95 % interval", "gap"]
    yield "resources", NumberTable("Languages of high and of low resource", header, rows)


def _mean(mean: Mean) -> list[str]:
    return [number(mean["score"]), bounds(mean["interval"])]


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
