"""Show how scores fall as RULER's tasks become harder, and which tasks measure the same.

Figures 2 and 3 of RULER (arXiv:2404.06654, section 5). Tasks that differ in one parameter are the
lines of a panel, with a point for each length. The dotted line of Figure 3, question answering
without documents, is a line with a score only in the control.

    for panel in panels(load(Path("runs/mine"))):
        panel.title                                # "niah: queries"
        panel.lines[0].value, panel.lines[0].scores          # "1", {"4k": 99.8, "8k": 98.6}

Figure 5 (Appendix C). A task is the vector of its scores over models and lengths; vectors are
clustered agglomeratively with the correlation coefficient as the measure.

    analysis = correlate({"a": load(Path("a/results.json")), "b": load(Path("b/results.json"))})
    analysis["tasks"], analysis["correlation"]          # in the order of the dendrogram's leaves

This module uses numpy alone, because every page imports it and importing pandas takes 0.3 s of CPU,
a fifth of the time of a small page.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_common.text import number_of
from ruler_eval.score.results import Cell, Results, is_control, lengths_of, tokenizer_of
from ruler_eval.tasks import FAMILIES

_NOT_PARAMETERS = ("family", "max_new_tokens")
"""Entries of a parameter table that do not make a task harder."""
MIN_OBSERVATIONS = 3
"""With fewer observations, a correlation is meaningless."""
Observation = tuple[str, str, str, str]
"""The name of a model or file, tokenizer, length and languages."""

_SHORT = {"words": "W", "numbers": "N", "uuids": "U"}


@dataclass(frozen=True)
class Line:
    """One task of a panel, with its value of the panel's parameter and its scores by length."""

    value: str
    task: str
    scores: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Tasks that differ in one parameter; lengths are names, shortest first."""

    title: str
    tokenizer: str
    lengths: list[str]
    lines: list[Line]


def panels(results: Results) -> list[Panel]:
    """Return a panel for each parameter that is the only difference between some scored tasks.

    There are none if the results have no parameters, or no two tasks differ in a single one. Tasks
    that lack a parameter of their family are in no panel.
    """
    described = {}
    for task, table in results["dataset"].get("parameters", {}).items():
        family = FAMILIES.get(table["family"])
        if family and family.dataset == "ruler":
            params = {name: value for name, value in table.items() if name not in _NOT_PARAMETERS}
            with suppress(KeyError, TypeError):  # a custom release may lack a parameter
                described[task] = {"family": table["family"], **_labels(table["family"], params)}
    by_tokenizer: dict[str, list[Cell]] = {}
    for cell in results["configurations"].values():
        if cell["score"] is not None and languages_of(cell) == "en":
            by_tokenizer.setdefault(tokenizer_of(cell), []).append(cell)
    all_panels = []
    for tokenizer, cells in by_tokenizer.items():
        scored = {c["task"]: described[c["task"]] for c in cells if c["task"] in described}
        for title, tasks in _groups(scored).items():
            all_panels.append(_panel(title, tokenizer, tasks, cells))
    return all_panels


def _labels(family: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Return a task's parameters by the names of the figures."""
    if family == "niah":  # a haystack of needles is the largest number of keys
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
    """Return the tasks of each panel by its title, with their values of its parameter."""
    groups: dict[str, dict[str, str]] = {}
    for parameter in dict.fromkeys(name for table in described.values() for name in table):
        if parameter in ("family", "dataset"):
            continue
        # tasks by the values of all their other parameters
        by_rest: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        for task, table in described.items():
            if parameter in table:
                rest = tuple(sorted((n, v) for n, v in table.items() if n != parameter))
                by_rest.setdefault(rest, {})[task] = table[parameter]
        for rest, tasks in by_rest.items():
            if len(set(tasks.values())) > 1:
                common = dict(rest)
                title = common["family"].replace("_", " ")
                if "dataset" in common:
                    title += f" ({common['dataset']})"
                title += f": {parameter}"
                while title in groups:
                    title += f", {next(iter(tasks))}"
                groups[title] = tasks
    return groups


def _panel(title: str, tokenizer: str, tasks: Mapping[str, str], cells: list[Cell]) -> Panel:
    scores: dict[str, dict[str, float]] = {task: {} for task in tasks}
    panel_cells = [cell for cell in cells if cell["task"] in tasks]
    for cell in panel_cells:
        scores[cell["task"]][cell["length"]] = cell["score"] or 0.0
    ordered = sorted(tasks.items(), key=lambda item: _order(item[1]))
    lines = [Line(value, task, scores[task]) for task, value in ordered]
    return Panel(title=title, tokenizer=tokenizer, lengths=lengths_of(panel_cells), lines=lines)


def _order(value: str) -> tuple[int, float, str]:
    """Return the sort key of a value: numbers by size (`30:3` by its ratio), then words."""
    first, _, second = value.partition(":")
    try:
        return 0, float(first) / float(second or 1), value
    except ValueError:
        return 1, 0.0, value


def correlate(results: Mapping[str, Results]) -> dict[str, Any]:
    """Correlate and cluster the tasks of several results, by the name of the model or file.

    `merges` lists the clusters as they form: the two that join, and their distance 1 − r (average
    linkage). `constant` are the tasks whose score never changes, which have no correlation.
    Lengths of one model are not independent observations, because most tasks fall with the length,
    so no level of correlation is named that chance would reach. Raises RulerError if fewer than
    MIN_OBSERVATIONS observations have all tasks.
    """
    scores = observations(results)
    tasks = list(dict.fromkeys(task for row in scores.values() for task in row))
    whole = {place: row for place, row in scores.items() if len(row) == len(tasks)}
    if len(whole) < MIN_OBSERVATIONS or len(tasks) < 2:
        raise RulerError(
            f"Every task was scored for {number_of(len(whole), 'pair')} of model and length, and "
            f"at least {MIN_OBSERVATIONS} are needed, with at least 2 tasks: give more runs."
        )
    matrix = np.array([[row[task] for task in tasks] for row in whole.values()])
    varied = [task for task, spread in zip(tasks, np.ptp(matrix, axis=0), strict=True) if spread]
    constant = [task for task in tasks if task not in varied]
    merges: list[dict[str, Any]] = []
    order, correlation = varied, np.ones((len(varied), len(varied)))
    if len(varied) > 1:
        chosen = matrix[:, [tasks.index(task) for task in varied]]
        correlation = np.corrcoef(chosen, rowvar=False)
        leaves, merges = cluster(correlation, varied)
        order, correlation = [varied[i] for i in leaves], correlation[np.ix_(leaves, leaves)]
    return {
        "format": 1,
        "tasks": order,
        "correlation": correlation.tolist(),
        "merges": merges,
        "constant": constant,
        "observations": [list(place) for place in whole],
        "left_out": [list(place) for place in scores if place not in whole],
    }


def observations(results: Mapping[str, Results]) -> dict[Observation, dict[str, float]]:
    """Return the task scores by model, tokenizer, length and languages, without the control."""
    scores: dict[Observation, dict[str, float]] = {}
    for name, result in results.items():
        for cell in result["configurations"].values():
            place = (name, tokenizer_of(cell), cell["length"], languages_of(cell))
            if cell["score"] is not None and not is_control(cell):
                scores.setdefault(place, {})[cell["task"]] = cell["score"]
    return scores


def cluster(correlation: np.ndarray, tasks: list[str]) -> tuple[list[int], list[dict[str, Any]]]:
    """Return the leaves' order and the merges of the average-linkage clustering of 1 − r."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    distance = np.clip((1 - (correlation + correlation.T) / 2), 0, 2)
    np.fill_diagonal(distance, 0)
    condensed = squareform(distance, checks=False)
    tree = optimal_leaf_ordering(linkage(condensed, "average"), condensed)
    groups, merges = [[task] for task in tasks], []
    for first, second, height, _ in tree:
        pair = [groups[int(first)], groups[int(second)]]
        groups.append(pair[0] + pair[1])
        merges.append({"distance": float(height), "clusters": pair})
    return [int(leaf) for leaf in leaves_list(tree)], merges
