"""The figures of the page that need no browser: their data are those of the model."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ruler_eval.analysis.complexity import Line, Panel
from ruler_eval.analysis.errors import KINDS
from ruler_eval.figures.errors import KIND_COLOURS
from ruler_eval.figures.series import Runs, ScoredRun, Series
from ruler_eval.figures.structure import correlation_figure, panel_figure


def parts(spec: Any) -> Any:
    """Yield every mapping of a specification."""
    if isinstance(spec, dict):
        yield spec
        for part in spec.values():
            yield from parts(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from parts(part)


def test_the_correlation_has_every_pair_of_tasks():
    matrix = [[1.0, 0.5, 0.0], [0.5, 1.0, -0.2], [0.0, -0.2, 1.0]]
    figure = correlation_figure(["a", "b", "c"], matrix, 3)
    output = {(record["row"], record["column"]): record["r"] for record in figure.records}
    assert output == {
        (row, column): r
        for row, line in zip("abc", matrix, strict=True)
        for column, r in zip("abc", line, strict=True)
    }
    assert figure.lines()[1][1] == ["a", "b", "0.50"]
    assert figure.chart is not None
    assert figure.chart["layer"][0]["encoding"]["color"]["field"] == "r"


def test_the_parameter_is_along_a_complexity_chart_and_a_line_is_a_length():
    lines = [Line(value, f"keys_{value}", {"4k": 9.0, "8k": 8.0}) for value in ("1", "2", "full")]
    panel = Panel(title="niah: keys", tokenizer="tekken", lengths=["4k", "8k"], lines=lines)
    lengths = {"4k": 4096, "8k": 8192}
    run = ScoredRun(label="me", results={})
    series = Series(
        id=0, run_number=0, run=run, label="me", tokenizer="tekken", languages="en", groups={},
        members={}, cells={}, colour="#000000", shape="circle",
    )  # fmt: skip
    page = Runs(dataset="ruler", runs=[run], series=[series], lengths=lengths, tasks=[])
    figure = panel_figure(page, series, "complexity-0-0", panel)
    channels = [part["encoding"] for part in parts(figure.chart) if "encoding" in part]
    x = next(part["x"] for part in channels if "shape" in part)
    assert (x["field"], x["title"], x["sort"]) == ("value", "keys", ["1", "2", "full"])
    assert {part["color"]["field"] for part in channels if "color" in part} == {"length"}
    assert figure.title == "Score by complexity, niah: keys"
    assert figure.chart is not None
    assert len(figure.chart["layer"]) == 2  # an empty layer of dashed lines would have no name
    headers, rows = figure.cells()
    tasks = [headers[0].index("task"), *(row[0].index("keys_") for row in rows)]
    assert tasks == [6, 6, 6, 6]


def deuteranopia(colour: str) -> tuple[float, float, float]:
    """Return a colour in CIELAB as seen without M cones (Machado et al. 2009, severity 1)."""
    rgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgb]
    matrix = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
    seen = [max(0.0, sum(m * v for m, v in zip(row, linear, strict=True))) for row in matrix]
    xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    x, y, z = (
        sum(m * v for m, v in zip(row, seen, strict=True)) / w
        for row, w in zip(xyz, white, strict=True)
    )
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def test_the_colours_of_the_kinds_of_errors_differ_under_deuteranopia():
    assert list(KIND_COLOURS) == list(KINDS)
    for first, second in combinations(KIND_COLOURS.values(), 2):
        seen = zip(deuteranopia(first), deuteranopia(second), strict=True)
        assert sum((a - b) ** 2 for a, b in seen) ** 0.5 > 10, (first, second)
