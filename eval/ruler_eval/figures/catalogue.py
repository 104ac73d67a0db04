"""The list of all figures by name, and those that a command shows.

    chosen_figures(runs, ["scores", "losses"])
    score_figures(runs, all_tables=True)           # what `ruler score --all` shows

`ruler score --figure NAME` takes a name of FIGURES. A figure for each run, group or pair has a
number after its name, such as tasks-0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_common.text import number_of
from ruler_eval.figures.curves import curves
from ruler_eval.figures.depth import depth_maps, depth_table
from ruler_eval.figures.differences import differences, pair_runs
from ruler_eval.figures.figure import Figure
from ruler_eval.figures.languages import language_scores
from ruler_eval.figures.losses import losses
from ruler_eval.figures.published import published
from ruler_eval.figures.runs import (
    count_rows,
    documents_figure,
    headline,
    rows_figure,
    runs_figure,
    warnings_about,
)
from ruler_eval.figures.scores import averages, groups, scores
from ruler_eval.figures.series import Runs, runs_of
from ruler_eval.figures.structure import complexity, correlation_of
from ruler_eval.figures.summary import summary, unanswered
from ruler_eval.figures.task_scores import cells, control, tasks, variants, words
from ruler_eval.score.troubles import count_troubles, troubles_in_words

FIGURES: dict[str, Callable[[Runs], list[Figure]]] = {
    "summary": lambda runs: [summary(runs, pair_runs(runs))],
    "scores": lambda runs: scores(runs)[:1],
    "categories": lambda runs: scores(runs)[1:],
    "averages": lambda runs: [averages(runs)],
    "groups": lambda runs: [groups(runs)],
    "tasks": tasks,
    "cells": cells,
    "variants": lambda runs: [variants(runs)],
    "control": lambda runs: [control(runs)],
    "words": lambda runs: [words(runs)],
    "losses": lambda runs: [losses(runs)],
    "languages": lambda runs: [language_scores(runs)],
    "curves": curves,
    "needles": lambda runs: depth_maps(runs)[0],
    "depth": lambda runs: [depth_table(runs)],
    "differences": lambda runs: differences(runs, pair_runs(runs)),
    "complexity": complexity,
    "correlation": correlation_of,
    "published": lambda runs: published(runs, all_tables=True),
    "rows": lambda runs: [rows_figure(runs)],
    "documents": lambda runs: [documents_figure(runs)],
    "runs": lambda runs: [runs_figure(runs)],
}
"""Every figure that needs only scored runs, in the order of the page."""
MAX_NOTES = 5


def check_figure_names(names: Sequence[str]) -> None:
    """Raise RulerError for a name that is of no figure: scores, or tasks-NAME."""
    for name in names:
        check_name("--figure", name.partition("-")[0], tuple(FIGURES))


def chosen_figures(runs: Runs, names: Sequence[str]) -> list[Figure]:
    """Return the figures with these names. Raises RulerError for an unknown or an empty one."""
    check_figure_names(names)
    figures = []
    for name in names:
        family = name.partition("-")[0]
        found = []
        for figure in FIGURES[family](runs):
            if name in (family, figure.name) and not figure.is_empty:
                found.append(figure)
        if not found:
            raise RulerError(f"The figure '{name}' has nothing to show of these runs.")
        figures += found
    return figures


def notes_on_runs(runs: Runs) -> list[str]:
    """Return what a figure alone does not say: warnings, and rows without a whole answer."""
    sentences = []
    for run in runs.runs:
        sentences += [f"{run.label}: {warning}." for warning in warnings_about(run)]
    return [*sentences, *unanswered(runs)]


# ---- What `ruler score` shows ------------------------------------------------------------------


def score_figures(runs: Runs, all_tables: bool = False) -> list[Figure]:
    """Return the figures of one or several scored runs, or with `all_tables` every table of them.

    One run has its tasks by lengths, several the table of models. If there are several languages,
    they have rows, and `all_tables` shows the tasks of each.
    """
    figures = _about(runs, all_tables)
    languages = language_scores(runs, with_intervals=all_tables or len(runs.runs) == 1)
    if len(runs.series) > 1:
        figures += scores(runs) if all_tables else scores(runs)[:1]
    if languages.records and not all_tables:
        more = "The tasks of each language and of the means: --all."
        figures += [languages, averages(runs), Figure(name="more", title="", sentences=[more])]
        return figures
    figures.append(languages)
    if len(runs.series) == 1 or all_tables:
        for part in _by_language(runs) if all_tables else [runs]:
            figures += _task_figures(part, all_tables)
    else:
        figures.append(losses(runs, all_groups=False))
    if all_tables:
        figures += [rows_figure(runs), documents_figure(runs), depth_table(runs)]
        figures += _notes(runs, None)
    return figures


def _task_figures(runs: Runs, all_tables: bool) -> list[Figure]:
    """Return the tables of the tasks."""
    other_rules = variants(runs)
    figures = tasks(runs, all_tables)
    if all_tables or any("pass@" in record["row"] for record in other_rules.records):
        figures.append(other_rules)
    figures += [control(runs), averages(runs)]
    if all_tables:
        figures += [groups(runs), words(runs)]
    return [*figures, losses(runs)]


def _by_language(runs: Runs) -> list[Runs]:
    """Return the runs in each language and pair of languages, and in the means over them."""
    languages: dict[str, None] = {}
    for series in runs.series:
        languages |= dict.fromkeys(series.run.results["summary"][series.tokenizer])
    return [runs_of(runs.runs, language) for language in languages]


def _about(runs: Runs, all_tables: bool) -> list[Figure]:
    """Return what was scored, the sentences in short, the counts of rows, and the notes."""
    heads = [headline(run.labelled) for run in runs.runs]
    figures = [Figure(name="headline", title="", sentences=heads)]
    short = summary(runs, pair_runs(runs))
    figures.append(Figure(name="summary", title="", sentences=short.sentences))
    if not all_tables:
        figures.append(Figure(name="counts", title="", sentences=_counts(runs)))
        figures += _notes(runs, MAX_NOTES)
    return figures


def _counts(runs: Runs) -> list[str]:
    """Return the number of scored rows, and the number with each kind of trouble."""
    sentences = []
    for run in runs.runs:
        counts = count_troubles(run.results["configurations"].values())
        text = number_of(count_rows(run), "row")
        if len(runs.runs) > 1:
            text = f"{run.label}: {text}"
        if counts:
            text += f": {', '.join(troubles_in_words(counts))} (by configuration: --all)"
        if counts.get("missing") and not run.results["partial"]:
            text += ". Missing rows count as wrong; --partial leaves them out"
        sentences.append(f"{text}.")
    return sentences


def _notes(runs: Runs, max_notes: int | None) -> list[Figure]:
    """Return the first notes of each run; those about missing rows come last."""
    sentences = []
    for run in runs.runs:
        notes = run.results["notes"]
        counted = [note for note in notes if " missing row" in note]
        order = [note for note in notes if note not in counted] + counted
        whose = f"{run.label}: " if len(runs.runs) > 1 else ""
        sentences += [f"Note: {whose}{note}." for note in order[:max_notes]]
        if more := len(notes) - len(order[:max_notes]):
            sentences.append(f"{number_of(more, 'more note')}: --all.")
    return [Figure(name="notes", title="", sentences=sentences)]
