"""The page shows the numbers of results.json and the rows behind them."""

from __future__ import annotations

import copy
import html
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.figures.depth import depth_maps
from ruler_eval.figures.differences import Pair, difference_figure, pair_runs
from ruler_eval.figures.effective import effective_length
from ruler_eval.figures.runs import custom_rows_of, facts_of, warnings_about
from ruler_eval.figures.scores import scores
from ruler_eval.figures.series import Runs, ScoredRun, runs_of
from ruler_eval.figures.summary import summary
from ruler_eval.figures.task_scores import tasks
from ruler_eval.report.page.answers import AnsweredRun, open_answered_runs
from ruler_eval.report.page.build import build_sections
from ruler_eval.report.page.rows import PageRows, count_errors, read_page_rows
from ruler_eval.score.results import load
from tests.eval.report.page.page_helpers import HOSTILE
from tests.eval.scoring_helpers import right
from tests.in_process import ruler, ruler_error, ruler_output


@pytest.fixture(scope="module")
def answered(three_runs: list[Path]) -> list[AnsweredRun]:
    return open_answered_runs(three_runs)


@pytest.fixture(scope="module")
def page(answered: list[AnsweredRun]) -> Runs:
    return runs_of(answered)


@pytest.fixture(scope="module")
def rows(answered: list[AnsweredRun]) -> PageRows:
    return read_page_rows(answered)


@pytest.fixture(scope="module")
def pairs(page: Runs) -> list[Pair]:
    return pair_runs(page)


def sentences_of(runs: Runs, pairs: list[Pair]) -> list[str]:
    """The sentences in short."""
    return [*summary(runs, pairs).sentences]


def test_every_score_of_the_page_is_that_of_the_results(page, three_runs):
    tables = dict(zip(page.groups, scores(page, with_published=True), strict=True))
    columns = [column.header for column in tables["all"].columns if not column.is_detail][1:]
    assert columns == [
        *("4K", "8K", "Avg.", "wAvg (inc)", "wAvg (dec)", "lengths in averages", "effective"),
        "relative",
    ]
    for number, run in enumerate(three_runs):
        results = load(run)
        (tokenizer,) = results["summary"]
        for name, table in tables.items():
            group = results["summary"][tokenizer]["en"].get(name)
            records = [r for r in table.records if not r["published"] and r["series"] == [number]]
            assert len(records) == (group is not None)
            for record in records:
                for field, mean in (
                    ("average", group["average"]),
                    ("weighted_inc", group["weighted_inc"]),
                    *((f"at {length}", mean) for length, mean in group["lengths"].items()),
                ):
                    assert record[field] == mean["score"]
                    assert record[f"{field} interval"] == mean["interval"]
                assert record["effective"] == group["effective_length_name"]
        heat = tasks(page)[number]
        assert {
            record["configs"][0]: (record["score"], record["rows"])
            for record in heat.records
            if record["configs"] and not record["row"].startswith("mean ")
        } == {name: (cell["score"], cell["n"]) for name, cell in results["configurations"].items()}


def test_the_lowest_score_of_one_model_is_named_if_scores_differ(page):
    series = page.series[0]
    equal_scores = " ".join(sentences_of(replace(page, series=[series]), []))
    assert "Right-70B scores 100.0" in equal_scores
    assert "Lowest" not in equal_scores
    cells = {**series.cells, "vt_4k": {**series.cells["vt_4k"], "score": 12.5}}
    sentences = sentences_of(replace(page, series=[replace(series, cells=cells)]), [])
    assert "Lowest score of Right-70B: 12.5, in vt at 4K." in sentences


def test_without_all_tasks_at_any_length_the_means_of_the_lengths_are_named(page):
    series = page.series[2]  # four tasks at 4k
    sentences = sentences_of(replace(page, series=[series]), [])
    mean = series.groups["all"]["lengths"]["4k"]
    assert mean["tasks"] == 4
    low, high = mean["interval"]
    scores = f"{series.label} scores {mean['score']:.1f} [{low:.1f}, {high:.1f}] at 4K (4 of 13"
    assert sentences[0].startswith(scores)


def test_missing_rows_are_counted_among_all_rows_of_a_partial_result(write_run):
    def first_row(config, row):
        return right(config, row) if row["index"] == 0 else None

    run = write_run(first_row, configs=["vt_4k"])
    ruler_output("score", run, "--partial")
    sentences = sentences_of(runs_of(open_answered_runs([run])), [])
    assert sentences[-1] == "Not answered to the end: run 4 missing (of 5 rows)."


def test_a_run_at_0k_only_has_no_empty_section(answered, page):
    """A run of which no length has a window has no curves."""
    only_control = replace(page, runs=page.runs[:1], series=page.series[:1], lengths={"0k": 0})
    sections = build_sections(only_control, answered[:1], PageRows([{}], {}))
    assert "curves" not in [section.id for section in sections]


def test_what_was_run_is_shown(page):
    run = page.runs[1]
    assert run.label == "Worse-8B"
    facts = facts_of(run)
    assert facts["Data"] == "RULER 1.0.0"
    assert facts["Engine"] == "vllm 0.32.0"
    assert facts["Reasoning"] == "off"
    assert custom_rows_of(run).startswith("custom rows: embedded texts (")
    assert warnings_about(run) == [custom_rows_of(run)]
    assert facts["Rows scored"] == str(26 * 5)


def test_settings_of_zero_speed_and_price_are_shown(page):
    session = {"seconds": 10.0, "tokens": {"prompt_tokens": 900_000, "completion_tokens": 100_000}}
    settings = {
        "sampling": {"temperature": 0.0, "top_p": 1.0},
        "max_model_len": 8192,
        "cache": {"dtype": "fp8", "prefix_caching": False},
        "sessions": [
            {**session, "options": {"price": [0.15, 0.6]}, "started": "2026-11-24T10"},
            {"seconds": 0.0, "tokens": {}},  # no row was answered
        ],
    }
    results = {**page.runs[1].results, "run": settings}
    facts = facts_of(ScoredRun(label="Worse-8B", results=results))
    assert facts["Sampling"] == "temperature 0.0, top_p 1.0"
    assert facts["Engine settings"] == (
        "max_model_len 8192, cache.dtype fp8, cache.prefix_caching False"
    )
    assert facts["Date"] == "2026-11-24"
    assert facts["Speed"] == "100,000 tokens/s (prompts and answers) over 10 s"
    assert facts["Price"].startswith("0.20 ")  # 0.9 x 0.15 + 0.1 x 0.60


def test_rows_have_their_kind_and_the_text_around_the_needle(rows):
    behind = rows.by_run[1]["niah_single_2_4k"]
    assert (len(behind.scores), len(behind.wrong)) == (5, 3)
    dialog_rows = rows.dialog["niah_single_2_4k"]
    assert [row["answers"]["Worse-8B"]["score"] for row in dialog_rows] == [0, 0, 0, 1, 1]
    first = dialog_rows[0]
    assert first["answers"]["Right-70B"]["kind"] is None
    assert first["answers"]["Worse-8B"]["kind"] == "wrong words"
    assert "7654321" in first["answers"]["Worse-8B"]["text"]
    (needle,) = [part for part in first["evidence"] if part["answer"]]
    before, text, after = needle["text"]
    assert first["references"][0] in text
    assert len(before) > 50 < len(after)
    assert 0 <= needle["depth"] <= 1


def test_kinds_of_errors_are_counted_by_task(page, rows):
    errors = {(task.series, task.task): task for task in count_errors(page, rows.by_run)}
    worse = errors[1, "niah_single_2"]
    assert (worse.rows, worse.wrong, worse.kinds.total()) == (10, 6, 6)
    assert worse.configs == ["niah_single_2_4k", "niah_single_2_8k"]
    assert errors[0, "vt"].wrong == 0


def test_pairs_of_runs_have_their_differences(page, pairs):
    assert {(pair.a.id, pair.b.id) for pair in pairs} == {(0, 1), (0, 2), (1, 2)}
    figure = difference_figure(page, pairs[0], pairs[0].comparison)
    (over_all,) = [record for record in figure.records if record["name"] == "mean over all"]
    assert over_all["score"] == pytest.approx(over_all["a"] - over_all["b"])
    assert over_all["low"] < over_all["score"] < over_all["high"]
    assert not over_all["is_drawn"]
    for record in figure.records:
        if record["p"] is not None and record["p"] >= 0.05:
            assert record["result"] == "not clearly different"


def test_every_record_that_opens_rows_names_its_configurations(answered, page, rows):
    names = {name for run in page.runs for name in run.results["configurations"]}
    for section in build_sections(page, answered, rows):
        for figure in section.figures:
            for record in figure.records:
                if "configs" in record:
                    assert names.issuperset(record["configs"])
                    if "length" in record and record["length"] != "all":
                        length = f"_{record['length'].lower()}"
                        assert all(length in name for name in record["configs"])
                    if record.get("task") in page.tasks:
                        assert all(name.startswith(record["task"]) for name in record["configs"])


def test_the_first_sentences_are_the_numbers_of_the_tables(page, pairs):
    sentences = sentences_of(page, pairs)
    over_all = pairs[0].comparison["all"]
    low, high = over_all["interval"]
    lead = f"Right-70B leads: {over_all['difference']:.1f} points [{low:.1f}, {high:.1f}] above"
    assert sentences[0].startswith(f"{lead} Worse-8B in the mean")
    for series, sentence in zip(page.series[:2], sentences[1:3], strict=True):
        average = series.groups["all"]["average"]
        score = f"{average['score']:.1f} [{', '.join(f'{x:.1f}' for x in average['interval'])}]"
        assert sentence == f"{series.label} scores {score} on average over 13 tasks."
    worst = [text for text in sentences if "Worse-8B loses most against Right-70B in" in text]
    cells = pairs[0].comparison["configurations"].values()
    sure = [cell for cell in cells if cell["better"] and (cell["p_holm"] or 0) < 0.05]
    assert len(worst) <= bool(sure)
    (holds,) = [text for text in sentences if text.startswith("Effective length")]
    assert "Right-70B to 8K, the longest scored; Worse-8B below 4K" in holds


def test_the_model_that_leads_over_all_rows_is_named_first(page, pairs):
    """Also if the other has the higher average: lengths with too few tasks are in no average."""
    comparison: Any = copy.deepcopy(pairs[0].comparison)
    comparison["all"] |= {"difference": -3.0, "interval": [-5.0, -1.0], "better": "b"}
    sentences = sentences_of(page, [replace(pairs[0], comparison=comparison), *pairs[1:]])
    assert sentences[0].startswith("Worse-8B leads: 3.0 points [1.0, 5.0] above Right-70B in")


def test_an_effective_length_near_the_threshold_has_its_interval(page, pairs):
    worse = page.series[1]
    group: Any = {
        **worse.groups["all"],
        "effective_length_name": "4K",
        "effective_length": 4096,
        "effective_length_interval": [None, 8192],
    }
    assert effective_length(group) == ("4K", "below 4K to 8K")
    near = replace(worse, groups={**worse.groups, "all": group})
    changed = replace(page, series=[page.series[0], near, page.series[2]])
    (holds,) = [
        text for text in sentences_of(changed, pairs) if text.startswith("Effective length")
    ]
    assert "Worse-8B to 4K [below 4K to 8K by the ends of the intervals]" in holds
    (record,) = [r for r in scores(changed)[0].records if r["series"] == [near.id]]
    assert (record["effective"], record["between"]) == ("4K", "below 4K to 8K")


def test_needles_are_pooled_by_depth_with_their_number(page):
    pooled_maps, task_maps = depth_maps(page)
    pooled = {record["length"]: record for record in pooled_maps[1].records}
    of_tasks = [figure for figure in task_maps if figure.series == [1] and "niah" in figure.title]
    for length, record in pooled.items():
        for place, depth_bin in enumerate(record["bins"]):
            parts = []
            for figure in of_tasks:
                parts += [r["bins"][place] for r in figure.records if r["length"] == length]
            n = sum(part["n"] for part in parts)
            assert depth_bin["n"] == n
            if n:
                total = sum((part["score"] or 0) * part["n"] for part in parts)
                assert depth_bin["score"] == pytest.approx(total / n)


def test_hostile_text_is_shown_and_shortened(page, rows):
    label = page.runs[2].label
    answers = {}
    for row in rows.dialog["niah_single_1_4k"]:
        answers[row["index"]] = row["answers"][label]["text"]
    names = list(HOSTILE)
    assert answers[names.index("markup")] == HOSTILE["markup"]
    assert "⟨U+202E⟩" in answers[names.index("bidi")]
    assert answers[names.index("ansi")].startswith("␛[31mred")
    assert answers[names.index("long")].endswith("(1,000,000 characters)")
    assert "\x1b" not in label


def copy_results(run, to):
    for name in ("results.json", "rows.parquet"):
        shutil.copyfile(run / name, to / name)
    return to / "results.json"


def test_without_the_release_the_page_has_its_numbers_and_says_so(tmp_path, three_runs):
    results = copy_results(three_runs[1], tmp_path)
    source = json.loads(results.read_text())["dataset"]["source"]
    results.write_text(results.read_text().replace(f'"{source}"', '"/gone"'))
    out = tmp_path / "report.html"
    ruler_output("report", tmp_path, "--out", out)
    assert "'/gone'" in html.unescape(out.read_text())
    assert read_page_rows(open_answered_runs([tmp_path])) == ([{}], {})


def test_results_without_the_file_of_their_rows_are_refused(tmp_path, three_runs):
    results = copy_results(three_runs[1], tmp_path)
    (tmp_path / "rows.parquet").write_bytes((three_runs[0] / "rows.parquet").read_bytes())
    error = ruler_error("report", results, "--out", tmp_path / "report.html")
    assert "is not the table of" in error
    (tmp_path / "rows.parquet").unlink()
    error = ruler_error("report", results, "--out", tmp_path / "report.html")
    assert "keep both files together, or score the answers again" in error


def test_a_results_json_has_the_answers_that_were_scored(tmp_path, three_runs):
    """The folder itself would be scored again."""
    run = tmp_path / "run"
    shutil.copytree(three_runs[1], run)
    before = read_page_rows(open_answered_runs([run / "results.json"]))
    for file in run.glob("*.jsonl"):
        file.write_text("")
    after = read_page_rows(open_answered_runs([run / "results.json"]))
    assert after.dialog == before.dialog


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "one"], "The number of --name is 1 for 3 runs"),
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
