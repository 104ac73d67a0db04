"""`ruler results`: entries the Hub's client reads back, and what is refused."""

from __future__ import annotations

import json

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from ruler_builder.release.card import eval_yaml
from ruler_builder.release.facts import collect_facts
from ruler_common.names import GROUPS, LANGUAGES, Names
from ruler_eval import publish as publishing
from ruler_eval.frozen_release import Release
from ruler_eval.score.aggregates import summary
from ruler_eval.score.results import load, rows_by_config
from ruler_score.ruler_score import SCORE_VERSION
from tests.eval.scoring_helpers import record, write_lines, write_oneruler
from tests.in_process import ruler, ruler_error, ruler_output

MODEL = "org/model"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def publish(folder, out, *more, name="ruler_prefill.yaml"):
    """The command's output, and the entries of the file it wrote, as the Hub's client reads it."""
    flags = ["--model", MODEL, "--dataset-repo", "org/ruler", "--out", out, "--custom-rows", *more]
    text = ruler_output("results", folder, *flags)
    data = yaml.safe_load((out / ".eval_results" / name).read_text(encoding="utf-8"))
    return text, parse_eval_result_entries(data)


# ---- The entries -----------------------------------------------------------------------------


def test_the_hubs_client_reads_back_every_configuration_and_whole_group(run, tmp_path):
    text, result = publish(run(), tmp_path / "out", "--revision", COMMIT)
    values = {entry.task_id: entry.value for entry in result}
    assert values["niah_single_1_4k"] == 100
    assert values["vt_4k"] == 0
    assert values["qa_1_8k"] == values["niah_4k"] == 100
    assert values["all_4k"] == pytest.approx(1200 / 13)
    assert "qa_8k" not in values  # one of its two tasks was not run
    assert len(result) == len(values) == 13 + 1 + 6
    assert f"{len(result)} results" in text
    assert result[0] == EvalResultEntry(
        dataset_id="org/ruler",
        task_id="niah_single_1_4k",
        value=100.0,
        dataset_revision=COMMIT,
        date="2026-11-01",
        notes="mode prefill, thinking off, tokenizer tekken, backend test, n 5, missing 0, "
        f"failed 0, score_version {SCORE_VERSION}, data_version 1.0.0, custom rows: embedded texts "
        "(essays, hotpotqa, squad), 5 rows per file, not 500",
    )


def test_a_groups_value_is_the_tables(run, tmp_path):
    folder = run()
    _, result = publish(folder, tmp_path / "out")
    summary = json.loads((folder / "results.json").read_text(encoding="utf-8"))["summary"]
    score = summary["tekken"]["en"]["all"]["lengths"]["4k"]["score"]
    (entry,) = [entry for entry in result if entry.task_id == "all_4k"]
    assert entry.value == pytest.approx(score)
    assert "n 65, " in entry.notes
    assert ", custom rows" in entry.notes
    assert "not proved" not in entry.notes


def test_the_data_sets_headline_is_among_the_task_ids(run, built, tmp_path):
    manifest = json.loads((built / "manifest.json").read_text(encoding="utf-8"))
    registered = {
        task["id"] for task in yaml.safe_load(eval_yaml(collect_facts(manifest)))["tasks"]
    }
    _, result = publish(run(), tmp_path / "out")
    scored = {"all_4k"}  # at 8k qa_1 alone
    assert {entry.task_id for entry in result} & registered == scored


def test_all_26_languages_together_have_the_mean_of_theirs():
    results = {"dataset": {"name": "oneruler"}, "configurations": {}}
    named = {"length": "8k", "tokenizer": "tekken", "score": 40.0}
    for code in LANGUAGES:
        for task in GROUPS["oneruler"]["all"]:
            place = {"task": task, "language": code, "instruction_language": code}
            results["configurations"][f"{task}_8k_{code}"] = {**named, **place}
    results["configurations"]["cwe_hard_8k_pl"]["score"] = 40 + 26 * 7.0
    *_, (name, value, cells) = publishing.scores(results)
    assert (name, value, len(cells)) == ("all_8k", pytest.approx(41), 26 * 7)
    del results["configurations"]["niah_none_8k_sw"]
    assert "all_8k" not in [name for name, _, _ in publishing.scores(results)]


@pytest.mark.parametrize(
    ("settings", "name", "notes"),
    [
        ({"mode": "completion"}, "ruler_completion.yaml", "mode completion, thinking off"),
        ({"mode": "chat", "direct": True}, "ruler_chat_direct.yaml", "mode chat direct"),
        (
            {"mode": "chat", "thinking": {"on": True, "budget": 8192}, "revision": "abc"},
            "ruler_chat_thinking.yaml",
            "mode chat, thinking 8192 tokens, tokenizer tekken, backend test, model_revision abc",
        ),
        (
            {"mode": "chat", "thinking": {"on": True, "budget": 16384}},
            "ruler_chat_thinking_16384.yaml",
            "mode chat, thinking 16384 tokens",
        ),
    ],
)
def test_each_way_of_asking_has_a_file_and_notes_of_its_own(run, tmp_path, settings, name, notes):
    _, result = publish(run(**settings), tmp_path, name=name)
    assert result[0].notes.startswith(notes)


def test_a_source_is_named_and_a_rule_that_is_not_the_usual_one(run, built, tmp_path):
    folder = run()
    ruler("score", folder, "--dataset", built, "--truncated", "wrong")
    flags = ("--source", "https://example.org/runs")
    _, result = publish(folder, tmp_path, *flags, name="ruler_prefill_truncated_wrong.yaml")
    assert result[0].source_url == "https://example.org/runs"
    assert ", truncated wrong, custom rows: " in result[0].notes


def test_oneruler_has_an_entry_a_language(tmp_path):
    release, folder = write_oneruler(tmp_path / "oneruler"), tmp_path / "run"
    folder.mkdir()
    lines = [record("niah_none_8k_en-ko_cl100k", i, "<답변>없음</답변>") for i in range(4)]
    write_lines(folder / "niah_none_8k_en-ko_cl100k.jsonl", *lines)
    ruler("score", folder, "--dataset", release, "--out", folder / "results.json")
    _, (entry,) = publish(folder, tmp_path, name="oneruler.yaml")
    assert (entry.task_id, entry.value) == ("niah_none_8k_en-ko_cl100k", 100)
    assert entry.notes.startswith("tokenizer cl100k, n 4,")  # how it was asked is not known
    assert "answers not proved to be of these rows in 1 of 1 configurations" in entry.notes


def test_entries_of_an_earlier_run_stay_beside_the_new(run, tmp_path):
    folder = run()
    _, first = publish(folder, tmp_path)
    path = folder / "results.json"
    results = load(path)
    results["configurations"] = {"vt_4k": results["configurations"]["vt_4k"]}
    rows = rows_by_config(results)
    results["summary"] = summary(results["configurations"], rows, Names.standard("ruler"))
    path.write_text(json.dumps(results), encoding="utf-8")
    text, result = publish(folder, tmp_path, "--revision", COMMIT)
    assert "1 result and 19 of earlier runs" in text
    assert [entry.task_id for entry in result] == [entry.task_id for entry in first]
    assert [entry.task_id for entry in result if entry.dataset_revision == COMMIT] == ["vt_4k"]


def test_another_models_file_is_not_added_to(run, tmp_path):
    folder = run()
    publish(folder, tmp_path)
    flags = ["--dataset-repo", "org/ruler", "--out", tmp_path, "--custom-rows"]
    assert "belongs to org/model: use a different --out folder for each model." in ruler_error(
        "results", folder, "--model", "org/other", *flags
    )
    file = tmp_path / ".eval_results/ruler_prefill.yaml"
    for text in ("[1]", "a: [", "- {value: 1}"):
        file.write_text(text)
        assert "is not a file of results: move it away." in ruler_error(
            "results", folder, "--model", MODEL, *flags
        )
        assert file.read_text() == text


def test_a_run_with_missing_rows_is_refused_unless_allowed(run, built, tmp_path):
    folder = run()
    file = folder / "qa_1_8k.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:3]))
    ruler("score", folder, "--dataset", built)
    flags = ["--model", MODEL, "--dataset-repo", "org/ruler", "--out", tmp_path, "--custom-rows"]
    assert "2 rows are missing or failed: finish the run (ruler run …), or add" in ruler_error(
        "results", folder, *flags
    )
    assert not (tmp_path / ".eval_results").exists()
    _, result = publish(folder, tmp_path, "--allow-missing")
    (entry,) = [entry for entry in result if entry.task_id == "qa_1_8k"]
    assert "missing 2, failed 0" in entry.notes


def test_a_run_with_a_limit_is_refused_unless_allowed(run, built, tmp_path):
    folder = run()
    settings = json.loads((folder / "run.json").read_text())
    settings["sessions"][0]["limit"] = 2
    (folder / "run.json").write_text(json.dumps(settings))
    for file in folder.glob("*.jsonl"):
        first = Release.open(str(built)).order(file.stem)[:2]
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[index] for index in sorted(first)))
    ruler("score", folder, "--dataset", built)
    flags = ["--model", MODEL, "--dataset-repo", "org/ruler", "--out", tmp_path, "--custom-rows"]
    assert "The run has only 2 of 5 rows per task (--limit): finish it" in ruler_error(
        "results", folder, *flags
    )
    _, result = publish(folder, tmp_path, "--allow-missing")
    assert all("only 2 of 5 rows per task" in entry.notes for entry in result)


def test_custom_rows_are_published_only_on_request(run, tmp_path):
    flags = ["--model", MODEL, "--dataset-repo", "org/ruler", "--out", tmp_path]
    folder = run()
    error = ruler_error("results", folder, *flags)
    assert "These scores are of custom rows: embedded texts (essays, hotpotqa, squad)" in error
    assert "add --custom-rows, and the notes say so." in error
    assert not (tmp_path / ".eval_results").exists()


def test_frozen_rows_are_published_without_a_word(run, tmp_path, lock):
    """Rows are frozen by their digest in the lock alone."""
    folder = run()
    path = folder / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    results["dataset"]["custom_because"] = ""
    path.write_text(json.dumps(results), encoding="utf-8")
    flags = ["--model", MODEL, "--dataset-repo", "org/ruler", "--out", tmp_path]
    assert (
        "of custom rows: niah_single_1_4k and 13 more not among the frozen rows of 1.0.0"
        in ruler_error("results", folder, *flags)
    )
    lock(results["dataset"]["rows"])
    ruler_output("results", folder, *flags)
    (file,) = (tmp_path / ".eval_results").iterdir()
    assert "custom rows" not in file.read_text(encoding="utf-8")


# ---- What is refused -------------------------------------------------------------------------


def test_an_incomplete_result_is_refused_in_one_sentence(run, built, tmp_path):
    folder = run()

    def refused(path, *flags):
        arguments = ["--model", MODEL, "--out", tmp_path / "out", "--custom-rows", *flags]
        error = ruler_error("results", path, *arguments)
        assert not (tmp_path / "out").exists()
        return error

    assert "add --dataset-repo" in refused(folder)
    for name in ("no-repository", "org/a--b"):
        assert f"'{name}' is not a dataset on the Hub" in refused(folder, "--dataset-repo", name)
    assert "is not a model repository" in refused(folder, "--model", "model")
    assert "is not a results.json" in refused(folder / "run.json")
    assert "name a scored RUN folder" in refused(tmp_path / "nothing")
    ruler("score", folder, "--dataset", built, "--partial")
    assert "without --partial" in refused(folder, "--dataset-repo", "org/ruler")
    results_file = folder / "results.json"
    results = json.loads(results_file.read_text(encoding="utf-8")) | {"partial": False}
    results["dataset"]["rows"] = {}
    results_file.write_text(json.dumps(results), encoding="utf-8")
    assert "score with --dataset" in refused(folder, "--dataset-repo", "org/ruler")
