"""The page's model holds what results.json holds, and the rows behind it."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.report.page.build import page_data
from ruler_eval.report.page.render import render
from ruler_eval.report.page.runs import open_runs
from ruler_eval.report.page.verdict import verdict
from ruler_eval.report.terminal import effective_between
from ruler_eval.score.results import load
from tests.eval.report.page.page_helpers import HOSTILE
from tests.in_process import ruler


@pytest.fixture(scope="session")
def page(page_file: Path) -> dict[str, Any]:
    return json.loads(page_file.with_suffix(".json").read_text(encoding="utf-8"))


def test_every_score_of_the_page_is_that_of_the_results(page, three_runs):
    for number, run in enumerate(three_runs):
        results = load(run)
        (tokenizer,) = results["summary"]
        for group in page["groups"]:
            known = results["summary"][tokenizer]["en"].get(group["name"])
            rows = [row for row in group["rows"] if row["series"] == number]
            assert len(rows) == (known is not None)
            for row in rows:
                assert row["average"] == known["average"]
                assert row["weighted_inc"] == known["weighted_inc"]
                assert row["effective"] == known["effective_length_name"]
                assert row["effective_between"] == effective_between(known)
                found = {name: mean["score"] for name, mean in row["lengths"].items()}
                assert found == {n: mean["score"] for n, mean in known["lengths"].items()}
        (heat,) = [heat for heat in page["heat_maps"] if heat["series"] == number]
        cells = [cell for row in heat["cells"] for cell in row if cell]
        assert {c["configurations"][0]: (c["score"], c["n"]) for c in cells} == {
            name: (cell["score"], cell["n"]) for name, cell in results["configurations"].items()
        }


def test_of_one_model_a_lowest_score_is_named_where_scores_differ(page):
    groups = [{**page["groups"][0], "rows": page["groups"][0]["rows"][:1]}]
    alike = " ".join(verdict({**page, "groups": groups}))
    assert "Right-70B scores 100.0" in alike
    assert "Lowest" not in alike
    heat = page["heat_maps"][0]
    row = [{**cell, "score": 12.5} for cell in heat["cells"][3]]
    heats = [{**heat, "cells": [*heat["cells"][:3], row, *heat["cells"][4:]]}]
    differ = " ".join(verdict({**page, "groups": groups, "heat_maps": heats}))
    assert f"Lowest score of Right-70B: 12.5, in {heat['rows'][3]} at " in differ


def test_what_was_run_is_said(page):
    facts = page["runs"][1]
    assert facts["label"] == "Worse-8B"
    assert facts["data"] == "RULER 1.0.0"
    assert facts["engine"] == "vllm 0.32.0"
    assert facts["reasoning"] == "off"
    assert facts["whose_rows"].startswith("custom rows: embedded texts (")
    assert facts["rows"] == 26 * 5
    assert set(facts["counts"]) >= {"missing", "failed", "does_not_fit", "cut"}


def test_wrong_rows_come_first_with_their_kind_and_the_text_around_the_needle(page):
    rows = page["rows"]["1"]["niah_single_2_4k"]
    assert (rows["n"], rows["wrong"]) == (5, 3)
    assert [row["score"] for row in rows["rows"]] == [0, 0, 0, 1, 1]
    first = rows["rows"][0]
    assert first["kind"] == "wrong words"
    assert "7654321" in first["answer"]
    (needle,) = [part for part in first["evidence"] if part["answer"]]
    before, text, after = needle["text"]
    assert first["references"][0] in text
    assert len(before) > 50 < len(after)
    assert 0 <= needle["depth"] <= 1


def test_kinds_of_errors_are_counted_by_task(page):
    found = {(one["series"], one["task"]): one for one in page["errors"]["tasks"]}
    worse = found[1, "niah_single_2"]
    assert (worse["rows"], worse["wrong"], worse["sorted"]) == (10, 6, 6)
    assert sum(worse["kinds"].values()) == 6
    assert found[0, "vt"]["wrong"] == 0


def test_pairs_of_runs_have_their_differences(page):
    first = page["pairs"][0]
    (over_all,) = [one for one in first["differences"] if one["task"] is one["length"] is None]
    assert over_all["difference"] == pytest.approx(over_all["a"] - over_all["b"])
    assert over_all["interval"][0] < over_all["difference"] < over_all["interval"][1]
    cells = [one for pair in page["pairs"] for one in pair["differences"] if one["p"] is not None]
    assert all(one["better"] is None for one in cells if one["p"] >= 0.05)
    assert {(pair["a"], pair["b"]) for pair in page["pairs"]} == {(0, 1), (0, 2), (1, 2)}


def test_the_first_sentences_are_the_numbers_of_the_tables(page):
    (over_all,) = [
        one for one in page["pairs"][0]["differences"] if one["task"] is one["length"] is None
    ]
    low, high = over_all["interval"]
    lead = f"Right-70B leads: {over_all['difference']:.1f} points [{low:.1f}, {high:.1f}] above"
    assert page["verdict"][0].startswith(f"{lead} Worse-8B in the mean")
    worst = [one for one in page["verdict"] if "Worse-8B loses most against Right-70B in" in one]
    cells = [one for one in page["pairs"][0]["differences"] if one["task"]]
    sure = [one for one in cells if one["better"] and (one["p_holm"] or 0) < 0.05]
    assert len(worst) <= bool(sure)
    (holds,) = [one for one in page["verdict"] if one.startswith("Effective length")]
    assert "Right-70B to 8K, the longest scored; Worse-8B below 4K" in holds


def test_who_surely_leads_over_all_rows_is_named_though_the_other_has_the_higher_average(page):
    """Lengths of which tasks lack are in no average, and in the mean over all."""
    other = copy.deepcopy(page)
    for pair in other["pairs"]:
        for one in pair["differences"]:
            if one["task"] is one["length"] is None and (pair["a"], pair["b"]) == (0, 1):
                one |= {"difference": -3.0, "interval": [-5.0, -1.0], "better": "b"}
    assert verdict(other)[0].startswith("Worse-8B leads: 3.0 points [1.0, 5.0] above Right-70B in")


def test_the_effective_length_of_a_mean_near_the_threshold_is_said_with_its_interval(page):
    near = copy.deepcopy(page)
    (worse,) = [row for row in near["groups"][0]["rows"] if row["series"] == 1]
    worse |= {"effective": "4K", "effective_between": "<4K-8K"}
    (holds,) = [one for one in verdict(near) if one.startswith("Effective length")]
    assert "Worse-8B to 4K [<4K-8K by the ends of the intervals]" in holds
    assert "<small>&lt;4K–8K</small>" in render(near, {})


def test_needles_are_pooled_by_depth_with_their_number(page):
    pooled = next(one for one in page["needles"] if one["series"] == 1)
    single = [one for one in page["depth"] if one["series"] == 1 and "niah" in one["task"]]
    for length, bins in pooled["lengths"].items():
        for place, found in enumerate(bins):
            parts = [one["lengths"][length][place] for one in single]
            n = sum(part["n"] for part in parts)
            assert found["n"] == n
            if n:
                total = sum((part["score"] or 0) * part["n"] for part in parts)
                assert found["score"] == pytest.approx(total / n)


def test_published_models_stand_beside_in_their_groups(page):
    by_name = {group["name"]: group["published"] for group in page["groups"]}
    assert {row["model"] for row in by_name["all"]} >= {"Gemini-1.5-pro", "GPT-4-1106-preview"}
    assert all("measured on" in row["source"] for row in by_name["all"])
    assert by_name["retrieval (NIAH)"]


def test_hostile_text_is_shown_and_shortened(page):
    rows = page["rows"]["2"]["niah_single_1_4k"]["rows"]
    by_index = {row["index"]: row["answer"] for row in rows}
    names = list(HOSTILE)
    assert by_index[names.index("markup")] == HOSTILE["markup"]
    assert "⟨U+202E⟩" in by_index[names.index("bidi")]
    assert by_index[names.index("ansi")].startswith("␛[31mred")
    assert by_index[names.index("long")].endswith("(1,000,000 characters)")
    assert "\x1b" not in page["runs"][2]["label"]


def test_without_the_answers_the_page_has_its_numbers_and_says_so(tmp_path, three_runs):
    shutil.copyfile(three_runs[1] / "results.json", tmp_path / "results.json")
    text = (tmp_path / "results.json").read_text().replace(str(three_runs[1]), "gone")
    (tmp_path / "results.json").write_text(text)
    out = tmp_path / "report.html"
    _, error, code = ruler("report", tmp_path, "--out", out)
    assert code == 0, error
    assert "not here any more" in out.read_text()
    assert page_data(open_runs([tmp_path]))["rows"] == {"0": {}}


def test_answers_that_changed_after_scoring_are_refused(tmp_path, three_runs):
    run = tmp_path / "run"
    shutil.copytree(three_runs[1], run)
    file = run / "vt_4k.jsonl"
    file.write_text(file.read_text().replace("7654321", "7654322"))
    results = run / "results.json"  # the folder would be scored again
    _, error, code = ruler("report", results, "--out", tmp_path / "report.html")
    assert code == 2
    assert "are not those that were scored: run `ruler score` again" in error
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "one"], "There are 1 --name for 3 runs"),
        (["--name", "a", "--name", "a", "--name", "b"], None),
    ],
)
def test_names_label_the_runs(tmp_path, three_runs, arguments, message):
    out = tmp_path / "report.html"
    _, error, code = ruler("report", *three_runs, "--out", out, *arguments)
    assert code == (2 if message else 0), error
    if message:
        assert message in error
    else:
        assert f"a ({three_runs[0]})" in out.read_text()
