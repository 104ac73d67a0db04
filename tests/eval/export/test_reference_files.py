"""The reference code's layout, field by field as its scripts read it."""

from __future__ import annotations

import json

import pytest

from ruler_common.names import TASKS
from tests.eval.export.export_helpers import BUDGET, answer, scored
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler_error, ruler_output


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("upstream") / "model"
    ruler_output("export", built, "--format", "upstream", "--to", folder)
    return folder


@pytest.fixture
def by_answers(write_run, built, tmp_path):
    """The scores of the same answers in this project's own format."""
    run = write_run(lambda config, row: {"prediction": answer(row)})
    return scored(run, built, tmp_path / "own.json")


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_every_task_is_at_the_path_that_call_api_reads(exported):
    result = {path.relative_to(exported).as_posix() for path in exported.rglob("*.jsonl")}
    assert result == {
        f"{tokens}/data/{task}/validation.jsonl"
        for tokens in (4096, 8192)
        for task in TASKS["ruler"]
    }


def test_the_fields_are_the_rows_own(exported, frozen):
    for task in TASKS["ruler"]:
        columns = ("index", "input", "outputs", "length", "answer_prefix", "max_new_tokens")
        rows = list(frozen.rows(f"{task}_8k", columns))
        for row in rows:  # its budget a task is not in the lines: ours must be the same
            assert row.pop("max_new_tokens") == BUDGET[task.split("_")[0]]
        assert read(exported / f"8192/data/{task}/validation.jsonl") == rows


def test_ruler_score_reads_what_call_api_writes(exported, built, by_answers, tmp_path):
    place = tmp_path / "model"
    for path in exported.rglob("validation.jsonl"):
        task, tokens = path.parent.name, path.parts[-4]
        pred = place / tokens / "pred" / f"{task}.jsonl"
        pred.parent.mkdir(parents=True, exist_ok=True)
        with pred.open("w", encoding="utf-8") as file:
            for point in read(path):
                line = {
                    "index": point["index"],
                    "pred": answer(point),
                    "input": point["input"] + point.get("answer_prefix", ""),
                    "outputs": point["outputs"],
                    "others": point.get("others", {}),
                    "truncation": point.get("truncation", -1),
                    "length": point.get("length", -1),
                }
                file.write(json.dumps(line) + "\n")
    result = scored(place, built, tmp_path / "pred.json")
    assert result == by_answers
    assert len(set(result.values())) > 3


def test_it_has_no_place_for_oneruler(tmp_path):
    release = write_oneruler(tmp_path / "oneruler")
    assert "does not have oneruler's tasks: use --format lm-eval" in ruler_error(
        "export", release, "--format", "upstream", "--to", tmp_path / "out"
    )


# ---- Its own code ----------------------------------------------------------------------------
