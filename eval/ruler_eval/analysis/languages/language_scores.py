"""What ONERULER's paper draws of models: languages, resources, none, reasoning, words.

ONERULER (arXiv:2503.01996), sections 3 and 4, Figures 1, 3 to 6 and 17 to 25, from results.json:

    found = analyze({"qwen": load(Path("runs/qwen"))})
    found["models"]["qwen"]["languages"][0]      # {"language": "pl", "score": 88.0, …}

Scores and intervals are 0 … 100; intervals are 95 %.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.names import languages_of
from ruler_eval.analysis.languages.language_answers import (
    error_kinds,
    prompt_tokens,
    reasoning,
    words_right,
)
from ruler_eval.analysis.languages.language_groups import (
    Cells,
    best_and_worst,
    by_task,
    cross_lingual,
    crossed,
    in_niah,
    over_models,
    pair_of,
    resources,
    scripts,
)
from ruler_eval.analysis.languages.language_ranks import (
    kendall,
    ranked,
    ranked_codes,
    wikipedia,
)
from ruler_eval.release_languages import Languages
from ruler_eval.score.config_naming import ABLATION
from ruler_eval.score.intervals import paired_interval, paired_mean
from ruler_eval.score.results_file import Cell, Results, scores_in

HIGH_RESOURCE = 250_000
"""Wikipedia articles (Table 2) from which a language is one of high resource (section 2)."""


def analyze(
    results: Mapping[str, Results],
    errors: Iterable[Mapping[str, Any]] = (),
    lengths: Collection[str] | None = None,
) -> dict[str, Any]:
    """All that the results allow, by the models' names, at all lengths or at these.

    `errors` are lines of `ruler errors --out`. Raises RulerError for results of another data set,
    a length that no results have, and errors in configurations that they lack.
    """
    for name, result in results.items():
        if (dataset := result["dataset"]["name"]) != "oneruler":
            raise RulerError(f"'{name}' is of {dataset}: analyze is for ONERULER.")
    places = {
        config: (cell["task"], cell["length"])
        for result in results.values()
        for config, cell in result["configurations"].items()
    }
    if lengths and (unknown := {*lengths} - {length for _, length in places.values()}):
        raise RulerError(f"No results here are at {min(unknown)}: leave it out of --lengths.")
    shown = {
        name: {
            n: c for n, c in one["configurations"].items() if not lengths or c["length"] in lengths
        }
        for name, one in results.items()
    }
    errors = _at_lengths(errors, places, lengths)
    spoken = Languages.joined(one["dataset"].get("languages", {}) for one in results.values())
    about = {code: spoken.facts(code) for code in spoken}
    rankings = {name: ranked(cells, about) for name, cells in shown.items()}
    resource = {
        code: "high" if one.wikipedia_articles >= HIGH_RESOURCE else "low"
        for code, one in about.items()
    }
    models = {
        name: {
            "languages": rankings[name],
            "best_and_worst": best_and_worst(ranked_codes(rankings[name]), in_niah(cells)),
            "largest_and_smallest": best_and_worst(
                sorted(
                    ranked_codes(rankings[name]), key=lambda code: -about[code].wikipedia_articles
                ),
                {n: c for n, c in cells.items() if c["task"] == "niah_single"},
            ),
            "tasks": by_task(cells, resource),
            "crossed": crossed(in_niah(cells)),
            "wikipedia": wikipedia(rankings[name]),
            "resources": resources(cells, resource),
            "scripts": scripts(cells, about),
            "none_ablation": none_ablation(cells),
            "cross_lingual": cross_lingual(in_niah(cells)),
            "reasoning": reasoning(cells),
            "words_right": words_right(cells),
        }
        for name, cells in shown.items()
    }
    return {
        "format": 1,
        "models": models,
        "over_models": over_models([*models.values()]) if len(models) > 1 else None,
        "rankings": {
            f"{a} | {b}": kendall(rankings[a], rankings[b]) for a, b in combinations(results, 2)
        },
        "prompt_tokens": {name: prompt_tokens(cells) for name, cells in shown.items()},
        "errors": error_kinds(errors, lambda error: str(error["languages"])),
        "errors_by_task": error_kinds(errors, lambda error: " ".join(places[error["config"]])),
    }


def _at_lengths(
    errors: Iterable[Mapping[str, Any]],
    places: Mapping[str, tuple[str, str]],
    lengths: Collection[str] | None,
) -> list[Mapping[str, Any]]:
    """The errors at lengths. Raises RulerError for one in a configuration that has no results."""
    errors = list(errors)
    for error in errors:
        if error.get("config") not in places:
            raise RulerError(
                f"The errors are in '{error.get('config')}', which no results here have: give "
                "those of the same runs."
            )
    return [one for one in errors if not lengths or places[one["config"]][1] in lengths]


def none_ablation(cells: Cells) -> list[dict[str, Any]]:
    """niah_single with the offer to answer "none" against the same without (Figure 1B).

    A paired difference within one model, over the rows that both have: with − without, negative
    where the offer hurts. Raises RulerError if a row of the two does not ask the same.
    """
    found = []
    twins = {_place(c): c for c in cells.values() if c["task"] == "niah_single"}
    for cell in cells.values():
        if cell["task"] != ABLATION:
            continue
        if (offered := twins.get(_place(cell))) is None:
            continue
        with_, without = (scores_in(c) for c in (offered, cell))
        asked, again = (
            dict(zip(c["rows"]["index"], c["rows"]["references"], strict=True))
            for c in (offered, cell)
        )
        index = sorted(with_.keys() & without.keys())
        if any(asked[i] != again[i] for i in index):
            raise RulerError(
                f"The rows of niah_single and {ABLATION} at {cell['length']} in "
                f"{languages_of(cell)} do not ask the same: they cannot be paired."
            )
        if not index:  # partial results, of other rows each
            continue
        pair = np.array([[with_[i], without[i]] for i in index])
        differences = pair[:, 0] - pair[:, 1]
        found.append(
            {
                "length": cell["length"],
                "languages": languages_of(cell),
                "with_none": 100 * float(pair[:, 0].mean()),
                "without": 100 * float(pair[:, 1].mean()),
                "difference": 100 * float(differences.mean()),
                "interval": [100 * end for end in paired_interval(paired_mean([differences]))],
            }
        )
    return found


def _place(cell: Cell) -> tuple[str, str, str, str | None]:
    return cell["length"], *pair_of(cell), cell["tokenizer"]
