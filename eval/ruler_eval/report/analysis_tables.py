"""The tables of `ruler compare` and `ruler correlate`: plain text, or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ruler_common.terminal import line_of, table
from ruler_eval.analysis.complexity import Panel
from ruler_eval.analysis.decide import Decision
from ruler_eval.analysis.ranks import Ranked
from ruler_eval.report.score_tables import bounds, number, p_value

_TESTS = """p is of one test alone; p (Holm) is adjusted for all {tests} of this table. Better names
the model for which the interval excludes 0 and p, where there is one, is below 0.05, of 10 rows or
more."""
_ONE_LOOK = """Some rows have no answer. Such a verdict is of one look, at rows chosen before it: to
run more rows and compare again is a second look, which its 95 % do not allow. `ruler decide` may
look again."""
_DETECTABLE = """detectable: a true difference of so many points is found in 80 of 100 repetitions
with as many rows; smaller ones are mostly missed."""
_LEAST = """least: the smallest difference that so many rows of right or wrong can show at all."""
_CAUTION = 0.6  # a correlation by chance that is worth a word


def comparison(found: Mapping[str, Any], markdown: bool = False) -> str:
    """The tables of `ruler compare`; differences are A − B in points."""
    title = " · ".join(f"{side.upper()}: {_whose(found[side])}" for side in ("a", "b"))
    header = ["", "n", "A", "B", "A − B", "95 % interval", "p", "p (Holm)", "better"]
    header += ["detectable", "least"]
    rows = [
        [
            *(name, str(cell["n"]), *_differences(cell), p_value(cell["p"])),
            *(p_value(cell["p_holm"]), _better(cell)),
            *(_detectable(cell["detectable"]), number(cell["least"])),
        ]
        for name, cell in found["configurations"].items()
    ]
    means = [(f"mean at {n.upper()}", mean) for n, mean in found["lengths"].items()]
    for name, mean in [*means, ("mean over all", found["all"])]:
        cells = [name, "", *_differences(mean), "", "", _better(mean)]
        rows.append([*cells, _detectable(mean["detectable"]), ""])
    said = [i for i in range(len(header)) if any(row[i] not in ("", "-") for row in rows)]
    text = table([header[i] for i in said], [[row[i] for i in said] for row in rows], markdown)
    tests = sum(cell["p"] is not None for cell in found["configurations"].values())
    notes = [_TESTS.format(tests=tests)] * (tests > 1) + [_DETECTABLE]
    notes += [_LEAST] * (header.index("least") in said)
    return "\n\n".join([line_of(title, markdown), comparison_verdict(found), text, *notes])


def comparison_verdict(found: Mapping[str, Any]) -> str:
    """The sentences `ruler compare` begins with: over all, and in how many configurations."""
    every, cells = found["all"], found["configurations"].values()
    apart = (
        f"{abs(every['difference']):.1f} points, 95 % interval of A − B {bounds(every['interval'])}"
    )
    count = every["configurations"]
    over = f"over {count} configuration{'s' * (count != 1)}"
    if every["better"] is None:
        first = f"A and B are not told apart {over}: they differ by {apart}."
    else:
        first = f"{every['better'].upper()} is better {over}: by {apart}."
    counts = {side: sum(cell["better"] == side for cell in cells) for side in ("a", "b")}
    sure = sum(cell["p_holm"] is not None and cell["p_holm"] < 0.05 for cell in cells)
    second = f"Taken one by one, A is better in {counts['a']} and B in {counts['b']}"
    return f"{first}\n{second}; after Holm's adjustment {sure} of these tests stand."


def seeds(found: Mapping[str, Any], markdown: bool = False) -> str:
    """The table of `ruler compare` for the results of two seeds, and the difference in words."""
    title = " · ".join(
        f"{side.upper()}: seed {found['seeds'][side]}, {_whose(found[side])}" for side in ("a", "b")
    )
    header = ["", "n A", "n B", "A", "B", "A − B", "95 % interval", "higher", "detectable"]
    rows = [
        [
            *(name + " *" * cell["same_questions"], str(cell["n_a"]), str(cell["n_b"])),
            *_of_seeds(cell),
        ]
        for name, cell in found["configurations"].items()
    ]
    rows += [[f"mean at {n.upper()}", "", "", *_of_seeds(m)] for n, m in found["lengths"].items()]
    every, same = found["all"], [c["same_questions"] for c in found["configurations"].values()]
    parts = [line_of(title, markdown)]
    if every:
        rows.append(["mean over all", "", "", *_of_seeds(every)])
    parts.append(table(header, rows, markdown))
    if any(same):
        parts.append("* asks the same under both seeds: in no mean, and no sign of known rows.")
    a, b = found["seeds"]["a"], found["seeds"]["b"]
    if every:
        shown = f"{every['difference']:.1f} {bounds(every['interval'])}"
        parts.append(f"Seed {a} minus seed {b}: {shown}, {every['configurations']} configurations.")
    else:
        parts.append("No configuration asks something else under the other seed.")
    return "\n\n".join(parts)


def _of_seeds(mean: Mapping[str, Any]) -> list[str]:
    higher = mean["higher"].upper() if mean["higher"] else ""
    return [*_differences(mean), higher, _detectable(mean["detectable"])]


def ranking(found: Mapping[str, Sequence[Ranked]], markdown: bool = False) -> str:
    """Models by their average, with their ranks under it and both weighted ones, of 95 %."""
    titles = {"average": "Avg.", "weighted_inc": "wAvg.(inc)", "weighted_dec": "wAvg.(dec)"}
    places = {key: {one["model"]: one for one in found[key]} for key in titles}
    rows = []
    for one in found["average"]:
        row = [one["model"]]
        for key in titles:
            mine = places[key][one["model"]]
            first, last = mine["ranks"]
            row += [number(mine["score"]), str(mine["rank"])]
            row += [str(first) if first == last else f"{first}-{last}"]
        rows.append(row)
    header = ["model"]
    for title in titles.values():
        header += [title, "rank", "95 %"]
    return table(header, rows, markdown)


def _whose(model: Mapping[str, Any]) -> str:
    """A compared model by name, its rows, and whether these are a part."""
    partial = ", PARTIAL: only rows with a prediction count" * model["partial"]
    return f"{model['model'] or 'unnamed model'}, {model['rows']}{partial}"


def decision(found: Decision) -> str:
    """The sentence of `ruler compare --max-drop`."""
    drop = f"B lost {found['drop']:.1f} points, {bounds(found['interval'])}"
    allowed = f"the {found['max_drop']:g} allowed"
    text = f"{drop}: {found['rows']:,} rows cannot tell whether it is less than {allowed}."
    if found["verdict"] != "unknown":
        sure = "less" if found["verdict"] == "smaller" else "more"
        text = f"{drop}: surely {sure} than {allowed}."
    return text if found["whole"] else f"{text}\n{_ONE_LOOK}"


def correlation(found: Mapping[str, Any], markdown: bool = False) -> str:
    """The tables of `ruler correlate`: the matrix in leaf order, then the clusters as they join.

    A cluster is a range of the matrix's rows: the leaves of a dendrogram's branch stand together.
    """
    tasks, number_of = found["tasks"], len(found["observations"])
    place = {task: i for i, task in enumerate(tasks, 1)}
    matrix = [
        [f"{i} {task}", *(f"{r:.2f}" for r in row)]
        for i, (task, row) in enumerate(zip(tasks, found["correlation"], strict=True), 1)
    ]
    merges = [
        [
            *(_range(place[task] for task in side) for side in merge["clusters"]),
            f"{merge['distance']:.3f}",
        ]
        for merge in found["merges"]
    ]
    parts = [f"Correlation over {number_of} pairs of model and length"]
    if found["by_chance"] >= _CAUTION:
        parts.append(
            f"Caution: with {number_of} observations tasks that have nothing to do with each other "
            f"reach ±{found['by_chance']:.2f} in one case of twenty."
        )
    parts.append(table(["task", *(str(i) for i in range(1, len(tasks) + 1))], matrix, markdown))
    if merges:
        parts += ["Clusters as they join, by their rows above (average linkage of 1 − r)"]
        parts += [table(["cluster", "joins", "distance"], merges, markdown, left=(0, 1))]
    if found["constant"]:
        same = f"Never change, so correlate with nothing: {', '.join(found['constant'])}"
        parts.append(line_of(same, markdown))
    if found["left_out"]:
        parts.append(f"Left out, because tasks are missing there: {len(found['left_out'])} pairs")
    return "\n\n".join(parts)


def complexity(found: Sequence[Panel], markdown: bool = False) -> str:
    """A table for each panel of Figures 2 and 3: the parameter's values by lengths."""
    parts = []
    for panel in found:
        rows = [
            [line.value, line.task, *(number(line.scores.get(length)) for length in panel.lengths)]
            for line in panel.lines
        ]
        parameter = panel.title.rpartition(": ")[2]
        header = [parameter, "task", *(length.upper() for length in panel.lengths)]
        title = line_of(f"{panel.title} ({panel.tokenizer})", markdown)
        parts += [title, table(header, rows, markdown, left=(0, 1))]
    return "\n\n".join(parts)


def _range(rows: Iterable[int]) -> str:
    """`3` or `3-5`."""
    ends = sorted(rows)
    return "-".join(map(str, dict.fromkeys((ends[0], ends[-1]))))


def _differences(cell: Mapping[str, Any]) -> list[str]:
    shown = [number(cell["a"]), number(cell["b"]), f"{cell['difference']:+.1f}"]
    return [*shown, bounds(cell["interval"])]


def _better(mean: Mapping[str, Any]) -> str:
    return mean["better"].upper() if mean["better"] else ""


def _detectable(value: float) -> str:
    """Never 0.0: a difference of nothing cannot be found."""
    return number(value) if value >= 0.05 else "< 0.1"
