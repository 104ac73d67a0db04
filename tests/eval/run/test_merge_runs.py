"""Runs that shards made in folders of their own, merged, are the rows of one run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.merge_runs import merge_runs
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run


@pytest.fixture
def order(small: Path, tmp_path: Path) -> RunOrder:
    return RunOrder(str(small), ("all_4k",), "oracle", tmp_path / "RUN", quiet=True)


def lines(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.jsonl"))}


def shards(order: RunOrder, tmp_path: Path, count: int) -> list[Path]:
    folders = [tmp_path / f"part{number}" for number in range(1, count + 1)]
    for number, folder in enumerate(folders, 1):
        run(replace(order, out=folder, shard=f"{number}/{count}"))
    return folders


def test_merged_shards_are_the_rows_of_one_run(order: RunOrder, tmp_path: Path) -> None:
    run(order)
    parts = shards(order, tmp_path, 3)
    assert merge_runs(tmp_path / "all", parts) == dict.fromkeys(
        ("niah_single_1_4k", "vt_4k", "cwe_4k", "qa_1_4k"), 5
    )
    assert lines(tmp_path / "all") == lines(order.out)
    kept = json.loads((tmp_path / "all/run.json").read_text())
    assert [session["shard"] for session in kept.pop("sessions")] == ["1/3", "2/3", "3/3"]
    one = json.loads((order.out / "run.json").read_text())
    assert kept == {name: value for name, value in one.items() if name != "sessions"}
    merge_runs(tmp_path / "all", parts)  # again changes nothing
    assert lines(tmp_path / "all") == lines(order.out)
    assert run(replace(order, out=tmp_path / "all")).total["stop"] == 20


def answered_twice(order: RunOrder, tmp_path: Path, a: str, b: str) -> tuple[Path, Path]:
    """Two runs of one configuration, in the second of which the text `a` is `b`."""
    order = replace(order, configs=("vt_4k",))
    run(order)
    second = replace(order, out=tmp_path / "second")
    run(second)
    path = second.out / "vt_4k.jsonl"
    path.write_text(path.read_text().replace(a, b))
    return order.out, second.out


def test_a_missing_shard_is_refused_and_nothing_is_written(order: RunOrder, tmp_path: Path) -> None:
    parts = shards(order, tmp_path, 2)
    with pytest.raises(RulerError, match=r"2 configurations are missing; shards here: 2/2"):
        merge_runs(tmp_path / "all", parts[1:])
    assert not (tmp_path / "all").exists()


def test_an_answer_stands_before_a_failure(order: RunOrder, tmp_path: Path) -> None:
    whole, failed = answered_twice(order, tmp_path, '"stop"', '"error"')
    merge_runs(tmp_path / "all", [failed, whole])
    assert lines(tmp_path / "all") == lines(whole)


def test_two_answers_to_one_row_are_refused(order: RunOrder, tmp_path: Path) -> None:
    folders = answered_twice(order, tmp_path, '"prediction": "', '"prediction": "not ')
    with pytest.raises(RulerError, match="answers vt_4k row 0 otherwise"):
        merge_runs(tmp_path / "all", folders)


def test_runs_of_other_settings_are_refused(order: RunOrder, tmp_path: Path) -> None:
    run(replace(order, configs=("vt_4k",)))
    other = replace(order, configs=("cwe_4k",), mode="completion", out=tmp_path / "other")
    run(other)
    with pytest.raises(RulerError, match="was run with mode"):
        merge_runs(tmp_path / "all", [order.out, other.out])


def test_a_folder_without_a_run_is_named(order: RunOrder, tmp_path: Path) -> None:
    run(order)
    with pytest.raises(RulerError, match=r"is no run: it has no run\.json"):
        merge_runs(tmp_path / "all", [order.out, tmp_path])
