"""The file beside the page that holds every row, and the page that opens it in a browser."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from ruler_eval.report.page.page_data import page_data
from ruler_eval.report.page.page_runs import open_runs
from ruler_eval.report.page.rows.stored_rows import rows_file

CONFIG = "niah_single_8k_pl_cl100k"


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_the_file_holds_every_row_once_and_the_page_says_where(large_page):
    path = large_page.with_name("report.rows.gz")
    lines = lines_of(path)
    keys = [(line["model"], line["config"], line["index"]) for line in lines]
    assert len(keys) == len(set(keys)) == 2 * 4 * 120
    page = json.loads(large_page.with_suffix(".json").read_text(encoding="utf-8"))
    assert page["rows_file"] == {"name": path.name, "bytes": path.stat().st_size}
    shown = page["rows"]["1"][CONFIG]
    start, end = shown["all"]
    part = path.read_bytes()[start:end]
    found = [json.loads(line) for line in gzip.decompress(part).splitlines()]
    assert {line["model"] for line in found} == {"Worse-3"}
    by_index = {line["index"]: line for line in found}
    assert all(row.items() <= by_index[row["index"]].items() for row in shown["rows"])
    wrong = [line["score"] < 1 for line in found]
    assert wrong == sorted(wrong, reverse=True)
    assert all(line["evidence"][0]["text"] for line in found)


def test_the_page_is_the_same_with_the_file_and_without(two_runs, tmp_path):
    runs = open_runs(two_runs)
    with rows_file(tmp_path / "rows.gz") as beside:
        found = page_data(runs, beside=beside)
    for known in (known for rows in found["rows"].values() for known in rows.values()):
        del known["all"]
    assert {**found, "rows_file": None} == page_data(open_runs(two_runs))


def test_a_cell_shows_all_its_rows_when_the_reader_opens_the_file(large_page, open_file):
    page = open_file(large_page)
    page.click('#tasks figure[data-series="0"] button[aria-label^="niah_single at 8K"]')
    page.wait_for_selector("dialog[open] .row")
    assert page.locator("dialog .row").count() == 20
    assert not page.is_visible("#more")
    assert page.inner_text("#all-rows span") == (
        "20 of the 120 rows are in the page. All: open report.rows.gz, which was written beside it"
    )
    page.set_input_files("#rows-file", large_page.with_name("other.rows.gz"))
    page.wait_for_selector("#rows-problem:not(:empty)")
    assert page.inner_text("#rows-problem").startswith("This is not the report.rows.gz that was")
    assert page.locator("dialog .row").count() == 20
    page.set_input_files("#rows-file", large_page.with_name("report.rows.gz"))
    page.wait_for_selector("#more:not([hidden])")
    assert page.inner_text("#rows-problem") == ""
    assert not page.is_visible("#all-rows")
    assert page.inner_text("#more") == "Show 20 more of 100"
    for _ in range(5):
        page.click("#more")
    assert not page.is_visible("#more")
    heads = page.locator("dialog .row h3 span:first-child").all_inner_texts()
    assert sorted(heads) == sorted(f"Row {index}" for index in range(120))
    page.select_option("#by-kind", "wrong")
    assert page.inner_text("#more") == "Show 20 more of 40"
    page.select_option("#which", "only there")  # a third of the rows is wrong beside, a half here
    assert page.inner_text("#rows-about").startswith("120 rows, 60 without the full score; 40 of")
