"""The reference code's layout, field by field as its scripts read it, and by its scripts.

With RULER_REFERENCE_CODE=FOLDER, a checkout of NVIDIA/RULER, its own call_api.py and evaluate.py
run on the exported rows, against a server that answers here (passed at c3f5e3b, July 2026).
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ruler_common.names import TASKS
from tests.eval.export.export_helpers import BUDGET, answer, answering, scored
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler

STUBS = {
    "nemo/collections/asr/parts/utils/manifest_utils.py": """
import json
def read_manifest(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]
def write_manifest(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\\n" for line in lines)
""",
    "nltk.py": "class data:\n    find = staticmethod(lambda name: name)\n",
}
"""Stand-ins for what its scripts import for these two functions, or do not use at all."""


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("upstream") / "model"
    _, error, code = ruler("export", built, "--format", "upstream", "--to", folder)
    assert code == 0, error
    return folder


@pytest.fixture
def by_answers(write_run, built, tmp_path):
    """The scores of the same answers in this project's own format."""
    run = write_run(lambda config, row: {"prediction": answer(row)})
    return scored(run, built, tmp_path / "own.json")


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_every_task_lies_where_call_api_looks_for_it(exported):
    found = {path.relative_to(exported).as_posix() for path in exported.rglob("*.jsonl")}
    assert found == {
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
    found = scored(place, built, tmp_path / "pred.json")
    assert found == by_answers
    assert len(set(found.values())) > 3


def test_it_has_no_place_for_oneruler(tmp_path):
    release = write_oneruler(tmp_path / "oneruler")
    _, error, code = ruler("export", release, "--format", "upstream", "--to", tmp_path / "out")
    assert code == 2
    assert "does not have oneruler's tasks: use --format lm-eval" in error


# ---- Its own code ----------------------------------------------------------------------------


@pytest.fixture
def scripts():
    checkout = os.environ.get("RULER_REFERENCE_CODE")
    if not checkout:
        pytest.skip("RULER_REFERENCE_CODE names no checkout of NVIDIA/RULER")
    return Path(checkout) / "scripts"


def test_its_own_scripts_run_on_the_rows(scripts, exported, built, by_answers, tmp_path, frozen):
    stubs = tmp_path / "stubs"
    for name, text in STUBS.items():
        (stubs / name).parent.mkdir(parents=True, exist_ok=True)
        (stubs / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(stubs), "TQDM_DISABLE": "1"}

    def run(script, *arguments):
        command = [sys.executable, str(scripts / script), *map(str, arguments)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    pred = tmp_path / "4096/pred"
    with answering(frozen) as (url, budgets):
        port = urlsplit(url).port
        for task in TASKS["ruler"]:
            run(
                *("pred/call_api.py", "--data_dir", exported / "4096/data", "--save_dir", pred),
                *("--task", task, "--server_type", "vllm", "--server_port", port, "--threads", 1),
            )
    run("eval/evaluate.py", "--data_dir", pred)
    with (pred / "summary.csv").open(encoding="utf-8", newline="") as file:
        table = {line[0]: line[1:] for line in csv.reader(file)}
    found = dict(zip(table["Tasks"], map(float, table["Score"]), strict=True))
    mine = {name.removesuffix("_4k"): score for name, score in by_answers.items() if "_4k" in name}
    assert found == {task: round(score, 2) for task, score in mine.items()}
    assert scored(tmp_path / "4096", built, tmp_path / "theirs.json", "--length", "4k") == {
        f"{task}_4k": score for task, score in mine.items()
    }
    assert budgets == [True] * sum(frozen.size(f"{task}_4k") for task in TASKS["ruler"])
