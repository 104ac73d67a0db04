"""A run writes only its own files, whatever its folder and its release contain."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.backend import Completion
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import Records, read_records
from ruler_eval.run.row_state import record_of
from ruler_eval.run.runner import run
from tests.embedded_release import contents


def scribble(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    "text",
    [
        "my notes",
        '{"config": 4, "index": 0, "finish_reason": "stop"}\n',
        '{"config": "vt_4k", "index": NaN, "finish_reason": "stop"}\n',
        '{"config": "vt_4k", "index": 0\n',
    ],
)
def test_a_file_of_another_program_is_never_touched(options, text):
    path = scribble(options.out, "answers.jsonl", text)
    with pytest.raises(RulerError, match="is not a record of `ruler run`"):
        run(options)
    assert [path.read_text(), *options.out.iterdir()] == [text, path]


@pytest.mark.parametrize("text", ["", "{}", "not JSON", '{"format": "2"}'])
def test_a_run_json_of_another_program_is_never_touched(options, text):
    path = scribble(options.out, "run.json", text)
    with pytest.raises(RulerError, match=r"is not a run\.json of `ruler run`: .* Name a new --out"):
        run(options)
    assert [path.read_text(), *options.out.iterdir()] == [text, path]


@pytest.mark.parametrize("where", ["/tmp/elsewhere/file", "../file", "", "vt\n4k"])
def test_a_configuration_name_that_is_not_a_file_name_is_refused_first(
    options, small, tmp_path, where
):
    root = tmp_path / "planted"
    shutil.copytree(small, root)
    manifest = json.loads((root / "manifest.json").read_text())
    for file in manifest["files"].values():
        file["config"] = where if file["config"] == "vt_4k" else file["config"]
    (root / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RulerError):
        run(replace(options, dataset=str(root), configs=("vt_4k",)))
    assert not options.out.exists()


def test_no_file_stays_open_between_rows(tmp_path):
    records = Records(tmp_path)
    for index in range(3):
        for number in range(40):
            prompt = Prompt(
                config=f"task{number}_4k",
                index=index,
                messages=(),
                text="?",
                token_ids=None,
                max_new_tokens=5,
            )
            records.write(record_of(Completion(prompt, "42")))
            ours = [fd for fd in Path("/proc/self/fd").iterdir() if fd.resolve().parent == tmp_path]
            assert ours == []
    records.close()
    assert [r["index"] for r in read_records(tmp_path / "answers.jsonl")] == [0] * 40 + [1] * 40 + (
        [2] * 40
    )


def test_half_a_surrogate_pair_in_a_record_does_not_stop_a_run(options):
    run(replace(options, configs=("vt_4k",), limit=2))
    path = options.out / "answers.jsonl"
    text = path.read_text().replace('"prediction": "', '"prediction": "\\ud800', 1)
    path.write_text(text)
    assert run(replace(options, configs=("vt_4k",))).total["stop"] == 5
    assert next(read_records(path))["prediction"].startswith("\ud800")


READ_ONLY = """
import os, sys
from pathlib import Path
from ruler_eval.run.options import RunOptions
from ruler_eval.run.runner import run
from ruler_release.commands.run import show_summary as show
from ruler_dataset import RulerError
data, warm, out = sys.argv[1:]
show(run(RunOptions(data, configs="vt_4k", backend="oracle", out=warm)))  # imports all it needs
os.geteuid() or os.seteuid(65534)  # root may write anywhere
print("now for reading alone")
show(run(RunOptions(data, configs="vt_4k", backend="oracle", out=out)))
try:
    run(RunOptions(data, configs="all_4k", backend="oracle", out=out))
except RulerError as error:
    print(error)
"""


@pytest.mark.nightly
def test_a_complete_run_in_a_read_only_folder_prints_its_summary(options, small, tmp_path):
    run(replace(options, configs=("vt_4k",)))
    for lock in options.out.glob(".*.lock"):
        lock.unlink()
    before = contents(options.out)
    for folder in (*small.parents, *tmp_path.parents, small, tmp_path):
        if folder.owner() == Path.home().owner() and folder.is_relative_to("/tmp/"):
            folder.chmod(0o755)  # for the other user
    options.out.chmod(0o555)
    command = [sys.executable, "-c", READ_ONLY, small, tmp_path / "warm", options.out]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = done.stdout.partition("now for reading alone")[2]
    assert "No failures: 5 rows answered." in text
    assert "All rows of 1 configuration were answered completely." in text
    assert "has missing rows and cannot be written: name a new --out" in text
    assert contents(options.out) == before


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"temperature": float("nan")}, "--temperature"),
        ({"temperature": -1}, "--temperature"),
        ({"top_p": 1.5}, "--top-p"),
        ({"timeout": 0}, "--timeout"),
        ({"timeout": float("inf")}, "--timeout"),
    ],
)
def test_numbers_out_of_range_are_refused(options, changes, remedy):
    with pytest.raises(RulerError, match=remedy):
        run(replace(options, **changes))
    assert not options.out.exists()
