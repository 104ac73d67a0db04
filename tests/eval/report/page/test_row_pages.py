"""From a row of the page to its whole prompt: a page of it, or the command that makes one."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from ruler_eval.frozen_release import Release
from ruler_eval.report.page.page_runs import ReportedRun
from ruler_eval.report.page.rows.row_pages import show_command
from tests.eval.report.page.page_helpers import serious_faults
from tests.eval.scoring_helpers import ruler
from tests.shares import share

CELL = '#tasks figure[data-series="1"] button[aria-label^="vt at 4K"]'


def test_every_link_leads_to_a_page_of_that_rows_prompt_and_answers(page_file, built):
    page = json.loads(page_file.with_suffix(".json").read_text(encoding="utf-8"))
    rows = {
        (name, row["index"]): row["page"]
        for known in page["rows"].values()
        for name, held in known.items()
        for row in held["rows"]
    }
    assert rows["vt_4k", 3] == "row%20pages/vt_4k-3.html"
    assert len(rows) == len(list((page_file.parent / "row pages").iterdir())) == 13 * 2 * 5
    release = Release.open(str(built))
    for row in release.rows("niah_single_2_4k", ("index", "input", "context_start", "context_end")):
        path = page_file.parent / "row pages" / f"niah_single_2_4k-{row['index']}.html"
        text = html.unescape(path.read_text(encoding="utf-8"))
        context = row["input"][row["context_start"] : row["context_end"]]
        assert context in re.sub("</?mark[^>]*>", "", text)
        assert text.index("<bdi>Right-70B</bdi>") < text.index("<bdi>Worse-8B</bdi>")
        wrong = row["index"] % 2 == 0
        assert text.count("unrelated (the context does not hold the answer)") == wrong


def test_a_row_leads_to_its_page(page_file, open_file):
    page = open_file(page_file)
    page.click(CELL)
    link = page.locator("dialog .row >> nth=0 >> a")
    assert link.inner_text() == "row pages/vt_4k-0.html"
    with page.context.expect_page() as opened:
        link.click()
    opened.value.wait_for_load_state()
    assert opened.value.title() == "vt_4k, row 0"
    assert opened.value.text_content("h3 >> nth=1").startswith("Worse-8B0 %unrelated")
    body = "getComputedStyle(document.body).fontFamily"
    assert opened.value.evaluate(body) == page.evaluate(body)


def test_without_pages_a_row_has_the_command_that_makes_one(large_page, open_file, tmp_path):
    page = open_file(large_page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click('#tasks figure[data-series="1"] button[aria-label^="niah_single at 8K"]')
    page.click("dialog .row >> nth=0 >> .command button")
    page.wait_for_selector(".command button >> text=Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.inner_text(".command code >> nth=0")
    assert "/run3 --run " in copied  # and the run beside it
    command = shlex.split(copied)
    assert command[:4] == ["ruler", "show", "niah_single_8k_pl_cl100k", "3"]
    made = tmp_path / command[-1]
    said, error, code = ruler(*command[1:-1], made)
    assert (code, said) == (0, f"Written: {made}\n"), error
    assert made.read_text(encoding="utf-8").count('<b class="verdict') == 2


def test_a_command_names_folders_from_here_or_from_home(built, monkeypatch, tmp_path):
    def command(*places):
        release = Release.open(str(built))
        run = ReportedRun(label="me", results={}, release=release, places=places)
        return show_command(run)

    monkeypatch.chdir(built.parent)
    monkeypatch.setenv("HOME", str(tmp_path))
    home = command(tmp_path / "my runs/qwen")
    assert home == {"release": f"--dataset {built.name}", "run": "--run ~/'my runs/qwen'"}
    assert command(Path("a"), Path("b"))["run"] == ""
    assert command(Path("/else/run"))["run"] == "--run /else/run"
    assert show_command(ReportedRun(label="no release", results={})) is None


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", share(2, ["light", "dark"]))
def test_a_rows_page_has_no_serious_fault_of_accessibility_in(scheme, page_file, open_file):
    path = page_file.parent / "row pages/niah_multikey_1_4k-0.html"
    page = open_file(path, color_scheme=scheme)
    assert serious_faults(page) == []
