"""The 13 tasks, read back from their rows alone and held to the reference's wording and the laws.

`python -m tests.builder.tasks.test_tasks` prints the digests of GOLDEN again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from ruler_builder.release.parquet import digest_row
from ruler_builder.suites.suite import read_suite
from ruler_builder.tasks.base import NewRow
from ruler_builder.text.sources import Sources, Store, parse_choice
from ruler_builder.tokens.counting import TokenCounter, with_engine
from ruler_builder.tokens.tokenizers import load_counter
from ruler_builder.window.counted_sources import CountedSources
from ruler_common.errors import RulerError
from ruler_common.names import NIAH
from ruler_common.rows import COLUMNS
from tests.builder.tasks.row_reading import (
    RESERVE,
    RULER,
    check,
    haystack,
    parts,
    task_of,
)
from tests.nightly import mostly_nightly

GOLDEN = {
    "ruler": {
        "niah_single_1": "5660a4e4a40ba67f1766dc204c499ca8ab1d774840118d487aad27efd6ef3763",
        "niah_single_2": "015ba517e7f828b67e9a1c26f98cb157f89d3a481487d12dca76edcd17f099a8",
        "niah_single_3": "85d2b0a795c879490723c2e94306cfee7a8d5956b9f3c8e32cf04f02fd93b1e3",
        "niah_multikey_1": "ad91f859b00ecadab4709ff515d1d9338f046ac869c24597ac8c63b79d84fea2",
        "niah_multikey_2": "909207d87c40273ebd247c84e58e944e9165b39c22545857680f3f5d693bdb3f",
        "niah_multikey_3": "4231be050f94c6ed009931804d29f9ceed197ca8f9a62eaef81b0769453cb38b",
        "niah_multivalue": "29a7bc5392cf8d24dfba2a78206049c44349208bb73d9800a6fd4664f7975dd7",
        "niah_multiquery": "17bb8c375ba0bc096cce076ab1aa3e601ed9c4538d2d5c5aa5cc34bf9bc43b61",
        "vt": "b89d55842644d063f93f841a86124dd2eb77096944874f5e6f8ecc467024f5d4",
        "cwe": "7e90c857a6d9ecffaaabe742aa0d32da632d4389f5a820cf0f7f9f8a59a00d1a",
        "fwe": "6e99b483ac594f60b3c47d7d9f5c0eb1482d23135a7505c915b31fd667acb50a",
        "qa_1": "907bbffef642d62e603b08391389f58512a867c68fc694ea4cc3b97f431ac39e",
        "qa_2": "e1d770edac622184765b4af4ad35f76350d42b116cf9ed523e49e89cd1222ca1",
    },
}
"""Digests of rows 0 to 2 of each task at 4k, by suite."""


def digests(counted_sources: CountedSources) -> dict[str, dict[str, str]]:
    """Compute what GOLDEN has."""
    found: dict[str, dict[str, str]] = {}
    for name in GOLDEN:
        suite = read_suite(name)
        found[name] = {}
        for task in suite.params:
            made, digest = task_of(counted_sources, task, "4k", suite), sha256()
            for index in range(3):
                digest_row(digest, made.row(index).columns())
            found[name][task] = digest.hexdigest()
    return found


def test_the_rows_of_every_task_are_frozen(embedded: CountedSources) -> None:
    assert digests(embedded) == GOLDEN


def test_another_process_with_another_hash_seed_makes_the_same_rows() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, "-m", "tests.builder.tasks.test_tasks"]
    root = Path(__file__).resolve().parents[3]
    found = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    assert json.loads(found.stdout) == GOLDEN


@pytest.mark.parametrize("name", RULER)
def test_the_answers_room_is_the_familys(embedded: CountedSources, name: str) -> None:
    room = {"vt": 30, "cwe": 120, "fwe": 50, "qa_1": 32, "qa_2": 32}.get(name, 128)
    assert task_of(embedded, name, "2k").row(0).max_new_tokens == room


@pytest.mark.parametrize("name", RULER)
def test_a_row_has_the_columns_of_the_contract_in_order(
    embedded: CountedSources, name: str
) -> None:
    columns = task_of(embedded, name, "2k").row(3).columns()
    assert list(columns) == list(COLUMNS)
    assert (columns["index"], columns["task"], columns["max_length"]) == (3, name, 2048)
    assert (columns["language"], columns["instruction_language"]) == ("en", "en")
    assert columns["none_word"] == ""


def test_every_task_has_as_many_references_as_the_paper_says(embedded: CountedSources) -> None:
    found = {name: len(task_of(embedded, name, "2k").row(0).outputs) for name in RULER[:-2]}
    several = {"niah_multivalue": 4, "niah_multiquery": 4, "vt": 5, "cwe": 10, "fwe": 3}
    assert found == {name: several.get(name, 1) for name in RULER[:-2]}


@pytest.mark.parametrize("length", ["1k", "2k", "4k", "16k"])
@pytest.mark.parametrize("name", RULER)
def test_rows_keep_the_laws_at_every_length(
    embedded: CountedSources, name: str, length: str
) -> None:
    task = task_of(embedded, name, length)
    for index in (0, 1, 7, 42):
        assert check(task.row(index), task) >= 0


@pytest.mark.parametrize("kind", ["gpt2", "unigram", "whole"])
@pytest.mark.parametrize("name", mostly_nightly(3, RULER))
def test_rows_keep_the_laws_with_few_split_points_or_none(
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
    kind: str,
) -> None:
    task = task_of(own_texts(counter_made(kind)), name, "2k")
    for index in (0, 1):
        assert check(task.row(index), task) >= 0


@pytest.mark.parametrize("name", ["cwe", "fwe"])
def test_lists_are_full_where_some_of_their_words_join(
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
) -> None:
    counter = counter_made("dotted")  # ". a" is one token
    task = task_of(own_texts(counter), name, "2k")
    rows = [task.row(index) for index in range(40)]
    assert sum(". a" in parts(row)[1] for row in rows) > 10
    for row in rows:
        check(row, task)


@pytest.mark.parametrize("tokenizer", mostly_nightly(3, ["cl100k_base", "qwen2.5", "gemma3"]))
def test_rows_of_the_public_sources_keep_the_laws(
    public_texts: Callable[[TokenCounter], CountedSources],
    counter_of: Callable[[str], TokenCounter],
    tokenizer: str,
) -> None:
    reference = counter_of(tokenizer)
    counted_sources = public_texts(with_engine(reference))  # the corpora take minutes without it
    for name in RULER:
        task = task_of(counted_sources, name, "4k")
        for row in (task.row(0), task.row(1), task.row(2)):
            assert check(row, task) >= 0
            whole = reference.count(row.input + row.answer_prefix)
            assert row.length == whole + row.max_new_tokens


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["niah_single_2", "niah_multikey_2", "vt", "cwe", "fwe"])
def test_a_row_of_a_million_tokens_is_exact(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "1m")
    row = task.row(0)
    counted = embedded.counter.count(row.input + row.answer_prefix)
    assert row.length == counted + row.max_new_tokens
    assert row.next_unit_tokens is not None
    assert 0 <= 2**20 - RESERVE - row.length < row.next_unit_tokens <= 40
    assert (row.repeats > 0) == (name == "niah_single_2")


@pytest.mark.parametrize("name", ["qa_1", "qa_2", "vt", "niah_single_1", "niah_single_2"])
def test_evidence_is_spread_over_the_whole_context(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "8k")
    depths = [e.depth for index in range(60) for e in task.row(index).evidence]
    fifths = Counter(min(4, int(depth * 5)) for depth in depths)
    expected = len(depths) / 5
    assert all(0.4 * expected < fifths[i] < 1.8 * expected for i in range(5)), fifths


SHARED = [name for name in (*NIAH, "vt") if name not in ("niah_multikey_2", "niah_multikey_3")]


@pytest.mark.parametrize("name", SHARED)
def test_the_haystack_begins_with_the_same_text_in_every_row(
    embedded: CountedSources, name: str
) -> None:
    task = task_of(embedded, name, "4k")
    assert len({haystack(task.row(index))[:2000] for index in range(5)}) == 1


def asked(row: NewRow) -> tuple[str, list[str]]:
    return row.question, row.outputs


@pytest.mark.parametrize("name", mostly_nightly(3, RULER))
def test_an_index_asks_the_same_at_every_length_and_under_every_tokenizer(
    embedded: CountedSources,
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
) -> None:
    other = own_texts(counter_made("whole"))
    for index in (0, 5):
        expected = asked(task_of(embedded, name, "4k").row(index))
        assert asked(task_of(embedded, name, "16k").row(index)) == expected
        assert asked(task_of(other, name, "16k").row(index)) == expected


@pytest.mark.parametrize("name", mostly_nightly(3, [*NIAH, "vt", "qa_1", "qa_2"]))
def test_an_index_has_the_same_relative_depths_at_every_length(
    embedded: CountedSources, name: str
) -> None:
    for index in (0, 5):
        long = task_of(embedded, name, "128k").row(index).evidence
        longer = task_of(embedded, name, "256k").row(index).evidence
        assert [e.depth for e in long] == pytest.approx([e.depth for e in longer], abs=0.01)


@pytest.mark.parametrize("name", RULER)
def test_a_row_is_the_same_alone_and_in_any_order(
    embedded: CountedSources, own_texts: Callable[[TokenCounter], CountedSources], name: str
) -> None:
    task = task_of(embedded, name, "2k")
    rows = [task.row(index).columns() for index in range(4)]
    task_of(embedded, name, "4k").row(0)
    assert [task.row(index).columns() for index in (3, 2, 1, 0)] == rows[::-1]
    alone = CountedSources(Sources(Store(None), parse_choice(["embedded"])), embedded.counter)
    assert task_of(alone, name, "2k").row(2).columns() == rows[2]


@pytest.mark.parametrize("name", RULER)
def test_different_indices_ask_different_things(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "2k")
    assert len({str(asked(task.row(index))) for index in range(12)}) == 12


@pytest.mark.parametrize("name", RULER)
def test_the_reserve_changes_the_filling_and_not_what_is_asked(
    embedded: CountedSources, name: str
) -> None:
    task, roomier = (task_of(embedded, name, "4k", reserve=r) for r in (0, 500))
    for index in (0, 3):
        assert asked(task.row(index)) == asked(roomier.row(index))
        check(task.row(index), task)
        check(roomier.row(index), roomier)


@pytest.mark.parametrize("name", RULER)
def test_another_seed_makes_other_rows(embedded: CountedSources, name: str) -> None:
    row, other = (task_of(embedded, name, "4k", seed=seed).row(0) for seed in (0, 1))
    assert row.input != other.input
    assert (asked(row) == asked(other)) == name.startswith("qa")  # the corpus' order is kept


@pytest.mark.parametrize("name", RULER)
def test_a_window_too_small_for_a_task_is_refused_before_any_work(
    embedded: CountedSources, name: str
) -> None:
    task = task_of(embedded, name, "1k", reserve=860)
    with pytest.raises(
        RulerError,
        match=r"at least \d+ tokens, .* has \d+ for it: take a longer length\.$",
    ):
        task.check(500 if task.limit() is None else min(500, task.limit()))


@pytest.mark.parametrize("name", mostly_nightly(3, RULER))
def test_a_window_that_holds_the_task_passes_the_check(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "2k")
    rows = min(500, task.limit() or 500)
    task.check(rows)
    assert task.row(rows - 1).length <= 2048 - RESERVE


if __name__ == "__main__":
    texts = Sources(Store(None), parse_choice(["embedded"]))
    print(json.dumps(digests(CountedSources(texts, load_counter("tekken", Store(None)))), indent=4))
