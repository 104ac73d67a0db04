"""`ruler score`: the join, what is wrong by rule, and results.json."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_eval.figures.runs import headline
from ruler_eval.frozen_release import Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.options import ScoreOptions
from ruler_eval.score.results import FORMAT, load
from ruler_eval.score.rows import ScoringRules, row_score
from ruler_eval.score.scoring import score
from ruler_eval.tasks import scoring_task
from ruler_release import api
from tests.eval.scoring_helpers import effective_lengths, read, record, right, whole_results
from tests.in_process import ruler, ruler_error, ruler_output
from tests.run_folder import answers, write_answers

ROW = {"index": 0, "outputs": ["1234567"], "none_word": "", "evidence": []}


def scored(folder, frozen, **rules):
    return score(read(folder), frozen, ScoringRules(**rules)).results


def answer(text="1234567", **fields):
    return Prediction("niah_single_1_4k", 0, text, **fields)


# ---- Rules for one row -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "task", "language", "expected"),
    [
        ("protocol", "niah_single_1", None, 1),
        ("wrong", "niah_single_1", None, 0),
        ("score", "niah_single_1", None, 1),
        ("protocol", "niah_single", "en", 0),
        ("score", "niah_single", "en", 1),
        ("wrong", "niah_single", "en", 0),
    ],
)
def test_an_answer_at_the_token_limit_counts_as_the_rule_says(rule, task, language, expected):
    result = row_score(
        ROW, answer(finish_reason="length"), task, language, ScoringRules(truncated=rule)
    )
    assert (result.score, result.state, result.truncated_scored) == (
        expected,
        "truncated",
        bool(expected),
    )


def test_an_answer_truncated_within_its_reasoning_is_wrong_by_every_rule():
    for fields in ({"thinking_ended": False}, {"text": "<think>1234567"}):
        for rule in ("protocol", "wrong", "score"):
            result = row_score(
                ROW, answer(**fields), "niah_single_1", None, ScoringRules(truncated=rule)
            )
            assert (result.score, result.state, result.thinking) == (0, "truncated", "truncated")


def test_unknown_rules_are_refused():
    for option in ("truncated", "compat"):
        with pytest.raises(RulerError, match=f"--{option}"):
            ScoreOptions("runs/a", **{option: "theirs"})


# ---- The join --------------------------------------------------------------------------------


def test_right_answers_score_100_with_intervals_that_do_not_vanish(write_run, frozen):
    results = scored(write_run(right), frozen)
    assert len(results["configurations"]) == 26
    cell = results["configurations"]["vt_4k"]
    assert (cell["score"], cell["strict"], cell["n"]) == (100, 100, 5)
    assert cell["interval"][1] == 100
    assert cell["interval"][0] < 60
    assert results["summary"]["tekken"]["en"]["all"]["average"]["score"] == 100
    assert results["summary"]["tekken"]["en"]["all"]["effective_length"] == 8192


def test_every_count_is_reported_with_the_score(write_run, frozen):
    fields = [
        None,
        {"error": "timeout", "finish_reason": "error"},
        {"finish_reason": "does_not_fit", "error": "too long"},
        {"prediction": "<think>never ended"},
    ]

    def answers(config, row):
        return fields[row["index"]] if row["index"] < 4 else right(config, row)

    results = scored(write_run(answers, configs=["vt_4k"]), frozen)
    cell = results["configurations"]["vt_4k"]
    assert cell["score"] == pytest.approx(20)
    counts = ("n", "missing", "failed", "does_not_fit", "truncated", "truncated_scored", "thinking")
    assert [cell[name] for name in counts] == [5, 1, 2, 1, 1, 0, 1]
    assert results["rows"]["index"] == [0, 1, 2, 3, 4]
    assert results["rows"]["score"] == [0, 0, 0, 0, 1]
    assert results["rows"]["state"] == ["missing", "failed", "does_not_fit", "truncated", "ok"]


def test_one_text_in_place_of_many_answers_is_noted(write_run, frozen):
    """A gateway that says in an ordinary answer that it has none."""
    busy = {"prediction": "Sorry, the service is busy. Please try again later."}
    results = scored(write_run(lambda config, row: busy, configs=["vt_4k"]), frozen)
    (note,) = [note for note in results["notes"] if "word for word" in note]
    assert note.startswith("5 wrong answers are word for word the same, 'Sorry, the service is")
    right_ones = scored(write_run(right, configs=["vt_4k"]), frozen)
    assert not [note for note in right_ones["notes"] if "word for word" in note]


@pytest.mark.parametrize("text", ["Error code: 429 - request {}", "[ERROR]", "nan", "Traceback {}"])
def test_an_error_stored_as_the_answer_is_noted_though_its_numbers_differ(write_run, frozen, text):
    run = write_run(lambda config, row: text.format(500 + row["index"]), configs=["vt_4k"])
    assert [note for note in scored(run, frozen)["notes"] if note.startswith("5 wrong answers")]


@pytest.mark.parametrize(
    ("texts", "is_noted"),
    [(["0.0", "1.0", "1", "33.3", "True"], True), (["0.0", "1.0", "1", "33.3", "no"], False)],
)
def test_scores_in_place_of_answers_are_noted(write_run, frozen, texts, is_noted):
    run = write_run(lambda config, row: texts[row["index"]], configs=["vt_4k"])
    notes = [note for note in scored(run, frozen)["notes"] if "are they scores" in note]
    assert len(notes) == is_noted


@pytest.mark.parametrize("shift", [0, 1])
def test_answers_to_other_rows_are_noted(write_run, frozen, shift):
    """Rows that are numbered from 1, or a server that gives the answer of another request."""
    config = "niah_single_1_4k"
    rows = {row["index"]: row for row in frozen.rows(config, ("index", "outputs"))}

    def answer_of(config, row):
        return right(config, rows[(row["index"] + shift) % len(rows)])

    results = scored(write_run(answer_of, configs=[config]), frozen)
    notes = [note for note in results["notes"] if "references of other rows" in note]
    assert len(notes) == shift


def test_partial_leaves_missing_rows_out_and_notes_it(write_run, frozen):
    run = write_run(lambda config, row: right(config, row) if row["index"] < 2 else None)
    whole, part = scored(run, frozen), scored(run, frozen, partial=True)
    assert whole["configurations"]["cwe_4k"]["score"] == pytest.approx(40)
    cell = part["configurations"]["cwe_4k"]
    assert (part["partial"], cell["score"], cell["n"], cell["missing"]) == (True, 100, 2, 3)
    assert "cwe_4k: 3 missing rows, the first is row 2" in part["notes"]


def test_all_rows_of_a_configuration_that_was_never_started_are_missing(write_run, frozen):
    run = write_run(right, configs=["vt_4k", "cwe_4k"])
    (run / "cwe_4k.jsonl").unlink()
    cell = scored(run, frozen)["configurations"]["cwe_4k"]
    assert (cell["score"], cell["missing"]) == (0, 5)


@pytest.fixture
def limited(built, tmp_path):
    """A run of two tasks, made with `--limit 2` of five rows."""
    arguments = ["--dataset", built, "--configs", "cwe_4k,vt_4k", "--backend", "oracle"]
    out = tmp_path / "limited"
    stdout = ruler_output("run", *arguments, "--limit", "2", "--out", out)
    assert stdout.endswith(f"Next: ruler score {out}\n")
    return out


def test_a_run_with_a_limit_is_scored_on_its_first_rows(limited):
    stdout = ruler_output("score", limited)
    assert "2 of 5 rows per task" in " ".join(stdout.split())
    assert "missing" not in stdout
    results = load(limited)
    cell = results["configurations"]["vt_4k"]
    assert (cell["score"], cell["n"], cell["missing"]) == (100, 2, 0)
    assert (cell["rows_requested"], cell["rows_available"]) == (2, 5)
    assert results["partial"] is False


def test_missing_rows_within_the_limit_of_a_run_are_wrong(limited):
    others = [record for record in answers(limited) if record["config"] != "vt_4k"]
    first, second = answers(limited, "vt_4k")
    write_answers(limited, [*others, first])
    output = " ".join(ruler("score", limited)[0].split())
    assert "2 of 5 rows per task, 3 of 4 rows" in output
    cell = load(limited)["configurations"]["vt_4k"]
    assert (cell["score"], cell["n"], cell["missing"]) == (50, 2, 1)
    write_answers(limited, [*others, first, {**second, "finish_reason": "error"}])
    ruler("score", limited)
    cell = load(limited)["configurations"]["vt_4k"]
    assert (cell["score"], cell["n"], cell["failed"], cell["missing"]) == (50, 2, 1, 0)


def test_a_run_with_a_limit_is_compared_on_the_rows_that_both_have(limited, write_run):
    whole = write_run(right, "whole", ["cwe_4k", "vt_4k"])
    for run in (limited, whole):
        ruler("score", run)
    stdout = ruler_output("compare", limited, whole)
    assert "2 of 5 rows per task" in " ".join(stdout.split())
    comparison = api.compare(limited, whole)
    assert comparison["configurations"]["vt_4k"]["n"] == 2
    assert comparison["all"]["difference"] == 0


def add_lines(run, *lines):
    with (run / "vt_4k.jsonl").open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def test_the_first_duplicate_that_did_not_fail_counts(write_run, frozen):
    run = write_run(right, configs=["vt_4k"])
    add_lines(run, record("vt_4k", 0, "wrong"), record("vt_4k", 1, error="timeout"))
    results = scored(run, frozen)
    cell = results["configurations"]["vt_4k"]
    assert (cell["score"], cell["duplicated"]) == (100, 2)
    assert "vt_4k: 2 duplicated predictions" in results["notes"][0]
    stdout, _, _ = ruler("score", run)
    assert "5 rows: 2 answered twice (by configuration: --all)" in stdout


def test_answers_that_were_added_to_a_run_are_noted(limited, built):
    """`ruler run` answers a row again only if it had failed."""
    lines = answers(limited)
    write_answers(limited, [*lines, *lines[:3]])
    results = scored(limited, Release.open(str(built)))
    (note,) = [note for note in results["notes"] if "the last counts" in note]
    assert "3 answers to a row that had one already" in note
    failed = {**lines[0], "finish_reason": "error", "error": "busy"}
    write_answers(limited, [failed, *lines])
    assert scored(limited, Release.open(str(built)))["notes"] == []


def test_predictions_for_other_configurations_are_refused_and_both_sides_named(write_run, frozen):
    run = write_run(right, configs=["vt_4k"])
    add_lines(run, record("vt_64k", 0, "x"))
    with pytest.raises(RulerError, match=r"for vt_64k, which '.*' does not have; it has cwe_4k"):
        scored(run, frozen)


def test_predictions_for_other_rows_are_refused_not_scored(write_run, frozen):
    run = write_run(right, configs=["vt_4k"])
    add_lines(run, record("vt_4k", 99, "x"))
    with pytest.raises(RulerError, match=r"1 of 6 predictions for 'vt_4k' .* has 5 rows, 0 to 4"):
        scored(run, frozen)


@pytest.mark.parametrize(
    ("config", "words"), [("no such", "is not a ruler configuration"), ("all_4k", "is a group")]
)
def test_predictions_that_name_no_single_task_are_refused(write_run, frozen, config, words):
    run = write_run(right, configs=["vt_4k"])
    add_lines(run, record(config, 0, "x"))
    with pytest.raises(RulerError, match=words):
        scored(run, frozen)


def test_a_run_on_other_rows_is_refused(write_run, frozen):
    run = write_run(right, configs=["vt_4k"])
    settings = json.loads((run / "run.json").read_text())
    settings["rows"]["vt_4k"] = "0" * 64
    (run / "run.json").write_text(json.dumps(settings))
    with pytest.raises(RulerError, match="was run on rows with the digest 000000000000"):
        scored(run, frozen)


def test_rows_that_another_writer_wrote_are_the_same_rows(write_run, built, tmp_path):
    """Other bytes of equal rows, as another version of pyarrow writes them."""
    import shutil

    import pyarrow.parquet as pq

    copy, vt = shutil.copytree(built, tmp_path / "copy"), "data/tekken/4k/vt.parquet"
    pq.write_table(pq.read_table(copy / vt), copy / vt, compression="gzip")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    entry = manifest["files"][vt]
    before = entry["sha256"]
    entry |= {"sha256": sha256_of(copy / vt), "bytes": (copy / vt).stat().st_size}
    assert entry["sha256"] != before
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    a, b = write_run(right, "a", ["vt_4k"]), write_run(right, "b", ["vt_4k"])
    for run, release in ((a, built), (b, copy)):
        ruler_output("score", run, "--dataset", release)
    stdout, error, code = ruler("compare", a, b)
    assert (code, error) == (0, "")
    text = "A: a, custom rows: embedded texts (essays, hotpotqa, squad), 5 rows per file, "
    assert text in " ".join(stdout.split())
    ruler_output("report", a, b, "--dataset", copy, "--out", tmp_path / "page.html")


def test_only_the_lock_decides_which_rows_are_frozen(write_run, frozen, lock):
    run = write_run(lambda _, row: right(_, row) if row["index"] < 2 else None, configs=["vt_4k"])
    custom = "custom rows: embedded texts (essays, hotpotqa, squad), 5 rows per file, not 500"
    assert headline(scored(run, frozen)).startswith(f"run · ruler · {custom}, 2 of 5 rows · ")
    changed = release_with(frozen, sources={}, seed=7)
    lock({"vt_4k": frozen.rows_sha256("vt_4k")})
    assert "custom rows: seed 7, not 0, 2 of 5 rows" in headline(scored(run, changed))
    kept = scored(run, release_with(frozen, sources={}))
    assert headline(kept).startswith("run · ruler · frozen rows 1.0.0, 2 of 5 rows · ")
    lock({"vt_4k": "0" * 64})
    assert "custom rows: vt_4k not among the frozen rows of 1.0.0" in headline(kept)
    suite = release_with(frozen, tasks={**frozen.manifest["tasks"], "more": {"family": "vt"}})
    assert "custom rows: a custom suite, " in headline(scored(run, suite))


def release_with(release, **manifest):
    """A release whose manifest says something else."""
    return replace(release, manifest={**release.manifest, **manifest})


# ---- results.json and the tables -------------------------------------------------------------

CELL = {
    *("task", "length", "max_length", "tokenizer", "language", "instruction_language"),
    *("score", "strict", "n", "interval", "missing", "failed", "truncated", "does_not_fit"),
    *("truncated_scored", "thinking", "thinking_truncated", "duplicated", "depth"),
    *("proof", "rows_requested", "rows_available"),
}
TOP = {
    *("format", "score_version", "partial", "rules", "options", "dataset", "model", "mode", "run"),
    *("predictions", "latency", "configurations", "rows", "summary", "notes"),
}


def test_results_json_has_the_documented_schema_and_is_never_rounded(write_run, built):
    run = write_run(lambda config, row: " ".join(row["outputs"][:1]))
    ruler_output("score", run)
    results = load(run / "results.json")
    assert results["format"] == FORMAT == 6
    assert set(results) == TOP
    assert set(results["configurations"]["vt_4k"]) == CELL
    assert set(results["configurations"]["qa_1_4k"]) == {
        *(*CELL, "whole_word", "documents", "design_effect")
    }
    assert results["configurations"]["fwe_4k"]["score"] == pytest.approx(100 / 3, abs=1e-12)
    assert results["dataset"]["source"] == str(built)
    assert results["dataset"]["rows"]["vt_4k"] == results["run"]["rows"]["vt_4k"]
    assert (results["model"], results["mode"]) == ("run", "completion")
    group = results["summary"]["tekken"]["en"]["all"]
    assert set(group["lengths"]["4k"]) == {
        *("tokens", "score", "strict", "interval", "tasks", "lacking")
    }
    assert set(group["average"]) == {"score", "interval"}
    import ruler_eval.score.results

    for key in {*TOP, *CELL, "whole_word", "words_right", "dropped"}:
        assert key in ruler_eval.score.results.__doc__, f"{key} is not documented"


def test_the_same_command_gives_the_same_bytes(write_run):
    run = write_run(right, configs=["vt_4k"])
    ruler("score", run)
    first = (run / "results.json").read_bytes()
    ruler("score", run)
    assert (run / "results.json").read_bytes() == first
    assert [path.name for path in run.iterdir() if path.suffix == ".tmp"] == []


def test_the_table_of_the_paper_is_printed(write_run):
    run = write_run(lambda config, row: "" if row["task"] == "cwe" else right(config, row))
    stdout, _, _ = ruler("score", run, "--all")
    rows = {line.split("  ")[0]: line.split() for line in stdout.splitlines() if line}
    assert rows["niah_single_1"][1:] == ["100.0", "100.0", "100.0"]
    assert rows["mean of 13 tasks"][-3:] == ["92.3", "92.3", "92.3"]
    result = effective_lengths(stdout)
    assert result["all 13 tasks"][:2] == ["85.6", "8K"]
    assert result["aggregation"][:2] == ["84.8", "<4K"]
    assert "inc, dec: averages in which longer" in stdout
    assert "Scores by the depth of the evidence, in %" in stdout


@pytest.mark.parametrize(
    ("options", "effective", "threshold"),
    [
        ([], "8K", "85.6"),
        (["--threshold", "base"], "8K", "79.4"),
        (["--threshold", "99.5"], "<4K", "99.5"),
        (["--claimed", "1m"], ">8K", "85.6"),
    ],
)
def test_thresholds_and_claimed_lengths(write_run, options, effective, threshold):
    run = write_run(lambda config, row: "" if row["task"] == "cwe" else right(config, row))
    stdout, _, _ = ruler("score", run, "--all", *options)
    assert effective_lengths(stdout)["all 13 tasks"][:2] == [threshold, effective]


def test_markdown_tables_and_intervals_of_every_cell(write_run):
    run = write_run(right, configs=["vt_4k", "vt_8k"])
    stdout, _, _ = ruler("score", run, "--markdown", "--all")
    lines = [line for line in stdout.splitlines() if line.startswith("|")]
    assert lines[0].split("|")[1].strip() == "task"
    assert lines[1].rstrip("| ").endswith(":")
    head, row = (
        [cell.strip() for cell in next(line for line in lines if line.startswith(first)).split("|")]
        for first in ("| group", "| multi-hop")
    )
    assert dict(zip(head, row, strict=True)).items() >= {("from", "47.8"), ("to", "100.0")}
    assert "mean of 1 of 13 tasks" in stdout


def test_a_run_without_its_release_is_refused(write_run, tmp_path):
    run = write_run(right, configs=["vt_4k"])
    settings = json.loads((run / "run.json").read_text())
    settings["sessions"][0]["source"] = str(tmp_path / "gone")
    (run / "run.json").write_text(json.dumps(settings))
    assert "which was not found: add --dataset" in ruler("score", run)[1]


def test_compat_authors_is_only_for_oneruler(write_run):
    run = write_run(right, configs=["vt_4k"])
    assert "is for ONERULER" in ruler("score", run, "--compat", "authors")[1]


def test_the_folder_above_one_run_is_scored_on_the_runs_release(write_run, tmp_path):
    run = write_run(right, configs=["vt_4k"])
    above = tmp_path / "above"
    (above / "runs").mkdir(parents=True)
    run.rename(above / "runs" / "one")
    ruler_output("score", above, "--out", tmp_path / "found.json")
    assert load(tmp_path / "found.json")["configurations"]["vt_4k"]["proof"] == "rows"


def test_results_json_of_another_format_and_other_files_are_refused(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"format": FORMAT + 1, "configurations": {}}))
    with pytest.raises(RulerError, match="update this package"):
        load(path)
    path.write_text(json.dumps(whole_results({"configurations": {}}) | {"format": FORMAT - 1}))
    with pytest.raises(RulerError, match=r"has the older format 5\. Write it again with"):
        load(path)
    path.write_text("[]")
    with pytest.raises(RulerError, match=r"is not a results\.json of `ruler score`: "):
        load(path)


def test_a_task_of_a_custom_suite_is_scored_by_the_rule_of_its_family(release_of):
    assert scoring_task("who_is_it", "ruler", release_of(family="question_answering")) == "qa_1"
    assert scoring_task("chain_of_9", "ruler", release_of(family="variable_tracking")) == "vt"
    with pytest.raises(RulerError, match="no scoring rule for the task 'mine'"):
        scoring_task("mine", "ruler", release_of(family="poetry"))


@pytest.fixture
def release_of():
    def make(family):
        names = ("who_is_it", "chain_of_9", "mine")
        tasks = {name: {"family": family} for name in names}
        return Release("x", Path("x"), {"dataset": "ruler", "tasks": tasks})

    return make


def test_a_repository_of_the_hubs_cache_is_scored_with_its_commit(
    built, write_run, monkeypatch, tmp_path
):
    """The Hub's client offline, over a cache as it lays it out."""
    import shutil

    from huggingface_hub import constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    repo = tmp_path / "hub/datasets--org--ruler"
    shutil.copytree(built, repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    run = write_run(right, configs=["vt_4k", "niah_multivalue_4k"])
    ruler_output("score", run, "--dataset", "org/ruler")
    results = load(run / "results.json")
    assert results["dataset"]["revision"] == commit
    assert results["configurations"]["niah_multivalue_4k"]["score"] == 100


@pytest.mark.parametrize("source", ["./nowhere", "a/b/c"])
def test_a_missing_release_is_one_sentence(write_run, source):
    run = write_run(right, configs=["vt_4k"])
    error = ruler_error("score", run, "--dataset", source)
    assert error.startswith("Error: ")
    assert "nowhere" in error or "a/b/c" in error


def test_samples_of_a_row_score_as_their_mean_and_pass_at_k(write_run, frozen, tmp_path):
    """Row 0 is right in 2 of 4 samples, row 1 in none, one sample of row 2 is missing."""
    run = write_run(right, configs=["vt_4k"])
    path = run / "vt_4k.jsonl"
    texts = {0: 2, 1: 0, 2: 3, 3: 4, 4: 4}
    lines = []
    for line in map(json.loads, path.read_text().splitlines()):
        for sample in range(3 if line["index"] == 2 else 4):
            text = line["prediction"] if sample < texts[line["index"]] else ""
            lines.append(json.dumps({**line, "sample": sample, "prediction": text}))
    path.write_text("\n".join(lines))
    settings = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**settings, "repeats": 4}))
    results = scored(run, frozen)
    cell = results["configurations"]["vt_4k"]
    assert results["rows"]["score"] == [0.5, 0, 0.75, 1, 1]
    assert results["rows"]["right"] == [2, 0, 3, 4, 4]
    assert cell["score"] == pytest.approx(65)
    assert cell["repeats"] == 4
    shares = {k: result["score"] for k, result in cell["pass_at"].items()}
    # of 2 samples: row 0 in 1 − 1/6, rows 2 to 4 always
    assert shares == pytest.approx({"1": 65, "2": 100 * (5 / 6 + 3) / 5, "4": 80})
    low, high = cell["pass_at"]["4"]["interval"]
    assert low < 30  # 5 rows, and not 20 samples
    assert high > 99
    assert "vt_4k: 1 sample missing, of 4 per row" in results["notes"]
    stdout, _, _ = ruler("score", run)
    assert re.search(r"vt, pass@4 +80\.0", stdout)
