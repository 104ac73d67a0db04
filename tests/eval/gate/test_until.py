"""`ruler run --until`: the mean of all rows from a part of them, within what was asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ruler_release
from ruler_common.errors import RulerError
from ruler_common.rows import row_order
from ruler_eval.gate.plan import LookPlan
from ruler_eval.gate.until import MeanEstimate, looks, mean_estimate
from ruler_eval.run.options import RunOptions
from ruler_eval.score.results import Scores, load
from ruler_release.api import run_model
from tests.eval.run import small_release
from tests.in_process import ruler_error
from tests.run_folder import answers

ROWS = 100


def plan(*lengths: str) -> LookPlan:
    places = [(task, length) for task in ("vt", "cwe") for length in lengths]
    order = {place: row_order("1.0.0", "ruler", *place, ROWS) for place in places}
    return LookPlan(order, {place: ["_".join(place)] for place in places})


def random_scores(seed: int, of: LookPlan, rate: float = 0.7) -> Scores:
    rng = np.random.default_rng(seed)
    return {
        name: dict(enumerate((rng.random(ROWS) < rate).astype(float)))
        for names in of.configs.values()
        for name in names
    }


def test_all_rows_are_their_mean_exactly():
    row_scores = random_scores(0, plan("4k"))
    estimate = mean_estimate(plan("4k"), row_scores, ROWS)
    mean = 100 * np.mean([score for rows in row_scores.values() for score in rows.values()])
    assert (estimate["score"], estimate["half_width"]) == (pytest.approx(mean), 0)


def test_the_interval_is_that_of_a_stratified_sample():
    """Two tasks, 40 rows each, of which 30 and 20 are right."""
    of, rows = plan("4k"), 40
    right = {"vt_4k": 30, "cwe_4k": 20}
    row_scores = {
        names[0]: dict.fromkeys(of.order[place][: right[names[0]]], 1.0)
        for place, names in of.configs.items()
    }
    variances = [40 / 39 * p * (1 - p) + 1 / 40 for p in (0.75, 0.5)]
    error = (sum(v / 40 for v in variances) / 4 * (1 - rows / ROWS)) ** 0.5
    estimate = mean_estimate(of, row_scores, rows)
    assert estimate["score"] == pytest.approx(62.5)
    assert estimate["half_width"] == pytest.approx(100 * 1.96 * error)


def test_a_row_that_fails_at_every_length_is_one_row():
    """Beyond the rows that lengths have apart, what they share is not counted twice."""
    of = plan("4k", "8k")
    rng = np.random.default_rng(2)
    same = {task: (rng.random(ROWS) < 0.6).astype(float) for task in ("vt", "cwe")}
    alike = {names[0]: dict(enumerate(same[task])) for (task, _), names in of.configs.items()}
    second_run = random_scores(2, of, 0.6)
    wide, narrow = (
        mean_estimate(of, row_scores, 95)["half_width"] for row_scores in (alike, second_run)
    )
    assert wide > 1.2 * narrow


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("until") / "ruler"
    return small_release.write(folder, rows=60, lines=6, only=("niah_single_1", "vt"))


def test_a_run_stops_when_its_mean_is_known(release, tmp_path):
    out = tmp_path / "run"
    looks = list[MeanEstimate]()
    options = {"configs": "all_4k", "backend": "oracle", "out": out}
    run_model(RunOptions(release, until=5, **options), on_look=looks.append)
    last = looks[-1]
    assert [look["rows"] for look in looks] == [*range(20, last["rows"] + 1, 10)]
    assert last["half_width"] <= 5
    assert all(look["half_width"] > 5 for look in looks[:-1])
    assert len(answers(out, "vt_4k")) == last["rows"] < 60
    results = load(out)
    assert results["run"]["estimate"] == last
    assert f"the mean over all, {last['score']:.1f}" in results["notes"][0]
    assert {cell["interval"] for cell in results["configurations"].values()} == {None}
    with pytest.raises(RulerError, match=r"until.half_width = 5.0, not 2.0"):
        ruler_release.run(release, until=2, **options)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--until", "0"), "--until takes a number above 0"),
        (("--until", "nan"), "--until takes a number above 0"),
        (("--until", "1", "--shard", "1/2"), "leave --shard out"),
    ],
)
def test_what_makes_no_sense_is_refused(release, tmp_path, flags, words):
    arguments = ("--dataset", release, "--configs", "all_4k", "--backend", "oracle")
    assert words in ruler_error("run", *arguments, "--out", tmp_path / "run", *flags)
    assert not (tmp_path / "run").exists()


def test_the_mean_of_one_task_of_which_few_rows_are_wrong_is_covered():
    """It stops by the spread it has seen, so it must not stop because no wrong row was seen."""
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        of = LookPlan({("vt", "4k"): [*rng.permutation(500)]}, {("vt", "4k"): ["vt_4k"]})
        values = (rng.random(500) < 0.97).astype(float)
        for rows in looks(of):
            estimate = mean_estimate(of, {"vt_4k": dict(enumerate(values))}, rows)
            if estimate["half_width"] <= 2:
                break
        low, high = estimate["interval"]
        covered += low - 1e-9 <= 100 * values.mean() <= high + 1e-9
    assert covered >= 90
