"""What `ruler score` prints: what matters, in 80 columns; the table of scores, then the averages.

    print(summary(results))

Rows are tasks and columns lengths; of several languages rows are languages, each the mean of its
tasks. score_tables.py has every table, as `ruler score --all` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ruler_common.terminal import line_of, narrow_table, sentences
from ruler_common.text import number_of
from ruler_eval.report.config_tables import TROUBLE_NAMES, TROUBLES, by_depth
from ruler_eval.report.score_tables import (
    MEANS,
    chosen,
    effective_between,
    headline,
    marked,
    mean_name,
    number,
    relative_name,
    relative_to_alone,
    scores,
)
from ruler_eval.score.aggregates import for_all
from ruler_eval.score.results_file import GroupSummary, Results

_MEANING = {
    "from": "from, to: 95 % interval.",
    "inc": "inc, dec: averages in which longer, and in which shorter, lengths weigh more.",
    "effective": "effective: the longest length at or above the threshold{threshold}{between}.",
    "relative": "relative: the longest with 85 % of the score at the shortest.",
}
"""Columns of the averages, explained below them."""
_MOST_NOTES = 5
_BY_TASK = "The tasks of each language and of the means: --all."


def summary(results: Results, markdown: bool = False, depth: bool = False) -> str:
    """Headline, notes, rows in trouble; scores by task and length; with `depth` by depth; averages.

    Of ONERULER's languages a row each; the averages are those of the mean over them.
    """
    parts = [sentences(headline(results), markdown), _troubles(results)]
    parts.append(_notes(results["notes"], markdown))
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
        relative = relative_to_alone(cells, groups, results["dataset"]["tasks"], markdown)
        if relative:
            parts.append(f"Scores in percent of those at 0k (the evidence alone)\n\n{relative}")
        if depth:
            parts.append(by_depth(chosen(results, tokenizer, languages), markdown))
        parts.append(f"Averages ({name}{also})\n\n{_averages(groups, markdown)}")
        parts += [_BY_TASK] * (len(by_language) > 1)
    return "\n\n".join(filter(None, parts))


def _notes(notes: Sequence[str], markdown: bool) -> str:
    """The first notes, a line each: a run with missing rows has one for every configuration.

    These are counted above, so that they come after what may be wrong with the answers.
    """
    order = sorted(notes, key=lambda note: " rows are missing, " in note)
    shown = [f"Note: {note}." for note in order[:_MOST_NOTES]]
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
        means = marked(by_language[languages]["all"])
        name = MEANS.get(languages, languages)
        average = number(by_language[languages]["all"]["average"]["score"])
        rows.append([name, *(means.get(length, "-") for length in lengths), average])
    return narrow_table(["language", *map(str.upper, lengths), "Avg."], rows, markdown)


def _averages(groups: Mapping[str, GroupSummary], markdown: bool) -> str:
    """A row a group; a group of which tasks are lacking says so in a row of its own.

    Columns that say nothing are left out.
    """
    rows = []
    for name, group in sorted(groups.items(), key=lambda item: item[0] != "all"):
        average = group["average"]
        low, high = average["interval"] or (None, None)
        weighted = (group["weighted_inc"], group["weighted_dec"])
        rows.append(
            [
                *(name, number(average["score"]), number(low), number(high)),
                *(number(mean["score"]) for mean in weighted),
                *(group["effective_length_name"], relative_name(group)),
            ]
        )
        if any(mean["tasks"] < group["tasks"] for mean in group["lengths"].values()):
            rows.append([f"  ({mean_name(group)})", *[""] * 7])
    header = ["group", "Avg.", "from", "to", "inc", "dec", "effective", "relative"]
    far = [mean for mean in groups["all"]["lengths"].values() if mean["tokens"]]
    shown = [
        i
        for i, name in enumerate(header)
        if any(row[i] not in ("", "-") for row in rows)
        and (len(far) > 1 or name not in ("inc", "dec"))  # of one length all averages are the same
    ]
    level = groups["all"]["threshold"]
    threshold = f" ({level:.1f} for all)" if level is not None else ""
    names = [header[i] for i in shown]
    ends = [
        f"{between} ({name})"
        for name, group in groups.items()
        if (between := effective_between(group)) not in ("-", group["effective_length_name"])
    ]
    between = f"; by the ends of the scores' intervals {', '.join(ends)}" if ends else ""
    known = {"threshold": threshold, "between": between}
    meanings = [_MEANING[name].format(**known) for name in names if name in _MEANING]
    drawn = narrow_table(names, [[row[i] for i in shown] for row in rows], markdown)
    explained = sentences(" ".join(meanings), markdown)
    return f"{drawn}\n\n{explained}" if shown[1:] else "None: too few tasks were scored."
