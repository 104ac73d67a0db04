"""Write the tables of `ruler score`: one screen of 80 columns, and with `--all` every table.

    print(scores(results))

Rows are tasks and columns are lengths, followed by the averages and effective lengths, as in Tables
3 and 12 to 16 of RULER (arXiv:2404.06654). With several languages, each has a row (the mean of its
tasks), and `--all` shows the tables of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from ruler_common.names import EVIDENCE_ALONE
from ruler_common.text import number, number_of, picked, sentences, table, titled
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
    Results,
    rows_of,
    warnings_of,
)

Trouble = Literal[
    "missing", "failed", "does_not_fit", "truncated", "truncated_scored",
    "thinking", "thinking_truncated", "duplicated",
]  # fmt: skip
TROUBLES: tuple[Trouble, ...] = get_args(Trouble)
TROUBLE_NAMES: Mapping[str, str] = {
    "missing": "missing",
    "failed": "failed",
    "does_not_fit": "did not fit the window",
    "truncated": "truncated",
    "truncated_scored": "truncated but scored",
    "thinking": "with reasoning",
    "thinking_truncated": "ended within reasoning",
    "duplicated": "answered twice",
}
"""The counts of results.json in words; `failed` includes those that did not fit."""
MEANS = {EVERY_LANGUAGE: "mean over languages", EVERY_PAIR: "mean over pairs of languages"}
MAX_NOTES = 5
WHOLE_WORDS = (
    "whole words: the share of answers that contain a reference as whole words; the score also "
    "accepts a reference within a longer word."
)
OTHER_TASKS = "* a mean over different tasks than the other means of this row"
COLUMN_NOTES = {
    "from": "from, to: 95 % interval.",
    "inc": "inc, dec: averages in which longer, and in which shorter, lengths weigh more.",
    "effective": "effective: the longest length with a score at or above the threshold (by the "
    "ends of the scores' intervals).",
    "relative": "relative: the longest length with 85 % of the score at the shortest.",
}
CellsByTask = Mapping[str, Mapping[str, Sequence[Cell]]]
"""Configurations by task and length; more than one in a mean over languages."""


def scores(results: Results, markdown: bool = False, all_tables: bool = False) -> str:
    """Return headline, notes, scores, averages and effective lengths, or all tables."""
    notes = ""
    if results["notes"]:
        notes = _notes(results["notes"], None if all_tables else MAX_NOTES, markdown)
    parts = [sentences(headline(results), markdown)]
    if not all_tables:
        parts += [_counts(results), notes]
    for tokenizer, by_language in results["summary"].items():
        for languages in by_language if all_tables else [for_all(by_language)]:
            parts += _language_tables(results, tokenizer, languages, markdown, all_tables)
        if len(by_language) > 1 and not all_tables:
            parts.append("The tasks of each language and of the means: --all.")
    if all_tables:
        parts.append(_troubles(results["configurations"], markdown))
        parts.append(_shared_documents(results["configurations"], markdown))
        parts.append(_by_depth(results["configurations"], markdown))
        parts.append(notes)
    return "\n\n".join(filter(None, parts))


def _language_tables(
    results: Results, tokenizer: str, languages: str, markdown: bool, all_tables: bool
) -> list[str]:
    """Return the tables of one tokenizer and language, or of the mean over languages."""
    by_language = results["summary"][tokenizer]
    groups = {"all": by_language[languages]["all"], **by_language[languages]}
    cells: dict[str, dict[str, list[Cell]]] = {}
    for cell in chosen(results, tokenizer, languages).values():
        cells.setdefault(cell["task"], {}).setdefault(cell["length"], []).append(cell)
    tasks = {task: cells[task] for task in results["dataset"]["tasks"] if task in cells}
    name = f"{results['dataset']['name']}, {tokenizer}"
    if len(by_language) > 1 or languages != "en":
        name += f", {MEANS.get(languages, languages)}"
    if len(by_language) > 1 and not all_tables:
        title = f"Scores by language and length ({name}), mean of the tasks"
        score_table = _language_table(by_language, markdown)
    else:
        title = f"Scores ({name})"
        score_table = _score_table(tasks, groups["all"], markdown, all_tables)
    parts = [sentences(title, markdown), score_table]
    parts.append(_relative_to_0k(tasks, groups["all"], markdown))
    parts += [sentences(f"Averages ({name})", markdown), _averages_table(groups, markdown)]
    if all_tables:
        parts.append(_means_by_length(groups, markdown))
        parts.append(_words_right(tasks, groups["all"], markdown))
        parts.append(_losses(groups, markdown))
    return parts


def headline(results: Results) -> str:
    """Return what was scored: model, data, rows, rules, and warnings about the scores."""
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
    if (rule := results["rules"]["truncated"]) != "protocol":
        options.append(f"--truncated {rule}")
    return options


def chosen(results: Results, tokenizer: str, languages: str | None = None) -> dict[str, Cell]:
    """Return the configurations under a tokenizer, in all languages or in these."""
    return {
        name: cell
        for name, cell in results["configurations"].items()
        if (cell["tokenizer"] or "unknown") == tokenizer
        and (languages is None or in_languages(cell, languages))
    }


def overall_average(results: Results) -> float | None:
    """Return the average over the tasks and lengths that were scored, 0 … 100.

    For several tokenizers, whose rows differ, it is the lowest; None without scores.
    """
    averages = []
    for by_language in results["summary"].values():
        lengths = by_language[for_all(by_language)]["all"]["lengths"].values()
        means = [mean["score"] for mean in lengths if mean["tokens"] and mean["score"] is not None]
        if means:
            averages.append(sum(means) / len(means))
    return min(averages, default=None)


# ---- Notes and counts ----------------------------------------------------------------------------


def _notes(notes: Sequence[str], max_notes: int | None, markdown: bool) -> str:
    """Return the first notes, one per line; those about missing rows come last."""
    counted = [note for note in notes if " missing row" in note]
    order = [note for note in notes if note not in counted] + counted
    lines = [sentences(f"Note: {note}.", markdown) for note in order[:max_notes]]
    if more := len(notes) - len(lines):
        lines.append(f"{number_of(more, 'more note')}: --all.")
    return "\n".join(lines)


def _counts(results: Results) -> str:
    """Return the number of scored rows, and the number with each kind of trouble."""
    rows = 0
    counts = dict.fromkeys(TROUBLES, 0)
    for cell in results["configurations"].values():
        rows += cell["n"]
        for trouble in TROUBLES:
            counts[trouble] += cell[trouble]
    text = number_of(rows, "row")
    troubles = []
    for name, count in counts.items():
        if count:
            troubles.append(f"{count:,} {TROUBLE_NAMES[name]}")
    if troubles:
        text += f": {', '.join(troubles)} (by configuration: --all)"
    if counts["missing"] and not results["partial"]:
        text += ". Missing rows count as wrong; --partial leaves them out"
    return sentences(text)


def _troubles(cells: Mapping[str, Cell], markdown: bool) -> str:
    """Return the numbers of rows with trouble, for the configurations that have any."""
    columns = [name for name in TROUBLES if any(cell[name] for cell in cells.values())]
    rows = []
    for config, cell in cells.items():
        counts = [cell[name] for name in columns]
        if any(counts):
            rows.append([config, str(cell["n"]), *map(str, counts)])
    header = ["configuration", "n", *(TROUBLE_NAMES[name] for name in columns)]
    return titled("Rows that are missing, failed or truncated", header, rows, markdown)


def _shared_documents(cells: Mapping[str, Cell], markdown: bool) -> str:
    """Return the configurations whose rows share documents, with their design effects."""
    rows = []
    for config, cell in cells.items():
        if "documents" in cell and "design_effect" in cell:
            effect = f"{cell['design_effect']:.2f}"
            rows.append([config, str(cell["n"]), str(cell["documents"]), effect])
    title = "Rows that share documents, which makes their intervals wider"
    return titled(title, ["configuration", "n", "documents", "design effect"], rows, markdown)


def _by_depth(cells: Mapping[str, Cell], markdown: bool) -> str:
    """Return ten bins of depth, in whole percent, for each configuration that has evidence."""
    rows = []
    for config, cell in cells.items():
        if cell["depth"]:
            bins = [bin["score"] for bin in cell["depth"]]
            rows.append([config, *("-" if score is None else f"{score:.0f}" for score in bins)])
    header = ["configuration", *(str(10 * place) for place in range(10))]
    return titled("Scores by the depth of the evidence, in %", header, rows, markdown)


# ---- Scores by length ----------------------------------------------------------------------------


def _score_table(tasks: CellsByTask, group: GroupSummary, markdown: bool, all_tables: bool) -> str:
    """Return a row for each task, then the mean of the tasks and its interval.

    `all_tables` adds the interval of each score, the strict mean, and a column of averages over the
    lengths; without it the last row is the change from the shortest length.
    """
    lengths = group["lengths"]
    has_averages = all_tables and sum(mean["tokens"] > 0 for mean in lengths.values()) > 1
    rows: list[list[str]] = []
    for task, by_length in tasks.items():
        rows += _task_rows(task, by_length, group, all_tables, has_averages)
    notes = []
    if any(row[0].endswith(", whole words") for row in rows):
        notes.append(WHOLE_WORDS)
    rows.append([mean_name(group)])
    low, high, strict = ["95 % from"], ["95 % to"], ["strict"]
    for length, text in marked_means(group).items():
        rows[-1].append(text)
        if text.endswith("*") and OTHER_TASKS not in notes:
            notes.insert(0, OTHER_TASKS)
        mean = lengths[length]
        interval = mean["interval"] or (None, None)
        low.append(number(interval[0]))
        high.append(number(interval[1]))
        strict.append(number(mean["strict"]))
    if has_averages:
        rows[-1].append(number(group["average"]["score"]))
    rows += _without_blanks([low, high])
    if all_tables:
        rows.append(strict)
    elif group["losses"]:
        changes = _changes(group)
        shortest = group["losses"][0]["shorter"].upper()
        rows.append([f"change from {shortest}", *(changes.get(name, "") for name in lengths)])
        notes.insert(0, "change: in points, rows paired by index, ± half the 95 % interval.")
    header = ["task", *map(str.upper, lengths)]
    if has_averages:
        header.append("Avg.")
        rows = [row + [""] * (len(header) - len(row)) for row in rows]
    return "\n".join([table(header, rows, markdown), *(_note(text, markdown) for text in notes)])


def _task_rows(
    task: str,
    by_length: Mapping[str, Sequence[Cell]],
    group: GroupSummary,
    all_tables: bool,
    has_average: bool,
) -> list[list[str]]:
    """Return the rows of a task: scores, intervals, scores by whole words, pass@k."""
    scores, low, high, words = [task], ["95 % from"], ["95 % to"], [f"{task}, whole words"]
    passed: dict[str, list[str]] = {}
    values = []
    for place, (length, mean) in enumerate(group["lengths"].items(), 1):
        cells = by_length.get(length, ())
        score = _mean(cells, "score")
        interval = (cells[0]["interval"] if len(cells) == 1 else None) or (None, None)
        scores.append(number(score))
        low.append(number(interval[0]))
        high.append(number(interval[1]))
        words.append(number(_mean(cells, "whole_word")))
        for size in cells[0].get("pass_at", ()) if cells else ():
            row = passed.setdefault(size, [f"{task}, pass@{size}"] + ["-"] * len(group["lengths"]))
            row[place] = number(_mean_pass(cells, size))
        if mean["tokens"]:
            values.append(score)
    if has_average:
        scored = [value for value in values if value is not None]
        average = sum(scored) / len(scored) if scored == values else None
        scores.append(number(average))
    rows = [scores]
    if all_tables:
        rows += _without_blanks([low, high])
    rows += _without_blanks([words])
    for size in sorted(passed, key=int):
        rows.append(passed[size])
    return rows


def _without_blanks(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows, or none of them if the last one has no values."""
    return rows if set(rows[-1][1:]) - {"-"} else []


def _note(text: str, markdown: bool) -> str:
    """Return a note below a table, in Markdown as a separate paragraph."""
    return "\n" + sentences(text, markdown) if markdown else sentences(text)


def _mean(
    cells: Iterable[Cell], key: Literal["score", "whole_word", "words_right"]
) -> float | None:
    """Return the mean of a value over the configurations (one per language) that have it."""
    values = []
    for cell in cells:
        value = cell.get(key)
        if value is not None:
            values.append(value)
    return sum(values) / len(values) if values else None


def _mean_pass(cells: Iterable[Cell], size: str) -> float | None:
    """Return the mean over languages of the share of rows that one of `size` samples solves."""
    values = []
    for cell in cells:
        score = cell["pass_at"][size]["score"] if size in cell.get("pass_at", {}) else None
        if score is not None:
            values.append(score)
    return sum(values) / len(values) if values else None


def _words_right(tasks: CellsByTask, group: GroupSummary, markdown: bool) -> str:
    """Return the mean number of right words in ONERULER's cwe, by length."""
    rows = []
    for task, by_length in tasks.items():
        row = [task]
        for length in group["lengths"]:
            row.append(number(_mean(by_length.get(length, ()), "words_right")))
        rows += _without_blanks([row])
    header = ["task", *map(str.upper, group["lengths"])]
    return titled("Words right of ten, mean over the rows", header, rows, markdown)


def _relative_to_0k(tasks: CellsByTask, group: GroupSummary, markdown: bool) -> str:
    """Return each score in percent of the task's score at `0k`, if that was scored."""
    if EVIDENCE_ALONE not in group["lengths"]:
        return ""
    means = {name: mean for name, mean in group["lengths"].items() if mean["tokens"]}
    rows = []
    for task, by_length in tasks.items():
        row = [task]
        for length in means:
            cells = by_length.get(length)  # one, since only RULER has 0k
            row.append(number(cells[0].get("relative_to_0k") if cells else None))
        rows += _without_blanks([row])
    if rows:
        shares = [mean.get("relative_to_0k") for mean in means.values()]
        rows.append(["mean by mean", *map(number, shares)])
    title = "Scores in percent of those at 0k (only the evidence)"
    return titled(title, ["task", *map(str.upper, means)], rows, markdown)


def _language_table(by_language: Mapping[str, Mapping[str, GroupSummary]], markdown: bool) -> str:
    """Return a row for each language: single languages by score, then pairs, then means."""
    lengths: dict[str, None] = {}
    places = {}
    for languages, groups in by_language.items():
        lengths |= dict.fromkeys(groups["all"]["lengths"])
        scores = []
        for mean in groups["all"]["lengths"].values():
            if mean["score"] is not None:
                scores.append(mean["score"])
        average = sum(scores) / len(scores) if scores else 0.0
        places[languages] = (languages in MEANS, "-" in languages, -average)
    rows = []
    for languages in sorted(by_language, key=places.__getitem__):
        group = by_language[languages]["all"]
        means = marked_means(group)
        row = [MEANS.get(languages, languages), *(means.get(length, "-") for length in lengths)]
        rows.append([*row, number(group["average"]["score"])])
    return table(["language", *map(str.upper, lengths), "Avg."], rows, markdown)


# ---- Averages over lengths, and effective lengths ------------------------------------------------


def _averages_table(groups: Mapping[str, GroupSummary], markdown: bool) -> str:
    """Return a row for all tasks and each category: averages, threshold and effective length.

    If some tasks of a category were not scored, the name of its row says so.
    """
    rows = []
    has_threshold = False
    for name, group in groups.items():
        has_threshold = has_threshold or group["threshold"] is not None
        low, high = group["average"]["interval"] or (None, None)
        rows.append(
            {
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
        )
    columns = ["group", "Avg.", "from", "to"]
    if sum(mean["tokens"] > 0 for mean in groups["all"]["lengths"].values()) > 1:
        columns += ["inc", "dec"]
        columns += ["threshold", "effective"] if has_threshold else ["relative"]
    header, cells = picked(rows, columns, empty=("-",))
    if len(header) == 1:
        return "None: too few tasks were scored."
    notes = [COLUMN_NOTES[column] for column in header if column in COLUMN_NOTES]
    return f"{table(header, cells, markdown)}\n\n{sentences(' '.join(notes), markdown)}"


def _means_by_length(groups: Mapping[str, GroupSummary], markdown: bool) -> str:
    """Return each category's mean at each length, the area under it, and its relative length."""
    lengths = groups["all"]["lengths"]
    rows = []
    is_marked = False
    for name, group in groups.items():
        means = marked_means(group)
        is_marked = is_marked or any(mean.endswith("*") for mean in means.values())
        row = [group_name(name, group), *(means.get(length, "-") for length in lengths)]
        rows.append([*row, number(group["area"]["score"]), relative_name(group)])
    header = ["group", *map(str.upper, lengths), "area", "relative"]
    parts = [titled("Means by length", header, rows, markdown)]
    if is_marked:
        parts.append(_note(OTHER_TASKS, markdown))
    note = f"area: under the scores over log2 of the lengths. {COLUMN_NOTES['relative']}"
    return "\n".join([*parts, _note(note, markdown)])


def _losses(groups: Mapping[str, GroupSummary], markdown: bool) -> str:
    """Return the change of each category's mean from its shortest length; "" for one length.

    Rows with the same index are paired; ± is half the 95 % interval.
    """
    shortest = ""
    changes = {}
    for name, group in groups.items():
        if group["losses"]:
            shorter = group["losses"][0]["shorter"].upper()
            shortest = shortest or shorter
            changes[name if shorter == shortest else f"{name}, from {shorter}"] = _changes(group)
    if not changes:
        return ""
    lengths = [
        length
        for length in groups["all"]["lengths"]
        if any(length in by_length for by_length in changes.values())
    ]
    rows = [
        [name, *(by_length.get(length, "-") for length in lengths)]
        for name, by_length in changes.items()
    ]
    title = f"Change from {shortest}, in points (rows paired by index, ± 95 %)"
    return titled(title, ["group", *map(str.upper, lengths)], rows, markdown)


def _changes(group: GroupSummary) -> dict[str, str]:
    """Return the change from the shortest length to each longer one: `−6.2±0.8`."""
    changes = {}
    for loss in group["losses"]:
        text = f"{loss['difference']:+.1f}".replace("-", "−")
        if loss["interval"] is not None:
            low, high = loss["interval"]
            text += f"±{(high - low) / 2:.1f}"
        changes[loss["longer"]] = text
    return changes


def group_name(name: str, group: GroupSummary) -> str:
    """Return the name of a row: `all 13 tasks`, `retrieval`, `vt, mean of 0 of 1 task`."""
    short = name.partition(" (")[0]
    if any(mean["tasks"] != group["tasks"] for mean in group["lengths"].values()):
        return f"{short}, {mean_name(group)}"
    return f"all {group['tasks']} tasks" if name == "all" else short


def mean_name(group: GroupSummary) -> str:
    """Return `mean of 13 tasks`, or `mean of 8 of 13 tasks` if some were not scored."""
    counts = sorted({mean["tasks"] for mean in group["lengths"].values()})
    tasks = number_of(group["tasks"], "task")
    if counts == [group["tasks"]]:
        return f"mean of {tasks}"
    scored = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"mean of {scored} of {tasks}"


def marked_means(group: GroupSummary) -> dict[str, str]:
    """Return the mean at each length, marked if it is over other tasks than most means."""
    max_tasks = 0
    usual: list[str] = []
    for mean in group["lengths"].values():
        if mean["tasks"] > max_tasks:
            max_tasks, usual = mean["tasks"], mean["lacking"]
    means = {}
    for length, mean in group["lengths"].items():
        means[length] = number(mean["score"]) + ("" if mean["lacking"] == usual else "*")
    return means


def effective_name(group: GroupSummary) -> str:
    """Return `32K (16K–32K)`: the effective length, and those by the ends of the intervals."""
    name, between = group["effective_length_name"], effective_between(group)
    if between in ("-", name):
        return name
    return f"{name} ({between.replace('-', '–')})"


def effective_between(group: GroupSummary) -> str:
    """Return `64K-128K`: the effective lengths by the lower and upper ends of the intervals."""
    texts: list[str] = []
    for tokens in group["effective_length_interval"] or ():
        text = _length_name(group, tokens)
        if text not in texts:
            texts.append(text)
    return "-".join(texts) or "-"


def relative_name(group: GroupSummary) -> str:
    """Return the relative effective length by the name of its column."""
    tokens = group["relative_effective_length"]
    return "-" if tokens is None else _length_name(group, tokens)


def _length_name(group: GroupSummary, tokens: int | None) -> str:
    """Return a length by the name of its column; None is below the shortest length."""
    for length, mean in group["lengths"].items():
        if tokens is None and mean["tokens"]:
            return f"<{length.upper()}"
        if tokens is not None and mean["tokens"] == tokens:
            return length.upper()
    return "-" if tokens is None else written(tokens)
