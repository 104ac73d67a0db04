"""How scores fall as tasks grow harder: RULER's Figures 2 and 3 from a results.json.

Tasks that differ in one parameter make a panel, a task is a line of it, by length a point:

    for panel in panels(load(Path("runs/mine"))):
        panel.title                                # "niah: queries"
        panel.lines[0].value, panel.lines[0].scores          # "1", {"4k": 99.8, "8k": 98.6}

The parameters are those of the release (arXiv:2404.06654, section 5). The dotted line of Figure 3,
question answering without documents, is a line with a score at `0k` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ruler_common.names import languages_of
from ruler_eval.score.results_file import Cell, Results, lengths_of
from ruler_eval.tasks import FAMILIES

_HIDDEN = ("family", "max_new_tokens")
"""What a parameter table has beside what makes a task harder."""

_SHORT = {"words": "W", "numbers": "N", "uuids": "U"}


@dataclass(frozen=True)
class Line:
    """One task of a panel: the value of the panel's parameter, and the scores by length."""

    value: str
    task: str
    scores: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Tasks that differ in one parameter alone; lengths are names, shortest first."""

    title: str
    tokenizer: str
    lengths: list[str]
    lines: list[Line]


def panels(results: Results) -> list[Panel]:
    """A panel for each parameter in which scored tasks of one family differ, and in nothing else.

    None where the results do not know the tasks' parameters, or no two tasks differ so; a task
    without those of its family is in no panel.
    """
    described = {}
    for task, table in results["dataset"].get("parameters", {}).items():
        family = FAMILIES.get(table["family"])
        if family and family.dataset == "ruler":
            params = {name: value for name, value in table.items() if name not in _HIDDEN}
            with suppress(KeyError, TypeError):  # a custom release may lack a parameter
                described[task] = {"family": table["family"], **_labels(table["family"], params)}
    found = []
    known = results["configurations"].values()
    english = [c for c in known if c["score"] is not None and languages_of(c) == "en"]
    for tokenizer in dict.fromkeys(cell["tokenizer"] for cell in english):
        cells = [cell for cell in english if cell["tokenizer"] == tokenizer]
        scored = {c["task"]: described[c["task"]] for c in cells if c["task"] in described}
        for title, tasks in _groups(scored).items():
            found.append(_panel(title, tokenizer or "unknown", tasks, cells))
    return found


def _labels(family: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Return a task's parameters as the figures name them."""
    if family == "niah":  # a haystack full of needles is a number of keys
        full = params["haystack"] == "needles"
        queries = params["queries"]
        return {
            "needle types": f"{_SHORT[params['key_type']]}-{_SHORT[params['value_type']]}",
            "haystack": "essay" if full else params["haystack"],
            "keys": "full" if full else str(params["keys"] - queries + 1),
            "values": str(params["values"]),
            "queries": str(queries),
        }
    if family == "common_words":
        times = ("freq_", "short_freq_")
        labels = {name: str(value) for name, value in params.items() if not name.startswith(times)}
        return {**labels, "times": f"{params['freq_cw']}:{params['freq_ucw']}"}
    if family == "question_answering":
        without = params.get("no_documents", False)
        return {"dataset": params["dataset"], "documents": "none" if without else "as many as fit"}
    return {name: str(value) for name, value in params.items()}


def _groups(described: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Title of a panel -> its tasks with their values of the parameter in which they differ."""
    found: dict[str, dict[str, str]] = {}
    for parameter in dict.fromkeys(name for table in described.values() for name in table):
        alike: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        for task, table in described.items():
            if parameter in table and parameter not in ("family", "dataset"):
                rest = tuple(sorted((n, v) for n, v in table.items() if n != parameter))
                alike.setdefault(rest, {})[task] = table[parameter]
        for rest, tasks in alike.items():
            if len(set(tasks.values())) > 1:
                family = dict(rest)["family"].replace("_", " ")
                others = ", ".join(value for name, value in rest if name == "dataset")
                title = f"{family}{f' ({others})' if others else ''}: {parameter}"
                while title in found:
                    title += f", {next(iter(tasks))}"
                found[title] = tasks
    return found


def _panel(title: str, tokenizer: str, tasks: Mapping[str, str], cells: list[Cell]) -> Panel:
    scores: dict[str, dict[str, float]] = {task: {} for task in tasks}
    mine = [cell for cell in cells if cell["task"] in tasks]
    for cell in mine:
        scores[cell["task"]][cell["length"]] = cell["score"] or 0.0
    ordered = sorted(tasks.items(), key=lambda item: _order(item[1]))
    lines = [Line(value, task, scores[task]) for task, value in ordered]
    return Panel(title=title, tokenizer=tokenizer, lengths=lengths_of(mine), lines=lines)


def _order(value: str) -> tuple[int, float, str]:
    """Numbers by size, then words; `30:3` by its ratio."""
    first, _, second = value.partition(":")
    try:
        return 0, float(first) / float(second or 1), value
    except ValueError:
        return 1, 0.0, value
