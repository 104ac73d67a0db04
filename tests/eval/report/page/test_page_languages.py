"""ONERULER's part of the page: languages, ranking, the offer of "none", pairs, reasoning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.analysis.languages import analyze
from ruler_eval.score.results import load
from tests.eval.report.page.page_helpers import DESK, PHONE, figures_without_table, serious_faults


@pytest.fixture(scope="session")
def page(languages_file: Path) -> dict[str, Any]:
    return json.loads(languages_file.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.nightly
def test_the_analyses_are_those_of_ruler_analyze(page, language_runs):
    names = ("Worse-8B", "Worst-1B")
    known = analyze({name: load(run) for name, run in zip(names, language_runs, strict=True)})
    models = page["languages"]["models"]
    assert models == [{"run": run, **known["models"][name]} for run, name in enumerate(names)]
    assert {item["language"] for item in models[0]["languages"]} == {"pl", "de", "ko"}
    assert models[0]["cross_lingual"]["en"].keys() == {"ko"}
    assert {item["length"] for item in models[1]["none_ablation"]} == {"8k", "32k"}
    assert all(item["right"] > 0 < item["wrong"] for item in models[0]["reasoning"])


def test_languages_by_lengths_and_their_mean_by_task(page):
    heat, _ = page["languages"]["heat_maps"]
    assert heat["rows"] == ["de", "ko", "pl", "en-ko", "ko-en"]
    tasks, _ = page["heat_maps"]
    assert page["series"][0]["languages"] == "*"
    first = tasks["cells"][tasks["rows"].index("niah_single")][0]
    assert sorted(first["configurations"]) == [
        f"niah_single_8k_{language}_cl100k" for language in ("de", "ko", "pl")
    ]
    assert first["n"] == 24


def test_the_first_table_is_of_all_tasks_and_each_is_named_as_its_group(page, languages_file):
    html = languages_file.read_text(encoding="utf-8")
    assert page["groups"][0]["name"] == "all"
    for place, group in enumerate(page["groups"]):
        name = "All tasks" if group["name"] == "all" else group["name"]
        table = html.split(f'<div class="group" data-group="{place}">')[1]
        assert table.split("<caption>")[1].startswith(f"{name} ({group['tasks']} tasks)")


def test_differences_are_those_of_the_heat_maps_and_every_language_can_be_chosen(page):
    from ruler_eval.report.page.figures import difference_figure

    (pair,) = page["pairs"]
    found = {(i["task"], i["length"]): i for i in pair["differences"] if i["language"] == "*"}
    a, b = page["heat_maps"]
    for task, ours, theirs in zip(a["rows"], a["cells"], b["cells"], strict=True):
        for length, one, other in zip(page["lengths"], ours, theirs, strict=True):
            item = found[task, length["name"]]
            assert item["difference"] == pytest.approx(one["score"] - other["score"])
            assert item["interval"][0] < item["difference"] < item["interval"][1]
    figure = difference_figure(page, pair)
    (choice,) = figure.chart.to_dict()["params"]
    assert choice["value"] == choice["bind"]["options"][0] == "*"
    assert choice["bind"]["options"][1:] == ["de", "ko", "pl", "en-ko", "ko-en"]
    assert choice["bind"]["labels"][0] == "mean over 3 languages"
    assert "mean over 3 languages" in figure.title


def test_a_banner_says_that_rows_are_not_the_frozen_ones(page, languages_file):
    head = languages_file.read_text(encoding="utf-8").split("<main>")[0]
    assert "ONERULER, custom rows · score version" in head
    assert "Not the frozen rows of ONERULER." in head.split('class="banner"')[1]
    assert "ONERULER 1.0.0" not in head
    assert page["runs"][0]["warnings"] == [page["runs"][0]["whose_rows"]]


def test_every_row_is_there_and_every_figure_has_its_table(page, languages_file):
    assert len(page["rows"]["0"]) == 5 * 5 * 2
    assert figures_without_table(languages_file.read_text(encoding="utf-8")) == []


@pytest.mark.nightly
def test_it_opens_from_disk_with_every_part(open_file, languages_file):
    page = open_file(languages_file)
    found = page.eval_on_selector_all("main > section", "all => all.map(one => one.id)")
    assert found == [
        *("summary", "scores", "curves", "depth", "tasks", "differences", "errors", "languages"),
        *("correlation", "runs"),
    ]
    for chart in ("ranking", "none", "reasoning"):
        box = page.locator(f'#languages [data-chart="{chart}"] svg').bounding_box()
        assert box["height"] > 80 < box["width"]
    heads = page.locator("#languages table.cross thead").first.locator("th").all_inner_texts()
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
def test_its_parts_have_no_serious_fault_of_accessibility(settings, open_file, languages_file):
    page = open_file(languages_file, **settings)
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
    assert serious_faults(page, "#languages") == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= settings.get("viewport", DESK)["width"]
    assert len(page.screenshot(full_page=True)) > 100_000
