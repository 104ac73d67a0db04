"""An engine in a thread: rows go in and records come out while it works."""

from __future__ import annotations

from pathlib import Path

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.preparing.row_reader import RowReader
from ruler_eval.run.replicas.replica import Replica
from ruler_eval.run.run_order import RunOrder

ORACLE = RunOrder("", (), "oracle", Path())
HERE = str(Path.cwd())


def test_rows_that_come_bit_by_bit_are_each_answered_once(small: Path) -> None:
    read, replica = RowReader(str(small)), Replica(ORACLE, HERE)
    started = replica.started()
    assert started.settings["mode"] == "chat"
    assert started.room == 32
    found = []
    for config in ("vt_4k", "cwe_4k"):
        found += replica.exchange([read(config, index) for index in range(3)], 5)
        found += replica.exchange([read(config, index) for index in (3, 4)], 5)
    while len(found) < 10:
        found += replica.exchange([], 5)
    keys = [(answered.record["config"], answered.record["index"]) for answered in found]
    assert sorted(keys) == sorted((c, i) for c in ("vt_4k", "cwe_4k") for i in range(5))
    for answered in found:
        row = ruler_dataset.load(small, answered.record["config"])[answered.record["index"]]
        assert all(output in answered.record["prediction"] for output in row["outputs"])
        assert answered.row_tokens == row["length"] - row["max_new_tokens"]
    assert replica.exchange([], 0.01) == []
    replica.stop()


def test_an_engine_that_cannot_start_says_why() -> None:
    with pytest.raises(RulerError, match="Set OPENAI_API_KEY, or give the server"):
        Replica(RunOrder("", (), "openai", Path(), options=ModelOptions("m")), HERE).started()


def test_an_engine_that_ended_in_an_error_says_so_once_its_answers_are_taken(small: Path) -> None:
    replica = Replica(ORACLE, HERE)
    row = RowReader(str(small))("vt_4k", 0)
    (answered,) = replica.exchange([row, ("vt_4k", {})], 1)
    assert answered.record["finish_reason"] == "stop"
    with pytest.raises(RuntimeError, match="KeyError"):
        replica.exchange([], 1)
