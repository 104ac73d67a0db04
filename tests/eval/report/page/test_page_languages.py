"""ONERULER's part of the page: languages, ranking, the offer of "none", pairs, reasoning."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_eval.analysis.languages import analyze
from ruler_eval.figures.differences import difference_figure, pair_runs
from ruler_eval.figures.figure import Figure
from ruler_eval.figures.languages import language_figures
from ruler_eval.figures.runs import warnings_about
from ruler_eval.figures.series import Runs, runs_of
from ruler_eval.figures.task_scores import tasks
from ruler_eval.report.page.answers import AnsweredRun, open_answered_runs
from ruler_eval.report.page.rows import read_page_rows
from ruler_eval.score.results import load
from tests.eval.report.page.page_helpers import (
    DESK,
    PHONE,
    figures_without_table,
    serious_faults,
    write_run,
)
from tests.eval.scoring_helpers import right


@pytest.fixture(scope="module")
def answered(language_runs: list[Path]) -> list[AnsweredRun]:
    return open_answered_runs(language_runs)


@pytest.fixture(scope="module")
def page(answered: list[AnsweredRun]) -> Runs:
    return runs_of(answered)


def languages(runs: Runs) -> list[Figure]:
    """The figures of languages."""
    return language_figures(runs, analyze({run.label: run.results for run in runs.runs}))


def test_the_figures_are_those_of_ruler_analyze(page, language_runs):
    names = ("Worse-8B", "Worst-1B")
    analyzed = analyze({name: load(run) for name, run in zip(names, language_runs, strict=True)})
    figures = {figure.name: figure for figure in languages(page)}
    model = analyzed["models"]["Worse-8B"]
    ranking = [record for record in figures["ranking"].records if record["series"] == [0]]
    assert [(record["language"], record["score"]) for record in ranking] == [
        (item["language"], item["score"]) for item in model["languages"]
    ]
    assert {record["language"] for record in ranking} == {"pl", "de", "ko"}
    assert {record["length"] for record in figures["none"].records} == {"8K", "32K"}
    for record in figures["none"].records:
        names = {name.rpartition(f"_{record['length'].lower()}_")[0] for name in record["configs"]}
        assert names == {"niah_single", "niah_single_nonone"}
    assert {record["kind"] for record in figures["reasoning"].records} == {"right", "wrong"}
    for record in figures["reasoning"].records:  # rows of all languages and pairs
        assert len(record["configs"]) == 5 * 3
    cross = {(r["row"], r["column"]): r["score"] for r in figures["cross-0"].records}
    assert cross["en", "ko"] == model["cross_lingual"]["en"]["ko"]
    assert list(figures) == [
        *("niah-0", "niah-1", "ranking", "extremes-best-0", "extremes-largest-0"),
        *("extremes-best-1", "extremes-largest-1", "none", "cross-0", "cross-1", "crossed"),
        *("reasoning", "resources", "scripts", "resourcetasks", "cwewords"),
        *("overmodels-languages", "overmodels-resources", "overmodels-tasks", "tokens"),
    ]


def test_a_run_on_pairs_of_languages_only_says_so_and_has_no_table_of_resources(
    language_runs, tmp_path
):
    release = language_runs[0].parent / "oneruler"
    pairs = [f"niah_single_8k_{pair}_cl100k" for pair in ("en-ko", "ko-en")]
    run = write_run(tmp_path / "pairs", release, right, "Pairs", pairs)
    page = runs_of(open_answered_runs([run]))
    assert tasks(page)[0].title == "Pairs, oneruler, cl100k, mean over pairs of languages"
    assert "resources" not in [figure.name for figure in languages(page)]


def test_languages_by_lengths_and_their_mean_by_task(page):
    heat = languages(page)[0]
    assert [record["row"] for record in heat.records if record["column"] == "8K"] == [
        *("de", "ko", "pl", "en-ko", "ko-en"),
    ]
    by_task = tasks(page)[0]
    assert page.series[0].languages == "*"
    first = by_task.records[0]
    assert (first["row"], first["column"]) == ("niah_single", "8K")
    assert sorted(first["configs"]) == [
        f"niah_single_8k_{language}_cl100k" for language in ("de", "ko", "pl")
    ]
    assert first["rows"] == 24


def test_the_first_table_is_of_all_tasks_and_each_is_named_as_its_group(page, languages_file):
    html = languages_file.read_text(encoding="utf-8")
    for place, name in enumerate(page.groups):
        group = page.series[0].groups[name]
        scored = max(mean["tasks"] for mean in group["lengths"].values())
        tasks = f"{scored} of {group['tasks']}" if scored < group["tasks"] else f"{scored}"
        title = "All tasks" if place == 0 else name
        table = html.split(f'<div class="group" data-group="{place}">')[1]
        assert table.split("<caption>")[1].startswith(f"{title} ({tasks} tasks)")


def test_differences_are_those_of_the_heat_maps_and_every_language_can_be_chosen(page):
    (pair,) = pair_runs(page)
    figure = difference_figure(page, pair, pair.comparison)
    means = {
        (r["task"], r["length"]): r
        for r in figure.records
        if r["language"] == "*" and r["is_drawn"]
    }
    a, b = tasks(page)
    for ours, theirs in zip(a.records, b.records, strict=True):
        if ours["row"].startswith("mean of "):
            continue  # of the group's tasks, without the ablation
        mean = means[ours["row"], ours["column"]]
        assert mean["score"] == pytest.approx(ours["score"] - theirs["score"])
        assert mean["low"] < mean["score"] < mean["high"]
        assert sorted(mean["configs"]) == sorted(ours["configs"])
    (choice,) = figure.chart["params"]
    assert choice["value"] == choice["bind"]["options"][0] == "*"
    assert choice["bind"]["options"][1:] == ["de", "ko", "pl", "en-ko", "ko-en"]
    assert choice["bind"]["labels"][0] == "mean over 3 languages"
    assert "mean over 3 languages" in figure.title


def test_a_banner_says_that_rows_are_not_the_frozen_ones(page, languages_file):
    head = languages_file.read_text(encoding="utf-8").split("<main>")[0]
    assert "ONERULER, custom rows · score version" in " ".join(head.split())
    assert "Not the frozen rows of ONERULER." in " ".join(head.split()).split('class="banner"')[1]
    assert "ONERULER 1.0.0" not in head
    assert warnings_about(page.runs[0])[0].startswith("custom rows")


def test_the_page_has_every_row_and_a_table_for_every_figure(answered, languages_file):
    assert len(read_page_rows(answered).dialog) == 5 * 5 * 2
    assert figures_without_table(languages_file.read_text(encoding="utf-8")) == []


@pytest.mark.nightly
def test_the_page_of_oneruler_opens_from_disk_with_every_section(open_file, languages_file):
    page = open_file(languages_file)
    sections = page.eval_on_selector_all("main > section", "all => all.map(section => section.id)")
    assert sections == [
        *("summary", "scores", "curves", "depth", "tasks", "differences", "errors", "languages"),
        *("correlation", "runs"),
    ]
    for chart in ("ranking", "none", "reasoning"):
        box = page.locator(f'#languages [data-chart="{chart}"] svg').bounding_box()
        assert box["height"] > 80 < box["width"]
    cross = '#languages table[aria-label*="in two languages"] thead'
    heads = page.locator(cross).first.locator("th").all_inner_texts()
    assert heads[1:] == ["en", "ko"]
    page.click('#languages figure[data-series="0"] button[aria-label^="ko at 32K:"]')
    page.wait_for_selector("dialog[open] .row")
    assert page.inner_text("#rows-title") == "Worse-8B: ko at 32K"
    assert page.locator("dialog .row").count() == 20  # of eight rows of three niah tasks
    assert "niah_multivalue_32k_ko_cl100k" in page.inner_text("#rows-list")
    page.keyboard.press("Escape")
    assert "rank 3 languages with Kendall’s τ = 1.00" in page.inner_text("#languages")
    page.uncheck('[data-model="0"]')
    assert not page.is_visible('#languages figure[data-series="0"]')
    assert page.is_visible('#languages figure[data-series="1"] >> nth=0')


@pytest.mark.nightly
@pytest.mark.parametrize("settings", [{}, {"color_scheme": "dark", "viewport": PHONE}], ids=str)
def test_the_languages_have_no_serious_accessibility_violation(settings, open_file, languages_file):
    page = open_file(languages_file, **settings)
    page.eval_on_selector_all("details", "all => all.forEach(details => { details.open = true; })")
    assert serious_faults(page, "#languages") == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= settings.get("viewport", DESK)["width"]
    assert len(page.screenshot(full_page=True)) > 100_000


@pytest.mark.nightly
def test_the_next_cell_and_a_link_to_a_cell_are_of_its_model_and_its_kind(
    open_file, languages_file
):
    page = open_file(languages_file)
    page.evaluate("location.hash = '#rows/reasoning/niah%20at%208K%3A%20right%20(Worst-1B)'")
    page.wait_for_selector("dialog[open] .row")
    assert page.inner_text("#rows-title") == "Worst-1B: niah at 8K"
    verdicts = page.locator("dialog .row h3 .verdict")
    assert set(verdicts.all_inner_texts()) == {"right"}
    page.click("#next")
    page.wait_for_function("document.getElementById('by-kind').value === 'wrong'")
    assert "right" not in verdicts.all_inner_texts()
    page.click("#next")
    page.wait_for_function("document.getElementById('rows-title').textContent.endsWith('at 32K')")
    assert page.evaluate("location.hash").endswith("niah%20at%2032K%3A%20right%20(Worst-1B)")


@pytest.mark.nightly
def test_a_click_in_the_differences_opens_rows_of_the_language_chosen(open_file, languages_file):
    page = open_file(languages_file)
    chart = '[data-chart="differences-0-1"]'
    page.select_option(f"{chart} select", "ko")
    page.wait_for_timeout(300)
    page.locator(f'{chart} path[aria-roledescription="point"]').first.click(force=True)
    page.wait_for_selector("dialog[open] .row")
    assert ", ko at " in page.inner_text("#rows-title")
    assert ", ko at " in page.inner_text("#cell option:checked")
