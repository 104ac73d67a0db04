"""The page's heat maps as Vega-Lite charts, and every figure as PNG and SVG files for papers.

write_figures(page, figures(page), Path("figures"))     # average.svg, average.png, heat-0.svg, …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import altair as alt

from ruler_common.errors import RulerError
from ruler_common.files import temporary_beside
from ruler_eval.report.language_tables import instructions
from ruler_eval.report.page.figures import chart_parts as part
from ruler_eval.report.page.figures.chart_parts import Datum, Figure
from ruler_eval.report.page.page_model import DepthMap, HeatMap, PageData

_WIDTH = 460  # of a chart that is as wide as its place on the page, in pixels
_SCALE = 3  # pixels of a PNG for one of the chart
_STEP = 44
_STOPS = range(0, 101, 5)


def heat_figures(page: PageData) -> dict[str, Figure]:
    """Tasks or languages by lengths, depth by length of every task, text by instruction."""
    found = {f"heat-{heat['series']}": _heat(page, heat) for heat in page["heat_maps"]}
    found |= {f"needles-{depth['series']}": _depth(page, depth) for depth in page["needles"]}
    found |= {f"depth-{one['series']}-{one['task']}": _depth(page, one) for one in page["depth"]}
    if (languages := page["languages"]) is not None:
        for heat in languages["heat_maps"]:
            found[f"languages-{heat['series']}"] = _heat(page, heat)
        for model in languages["models"]:
            if model["cross_lingual"]:
                label = page["runs"][model["run"]]["label"]
                found[f"cross-{model['run']}"] = _cross(model["cross_lingual"], label)
    return found


def check_packages() -> None:
    """Raise a RulerError that names the extra if a package is missing; imports nothing."""
    if find_spec("vl_convert") is None:
        raise RulerError(
            "Figures as files need the package 'vl-convert-python': "
            "pip install 'ruler-release[figures]'"
        )


def write_figures(page: PageData, charts: Mapping[str, Figure], folder: Path) -> None:
    """Write every figure as FOLDER/NAME.svg and .png, each whole or not at all.

    Raises RulerError where the folder cannot be made or a package is missing.
    """
    check_packages()
    import vl_convert

    if folder.exists() and not folder.is_dir():
        raise RulerError(f"'{folder}' is a file: name a folder with --png.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in {**charts, **heat_figures(page)}.items():
        spec = figure.chart.properties(title=figure.title).to_dict() | {"background": "white"}
        if spec.get("width") == "container":
            spec["width"] = _WIDTH
        svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        files = {".svg": svg.encode(), ".png": vl_convert.svg_to_png(svg, _SCALE)}
        for suffix, content in files.items():
            with temporary_beside(folder / f"{name}{suffix}") as temporary:
                temporary.write_bytes(content)


def _heat(page: PageData, heat: HeatMap) -> Figure:
    lengths = [item["label"] for item in page["lengths"]]
    cells = (
        (name, length, cell["score"] if cell else None)
        for name, row in zip(heat["rows"], heat["cells"], strict=True)
        for length, cell in zip(lengths, row, strict=True)
    )
    return Figure(page["series"][heat["series"]]["label"], _map(cells, heat["rows"], lengths))


def _depth(page: PageData, depth: DepthMap) -> Figure:
    lengths = [item for item in page["lengths"] if item["name"] in depth["lengths"]]
    cells = (
        (f"{round(100 * bin['depth'][0])} %", length["label"], bin["score"])
        for length in lengths
        for bin in depth["lengths"][length["name"]]
    )
    rows = [f"{number * 10} %" for number in range(10)]
    chart = _map(cells, rows, [item["label"] for item in lengths], "depth", decimals=0)
    label = page["series"][depth["series"]]["label"]
    return Figure(f"{label}: {depth['task']} by depth", chart)


def _cross(matrix: Mapping[str, Mapping[str, float]], label: str) -> Figure:
    codes = instructions(matrix)
    cells = ((text, code, scores.get(code)) for text, scores in matrix.items() for code in codes)
    title = f"{label}: text (rows) and instruction (columns) in two languages"
    return Figure(title, _map(cells, list(matrix), codes, "text"))


def _map(
    cells: Iterable[tuple[str, str, float | None]],
    rows: Sequence[str],
    lengths: Sequence[str],
    title: str | None = None,
    decimals: int = 1,
) -> Any:
    """Cells in the scale of the page, hatched by a cross where nothing was scored."""
    data: list[Datum] = [
        {
            "row": row,
            "length": length,
            "score": score,
            "text": "not run" if score is None else f"{score:.{decimals}f}",
            "ink": "#59616d" if score is None else part.text_colour(score),
        }
        for row, length, score in cells
    ]
    scale = alt.Scale(domain=list(_STOPS), range=[part.colour(stop) for stop in _STOPS], clamp=True)
    legend = alt.Legend(title=None, gradientLength=120)
    base = part.chart_of(data).encode(
        x=alt.X("length:N", sort=lengths, title=None, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("row:N", sort=rows, title=title),
    )
    empty = base.transform_filter("datum.score === null").mark_rect(
        fill="#f0f1f4", stroke="#b8bec8", strokeDash=[3, 3]
    )
    scored = base.transform_filter("datum.score !== null").mark_rect(stroke="white")
    texts = [
        base.transform_filter(alt.datum.ink == ink)
        .mark_text(fontSize=11, color=ink)
        .encode(text="text:N")
        for ink in sorted({datum["ink"] for datum in data})
    ]
    coloured = scored.encode(color=alt.Color("score:Q", scale=scale, legend=legend))
    return alt.layer(empty, coloured, *texts).properties(
        width=_STEP * len(lengths), height=22 * len(rows)
    )
