"""The tables of scores that a person reads, from a results.json: plain text, or Markdown.

    print(scores(cells, groups, tasks), averages(groups))

Rows are tasks, columns lengths, then the aggregates as in Tables 3 and 12 to 16 of RULER
(arXiv:2404.06654).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ruler_common.terminal import narrow_table, sentences
from ruler_eval.report.table_parts import number, picked, titled
from ruler_eval.score.aggregates import EVERY_LANGUAGE, EVERY_PAIR, in_languages, written
from ruler_eval.score.results import (
    Cell,
    GroupSummary,
    LengthLoss,
    Results,
    rows_of,
    warnings_of,
)

_MEANING = {
    "from": "from, to: 95 % interval.",
    "inc": "inc, dec: averages in which longer, and in which shorter, lengths weigh more.",
    "effective": "effective: the longest length at or above the threshold{threshold}{between}.",
    "relative": "relative: the longest with 85 % of the score at the shortest.",
}
"""Columns of the averages, explained below them."""
MEANS = {EVERY_LANGUAGE: "mean over languages", EVERY_PAIR: "mean over pairs of languages"}


def chosen(results: Results, tokenizer: str, languages: str | None = None) -> dict[str, Cell]:
    """The configurations under a tokenizer, of all languages or of these."""
    return {
        name: cell
        for name, cell in results["configurations"].items()
        if (cell["tokenizer"] or "unknown") == tokenizer
        and (languages is None or in_languages(cell, languages))
    }


def rule_options(results: Results) -> list[str]:
    """The options of `ruler score` by which it was scored, where these are not the default."""
    compat, cut = results["rules"]["compat"], results["rules"]["cut"]
    return [f"--compat {compat}"] * bool(compat) + [f"--cut {cut}"] * (cut != "protocol")


def headline(results: Results) -> str:
    """What was scored: model, data, whose rows, and what keeps the scores from being sure."""
    parts = [results["model"] or "unnamed model", results["dataset"]["name"], rows_of(results)]
    parts += [f"mode {results['mode']}"] if results["mode"] else []
    parts += [f"rules {results['score_version']}", *rule_options(results)]
    return " · ".join([*parts, *warnings_of(results)])


def scores(
    cells: Sequence[Cell],
    groups: Mapping[str, GroupSummary],
    tasks: Sequence[str],
    markdown: bool = False,
    intervals: bool = False,
    brief: bool = False,
) -> str:
    """Task rows by lengths, then the mean of the tasks and its interval.

    If not `brief` also their strict mean, and with several lengths a column of the mean of a row's
    scores over them, `0k` left out: of tasks that were scored at every one, and of the mean of the
    tasks.
    `tasks` gives the rows' order. A mean over fewer tasks says so in its row's name, and a mean
    over other tasks than the rest of its row is marked.
    """
    lengths = groups["all"]["lengths"]
    rows = task_rows(cells, lengths, tasks, intervals)
    count, means = groups["all"]["tasks"], marked(groups["all"])
    rows.append([mean_name(groups["all"]), *means.values()])
    rows += interval_rows(mean["interval"] for mean in lengths.values())
    if not brief:
        rows.append(["strict", *(number(mean["strict"]) for mean in lengths.values())])
    if any(mean["tasks"] < count for mean in lengths.values()):
        rows.append(["tasks scored", *(str(mean["tasks"]) for mean in lengths.values())])
    header, far = ["task", *map(str.upper, lengths)], [n for n, m in lengths.items() if m["tokens"]]
    if len(far) > 1 and not brief:
        header.append("Avg.")
        averages = {task: _average(cells, task, far) for task in tasks}
        averages[mean_name(groups["all"])] = number(groups["all"]["average"]["score"])
        rows = [[*row, averages.get(row[0], "")] for row in rows]
    return narrow_table(header, rows, markdown) + _explained(means.values())


def task_rows(
    cells: Sequence[Cell], lengths: Iterable[str], tasks: Sequence[str], intervals: bool = False
) -> list[list[str]]:
    """A row for each scored task, in the order of `tasks`, and what is known beside its score."""
    lengths = list(lengths)
    by_place: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_place.setdefault((cell["task"], cell["length"]), []).append(cell)
    rows: list[list[str]] = []
    scored = {cell["task"] for cell in cells}
    for task in (task for task in tasks if task in scored):
        found = [by_place.get((task, length), []) for length in lengths]
        rows.append([task, *(_mean_of(here, "score") for here in found)])
        if intervals:
            rows += interval_rows(here[0]["interval"] if len(here) == 1 else None for here in found)
        for key in ("whole_word", "words_right"):
            if any(key in cell for here in found for cell in here):
                name = "whole words" if key == "whole_word" else "right of 10"
                rows.append([f"{task}, {name}", *(_mean_of(here, key) for here in found)])
        sizes = {size for here in found for cell in here for size in cell.get("pass_at", ())}
        for size in sorted(sizes, key=int):
            scores = [_pass_at(here, size) for here in found]
            rows.append([f"{task}, pass@{size}", *map(number, scores)])
        if any(cell["duplicated"] for here in found for cell in here):
            twice = [str(sum(cell["duplicated"] for cell in here)) for here in found]
            rows.append([f"{task}, duplicated predictions", *twice])
    return rows


def _pass_at(cells: Sequence[Cell], size: str) -> float | None:
    """The mean over languages of the share of rows that one of `size` samples gets right."""
    values = [cell["pass_at"][size]["score"] for cell in cells if size in cell.get("pass_at", {})]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def interval_rows(intervals: Iterable[Sequence[float] | None]) -> list[list[str]]:
    """The ends of intervals, a row each: with both a column would be twice as wide.

    None where no interval is known.
    """
    known = list(intervals)
    if not any(known):
        return []
    ends = [interval or (None, None) for interval in known]
    return [
        [f"95 % {name}", *(number(end[place]) for end in ends)]
        for place, name in enumerate(("from", "to"))
    ]


def _average(cells: Iterable[Cell], task: str, lengths: Sequence[str]) -> str:
    """The mean over lengths of a task's score; "-" where it was not scored at each."""
    scores: dict[str, list[float]] = {length: [] for length in lengths}
    for cell in cells:
        if cell["task"] == task and cell["length"] in scores and cell["score"] is not None:
            scores[cell["length"]].append(cell["score"])
    if not all(scores.values()):
        return "-"
    return number(sum(sum(one) / len(one) for one in scores.values()) / len(scores))


def marked(group: GroupSummary) -> dict[str, str]:
    """The group's mean at each length, with a mark if it is over other tasks than most are."""
    means = group["lengths"]
    most = max((mean["tasks"] for mean in means.values()), default=0)
    usual = next((mean["lacking"] for mean in means.values() if mean["tasks"] == most), [])
    return {
        length: number(mean["score"]) + ("" if mean["lacking"] == usual else "*")
        for length, mean in means.items()
    }


def _explained(means: Iterable[str]) -> str:
    marked = any(mean.endswith("*") for mean in means)
    return "\n* a mean over other tasks than the others of this row" if marked else ""


def relative_to_alone(
    cells: Sequence[Cell],
    groups: Mapping[str, GroupSummary],
    tasks: Sequence[str],
    markdown: bool = False,
) -> str:
    """Task rows by lengths, each score in percent of the task's at `0k`, if any is known."""
    lengths = [length for length, mean in groups["all"]["lengths"].items() if mean["tokens"]]
    found = {
        (cell["task"], cell["length"]): cell["relative_to_0k"]
        for cell in cells
        if "relative_to_0k" in cell
    }
    known = {task for task, _ in found}
    rows = [
        [task, *(number(found.get((task, length))) for length in lengths)]
        for task in tasks
        if task in known
    ]
    means = (groups["all"]["lengths"][length].get("relative_to_0k") for length in lengths)
    rows += [["mean by mean", *map(number, means)]] * bool(rows)
    title = "Scores in percent of those at 0k (the evidence alone)"
    return titled(title, ["task", *map(str.upper, lengths)], rows, markdown)


def mean_name(group: GroupSummary) -> str:
    """`mean of 13 tasks`; `mean of 8 of 13 tasks` where some were not scored at any length."""
    counts = sorted({mean["tasks"] for mean in group["lengths"].values()})
    if counts == [group["tasks"]]:
        return f"mean of {group['tasks']} tasks"
    return (
        f"mean of {' to '.join(map(str, counts[:1] + counts[1:][-1:]))} of {group['tasks']} tasks"
    )


def averages(
    groups: Mapping[str, GroupSummary], markdown: bool = False, every: bool = False
) -> str:
    """A row for all tasks and each category: the averages, and how long the contexts may be.

    Means over fewer tasks say so in their row's name. With `every` also the means at each length,
    marked as in `scores`, and in a second table all that is known of the effective lengths.
    """
    lengths, rows = groups["all"]["lengths"], []
    for name, group in sorted(groups.items(), key=lambda item: item[0] != "all"):
        average, means = group["average"], marked(group)
        whole = all(mean["tasks"] == group["tasks"] for mean in group["lengths"].values())
        low, high = average["interval"] or (None, None)
        rows.append(
            {
                "group": name if whole else f"{name}, {mean_name(group)}",
                **{length.upper(): means.get(length, "-") for length in lengths},
                **{"Avg.": number(average["score"]), "from": number(low), "to": number(high)},
                "inc": number(group["weighted_inc"]["score"]),
                "dec": number(group["weighted_dec"]["score"]),
                "area": number(group["area"]["score"]),
                "effective": group["effective_length_name"],
                "threshold": number(group["threshold"]),
                "relative": relative_name(group),
                "eff. interval": effective_between(group),
            }
        )
    far = sum(mean["tokens"] > 0 for mean in lengths.values())  # of one all averages are the same
    header = ["group", "Avg.", "from", "to", *["inc", "dec"] * (far > 1)]
    of_lengths = ["effective", "relative"]
    tables = [header + of_lengths]
    if every:
        header[1:1], of_lengths[1:1] = map(str.upper, lengths), ["threshold"]
        tables = [[*header, "area"], ["group", *of_lengths, "eff. interval"]]
    drawn, known = [], []
    for names in tables:
        shown, cells = picked(rows, names, nothing=("-",))
        if shown[1:]:
            text = narrow_table(shown, cells, markdown)
            drawn.append(text + _explained(cell for row in cells for cell in row))
            known += [name for name in shown if name in _MEANING]
    if not drawn:
        return "None: too few tasks were scored."
    level = groups["all"]["threshold"]
    threshold = f" ({level:.1f} for all)" if level is not None else ""
    ends = [
        f"{between} ({name})"
        for name, group in groups.items()
        if (between := effective_between(group)) not in ("-", group["effective_length_name"])
    ]
    between = f"; by the ends of the scores' intervals {', '.join(ends)}" if ends else ""
    facts = {"threshold": threshold, "between": between}
    meanings = " ".join(_MEANING[name].format(**facts) for name in known)
    return "\n\n".join(filter(None, [*drawn, sentences(meanings, markdown)]))


def losses(groups: Mapping[str, GroupSummary], markdown: bool = False) -> str:
    """A row for all tasks and each category: how the mean changes from the shortest length.

    "" if one length was scored. Rows of one index are paired; ± is half the 95 % interval.
    """
    lengths: dict[str, None] = {}
    rows = []
    for name, group in sorted(groups.items(), key=lambda item: item[0] != "all"):
        changes = {loss["longer"]: loss for loss in group["losses"]}
        lengths.update(dict.fromkeys(changes))
        if changes:
            rows.append((name, changes))
    if not lengths:
        return ""
    shorter = rows[0][1][next(iter(lengths))]["shorter"].upper()
    table = [
        [name, *(_change(changes[length]) if length in changes else "-" for length in lengths)]
        for name, changes in rows
    ]
    title = f"Change from {shorter}, in points (rows paired by index, ± 95 %)"
    return titled(title, ["group", *map(str.upper, lengths)], table, markdown)


def _change(loss: LengthLoss) -> str:
    """`−6.2±0.8`."""
    text = f"{loss['difference']:+.1f}".replace("-", "−")
    if loss["interval"] is None:
        return text
    low, high = loss["interval"]
    return f"{text}±{(high - low) / 2:.1f}"


def relative_name(group: GroupSummary) -> str:
    """The relative effective length as the group's columns name it."""
    tokens = group["relative_effective_length"]
    names = {mean["tokens"]: length for length, mean in group["lengths"].items()}
    return "-" if tokens is None else written(tokens, names)


def effective_between(group: GroupSummary) -> str:
    """`64K-128K`: the effective lengths between which the intervals of the scores leave it."""
    found = group["effective_length_interval"]
    if found is None:
        return "-"
    names = {mean["tokens"]: length for length, mean in group["lengths"].items()}
    shortest = min(tokens for tokens in names if tokens)
    ends = [f"<{written(shortest, names)}" if n is None else written(n, names) for n in found]
    return "-".join(dict.fromkeys(ends))


def _mean_of(cells: Sequence[Cell], key: Literal["score", "whole_word", "words_right"]) -> str:
    values = [value for cell in cells if (value := cell.get(key)) is not None]
    return number(sum(values) / len(values)) if values else "-"
