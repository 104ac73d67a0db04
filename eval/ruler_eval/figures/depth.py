"""Scores by the depth of the evidence: the figures `depth` and `needles`.

    pooled, by_task = depth_maps(runs)
    pooled[0].records[0]["bins"]       # ten bins from the beginning of the context to its end

RULER's paper has no results by depth (score/cells.py).
"""

from __future__ import annotations

from collections.abc import Collection

from ruler_eval.figures.figure import COUNT, LENGTH, MODEL, Column, Figure, Record, record_of
from ruler_eval.figures.series import Runs, Series
from ruler_eval.score.cells import mean_bins
from ruler_eval.score.intervals import MIN_INDEPENDENT_ROWS

NOTE = (
    "Where the needle, assignment or document is in the context, from its beginning (0 %) to its "
    "end (100 %); scores in percent."
)
NOTE_OF_NEEDLES = (
    " The tasks that hide needles are taken together, each value asked for counts once; the small "
    f"number is how many. Striped: fewer than {MIN_INDEPENDENT_ROWS}."
)


def depth_maps(runs: Runs) -> tuple[list[Figure], list[Figure]]:
    """Return scores by depth: of all tasks that hide needles, taken together, and of each task."""
    pooled: list[Figure] = []
    by_task: list[Figure] = []
    for series in runs.series:
        parameters = series.run.results["dataset"].get("parameters", {})
        needle_tasks = []
        for task in runs.tasks:
            if "niah" in task or "niah" in str(parameters.get(task, {}).get("family")):
                needle_tasks.append(task)
            figure = _depth_map(runs, series, f"depth-{series.id}-{task}", task, task, [task])
            if figure.records:
                by_task.append(figure)
        name, title = f"needles-{series.id}", f"{series.label}, needles by depth and length"
        figure = _depth_map(runs, series, name, title, "needles", needle_tasks)
        if figure.records:
            pooled.append(figure)
    return pooled, by_task


def depth_table(runs: Runs) -> Figure:
    """Return the scores by depth of every task and length in one table, in whole percent."""
    records: list[Record] = []
    for figure in depth_maps(runs)[1]:
        for record in figure.records:
            configs = record["configs"]
            name = configs[0] if len(configs) == 1 else record["label"]
            records.append({**record, "configuration": name})
    columns = [Column("configuration", "configuration"), *_columns()[1:]]
    if len(runs.series) > 1:
        columns.insert(0, MODEL)
    title = "Scores by the depth of the evidence, in %"
    return Figure(name="depth", title=title, columns=columns, records=records)


def _columns() -> list[Column]:
    """Return the columns of the length and of ten bins; their numbers of references are details."""
    columns = [LENGTH]
    for place in range(10):
        columns.append(Column(str(10 * place), f"score{place}", ".0f"))
        columns.append(Column(f"{10 * place} references", f"n{place}", COUNT, is_detail=True))
    return columns


def _depth_map(
    runs: Runs, series: Series, name: str, title: str, what: str, tasks: Collection[str]
) -> Figure:
    """Return scores by depth: a record is a length, with ten bins from the text's beginning."""
    records = []
    for length in runs.lengths:
        configs, depths = [], []
        for config in series.configs(length, tasks):
            if depth := series.cells[config]["depth"]:
                configs.append(config)
                depths.append(depth)
        if configs:
            bins = mean_bins(depths)
            fields: Record = {"what": what, "length": length.upper(), "bins": bins}
            for place, depth_bin in enumerate(bins):
                fields |= {f"score{place}": depth_bin["score"], f"n{place}": depth_bin["n"]}
            label = f"{what} at {length.upper()}"
            records.append(record_of(series, configs, label, **fields))
    return Figure(
        name=name,
        title=title,
        caption=f"{series.label}, {what}: scores by depth (from % of the context)",
        columns=_columns(),
        records=records,
        grid="depth",
        width="half",
        series=[series.id],
    )
