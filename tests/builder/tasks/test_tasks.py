"""The rows of the 13 tasks are frozen, pass their audit, and agree with each other.

`python -m tests.builder.tasks.test_tasks` prints the digests of GOLDEN.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from importlib.resources import files

import pytest

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.release.folder import digest_row
from ruler_builder.tasks.registry import read_suite
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.sources import Sources
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.errors import RulerError
from ruler_common.names import NIAH
from ruler_common.rows import Row
from ruler_dataset import load
from tests.builder.tasks.row_reading import RESERVE, RULER, haystack, task_of
from tests.embedded_release import audit_problems, build_embedded
from tests.nightly import mostly_nightly
from tests.project import ROOT

# The digests of rows 0 to 2 of each task at 4k, by suite
GOLDEN = {
    "ruler": {
        "niah_single_1": "553954e8bfe4fb9083ef56f9a12848c184d9c5423c1d1b1b740253dc2829008f",
        "niah_single_2": "11559a7ec439f5933a9b47b96aee2705a5400e4cca9490222fd623a4f58ee693",
        "niah_single_3": "dd24026488ebcb2ab34cfddac2c709a0cf64da95cbd34ff18a315b7724579046",
        "niah_multikey_1": "138b66be9c9347e00eac349ac49e50e662d8302a7781656a01ca729a55a4b498",
        "niah_multikey_2": "ae1e5bbb4fd544a7f698cf374407e2672615ff15ac3917d915fcbbb0c676101d",
        "niah_multikey_3": "4a02b48a48f46d68ab54c66046f6f3cc403996dc22c997494bd75ae5b83b0b2c",
        "niah_multivalue": "eb9d8fa8802e7161e0e929a36ead3a5861cd0a31b1ea035b43f51d75b32a20ac",
        "niah_multiquery": "1e7ade5a37c56761ea1f6810274305d0e7dc8156a79022ad09bf68755635ca9a",
        "vt": "9d778f54da014e5c35a625e5a7f5e1581c12dd03954472aceaf73b16ebbbdbda",
        "cwe": "b17b44825090da7fcb42c64b34f971b624e5f861756c9dfb3f4b32780dc9ff63",
        "fwe": "ca7fa27a785bed3098795bc196501bfb065291f58e9d3a67b18b7922c7102a20",
        "qa_1": "404d5aec9f469ce84848df531090fe626e07f601cd3fbb9b61c34170207ced32",
        "qa_2": "eb560c8b17b2697fb9426eecf54e27dfa308ed47708c38a8519e3ecef617dc49",
    }
}


def digests(counted_sources: CountedSources) -> dict[str, dict[str, str]]:
    """Return the digests that GOLDEN should have."""
    result: dict[str, dict[str, str]] = {}
    for name in GOLDEN:
        suite = read_suite(name)
        result[name] = {}
        for task_name in suite.params:
            task, digest = task_of(counted_sources, task_name, "4k", suite), sha256()
            for index in range(3):
                digest_row(digest, task.row(index).columns)
            result[name][task_name] = digest.hexdigest()
    return result


def test_the_rows_of_every_task_are_frozen(embedded):
    assert digests(embedded) == GOLDEN


def test_another_process_with_another_hash_seed_and_locale_makes_the_same_rows():
    ascii_only = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **ascii_only, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, "-m", "tests.builder.tasks.test_tasks"]
    result = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout) == GOLDEN


@pytest.mark.parametrize("length", ["1k", "2k", "16k"])
def test_rows_pass_their_audit_at_every_length(tmp_path, length):
    build_embedded(tmp_path / "ruler", lengths=(length,), rows=8)
    assert audit_problems(tmp_path / "ruler") == {}


@pytest.mark.parametrize("kind", ["whole", *mostly_nightly(5, ["gpt2", "digits", "unigram"])])
def test_rows_pass_their_audit_with_few_split_points_or_none(trained_tokenizer, tmp_path, kind):
    spec = f"mine={trained_tokenizer(kind)}"
    build_embedded(tmp_path / "ruler", tokenizers=(spec,), lengths=("2k",), rows=2)
    assert audit_problems(tmp_path / "ruler", spec) == {}


def test_lists_fill_the_window_if_a_tokenizer_joins_words(trained_tokenizer, tmp_path):
    spec = f"mine={trained_tokenizer('dotted')}"  # ". a" is one token
    root = tmp_path / "ruler"
    tasks = ("cwe", "fwe")
    build_embedded(root, tokenizers=(spec,), lengths=("2k",), rows=40, tasks=tasks)
    assert audit_problems(root, spec) == {}
    for task in tasks:
        inputs = load(root, f"{task}_2k_mine")["input"]
        assert sum(". a" in text for text in inputs) > 10


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["digits", "sentencepiece", "unigram", "single_bytes"])
def test_all_tasks_are_built_and_audited_without_proved_split_points(
    trained_tokenizer, trained_counter, tmp_path, kind
):
    assert not trained_counter(kind).split_points.proved
    text = (files("ruler_builder.suites") / "ruler.toml").read_text(encoding="utf-8")
    suite = tmp_path / "suite.toml"  # that allows answers of many tokens
    suite.write_text(re.sub(r"max_new_tokens = \d+", "max_new_tokens = 400", text))
    spec = f"mine={trained_tokenizer(kind)}"
    built = build_embedded(
        tmp_path / "ruler",
        tokenizers=(spec,),
        lengths=("4k", "16k"),
        rows=1,
        suite=suite,
        skip_impossible=True,
    )
    assert audit_problems(tmp_path / "ruler", spec) == {}
    # 300 words and an example of 190 words take more than 4,096 tokens of few letters each
    assert {*built.left_out} <= {"cwe_4k_mine"} or kind == "single_bytes"
    assert all("_4k" in name for name in built.left_out)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["niah_single_2", "niah_multikey_2", "vt", "cwe", "fwe"])
def test_a_row_of_a_million_tokens_is_exact(embedded, name):
    task = task_of(embedded, name, "1m")
    new_row = task.row(0)
    row = new_row.columns
    counted = embedded.counter.count(row["input"] + row["answer_prefix"])
    assert row["length"] == counted + row["max_new_tokens"]
    assert new_row.next_unit_tokens is not None
    assert 0 <= 2**20 - RESERVE - row["length"] < new_row.next_unit_tokens <= 40
    assert (new_row.repeats > 0) == (name == "niah_single_2")


@pytest.mark.parametrize("name", ["qa_1", "qa_2", "vt", "niah_single_1", "niah_single_2"])
def test_evidence_is_spread_over_the_whole_context(embedded, name):
    task = task_of(embedded, name, "8k")
    depths = [e["depth"] for index in range(60) for e in task.row(index).columns["evidence"]]
    fifths = Counter(min(4, int(depth * 5)) for depth in depths)
    expected = len(depths) / 5
    assert all(0.4 * expected < fifths[i] < 1.8 * expected for i in range(5)), fifths


SAME_HAYSTACK = [
    name for name in (*NIAH, "vt") if name not in ("niah_multikey_2", "niah_multikey_3")
]


@pytest.mark.parametrize("name", SAME_HAYSTACK)
def test_the_haystack_begins_with_the_same_text_in_every_row(embedded, name):
    task = task_of(embedded, name, "4k")
    assert len({haystack(task.row(index).columns)[:2000] for index in range(5)}) == 1


def question_of(row: Row) -> tuple[str, list[str]]:
    """Return what a row asks, and the right answers."""
    return row["question"], row["outputs"]


@pytest.mark.parametrize("name", mostly_nightly(3, RULER))
def test_an_index_asks_the_same_at_every_length_and_under_every_tokenizer(
    embedded, trained_sources, name
):
    whole = trained_sources("whole")
    for index in (0, 5):
        expected = question_of(task_of(embedded, name, "4k").row(index).columns)
        assert question_of(task_of(embedded, name, "16k").row(index).columns) == expected
        assert question_of(task_of(whole, name, "16k").row(index).columns) == expected


@pytest.mark.parametrize("name", mostly_nightly(3, [*NIAH, "vt", "qa_1", "qa_2"]))
def test_an_index_has_the_same_relative_depths_at_every_length(embedded, name):
    for index in (0, 5):
        long = task_of(embedded, name, "128k").row(index).columns["evidence"]
        longer = task_of(embedded, name, "256k").row(index).columns["evidence"]
        assert [e["depth"] for e in long] == pytest.approx([e["depth"] for e in longer], abs=0.01)


@pytest.mark.parametrize("name", RULER)
def test_a_row_does_not_depend_on_the_rows_before_it(embedded, name):
    task = task_of(embedded, name, "2k")
    rows = [task.row(index).columns for index in range(4)]
    task_of(embedded, name, "4k").row(0)
    assert [task.row(index).columns for index in (3, 2, 1, 0)] == rows[::-1]
    unused = CountedSources(
        Sources(Store(None), parse_sources_option(["embedded"])), embedded.counter
    )
    assert task_of(unused, name, "2k").row(2).columns == rows[2]


@pytest.mark.parametrize("name", RULER)
def test_the_reserve_changes_the_filling_and_not_what_is_question_of(embedded, name):
    task, shorter = (task_of(embedded, name, "4k", reserve=r) for r in (0, 500))
    for index in (0, 3):
        assert question_of(task.row(index).columns) == question_of(shorter.row(index).columns)
        assert task.row(index).columns["length"] <= 4096
        assert shorter.row(index).columns["length"] <= 4096 - 500


@pytest.mark.parametrize("name", RULER)
def test_another_seed_makes_other_rows(embedded, name):
    a, b = (task_of(embedded, name, "4k", seed=seed).row(0).columns for seed in (0, 1))
    assert a["input"] != b["input"]
    assert (question_of(a) == question_of(b)) == name.startswith(
        "qa"
    )  # a seed does not change the order of questions


@pytest.mark.parametrize("name", RULER)
def test_a_window_too_small_for_a_task_is_refused_before_any_work(embedded, name):
    task = task_of(embedded, name, "1k", reserve=860)
    with pytest.raises(
        RulerError, match=r"at least \d+ tokens, .* has \d+ for it: take a longer length\.$"
    ):
        task.check(500 if task.max_rows is None else min(500, task.max_rows))


@pytest.mark.parametrize("name", mostly_nightly(3, RULER))
def test_a_window_that_holds_the_task_passes_the_check(embedded, name):
    task = task_of(embedded, name, "2k")
    rows = min(500, task.max_rows or 500)
    task.check(rows)
    assert task.row(rows - 1).columns["length"] <= 2048 - RESERVE


if __name__ == "__main__":
    texts = Sources(Store(None), parse_sources_option(["embedded"]))
    print(json.dumps(digests(CountedSources(texts, load_counter("tekken", Store(None)))), indent=4))
