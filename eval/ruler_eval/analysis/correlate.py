"""Which tasks measure the same: correlation of task scores over models and lengths, and clusters.

RULER (arXiv:2404.06654), Appendix C and Figure 5: a task is the vector of its scores over models
and lengths; vectors are clustered agglomeratively with the correlation coefficient as the measure.

    found = correlate({"a": load(Path("a/results.json")), "b": load(Path("b/results.json"))})
    found["tasks"], found["correlation"]          # in the order of the dendrogram's leaves
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_eval.score.evidence_alone import is_alone
from ruler_eval.score.results_file import Results

LEAST = 3
"""Observations below which a correlation means nothing."""
Observation = tuple[str, str, str, str]


def correlate(results: Mapping[str, Results]) -> dict[str, Any]:
    """Correlate and cluster the tasks of several results, by name of the model or file.

    `merges` lists the clusters as they form: the two that join, and their distance 1 − r (average
    linkage); `by_chance` is the correlation that unrelated tasks reach, `constant` the tasks whose
    score never changes, which correlate with nothing. Raises RulerError with fewer than LEAST
    observations in which every task was scored.
    """
    scores = observations(results)
    tasks = list(dict.fromkeys(task for row in scores.values() for task in row))
    whole = {place: row for place, row in scores.items() if len(row) == len(tasks)}
    if len(whole) < LEAST or len(tasks) < 2:
        raise RulerError(
            f"Every task was scored at {len(whole)} pairs of model and length, and {LEAST} or more "
            "are needed (of 2 tasks or more): give more results.json files."
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
        "by_chance": by_chance(len(whole)),
        "observations": [list(place) for place in whole],
        "left_out": [list(place) for place in scores if place not in whole],
    }


def by_chance(count: int) -> float:
    """The correlation that two unrelated tasks exceed, either way, in one case of twenty."""
    from scipy.special import stdtrit

    t = float(stdtrit(count - 2, 0.975))
    return t / float(np.sqrt(count - 2 + t * t))


def observations(results: Mapping[str, Results]) -> dict[Observation, dict[str, float]]:
    """Task scores by (model, tokenizer, length, languages), without the control 0k."""
    found: dict[Observation, dict[str, float]] = {}
    for name, result in results.items():
        for cell in result["configurations"].values():
            place = (name, cell["tokenizer"] or "unknown", cell["length"], languages_of(cell))
            if cell["score"] is not None and not is_alone(cell):
                found.setdefault(place, {})[cell["task"]] = cell["score"]
    return found


def cluster(correlation: np.ndarray, tasks: list[str]) -> tuple[list[int], list[dict[str, Any]]]:
    """The leaves' order and the merges of the average-linkage clustering of 1 − r."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    distance = np.clip((1 - (correlation + correlation.T) / 2), 0, 2)
    np.fill_diagonal(distance, 0)
    condensed = squareform(distance, checks=False)
    tree = optimal_leaf_ordering(linkage(condensed, "average"), condensed)
    groups, merges = [[task] for task in tasks], []
    for left, right, height, _ in tree:
        pair = [groups[int(left)], groups[int(right)]]
        groups.append(pair[0] + pair[1])
        merges.append({"distance": float(height), "clusters": pair})
    return [int(leaf) for leaf in leaves_list(tree)], merges
