"""ONERULER's part of the page: languages by lengths, ranking, the offer of "none", pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.analysis.language_scores import analyze
from eval.score.results_file import load
from tests.conftest import Once
from tests.eval.report.page.page_helpers import worse, write_run
from tests.eval.scoring_helpers import ruler, write_oneruler


@pytest.fixture(scope="session")
def languages_page(once: Once) -> Path:
    """A page of one run in Polish, German, Korean and across two languages."""

    def make(root: Path) -> None:
        release = write_oneruler(root / "oneruler", ("pl", "de", "ko", "en-ko", "ko-en"))
        run = write_run(root / "run", release, worse(3), "Worse-8B")
        out = root / "report.html"
        _, error, code = ruler("report", run, "--out", out, "--json", root / "page.json")
        assert code == 0, error

    return once("page/languages", make)


@pytest.fixture(scope="session")
def page(languages_page: Path) -> dict[str, Any]:
    return json.loads((languages_page / "page.json").read_text(encoding="utf-8"))


def test_the_analyses_are_those_of_ruler_analyze(page, languages_page):
    known = analyze({"Worse-8B": load(languages_page / "run")})["models"]["Worse-8B"]
    (model,) = page["languages"]["models"]
    assert model == {"run": 0, **known}
    assert {item["language"] for item in model["languages"]} == {"pl", "de", "ko"}
    assert model["cross_lingual"]["en"].keys() == {"ko"}


def test_languages_by_lengths_and_their_mean_by_task(page):
    (heat,) = page["languages"]["heat_maps"]
    assert heat["rows"] == ["de", "ko", "pl", "en-ko", "ko-en"]
    (tasks,) = page["heat_maps"]
    assert page["series"][0]["languages"] == "*"
    first = tasks["cells"][tasks["rows"].index("niah_single")][0]
    assert sorted(first["configurations"]) == [
        f"niah_single_8k_{language}_cl100k" for language in ("de", "ko", "pl")
    ]
    assert first["n"] == 12


def test_the_page_has_the_section_and_every_row(page, languages_page):
    html = (languages_page / "report.html").read_text(encoding="utf-8")
    assert 'id="languages"' in html
    assert "text and instruction" in html.lower() or "instruction (columns)" in html
    assert 'data-chart="ranking"' in html
    assert len(page["rows"]["0"]) == 5 * 4
