"""ONERULER's part of the page: languages by lengths, and what its paper draws of models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ruler_eval.analysis.languages.language_answers import NIAH
from ruler_eval.analysis.languages.language_scores import analyze
from ruler_eval.report.page.page_model import HeatMap, Languages, Length, Series
from ruler_eval.report.page.page_runs import ReportedRun
from ruler_eval.report.page.page_scores import by_language, heat_map
from ruler_eval.report.score_tables import chosen


def languages(
    runs: Sequence[ReportedRun], series: Sequence[Series], lengths: Sequence[Length]
) -> Languages | None:
    """Languages by lengths (means over the niah tasks) and the analyses; None for RULER."""
    if runs[0].results["dataset"]["name"] != "oneruler":
        return None
    found = analyze({run.label: run.results for run in runs})
    pairs = combinations(range(len(runs)), 2)
    rankings = [
        {"runs": list(pair), **value}
        for pair, value in zip(pairs, found["rankings"].values(), strict=True)
        if value is not None
    ]
    models = [{"run": number, **found["models"][run.label]} for number, run in enumerate(runs)]
    maps = [_languages_by_lengths(runs[one["run"]], one, lengths) for one in series]
    return {"heat_maps": maps, "models": models, "rankings": rankings}


def _languages_by_lengths(run: ReportedRun, series: Series, lengths: Sequence[Length]) -> HeatMap:
    known = chosen(run.results, series["tokenizer"])
    cells = {name: cell for name, cell in known.items() if cell["task"] in NIAH}
    return heat_map(series, cells, by_language(cells), lengths)
