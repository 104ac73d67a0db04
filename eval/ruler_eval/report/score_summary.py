"""What `ruler score` prints: what matters, in 80 columns; the table of scores, then the averages.

    print(summary(results))

Rows are tasks and columns lengths; of several languages rows are languages, each the mean of its
tasks. score_tables.py has every table, as `ruler score --all` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ruler_common.terminal import line_of, narrow_table, sentences
from ruler_eval.report.config_tables import TROUBLES, by_depth
from ruler_eval.report.score_tables import (
    MEANS,
    chosen,
    headline,
    marked,
    mean_name,
    relative_name,
    relative_to_alone,
    scores,
)
from ruler_eval.report.table_parts import number, without_nothing
from ruler_eval.score.aggregates import for_all
from ruler_eval.score.results_file import GroupSummary, Results

_MEANING = {
    "from": "from, to: 95 % interval.",
    "inc": "inc, dec: averages in which longer, and in which shorter, lengths weigh more.",
    "effective": "effective: the longest length at or above the threshold{threshold}.",
    "relative": "relative: the longest with 85 % of the score at the shortest.",
}
"""Columns of the averages, explained below them."""
_BY_TASK = "The tasks of each language and of the means: --all."


def summary(results: Results, markdown: bool = False, depth: bool = False) -> str:
    """Headline, notes, rows in trouble; scores by task and length; with `depth` by depth; averages.

    Of ONERULER's languages a row each; the averages are those of the mean over them.
    """
    parts = [sentences(headline(results), markdown), _troubles(results)]
    parts.append("\n".join(sentences(f"Note: {note}.", markdown) for note in results["notes"]))
    for tokenizer, by_language in results["summary"].items():
        name = line_of(f"{results['dataset']['name']}, {tokenizer}", markdown)
        languages = for_all(by_language)
        groups = by_language[languages]
        also = "" if languages == "en" else f", {MEANS.get(languages, languages)}"
        cells = list(chosen(results, tokenizer, languages).values())
        if len(by_language) > 1:
            title = f"Scores by language and length ({name}), mean of the tasks"
            parts.append(f"{title}\n\n{_languages(by_language, markdown)}")
        else:
            text = scores(cells, groups, results["dataset"]["tasks"], markdown, brief=True)
            parts.append(f"Scores ({name}{also})\n\n{text}")
        parts.append(relative_to_alone(cells, groups, results["dataset"]["tasks"], markdown))
        if depth:
            parts.append(by_depth(chosen(results, tokenizer, languages), markdown))
        parts.append(f"Averages ({name}{also})\n\n{_averages(groups, markdown)}")
        parts += [_BY_TASK] * (len(by_language) > 1)
    return "\n\n".join(filter(None, parts))


def _troubles(results: Results) -> str:
    cells = results["configurations"].values()
    counts = {name: sum(cell[name] for cell in cells) for name in TROUBLES}
    found = [f"{count:,} {name}" for name, count in counts.items() if count]
    total = sum(cell["n"] for cell in cells)
    where = " (by configuration: --all)" if found else ""
    return sentences(f"{total:,} rows{': ' if found else ''}{', '.join(found)}{where}")


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
        means = marked(by_language[languages]["all"])
        name = MEANS.get(languages, languages)
        average = number(by_language[languages]["all"]["average"]["score"])
        rows.append([name, *(means.get(length, "-") for length in lengths), average])
    return narrow_table(["language", *map(str.upper, lengths), "Avg."], rows, markdown)


def _averages(groups: Mapping[str, GroupSummary], markdown: bool) -> str:
    """A row a group; a group of which tasks are lacking says so in a row of its own.

    Columns that say nothing are left out; of one length all averages are the same.
    """
    far = [mean for mean in groups["all"]["lengths"].values() if mean["tokens"]]
    rows = []
    for name, group in sorted(groups.items(), key=lambda item: item[0] != "all"):
        average = group["average"]
        weighted = [group["weighted_inc"], group["weighted_dec"]] if len(far) > 1 else []
        low, high = average["interval"] or (None, None)
        rows.append(
            [
                *(name, number(average["score"]), number(low), number(high)),
                *(number(mean["score"]) for mean in weighted),
                *(group["effective_length_name"], relative_name(group)),
            ]
        )
        if any(mean["tasks"] < group["tasks"] for mean in group["lengths"].values()):
            rows.append([f"  ({mean_name(group)})", *[""] * (5 + len(weighted))])
    header = ["group", "Avg.", "from", "to", *(("inc", "dec") if len(far) > 1 else ())]
    header += ["effective", "relative"]
    names, rows = without_nothing(header, rows, nothing=("", "-"))
    level = groups["all"]["threshold"]
    threshold = f" ({level:.1f} for all)" if level is not None else ""
    meanings = [_MEANING[name].format(threshold=threshold) for name in names if name in _MEANING]
    drawn, explained = narrow_table(names, rows, markdown), sentences(" ".join(meanings), markdown)
    return f"{drawn}\n\n{explained}" if names[1:] else "None: too few tasks were scored."
