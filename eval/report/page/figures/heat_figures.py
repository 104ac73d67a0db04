"""The page's heat maps as Vega-Lite charts, and every figure as PNG and SVG files for papers.

write_figures(page, figures(page), Path("figures"))     # average.svg, average.png, heat-0.svg, …
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import altair as alt

from eval.report.page.figures.chart_parts import Figure, chart_of
from eval.report.page.figures.colour_scale import colour, text_colour
from eval.report.page.page_model import DepthMap, HeatMap, PageData
from ruler_dataset import RulerError, temporary_beside

_WIDTH = 460
"""Of a chart that is as wide as its place on the page, in pixels."""
_SCALE = 3
"""Pixels of a PNG for one of the chart."""
_STEP = 44
_STOPS = 20


def heat_figures(page: PageData) -> dict[str, Figure]:
    """Tasks or languages by lengths, depth by length of every task, text by instruction."""
    found = {}
    labels = {one["id"]: one["label"] for one in page["series"]}
    for heat in page["heat_maps"]:
        found[f"heat-{heat['series']}"] = _heat(page, heat, labels[heat["series"]])
    for depth in page["depth"]:
        name = f"depth-{depth['series']}-{depth['task']}"
        found[name] = _depth(page, depth, labels[depth["series"]])
    if page["languages"] is not None:
        for heat in page["languages"]["heat_maps"]:
            found[f"languages-{heat['series']}"] = _heat(page, heat, labels[heat["series"]])
        for model in page["languages"]["models"]:
            if model["cross_lingual"]:
                label = page["runs"][model["run"]]["label"]
                found[f"cross-{model['run']}"] = _cross(model["cross_lingual"], label)
    return found


def write_figures(page: PageData, charts: Mapping[str, Figure], folder: Path) -> list[Path]:
    """Write every figure as FOLDER/NAME.svg and .png, each whole or not at all; the files.

    Raises RulerError where the folder cannot be made.
    """
    import vl_convert

    if folder.exists() and not folder.is_dir():
        raise RulerError(f"'{folder}' is a file: name a folder with --png.")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in {**charts, **heat_figures(page)}.items():
        spec = _of_fixed_width(figure.chart.properties(title=figure.title).to_dict())
        svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        for suffix, content in (
            (".svg", svg.encode()),
            (".png", vl_convert.svg_to_png(svg, _SCALE)),
        ):
            path = folder / f"{name}{suffix}"
            with temporary_beside(path) as temporary:
                temporary.write_bytes(content)
            written.append(path)
    return written


def _of_fixed_width(spec: dict[str, Any]) -> dict[str, Any]:
    if spec.get("width") == "container":
        spec["width"] = _WIDTH
    spec["background"] = "white"
    return spec


def _heat(page: PageData, heat: HeatMap, label: str) -> Figure:
    data = [
        {"row": name, "length": length["label"], **_score(cell["score"] if cell else None)}
        for name, cells in zip(heat["rows"], heat["cells"], strict=True)
        for length, cell in zip(page["lengths"], cells, strict=True)
    ]
    lengths = [item["label"] for item in page["lengths"]]
    return Figure(label, _map(data, heat["rows"], lengths, None, "%.1f"))


def _depth(page: PageData, depth: DepthMap, label: str) -> Figure:
    lengths = [item for item in page["lengths"] if item["name"] in depth["lengths"]]
    data = [
        {
            "row": f"{round(100 * bin['depth'][0])} %",
            "length": length["label"],
            **_score(bin["score"]),
        }
        for length in lengths
        for bin in depth["lengths"][length["name"]]
    ]
    rows = [f"{number * 10} %" for number in range(10)]
    title = f"{label}: {depth['task']} by depth"
    return Figure(title, _map(data, rows, [item["label"] for item in lengths], "depth", "%.0f"))


def _cross(matrix: Mapping[str, Mapping[str, float]], label: str) -> Figure:
    codes = sorted({code for scores in matrix.values() for code in scores})
    data = [
        {"row": text, "length": code, **_score(scores.get(code))}
        for text, scores in matrix.items()
        for code in codes
    ]
    title = f"{label}: text (rows) and instruction (columns) in two languages"
    return Figure(title, _map(data, list(matrix), codes, "text", "%.1f"))


def _score(score: float | None) -> dict[str, Any]:
    if score is None:
        return {"score": None, "text": "not run", "ink": "#59616d"}
    return {"score": score, "text": "", "ink": text_colour(score)}


def _map(
    data: list[dict[str, Any]], rows: list[str], lengths: list[str], title: str | None, form: str
) -> Any:
    """Cells in the scale of the page, hatched by a cross where nothing was scored."""
    decimals = 1 if form == "%.1f" else 0
    for datum in data:
        if datum["score"] is not None:
            datum["text"] = f"{datum['score']:.{decimals}f}"
    scale = alt.Scale(domain=list(_stops()), range=[colour(stop) for stop in _stops()], clamp=True)
    base = chart_of(data).encode(
        x=alt.X("length:N", sort=lengths, title=None, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("row:N", sort=rows, title=title),
    )
    cells = (
        base.transform_filter("datum.score !== null")
        .mark_rect(stroke="white")
        .encode(
            color=alt.Color(
                "score:Q", scale=scale, legend=alt.Legend(title=None, gradientLength=120)
            )
        )
    )
    empty = base.transform_filter("datum.score === null").mark_rect(
        fill="#f0f1f4", stroke="#b8bec8", strokeDash=[3, 3]
    )
    texts = [
        base.transform_filter(alt.datum.ink == ink)
        .mark_text(fontSize=11, color=ink)
        .encode(text="text:N")
        for ink in sorted({datum["ink"] for datum in data})
    ]
    return alt.layer(empty, cells, *texts).properties(
        width=_STEP * len(lengths), height=22 * len(rows)
    )


def _stops() -> Iterator[int]:
    return iter(range(0, 101, 100 // _STOPS))
