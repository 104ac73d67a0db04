"""Every figure in every format: text, Markdown, LaTeX, CSV, JSON, SVG and PDF."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from ruler_common.errors import RulerError
from ruler_common.text import width
from ruler_eval.figures.catalogue import FIGURES, chosen_figures
from ruler_eval.figures.figure import Column, Figure
from ruler_eval.figures.series import Runs, open_runs
from ruler_eval.report.formats import FORMATS
from ruler_eval.report.page.answers import open_answered_runs
from ruler_eval.report.page.build import page_figures
from ruler_eval.report.render import chart_of, render, write_figures
from tests.eval.report.page.conftest import *  # noqa: F403  (the runs of the page's tests)

SPECIAL = Figure(
    name="special",
    title="100 % of a_b & {c} # $5 ~ ^ \\ <d> | −1 ± 2 † “q” … τ",
    columns=[
        Column("model_1", "model"),
        Column("a & b", "score", mark="mark"),
        Column("%", "n", ","),
    ],
    records=[
        {
            "model": "m_1 {50 %} \\cite{x} $x$ # ~ ^ & | <b> 한국어",
            "score": 97.25,
            "mark": "†",
            "n": 1200,
        },
        {"model": "plain", "score": None, "mark": "", "n": 7},
    ],
    note="a_b: 50 % & more.",
)


@pytest.fixture(scope="module")
def runs(three_runs: list[Path]) -> Runs:
    return open_runs(three_runs)


@pytest.fixture(scope="module")
def figures(three_runs: list[Path], language_runs: list[Path]) -> list[Figure]:
    """Every figure of the pages of RULER and of ONERULER, and every one of the catalogue."""
    all_figures = []
    for paths in (three_runs, language_runs):
        all_figures += page_figures(open_answered_runs(paths))
        for build in FIGURES.values():
            all_figures += build(open_runs(paths))
    return [figure for figure in all_figures if not figure.is_empty]


def assert_balanced(text: str) -> None:
    """Assert that groups, environments, mathematics and the cells of rows are balanced in LaTeX."""
    plain = re.sub(r"\\[\\&%$#_{}]", "", text.replace("\\\\\n", "\n"))
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    for table in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, re.DOTALL):
        (alignment,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", table)
        rows = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert len(rows) >= 2
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == len(alignment) - 1, row
        for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
            assert table.count(rule) == 1


def test_every_figure_has_every_format_of_its_table(figures):
    assert len(figures) > 80
    assert {figure.family for figure in figures} >= {*FIGURES} - {"complexity", "control"}
    for figure in figures:
        for form in ("text", "markdown", "json"):
            assert render([figure], form).strip(), (figure.name, form)
        if not figure.records:
            continue
        assert_balanced(render([figure], "latex"))
        header, rows = figure.values()
        assert len(header) == len({*header}), (figure.name, header)
        read = list(csv.reader(io.StringIO(render([figure], "csv"))))
        assert read[0] == [str(name) for name in header]
        assert [len(row) for row in read] == [len(header)] * (1 + len(rows))
        (parsed,) = json.loads(render([figure], "json"))
        assert [len(record) for record in parsed["records"]] == [len(header)] * len(rows)


def test_what_latex_acts_on_is_escaped_and_a_table_is_balanced():
    text = render([SPECIAL], "latex")
    assert_balanced(text)
    assert r"m\_1 \{50 \%\} \textbackslash{}cite\{x\} \$x\$ \# \textasciitilde{}" in text
    assert r"97.2$^{\dagger}$" in text
    assert r"100 \% of a\_b \& \{c\}" in text
    assert r"$-$1 $\pm$ 2" in text


def test_markdown_is_one_table_whatever_its_width():
    text = render([SPECIAL], "markdown")
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    cells = [token.content for token in tokens if token.type == "inline"]
    assert sum(token.type == "table_open" for token in tokens) == 1
    assert any("m_1 {50 %}" in cell.replace("\\", "") for cell in cells)


def test_text_is_as_wide_as_the_terminal_and_no_sentence_of_a_pipe_is_wrapped(runs, monkeypatch):
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = render(chosen_figures(runs, ["scores", "losses", "differences"]), "text")
        tables = [line for line in text.splitlines() if line.startswith(("niah", "vt", "-"))]
        assert tables
        assert max(map(width, tables)) <= columns
        sentences = [line for line in text.splitlines() if line.startswith("detectable: ")]
        sentences += [line for line in text.splitlines() if " detectable: " in line]
        assert all(line.endswith(".") for line in sentences)
        assert sentences


def test_csv_is_unrounded_and_has_the_ends_of_every_interval(runs):
    (figure,) = chosen_figures(runs, ["scores"])
    header, *rows = csv.reader(io.StringIO(render([figure], "csv")))
    assert header[:2] == ["model", "tasks"]
    for name in ("4K", "8K", "Avg.", "wAvg (inc)", "wAvg (dec)"):
        place = header.index(name)
        assert header[place + 2 : place + 4] == [f"{name} low", f"{name} high"]
    worse = next(row for row in rows if row[0] == "Worse-8B")
    low, score, high = (float(worse[header.index(name)]) for name in ("4K low", "4K", "4K high"))
    mean = runs.series[1].groups["all"]["lengths"]["4k"]
    assert [low, high] == mean["interval"]
    assert score == mean["score"]


def test_csv_of_tables_with_other_columns_is_refused_with_their_names(runs):
    with pytest.raises(RulerError, match=r"choose one with --figure \(scores, losses\)"):
        render(chosen_figures(runs, ["scores", "losses"]), "csv")
    with pytest.raises(RulerError, match="no table"):
        render(chosen_figures(runs, ["summary"]), "csv")
    with pytest.raises(RulerError, match="Did you mean 'scores'"):
        chosen_figures(runs, ["score"])
    with pytest.raises(RulerError, match="nothing to show"):
        chosen_figures(runs, ["languages"])
    assert set(FORMATS) == {"text", "markdown", "latex", "csv", "json"}


def test_the_charts_of_a_page_are_written_as_svg_and_pdf_without_a_network(
    figures, tmp_path, monkeypatch
):
    pytest.importorskip("vl_convert")
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    drawn = {figure.name: figure for figure in figures if chart_of(figure) is not None}
    families = {figure.family for figure in drawn.values()}
    assert families >= {"curves", "tasks", "needles", "depth", "differences", "errors"}
    assert families >= {"ranking", "none", "reasoning", "niah", "cross", "correlation"}
    one_of_each = {figure.family: figure for figure in drawn.values()}
    files = write_figures([*one_of_each.values()], tmp_path, ["svg", "pdf"])
    assert len(files) == 2 * len(one_of_each)
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".pdf":
            assert content.startswith(b"%PDF")
            continue
        assert content.startswith(b"<svg")
        assert len(content) > 2000
    models = (tmp_path / f"{one_of_each['ranking'].name}.svg").read_text(encoding="utf-8")
    assert "Worse-8B" in models  # the legend, which the page has above its sections
    assert "Worst-1B" in models


def test_a_threshold_is_one_line_and_its_label_is_in_no_line(runs):
    for figure in FIGURES["curves"](runs):
        chart = chart_of(figure)
        assert chart is not None
        (threshold,) = chart["datasets"]["thresholds"]
        rules = [layer for layer in chart["layer"] if layer["mark"].get("type") == "rule"]
        assert [layer["data"] for layer in rules] == [{"name": "thresholds"}]
        assert chart["title"]["text"] == f"Dashed: threshold {threshold['threshold']:.1f}"
        texts = [layer for layer in chart["layer"] if layer["mark"].get("type") == "text"]
        assert all(layer["data"] == {"name": "labels"} for layer in texts)
