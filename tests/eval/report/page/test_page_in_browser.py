"""The page in a real Chromium, without a network.

axe_core/ holds axe-core 4.14.1 (MPL-2.0), which finds violations of accessibility rules.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.analysis.errors import KINDS
from ruler_eval.figures.series import Runs, runs_of
from ruler_eval.figures.task_scores import tasks
from ruler_eval.report.page.answers import AnsweredRun, open_answered_runs
from ruler_eval.report.page.rows import read_page_rows
from tests.eval.report.page.page_helpers import DESK, HOSTILE, PHONE, serious_faults
from tests.in_process import ruler
from tests.nightly import mostly_nightly

SECTIONS = [
    *("summary", "scores", "curves", "depth", "tasks", "differences", "errors"),
    *("correlation", "runs"),
]


@pytest.fixture
def opened(open_file, page_file) -> Callable[..., Any]:
    """Open the page: `opened(color_scheme="dark")`."""
    return partial(open_file, page_file)


@pytest.fixture(scope="module")
def answered(three_runs) -> list[AnsweredRun]:
    return open_answered_runs(three_runs)


@pytest.fixture(scope="module")
def page_input(answered) -> Runs:
    return runs_of(answered)


def rows_of(page, name, series=1):
    """Click the cell of a heat map that has a name, and return the rows that open."""
    page.click(f'figure[data-series="{series}"] button[aria-label^="{name}:"]')
    page.wait_for_selector("dialog[open] .row")
    return page.query_selector_all("dialog .row")


def test_the_page_opens_from_disk_with_every_section(opened, page_input):
    page = opened()
    assert (
        page.eval_on_selector_all("main > section", "all => all.map(section => section.id)")
        == SECTIONS
    )
    assert page.eval_on_selector_all("nav a", "a => a.map(link => link.hash.slice(1))") == SECTIONS
    charts = page.query_selector_all(".vega svg")
    assert len(charts) == page.locator(".vega").count() > 8
    assert all(chart.bounding_box()["height"] > 50 for chart in charts)
    numbers = page.eval_on_selector_all(
        '#tasks figure[data-series="1"] .heat td', "cells => cells.map(cell => cell.textContent)"
    )
    cells = [record["score"] for record in tasks(page_input)[1].records]
    assert numbers == ["not run" if score is None else f"{score:.1f}" for score in cells]


def test_a_charts_menu_saves_it_as_svg_and_png(opened):
    page = opened()
    menu = page.locator('[data-chart="curves"] summary')
    assert menu.get_attribute("aria-label") == "Save this chart"
    menu.click()
    for name, first in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            page.click(f'[data-chart="curves"] .vega-actions >> text=Save as {name}')
        assert Path(saved.value.path()).read_bytes().startswith(first)


def test_a_cell_opens_its_rows_wrong_ones_first(opened):
    page = opened()
    rows = rows_of(page, "niah_single_2 at 4K")
    verdicts = [row.query_selector(".verdict").inner_text() for row in rows]
    assert verdicts == ["wrong", "wrong", "wrong", "right", "right"]
    first = rows[0].inner_text()
    assert "wrong words numbers, names" in first
    assert "7654321" in first
    needle, reference = (rows[0].query_selector(s).inner_text() for s in (".around mark", "li"))
    assert reference in needle
    assert rows[0].query_selector(".track").get_attribute("aria-label").endswith("of the context")
    assert rows[3].query_selector(".answer mark").inner_text() == (
        rows[3].query_selector(".references li").inner_text()
    )
    assert page.evaluate("location.hash") == "#rows/tasks-1/niah_single_2%20at%204K"
    both = rows[0].query_selector_all(".both > div")
    assert [answer.query_selector("b").inner_text() for answer in both] == ["wrong", "right"]
    assert reference in both[1].query_selector("mark").text_content()
    page.select_option("#by-kind", "right")
    assert page.locator("dialog .row").count() == 2
    page.select_option("#by-kind", "wrong words")
    page.select_option("#which", "only there")
    assert page.locator("dialog .row").count() == 3
    page.click("#next")
    page.wait_for_function("document.getElementById('rows-title').textContent.endsWith('at 8K')")
    page.select_option("#cell", label="niah_single_2 at 4K")
    page.wait_for_function("document.getElementById('rows-title').textContent.endsWith('at 4K')")
    page.keyboard.press("Escape")
    assert page.query_selector("dialog[open]") is None
    assert page.evaluate("location.hash") == ""
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("niah_single_2 at 4K")
    page.evaluate("location.hash = '#rows/tasks-1/vt%20at%208K'")  # a link to a cell
    page.wait_for_selector("dialog[open] .row")
    assert page.text_content("#rows-title") == "Worse-8B: vt at 8K"
    page.keyboard.press("Escape")
    bar = page.locator('[data-chart="errors-1"] path[aria-roledescription="bar"]').first
    bar.click(position={"x": 3, "y": 6})
    page.wait_for_selector("dialog[open] .row")
    assert page.text_content("#rows-title").startswith("Worse-8B: niah_single_1")
    assert page.input_value("#by-kind") in KINDS
    page.keyboard.press("Escape")
    line = page.locator('[data-chart="curves"] path[aria-roledescription="line mark"]').first
    line.dispatch_event("click")  # many cells share a line
    assert page.query_selector("dialog[open]") is None
    cell = page.locator('#depth figure[data-series="1"] .needles button').first
    needles, output = cell.get_attribute("title"), cell.inner_text().split()
    assert f": {output[0]} of {output[1]}" in needles
    cell.click()
    page.wait_for_selector("dialog[open] .row")
    assert page.input_value("#by-depth") == "0"
    page.keyboard.press("Escape")


def test_a_row_has_the_command_that_makes_a_page_of_its_whole_prompt(
    large_page, open_file, tmp_path
):
    page = open_file(large_page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click('#tasks figure[data-series="1"] button[aria-label^="niah_single at 8K"]')
    page.click("dialog .row >> nth=0 >> .command button")
    page.wait_for_selector(".command button >> text=Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.inner_text(".command code >> nth=0")
    assert "/run3 --run " in copied  # and the run compared with
    command = shlex.split(copied)
    assert command[:4] == ["ruler", "show", "niah_single_8k_pl_cl100k", "3"]
    made = tmp_path / command[-1]
    output, error, code = ruler(*command[1:-1], made)
    assert (code, output) == (0, f"Written: {made}\n"), error
    assert made.read_text(encoding="utf-8").count('<b class="verdict') == 2
    displayed = open_file(made)
    assert displayed.title() == "niah_single_8k_pl_cl100k, row 3"
    assert serious_faults(displayed) == []


def test_hostile_answers_and_names_are_text(opened, answered, page_input):
    page = opened()
    scripts = page.locator("script").count()
    rows = rows_of(page, "niah_single_1 at 4K", series=2)
    answers = [part.text_content() for row in rows for part in row.query_selector_all(".answer")]
    label = page_input.series[2].label
    rows_shown = read_page_rows(answered).dialog["niah_single_1_4k"]
    assert set(answers) >= {row["answers"][label]["text"] for row in rows_shown}
    assert {HOSTILE["markup"], HOSTILE["end"]} <= set(answers)
    assert all(row.query_selector(".answer").bounding_box()["width"] < 900 for row in rows)
    assert label.startswith("<b>⟨U+202E⟩</script>[red]␛")
    assert label in page.title()
    assert page.text_content("#rows-title") == f"{label}: niah_single_1 at 4K"
    assert page.evaluate("typeof window.stolen") == "undefined"
    assert page.locator("script").count() == scripts
    assert page.locator("img, iframe, dialog b b").count() == 0
    page.keyboard.press("Escape")
    for name in ("vt at 4K", "qa_1 at 4K", "niah_multivalue at 4K"):
        assert len(rows_of(page, name, series=2)) == 5
        page.keyboard.press("Escape")


@pytest.mark.nightly
def test_the_table_sorts_by_any_column_and_shows_other_categories(opened):
    page = opened()
    table = '.group[data-group="0"] '
    names = f"{table}tbody tr:not([hidden]) th bdi"
    assert page.locator(names).all_inner_texts()[:2] == ["Right-70B", "Worse-8B"]
    page.click(f"{table}.sort >> text=Avg.")
    assert page.get_attribute(f'{table}th:has-text("Avg.")', "aria-sort") == "descending"
    assert page.locator(names).all_inner_texts()[0] == "Right-70B"
    page.click(f"{table}.sort >> text=Avg.")
    assert page.locator(names).all_inner_texts()[-1] == "Right-70B"
    page.click('.tabs button:has-text("question answering")')
    assert (
        page.locator(".group:not([hidden]) caption").inner_text().startswith("Question answering")
    )


@pytest.mark.nightly
def test_models_are_hidden_and_published_ones_shown(opened):
    page = opened()
    page.eval_on_selector_all(
        "details.choice", "all => all.forEach(details => { details.open = true; })"
    )
    lines = '[data-chart="curves"] path[aria-roledescription="line mark"]'
    points = '[data-chart="curves"] path[aria-roledescription="point"]'
    before = page.locator(points).count()
    page.uncheck('[data-model="1"]')
    page.wait_for_function(f"document.querySelectorAll('{points}').length < {before}")
    assert not page.is_visible('#tasks figure[data-series="1"]')
    assert not page.is_visible('.scores tr[data-series="1"]')
    assert page.is_visible('#tasks figure[data-series="0"]')
    drawn = page.locator(lines).count()
    assert not page.is_visible("tr.published >> nth=0")
    page.check("#published")
    page.wait_for_function(f"document.querySelectorAll('{lines}').length > {drawn + 10}")
    assert page.is_visible("tr.published >> nth=0")
    assert "published, on other rows" in page.inner_text("p.published >> nth=0")
    page.uncheck("#published")
    page.check('[data-published="GPT-4-1106-preview"]')
    output = "tr.published:visible >> nth=0"
    assert page.inner_text(f"{output} >> th").startswith("GPT-4-1106-preview")
    assert page.locator("tr.published:visible").count() == 1


@pytest.mark.nightly
def test_it_works_by_keyboard(opened):
    page = opened()
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#tasks .heat button')"):
            break
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused).startswith("niah_single_1 at 4K")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused).startswith("niah_single_2 at 8K")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] .row")
    page.keyboard.press("Escape")
    assert page.evaluate(focused).startswith("niah_single_2 at 8K")


VIEWS: dict[str, dict[str, Any]] = {
    "390": {"viewport": PHONE},
    "1024": {"viewport": {"width": 1024, "height": 768}},
    "1440": {"viewport": {"width": 1440, "height": 900}},
    "dark": {"color_scheme": "dark"},
    "200 %": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
    "print": {"viewport": {"width": 718, "height": 1000}},  # A4 without its margins
}
MAX_SHRINKING = 1.5
"""Chromium shrinks a page that is wider than its paper: text of 10 points becomes 7."""


@pytest.mark.nightly
@pytest.mark.parametrize("view", mostly_nightly(3, VIEWS))
@pytest.mark.parametrize("which", ["page_file", "languages_file"])
def test_nothing_is_cut_off_and_accessibility_has_no_serious_violation(
    which, view, open_file, request
):
    page = open_file(request.getfixturevalue(which), reduced_motion="reduce", **VIEWS[view])
    width = page.evaluate("innerWidth")
    if view == "print":
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("document.documentElement.scrollWidth") <= MAX_SHRINKING * width
        assert page.is_visible("#run-facts table")
        assert not page.is_visible("nav")
        assert all(group.is_visible() for group in page.query_selector_all(".group"))
        assert serious_faults(page) == []
        return
    page.eval_on_selector_all("details", "all => all.forEach(details => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CUT_OFF) == []
    assert serious_faults(page) == []
    if page.locator("#published").count():
        page.check("#published")
        assert serious_faults(page, "#curves") == []
    page.click("#tasks figure button >> nth=0")
    page.wait_for_selector("dialog[open] .row")
    box = page.locator("dialog").bounding_box()
    assert 0 <= box["x"] <= box["x"] + box["width"] <= width
    assert page.locator("#rows-list").bounding_box()["height"] > 150
    assert serious_faults(page, "dialog") == []


CUT_OFF = """() => [...document.querySelectorAll("main *, header *")].filter((part) =>
  part.checkVisibility() && !part.closest(".scroll, .hidden") &&
  part.getBoundingClientRect().right > innerWidth + 1).map((part) => part.outerHTML.slice(0, 80))"""
"""Elements that reach beyond the window, outside of scrolling areas."""


@pytest.mark.nightly
def test_both_colour_schemes_and_a_phone_have_their_picture(opened):
    pictures = {}
    for name, settings in {
        "light": {},
        "dark": {"color_scheme": "dark"},
        "phone": {"viewport": PHONE},
    }.items():
        page = opened(**settings)
        pictures[name] = page.screenshot(full_page=True)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(20, 23, 28)" if name == "dark" else "rgb(255, 255, 255)")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= settings.get("viewport", DESK)["width"]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures.values())
    assert all(len(picture) > 100_000 for picture in pictures.values())
    assert pictures["light"] != pictures["dark"]


def test_the_csv_of_the_table_of_models_has_the_ends_of_its_intervals(opened, page_input):
    page = opened()
    with page.expect_download() as saved:
        page.click('.group[data-group="0"] .csv')
    lines = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    header, *rows = csv.reader(lines)
    assert header[:7] == ["model", "4K", "4K low", "4K high", "8K", "8K low", "8K high"]
    (worse,) = [row for row in rows if row[0] == "Worse-8B"]
    low, high = page_input.series[1].groups["all"]["lengths"]["4k"]["interval"]
    assert [float(worse[2]), float(worse[3])] == [low, high]


OVERLAPS = """() => [...document.querySelectorAll(".vega")].filter((chart) => {
  const save = chart.querySelector("summary").getBoundingClientRect();
  const marks = "svg .mark-rect path, svg .mark-symbol path, svg .mark-text text";
  return [...chart.querySelectorAll(marks)]
    .some((mark) => { const box = mark.getBoundingClientRect();
      return box.right > save.left && box.left < save.right
        && box.bottom > save.top && box.top < save.bottom; });
}).map((chart) => chart.dataset.chart)"""
"""The charts of which something lies under the button that saves them."""
LEGENDS = """() => [...document.querySelectorAll(".vega")].filter((chart) => {
  const end = chart.closest(".scroll").getBoundingClientRect().right + 1;
  return [...chart.querySelectorAll("svg .role-legend-label text")]
    .some((label) => label.getBoundingClientRect().right > end);
}).map((chart) => chart.dataset.chart)"""
"""The charts of which a legend is cut off."""


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_no_legend_is_cut_and_nothing_lies_under_the_button_that_saves(
    viewport, open_file, page_file, languages_file
):
    for file in (page_file, languages_file):
        page = open_file(file, viewport=viewport)
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate(LEGENDS) == []


def test_a_threshold_is_drawn_once_in_each_chart(opened):
    page = opened()
    for name in ("curves", "curves-1"):
        rules = page.locator(f'[data-chart="{name}"] svg .mark-rule.role-mark line')
        dashed = [rule for rule in rules.all() if rule.get_attribute("stroke-dasharray")]
        assert len(dashed) == 1
        texts = page.locator(f'[data-chart="{name}"] svg text').all_text_contents()
        assert sum("threshold" in text for text in texts) == 1
