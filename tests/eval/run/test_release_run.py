"""The perfect reader over a release that the builder made from the project's own texts."""

from __future__ import annotations

from pathlib import Path

import pytest

import ruler_dataset
from ruler_common.names import TASKS
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import read_lines
from ruler_eval.run.runner import run
from tests import in_process
from tests.conftest import Once

ROWS = 1


@pytest.fixture(scope="session")
def built(once: Once) -> Path:
    def make(root: Path) -> None:
        flags = ("--sources", "embedded", "--lengths", "4k,128k", "--samples", ROWS)
        done = in_process.ruler("build", root, *flags)
        assert done.code == 0, done.stderr

    return once("long/ruler", make)


@pytest.mark.parametrize("length", ["4k", "128k"])
def test_the_oracle_scores_100_on_the_eleven_synthetic_tasks(
    built: Path, tmp_path: Path, length: str
) -> None:
    outcome = run(
        RunOptions(dataset=str(built), configs=(f"all_{length}",), backend="oracle", out=tmp_path)
    )
    assert dict(outcome.total) == {"stop": 13 * ROWS}
    for task in TASKS["ruler"]:
        config = f"{task}_{length}"
        found = {
            r["index"]: r["prediction"].lower() for r in read_lines(tmp_path / f"{config}.jsonl")
        }
        for row in ruler_dataset.load(built, config):
            missed = [out for out in row["outputs"] if out.lower() not in found[row["index"]]]
            assert task.startswith("qa") or not missed, (config, row["index"])
