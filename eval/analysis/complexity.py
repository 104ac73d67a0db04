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
from dataclasses import dataclass
from typing import Any

from eval.score.results_file import Cell, Results
from ruler_dataset import languages_of

Description = dict[str, str]
_HIDDEN = ("family", "max_new_tokens", "short_freq_cw", "short_freq_ucw")
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

    None where the results do not know the tasks' parameters, or no two tasks differ so.
    """
    described = {
        task: _described(table)
        for task, table in results["dataset"].get("parameters", {}).items()
        if table["family"] in _FAMILIES
    }
    found = []
    for tokenizer in dict.fromkeys(cell["tokenizer"] for cell in _cells(results)):
        cells = [cell for cell in _cells(results) if cell["tokenizer"] == tokenizer]
        scored = dict.fromkeys(cell["task"] for cell in cells if cell["task"] in described)
        chosen = {task: described[task] for task in scored}
        found += [
            _panel(title, tokenizer or "unknown", tasks, cells)
            for title, tasks in _groups(chosen).items()
        ]
    return found


def _cells(results: Results) -> list[Cell]:
    cells = results["configurations"].values()
    return [c for c in cells if c["score"] is not None and languages_of(c) == "en"]


def _described(table: Mapping[str, Any]) -> Description:
    """A task's parameters as the figures name them; each is a text."""
    params = {name: value for name, value in table.items() if name not in _HIDDEN}
    return {"family": table["family"], **_FAMILIES[table["family"]](params)}


def _niah(params: Mapping[str, Any]) -> Description:
    """Types as W-N; one haystack, where a haystack full of needles is a number of keys."""
    full = params["haystack"] == "needles"
    queries = params["queries"]
    return {
        "needle types": f"{_SHORT[params['key_type']]}-{_SHORT[params['value_type']]}",
        "haystack": "essay" if full else params["haystack"],
        "keys": "full" if full else str(params["keys"] - queries + 1),
        "values": str(params["values"]),
        "queries": str(queries),
    }


def _common_words(params: Mapping[str, Any]) -> Description:
    """How many common words there are, and their times beside the others'."""
    others = {name: str(v) for name, v in params.items() if not name.startswith("freq_")}
    return {**others, "times": f"{params['freq_cw']}:{params['freq_ucw']}"}


def _as_they_are(params: Mapping[str, Any]) -> Description:
    return {name: str(value) for name, value in params.items()}


def _documents(params: Mapping[str, Any]) -> Description:
    """With documents and without are the two values of one parameter."""
    without = params.get("no_documents", False)
    return {"dataset": params["dataset"], "documents": "none" if without else "as many as fit"}


_FAMILIES = {
    "niah": _niah,
    "variable_tracking": _as_they_are,
    "common_words": _common_words,
    "frequent_words": _as_they_are,
    "question_answering": _documents,
}


def _groups(described: Mapping[str, Description]) -> dict[str, dict[str, str]]:
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
    mine = [cell for cell in cells if cell["task"] in tasks]
    tokens = {cell["length"]: cell["max_length"] for cell in mine}
    lines = [
        Line(
            value,
            task,
            {
                cell["length"]: cell["score"]
                for cell in mine
                if cell["task"] == task and cell["score"] is not None
            },
        )
        for task, value in sorted(tasks.items(), key=lambda item: _order(item[1]))
    ]
    return Panel(
        title=title,
        tokenizer=tokenizer,
        lengths=sorted(tokens, key=lambda length: tokens[length]),
        lines=lines,
    )


def _order(value: str) -> tuple[int, float, str]:
    """Numbers by size, then words; `30:3` by its ratio."""
    first, _, second = value.partition(":")
    try:
        return 0, float(first) / float(second or 1), value
    except ValueError:
        return 1, 0.0, value
