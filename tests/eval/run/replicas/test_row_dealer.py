"""Rows go out in runs of one file, and each is answered once whatever engines end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_eval.run.replicas.row_dealer import TRIES, Key, RowDealer, row_runs
from ruler_eval.run.work_plan import Part


def part(config: str, rows: int, tokens: int = 1000) -> Part:
    indices = tuple(range(rows))
    return Part(config, indices, indices, (tokens,) * rows)


def test_files_are_whole_where_there_are_many_and_the_longest_come_first() -> None:
    parts = [part(f"c{number}", 10 + number) for number in range(20)]
    runs = row_runs(parts, 2)
    assert [len(run) for run in runs] == sorted((10 + n for n in range(20)), reverse=True)
    assert all(len({config for config, _ in run}) == 1 for run in runs)


def test_one_long_file_is_divided_into_contiguous_runs() -> None:
    runs = row_runs([part("c", 500), part("d", 4)], 2)
    long = sorted([index for _, index in run] for run in runs if ("d", 0) not in run)
    assert [index for run in long for index in run] == list(range(500))
    assert len(long) == 8
    assert {len(run) for run in long} <= {62, 63}


def test_two_engines_begin_with_runs_of_their_own() -> None:
    dealer = RowDealer(row_runs([part("c", 40)], 2), 2)
    first, second = dealer.rows_for(0, 512), dealer.rows_for(1, 512)
    assert first[0] != second[0]
    assert [index for _, index in first] == sorted(index for _, index in first)
    assert 10 <= len(first) <= 20 >= len(second) >= 10  # no more than a half of its share ahead


def test_an_engine_holds_no_more_rows_than_it_has_room_for() -> None:
    dealer = RowDealer(row_runs([part("c", 40)], 1), 1)
    assert len(dealer.rows_for(0, 4)) == 4
    assert dealer.rows_for(0, 4) == []
    assert dealer.answered(0, ("c", 0))
    assert dealer.rows_for(0, 4) == [("c", 4)]


def test_an_answer_counts_once_and_only_from_who_holds_the_row() -> None:
    dealer = RowDealer(row_runs([part("c", 4)], 2), 2)
    (key, *_) = dealer.rows_for(0, 1)
    assert not dealer.answered(1, key)
    assert dealer.answered(0, key)
    assert not dealer.answered(0, key)


def test_the_rows_of_an_ended_engine_go_to_the_others_and_answered_ones_do_not() -> None:
    dealer = RowDealer(row_runs([part("c", 6)], 2), 2)
    mine = dealer.rows_for(0, 2)
    dealer.answered(0, mine[0])
    assert dealer.lost(0) == []
    seen = []
    while not dealer.finished:
        for key in dealer.rows_for(1, 512):
            assert dealer.answered(1, key)
            seen.append(key)
    assert sorted([mine[0], *seen]) == [("c", index) for index in range(6)]


def test_a_row_that_ends_engine_after_engine_is_given_up() -> None:
    dealer = RowDealer(row_runs([part("c", 1)], 5), 5)
    for replica in range(TRIES):
        assert dealer.rows_for(replica, 8) == [("c", 0)]
        assert dealer.lost(replica) == ([("c", 0)] if replica == TRIES - 1 else [])
    assert dealer.finished


@given(st.integers(1, 5), st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers())
def test_each_row_is_answered_once_whatever_happens(
    replicas: int, files: list[int], seed: int
) -> None:
    rng = random.Random(seed)
    parts = [part(f"c{n}", rows, rng.randint(1, 500)) for n, rows in enumerate(files)]
    dealer = RowDealer(row_runs(parts, replicas), replicas)
    alive, done = list(range(replicas)), list[Key]()
    held: dict[int, list[Key]] = {replica: [] for replica in alive}
    while not dealer.finished:
        replica = rng.choice(alive)
        held[replica] += dealer.rows_for(replica, rng.randint(1, 8))
        if len(alive) > 1 and rng.random() < 0.05:
            done += dealer.lost(replica)
            alive.remove(replica)
        elif held[replica]:
            key = held[replica].pop(rng.randrange(len(held[replica])))
            assert dealer.answered(replica, key)
            done.append(key)
    expected = [(part.config, index) for part in parts for index in part.missing]
    assert sorted(done) == sorted(expected)


def test_a_plan_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        row_runs([Part("c", (0, 1), (0, 1))], 2)
