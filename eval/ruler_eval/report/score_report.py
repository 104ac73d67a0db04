"""What `ruler score` prints: what matters, in 80 columns; with `--all` every table.

    print(report(results))

Rows are tasks and columns lengths; of several languages rows are languages, each the mean of its
tasks, and with `--all` every language has its tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ruler_common.terminal import line_of, narrow_table, sentences
from ruler_common.text import number_of
from ruler_eval.report import score_tables as tables
from ruler_eval.report.config_tables import (
    TROUBLE_NAMES,
    TROUBLES,
    by_depth,
    shared_documents,
    troubles,
)
from ruler_eval.report.score_tables import MEANS
from ruler_eval.report.table_parts import number
from ruler_eval.score.aggregates import for_all
from ruler_eval.score.results import GroupSummary, Results

_MOST_NOTES = 5
_BY_TASK = "The tasks of each language and of the means: --all."


def report(
    results: Results,
    markdown: bool = False,
    every: bool = False,
    intervals: bool = False,
    depth: bool = False,
) -> str:
    """Headline, notes, rows in trouble; scores by task and length; with `depth` by depth; averages.

    Of ONERULER's languages a row each; the averages are those of the mean over them. With `every`
    the tables of each language, and what went wrong with rows; with `intervals` of each score.
    """
    data, notes = results["dataset"], results["notes"]
    noted = _notes(notes, len(notes) if every else _MOST_NOTES, markdown)
    parts = [sentences(tables.headline(results), markdown)]
    parts += [] if every else [_troubles(results), noted]
    for tokenizer, by_language in results["summary"].items():
        several = len(by_language) > 1
        for languages in by_language if every else [for_all(by_language)]:
            known, groups = tables.chosen(results, tokenizer, languages), by_language[languages]
            cells, name = list(known.values()), f"{data['name']}, {tokenizer}"
            title = f"Scores by language and length ({name}), mean of the tasks"
            if several or languages != "en":
                name += f", {MEANS.get(languages, languages)}"
            if several and not every:
                text = _languages(by_language, markdown)
            else:
                title = f"Scores ({name})"
                brief = not every
                text = tables.scores(cells, groups, data["tasks"], markdown, intervals, brief)
            parts.append(f"{line_of(title, markdown)}\n\n{text}")
            parts.append(tables.relative_to_alone(cells, groups, data["tasks"], markdown))
            parts += [by_depth(known, markdown)] * (depth and not every)
            averages = tables.averages(groups, markdown, every)
            parts.append(f"{line_of(f'Averages ({name})', markdown)}\n\n{averages}")
            parts.append(tables.losses(groups, markdown))
        parts += [_BY_TASK] * (several and not every)
    if every:
        parts.append(troubles(results, markdown))
        parts += [shared_documents(results, markdown)] * intervals
        parts += [by_depth(results["configurations"], markdown), noted]
    return "\n\n".join(filter(None, parts))


def _notes(notes: Sequence[str], most: int, markdown: bool) -> str:
    """The first notes, a line each: a run with missing rows has one for every configuration.

    These are counted above, so that they come after what may be wrong with the answers.
    """
    order = sorted(notes, key=lambda note: " rows are missing, " in note)
    shown = [f"Note: {note}." for note in order[:most]]
    if more := len(notes) - len(shown):
        shown.append(f"{more} more {'note' if more == 1 else 'notes'}: --all.")
    return "\n".join(sentences(line, markdown) for line in shown)


def _troubles(results: Results) -> str:
    cells = results["configurations"].values()
    counts = {name: sum(cell[name] for cell in cells) for name in TROUBLES}
    found = [f"{count:,} {TROUBLE_NAMES[name]}" for name, count in counts.items() if count]
    text = number_of(sum(cell["n"] for cell in cells), "row")
    if found:
        text += f": {', '.join(found)} (by configuration: --all)"
    if counts["missing"] and not results["partial"]:
        text += ". Missing rows count as wrong; --partial leaves them out"
    return sentences(text)


def _languages(by_language: Mapping[str, Mapping[str, GroupSummary]], markdown: bool) -> str:
    """A row a language, the best first, pairs after single ones, means last."""
    lengths = list(dict.fromkeys(n for g in by_language.values() for n in g["all"]["lengths"]))

    def order(languages: str) -> tuple[bool, bool, float]:
        means = by_language[languages]["all"]["lengths"].values()
        scores = [mean["score"] for mean in means if mean["score"] is not None]
        average = sum(scores) / len(scores) if scores else 0.0
        return languages in MEANS, "-" in languages, -average

    rows = []
    for languages in sorted(by_language, key=order):
        means = tables.marked(by_language[languages]["all"])
        name = MEANS.get(languages, languages)
        average = number(by_language[languages]["all"]["average"]["score"])
        rows.append([name, *(means.get(length, "-") for length in lengths), average])
    return narrow_table(["language", *map(str.upper, lengths), "Avg."], rows, markdown)
