"""What `ruler score` prints: one screen of 80 columns, and with `--all` every table.

    print(scores(results))

Rows are tasks and columns lengths; below them the averages and effective lengths, as in Tables 3
and 12 to 16 of RULER (arXiv:2404.06654). If there are several languages, each has a row (the mean
of its tasks), and `--all` shows the tables of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from ruler_common.terminal import sentences, table
from ruler_common.text import number_of
from ruler_eval.report.table_parts import number, titled
from ruler_eval.score.aggregates import (
    EVERY_LANGUAGE,
    EVERY_PAIR,
    for_all,
    in_languages,
    written,
)
from ruler_eval.score.results import (
    Cell,
    GroupSummary,
    LengthLoss,
    Results,
    rows_of,
    warnings_of,
)

Trouble = Literal[
    "missing", "failed", "does_not_fit", "cut", "cut_scored",
    "thinking", "thinking_cut", "duplicated",
]  # fmt: skip
TROUBLES: tuple[Trouble, ...] = get_args(Trouble)
TROUBLE_NAMES: Mapping[str, str] = {
    "missing": "missing",
    "failed": "failed",
    "does_not_fit": "did not fit the window",
    "cut": "truncated",
    "cut_scored": "scored though truncated",
    "thinking": "with reasoning",
    "thinking_cut": "ended within reasoning",
    "duplicated": "answered twice",
}
"""The counts of results.json in words; `failed` includes those that did not fit."""
MEANS = {EVERY_LANGUAGE: "mean over languages", EVERY_PAIR: "mean over pairs of languages"}
MAX_NOTES = 5
WHOLE_WORDS = (
    "whole words: the share of answers that contain a reference as whole words; the score accepts "
    "a reference within a longer word, too."
)
OTHER_TASKS = "* a mean over other tasks than the others of this row"


def scores(results: Results, markdown: bool = False, every: bool = False) -> str:
    """Return headline, notes, scores, averages and effective lengths; with `every` all tables."""
    max_notes = len(results["notes"]) if every else MAX_NOTES
    notes = _notes(results["notes"], max_notes, markdown)
    parts = [sentences(headline(results), markdown)]
    if not every:
        parts += [_counts(results), notes]
    for tokenizer, by_language in results["summary"].items():
        for languages in by_language if every else [for_all(by_language)]:
            parts += _of_languages(results, tokenizer, languages, markdown, every)
        if len(by_language) > 1 and not every:
            parts.append("The tasks of each language and of the means: --all.")
    if every:
        parts.append(troubles(results, markdown))
        parts.append(shared_documents(results, markdown))
        parts.append(by_depth(results["configurations"], markdown))
        parts.append(notes)
    return "\n\n".join(part for part in parts if part)


def _of_languages(
    results: Results, tokenizer: str, languages: str, markdown: bool, every: bool
) -> list[str]:
    """Return the tables of one tokenizer and language, or of the mean over languages."""
    by_language = results["summary"][tokenizer]
    groups, tasks = by_language[languages], results["dataset"]["tasks"]
    cells = list(chosen(results, tokenizer, languages).values())
    name = f"{results['dataset']['name']}, {tokenizer}"
    if len(by_language) > 1 or languages != "en":
        name += f", {MEANS.get(languages, languages)}"
    title, table = f"Scores ({name})", ""
    if len(by_language) > 1 and not every:
        title = f"Scores by language and length ({name}), mean of the tasks"
        table = _language_rows(by_language, markdown)
    else:
        table = _score_table(cells, groups, tasks, markdown, every)
    parts = [f"{sentences(title, markdown)}\n\n{table}"]
    parts.append(relative_to_alone(cells, groups, tasks, markdown))
    averages = averages_table(groups, markdown)
    parts.append(f"{sentences(f'Averages ({name})', markdown)}\n\n{averages}")
    if every:
        parts.append(means_by_length(groups, markdown))
        parts.append(words_right(cells, groups, tasks, markdown))
        parts.append(losses(groups, markdown))
    return parts


def headline(results: Results) -> str:
    """Return what was scored: model, data, whose rows, and what makes the scores less sure."""
    parts = [results["model"] or "unnamed model", results["dataset"]["name"], rows_of(results)]
    if results["mode"]:
        parts.append(f"mode {results['mode']}")
    parts += [f"rules {results['score_version']}", *rule_options(results), *warnings_of(results)]
    return " · ".join(parts)


def rule_options(results: Results) -> list[str]:
    """Return the options of `ruler score` that were not the default."""
    options = []
    if compat := results["rules"]["compat"]:
        options.append(f"--compat {compat}")
    if (cut := results["rules"]["cut"]) != "protocol":
        options.append(f"--cut {cut}")
    return options


def chosen(results: Results, tokenizer: str, languages: str | None = None) -> dict[str, Cell]:
    """Return the configurations under a tokenizer, of all languages or of these."""
    return {
        name: cell
        for name, cell in results["configurations"].items()
        if (cell["tokenizer"] or "unknown") == tokenizer
        and (languages is None or in_languages(cell, languages))
    }


def overall_average(results: Results) -> float | None:
    """Return the average over the tasks and lengths that were scored, 0 … 100.

    Over several tokenizers it is the lowest, since their rows differ; None without scores.
    """
    averages = []
    for by_language in results["summary"].values():
        lengths = by_language[for_all(by_language)]["all"]["lengths"].values()
        means = [mean["score"] for mean in lengths if mean["tokens"] and mean["score"] is not None]
        if means:
            averages.append(sum(means) / len(means))
    return min(averages, default=None)


# Notes and counts


def _notes(notes: Sequence[str], max_notes: int, markdown: bool) -> str:
    """Return the first notes, a line each; those about missing rows, which are counted, last."""
    order = sorted(notes, key=lambda note: " rows are missing, " in note)
    lines = [f"Note: {note}." for note in order[:max_notes]]
    if more := len(notes) - len(lines):
        lines.append(f"{number_of(more, 'more note')}: --all.")
    return "\n".join(sentences(line, markdown) for line in lines)


def _counts(results: Results) -> str:
    """Return how many rows were scored, and how many of them had which trouble."""
    cells = results["configurations"].values()
    text = number_of(sum(cell["n"] for cell in cells), "row")
    counts = {name: sum(cell[name] for cell in cells) for name in TROUBLES}
    found = [f"{count:,} {TROUBLE_NAMES[name]}" for name, count in counts.items() if count]
    if found:
        text += f": {', '.join(found)} (by configuration: --all)"
    if counts["missing"] and not results["partial"]:
        text += ". Missing rows count as wrong; --partial leaves them out"
    return sentences(text)


def troubles(results: Results, markdown: bool = False) -> str:
    """Return the counts beside the score, for the configurations that have any."""
    cells = results["configurations"]
    shown = [name for name in TROUBLES if any(cell[name] for cell in cells.values())]
    rows = [
        [config, str(cell["n"]), *(str(cell[name]) for name in shown)]
        for config, cell in cells.items()
        if any(cell[name] for name in shown)
    ]
    header = ["configuration", "n", *(TROUBLE_NAMES[name] for name in shown)]
    return titled("Rows that are missing, failed or truncated", header, rows, markdown)


def shared_documents(results: Results, markdown: bool = False) -> str:
    """Return the configurations whose rows share documents, and what that does to intervals."""
    rows = [
        [name, str(cell["n"]), str(cell["documents"]), f"{cell['design_effect']:.2f}"]
        for name, cell in results["configurations"].items()
        if "documents" in cell and "design_effect" in cell
    ]
    title = "Rows that share documents, and so are known less well"
    return titled(title, ["configuration", "n", "documents", "design effect"], rows, markdown)


def by_depth(cells: Mapping[str, Cell], markdown: bool = False) -> str:
    """Return ten bins of depth, in whole percent, for each configuration that has evidence."""
    rows = []
    for name, cell in cells.items():
        if cell["depth"]:
            bins = [bin["score"] for bin in cell["depth"]]
            rows.append([name, *("-" if score is None else f"{score:.0f}" for score in bins)])
    header = ["configuration", *(str(10 * place) for place in range(10))]
    return titled("Scores by the depth of the evidence, in %", header, rows, markdown)


# Scores by length


def _score_table(
    cells: Sequence[Cell],
    groups: Mapping[str, GroupSummary],
    tasks: Sequence[str],
    markdown: bool,
    every: bool,
) -> str:
    """Return a row for each task, then the mean of the tasks and its interval.

    With `every` also the interval of each score, the strict mean, and a column of averages over
    the lengths; else the change from the shortest length.
    """
    lengths = groups["all"]["lengths"]
    means = marked(groups["all"])
    rows = task_rows(cells, list(lengths), tasks, every)
    has_whole_words = any(row[0].endswith(", whole words") for row in rows)
    rows.append([mean_name(groups["all"]), *means.values()])
    rows += interval_rows([mean["interval"] for mean in lengths.values()])
    if every:
        rows.append(["strict", *(number(mean["strict"]) for mean in lengths.values())])
    header = ["task", *map(str.upper, lengths)]
    far = [length for length, mean in lengths.items() if mean["tokens"]]
    if every and len(far) > 1:
        header.append("Avg.")
        averages = {task: _average(cells, task, far) for task in tasks}
        averages[mean_name(groups["all"])] = number(groups["all"]["average"]["score"])
        rows = [[*row, averages.get(row[0], "")] for row in rows]
    changes = {loss["longer"]: _change(loss) for loss in groups["all"]["losses"]}
    notes = []
    if changes and not every:
        shorter = groups["all"]["losses"][0]["shorter"].upper()
        rows.append([f"change from {shorter}", *(changes.get(name, "") for name in lengths)])
        notes.append("change: in points, rows paired by index, ± half the 95 % interval.")
    if any(mean.endswith("*") for mean in means.values()):
        notes.append(OTHER_TASKS)
    if has_whole_words:
        notes.append(WHOLE_WORDS)
    return "\n".join([table(header, rows, markdown), *(_note(n, markdown) for n in notes)])


def _note(text: str, markdown: bool) -> str:
    """Return a note below a table; a paragraph of its own in Markdown."""
    return "\n" + sentences(text, markdown) if markdown else sentences(text)


def task_rows(
    cells: Sequence[Cell], lengths: Sequence[str], tasks: Sequence[str], intervals: bool
) -> list[list[str]]:
    """Return a row for each scored task, in the order of `tasks`, and rows beside its score."""
    by_place: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_place.setdefault((cell["task"], cell["length"]), []).append(cell)
    scored = {cell["task"] for cell in cells}
    rows: list[list[str]] = []
    for task in tasks:
        if task not in scored:
            continue
        by_length = [by_place.get((task, length), []) for length in lengths]
        rows.append([task, *(_mean_of(here, "score") for here in by_length)])
        if intervals:
            alone = [here[0]["interval"] if len(here) == 1 else None for here in by_length]
            rows += interval_rows(alone)
        if any("whole_word" in cell for here in by_length for cell in here):
            shares = [_mean_of(here, "whole_word") for here in by_length]
            rows.append([f"{task}, whole words", *shares])
        sizes = {size for here in by_length for cell in here for size in cell.get("pass_at", ())}
        for size in sorted(sizes, key=int):
            passed = [number(_pass_at(here, size)) for here in by_length]
            rows.append([f"{task}, pass@{size}", *passed])
    return rows


def _pass_at(cells: Sequence[Cell], size: str) -> float | None:
    """Return the mean over languages of the share of rows that one of `size` samples solves."""
    values = [cell["pass_at"][size]["score"] for cell in cells if size in cell.get("pass_at", {})]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def words_right(
    cells: Sequence[Cell],
    groups: Mapping[str, GroupSummary],
    tasks: Sequence[str],
    markdown: bool = False,
) -> str:
    """Return how many of the ten words of ONERULER's cwe are right, by length."""
    lengths = groups["all"]["lengths"]
    rows = []
    for task in tasks:
        of_task = [cell for cell in cells if cell["task"] == task and "words_right" in cell]
        if of_task:
            at = {name: [cell for cell in of_task if cell["length"] == name] for name in lengths}
            rows.append([task, *(_mean_of(here, "words_right") for here in at.values())])
    title = "Words right of ten, mean over the rows"
    return titled(title, ["task", *map(str.upper, lengths)], rows, markdown)


def interval_rows(intervals: Sequence[Sequence[float] | None]) -> list[list[str]]:
    """Return the ends of intervals, a row each: both in one column would be too wide."""
    if not any(intervals):
        return []
    rows = []
    for place, name in enumerate(("from", "to")):
        ends = [None if interval is None else interval[place] for interval in intervals]
        rows.append([f"95 % {name}", *(number(end) for end in ends)])
    return rows


def relative_to_alone(
    cells: Sequence[Cell],
    groups: Mapping[str, GroupSummary],
    tasks: Sequence[str],
    markdown: bool = False,
) -> str:
    """Return each score in percent of the task's at `0k`, if that was scored."""
    means = {name: mean for name, mean in groups["all"]["lengths"].items() if mean["tokens"]}
    shares = {
        (cell["task"], cell["length"]): cell["relative_to_0k"]
        for cell in cells
        if "relative_to_0k" in cell
    }
    known = {task for task, _ in shares}
    rows = [
        [task, *(number(shares.get((task, length))) for length in means)]
        for task in tasks
        if task in known
    ]
    if rows:
        of_means = [number(mean.get("relative_to_0k")) for mean in means.values()]
        rows.append(["mean by mean", *of_means])
    title = "Scores in percent of those at 0k (only the evidence)"
    return titled(title, ["task", *map(str.upper, means)], rows, markdown)


def _average(cells: Iterable[Cell], task: str, lengths: Sequence[str]) -> str:
    """Return the mean over lengths of a task's score; "-" if it was not scored at each."""
    by_length: dict[str, list[float]] = {length: [] for length in lengths}
    for cell in cells:
        if cell["task"] == task and cell["length"] in by_length and cell["score"] is not None:
            by_length[cell["length"]].append(cell["score"])
    if not all(by_length.values()):
        return "-"
    means = [sum(values) / len(values) for values in by_length.values()]
    return number(sum(means) / len(means))


def _mean_of(cells: Sequence[Cell], key: Literal["score", "whole_word", "words_right"]) -> str:
    values = [value for cell in cells if (value := cell.get(key)) is not None]
    return number(sum(values) / len(values)) if values else "-"


def _language_rows(by_language: Mapping[str, Mapping[str, GroupSummary]], markdown: bool) -> str:
    """Return a row for each language, the best first, pairs after single ones, means last."""
    lengths = list(dict.fromkeys(n for g in by_language.values() for n in g["all"]["lengths"]))

    def order(languages: str) -> tuple[bool, bool, float]:
        means = by_language[languages]["all"]["lengths"].values()
        known = [mean["score"] for mean in means if mean["score"] is not None]
        average = sum(known) / len(known) if known else 0.0
        return languages in MEANS, "-" in languages, -average

    rows = []
    for languages in sorted(by_language, key=order):
        group = by_language[languages]["all"]
        means = marked(group)
        cells = [means.get(length, "-") for length in lengths]
        average = number(group["average"]["score"])
        rows.append([MEANS.get(languages, languages), *cells, average])
    return table(["language", *map(str.upper, lengths), "Avg."], rows, markdown)


# Averages over lengths, and effective lengths


def averages_table(groups: Mapping[str, GroupSummary], markdown: bool = False) -> str:
    """Return a row for all tasks and each category: averages, threshold and effective length.

    A mean over fewer tasks than the category has says so in its row's name.
    """
    several = sum(mean["tokens"] > 0 for mean in groups["all"]["lengths"].values()) > 1
    has_average = any(group["average"]["score"] is not None for group in groups.values())
    has_threshold = any(group["threshold"] is not None for group in groups.values())
    has_relative = any(group["relative_effective_length"] for group in groups.values())
    header, notes = ["group"], []
    if has_average:
        header += ["Avg.", "from", "to"]
        notes.append("from, to: 95 % interval.")
        if several:
            header += ["inc", "dec"]
            notes.append(
                "inc, dec: averages in which longer, and in which shorter, lengths weigh more."
            )
    if has_threshold and several:
        header += ["threshold", "effective"]
        notes.append(
            "effective: the longest length with a score at or above the threshold (by the ends of "
            "the scores' intervals)."
        )
    elif has_relative and several:
        header.append("relative")
        notes.append("relative: the longest length with 85 % of the score at the shortest.")
    if len(header) == 1:
        return "None: too few tasks were scored."
    rows = []
    for name, group in sorted(groups.items(), key=lambda item: item[0] != "all"):
        low, high = group["average"]["interval"] or (None, None)
        cells = {
            "group": group_name(name, group),
            "Avg.": number(group["average"]["score"]),
            "from": number(low),
            "to": number(high),
            "inc": number(group["weighted_inc"]["score"]),
            "dec": number(group["weighted_dec"]["score"]),
            "threshold": number(group["threshold"]),
            "effective": effective_name(group),
            "relative": relative_name(group),
        }
        rows.append([cells[column] for column in header])
    return f"{table(header, rows, markdown)}\n\n{sentences(' '.join(notes), markdown)}"


def means_by_length(groups: Mapping[str, GroupSummary], markdown: bool = False) -> str:
    """Return each category's mean at each length, the area under it, and its relative length."""
    lengths = groups["all"]["lengths"]
    rows, marks = [], False
    for name, group in sorted(groups.items(), key=lambda item: item[0] != "all"):
        means = marked(group)
        marks = marks or any(mean.endswith("*") for mean in means.values())
        cells = [means.get(length, "-") for length in lengths]
        row = [group_name(name, group), *cells, number(group["area"]["score"])]
        rows.append([*row, relative_name(group)])
    header = ["group", *map(str.upper, lengths), "area", "relative"]
    note = (
        "area: under the scores over log2 of the lengths. relative: the longest length with 85 % "
        "of the score at the shortest."
    )
    parts = [titled("Means by length", header, rows, markdown)]
    if marks:
        parts.append(_note(OTHER_TASKS, markdown))
    return "\n".join([*parts, _note(note, markdown)])


def losses(groups: Mapping[str, GroupSummary], markdown: bool = False) -> str:
    """Return for each category how the mean changes from the shortest length; "" of one length.

    Rows of one index are paired; ± is half the 95 % interval.
    """
    lengths = list(groups["all"]["lengths"])
    rows = []
    for name, group in sorted(groups.items(), key=lambda item: item[0] != "all"):
        changes = {loss["longer"]: _change(loss) for loss in group["losses"]}
        if changes:
            shorter = group["losses"][0]["shorter"]
            lengths = [length for length in lengths if length != shorter]
            rows.append((name, changes))
    if not rows:
        return ""
    known = [length for length in lengths if any(length in changes for _, changes in rows)]
    table = [[name, *(changes.get(length, "-") for length in known)] for name, changes in rows]
    title = f"Change from {shorter.upper()}, in points (rows paired by index, ± 95 %)"
    return titled(title, ["group", *map(str.upper, known)], table, markdown)


def _change(loss: LengthLoss) -> str:
    """Return `−6.2±0.8`."""
    text = f"{loss['difference']:+.1f}".replace("-", "−")
    if loss["interval"] is None:
        return text
    low, high = loss["interval"]
    return f"{text}±{(high - low) / 2:.1f}"


def group_name(name: str, group: GroupSummary) -> str:
    """Return the name of a row: `all 13 tasks`, `retrieval`, `vt, mean of 0 of 1 task`."""
    short = name.partition(" (")[0]
    if any(mean["tasks"] != group["tasks"] for mean in group["lengths"].values()):
        return f"{short}, {mean_name(group)}"
    return f"all {group['tasks']} tasks" if name == "all" else short


def mean_name(group: GroupSummary) -> str:
    """`mean of 13 tasks`; `mean of 8 of 13 tasks` if some were not scored at any length."""
    counts = sorted({mean["tasks"] for mean in group["lengths"].values()})
    tasks = number_of(group["tasks"], "task")
    if counts == [group["tasks"]]:
        return f"mean of {tasks}"
    scored = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"mean of {scored} of {tasks}"


def marked(group: GroupSummary) -> dict[str, str]:
    """Return the mean at each length, with a mark if it is over other tasks than most are."""
    means = group["lengths"]
    most = max((mean["tasks"] for mean in means.values()), default=0)
    usual = next((mean["lacking"] for mean in means.values() if mean["tasks"] == most), [])
    return {
        length: number(mean["score"]) + ("" if mean["lacking"] == usual else "*")
        for length, mean in means.items()
    }


def effective_name(group: GroupSummary) -> str:
    """Return `32K (16K–32K)`: the effective length, and that by the ends of the intervals."""
    name, between = group["effective_length_name"], effective_between(group)
    if between in ("-", name):
        return name
    return f"{name} ({between.replace('-', '–')})"


def effective_between(group: GroupSummary) -> str:
    """Return `64K-128K`: the effective lengths by the lower and upper ends of the intervals."""
    found = group["effective_length_interval"]
    if found is None:
        return "-"
    names = {mean["tokens"]: length for length, mean in group["lengths"].items()}
    shortest = min(tokens for tokens in names if tokens)
    ends = [f"<{written(shortest, names)}" if n is None else written(n, names) for n in found]
    return "-".join(dict.fromkeys(ends))


def relative_name(group: GroupSummary) -> str:
    """Return the relative effective length, as the group's columns name it."""
    tokens = group["relative_effective_length"]
    names = {mean["tokens"]: length for length, mean in group["lengths"].items()}
    return "-" if tokens is None else written(tokens, names)
