"""The rows of ONERULER's tasks are frozen and ask the same in every language.

`python -m tests.builder.tasks.test_oneruler_tasks` prints the digests of GOLDEN.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.release.folder import digest_row
from ruler_builder.tasks.base import Task, TaskKey
from ruler_builder.tasks.registry import read_suite
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.sources import Sources
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.errors import RulerError
from ruler_common.names import GROUPS, LANGUAGES, TASKS, parse_length
from ruler_common.rows import Row

ONERULER = GROUPS["oneruler"]["all"]
NIAH, CWE = GROUPS["oneruler"]["niah"], GROUPS["oneruler"]["cwe"]
GOLDEN = {
    "niah_single en": "af12eae9b9ebfda9d15a2501baa86b08ce1817d1438ab59e80f952b50cc486d7",
    "niah_multikey en": "8ce0c06f1e21fb4684a9b794a49e352154851e2c700b6615e42c4fef44b23411",
    "niah_multivalue en": "b728e5112c50281f2f513c5df6e7d069890117b3b51f67c81a2c1b4a10be84d3",
    "niah_multiquery en": "f3ff69fc9de9efc642b3f6eb6f806dfcc1c3b8bf7b25ed93c8cfd06f19b0ff11",
    "niah_none en": "6b91e116d2750623fd04ee16cd61de964b5ac429dd82d1b33c2f5b89778e5eb4",
    "cwe_easy en": "4c5da8f0709717e54d3aa76ef7ebfb2f17304f7575d81ca15e6fb3c2813d31e0",
    "cwe_hard en": "f657d780c19199e984f837fd59006ff6b16bc21c9f6e62e82aa90a00d9226031",
    "niah_single_nonone en": "73ee927f9bf879296572217ad5bcafa7d8f364880f7f9e210b2747c42d574f15",
    "niah_single zh": "663d0fa43ace73f78d72707ca6be2c3d8534e8b570d742f47fab58a863a5694c",
    "niah_multikey zh": "c7b2e14dcc73d730e171aa9cb70d5e0cf2d7fdb2b68a4ef56866f3ebd9ba04ce",
    "niah_multivalue zh": "72ddda5d1ef2faf981a3acee853b67da8d3fb0191b8e605f78c346c5c7a85ae7",
    "niah_multiquery zh": "ae56b306507de24aae86ef49043e8192a9d827d8bc16abb7fb73cbd95b804bcc",
    "niah_none zh": "8b00a3bad3cef81ff3d2baead07b5d4619e5a2f8550f616525fb6b89918eeba8",
    "cwe_easy zh": "227a6e1029793eb80ac8009220d84eb589da32583517c64ca6bc49f2bfd554ab",
    "cwe_hard zh": "a2909d03184fc327146304c692e0075dcf7e1fc835fc790d4e2e147baf2ee823",
    "niah_single_nonone zh": "15f29411f97cf44a712f0601223fcf0da27b68393282f92be59f60251fa45918",
}


def task_of(
    counted_sources: CountedSources,
    name: str,
    code: str,
    length: str = "8k",
    instruction: str | None = None,
) -> Task:
    tokens = parse_length(length, "oneruler")
    key = TaskKey(
        dataset="oneruler",
        task=name,
        max_length=tokens,
        reserve=128,
        language=code,
        instruction_language=instruction or code,
    )
    return read_suite("oneruler").task(key, counted_sources)


def digests(counted_sources: CountedSources) -> dict[str, str]:
    """Return digests of rows 0 to 2 of each task at 8k, in both embedded languages."""
    result = {}
    for code in ("en", "zh"):
        for name in TASKS["oneruler"]:
            task, digest = task_of(counted_sources, name, code), sha256()
            for index in range(3):
                digest_row(digest, task.row(index).columns)
            result[f"{name} {code}"] = digest.hexdigest()
    return result


def needles(row: Row) -> list[tuple[str, str]]:
    """Return key and value of each needle in any language, in the order of the text."""
    texts = [row["input"][span["start"] : span["end"]] for span in row["evidence"]]
    pattern = r"[\"“„«「](.+?)[\"”“»」].*?(\d{7})"
    return [re.search(pattern, text).groups() for text in texts]  # type: ignore[union-attr]


def check_depths(row: Row, same_row: Row) -> None:
    """Check that the evidence of two rows is at about the same depths."""
    depths, same_depths = ([span["depth"] for span in r["evidence"]] for r in (row, same_row))
    assert depths == pytest.approx(same_depths, abs=0.05)


@pytest.fixture(scope="session")
def published(
    mirror: Path, named_counter: Callable[[str], TokenCounter]
) -> Callable[[str], CountedSources]:
    """Return a function that gives the published texts, counted by a named tokenizer."""
    return lambda name: CountedSources(Sources(Store(mirror)), named_counter(name))


def test_the_rows_have_the_frozen_bytes(embedded):
    assert digests(embedded) == GOLDEN


@pytest.mark.parametrize("name", NIAH)
def test_row_i_asks_the_same_noun_and_numbers_at_the_same_depths_in_every_language(embedded, name):
    english, chinese = (embedded.language(code).nouns for code in ("en", "zh"))
    for index in range(8):
        rows = [task_of(embedded, name, code).row(index).columns for code in ("en", "zh")]
        a, b = (needles(row) for row in rows)
        assert [(english.index(key), value) for key, value in a] == [
            (chinese.index(key), value) for key, value in b
        ]
        check_depths(*rows)


def test_a_longer_window_asks_the_same_at_the_same_depth(embedded):
    for index in range(4):
        short, long = (
            task_of(embedded, "niah_multikey", "zh", length).row(index).columns
            for length in ("8k", "32k")
        )
        assert (short["question"], short["outputs"]) == (long["question"], long["outputs"])
        assert needles(short) == needles(long)
        check_depths(short, long)


def test_the_ablation_differs_only_by_the_sentence_about_none(embedded):
    row = task_of(embedded, "niah_single", "en").row(3).columns
    bare = task_of(embedded, "niah_single_nonone", "en").row(3).columns
    if_no = embedded.language("en").parts["if_no"]
    sentence = if_no[: if_no.rindex("</")]
    end, bare_end = row["input"][row["context_end"] :], bare["input"][bare["context_end"] :]
    assert bare_end == end.replace(sentence, "")
    assert (bare["outputs"], bare["question"], bare["none_word"]) == (
        row["outputs"],
        row["question"],
        "",
    )


def test_across_languages_the_text_is_in_one_and_the_question_in_the_other(embedded):
    crossed = task_of(embedded, "niah_multikey", "en", instruction="zh").row(2).columns
    english, chinese = (
        task_of(embedded, "niah_multikey", code).row(2).columns for code in ("en", "zh")
    )
    assert needles(crossed) == needles(english)
    assert crossed["question"] == chinese["question"]
    assert crossed["none_word"] == chinese["none_word"]
    assert crossed["outputs"] == english["outputs"] == chinese["outputs"]
    assert (crossed["language"], crossed["instruction_language"]) == ("en", "zh")


def test_a_small_dictionary_runs_out_and_the_row_says_so(embedded):
    row = task_of(embedded, "cwe_easy", "zh", "32k").row(0)
    assert row.next_unit_tokens is None
    assert row.columns["length"] < 16_000
    assert task_of(embedded, "cwe_easy", "en", "32k").row(0).next_unit_tokens is not None


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["qwen2.5", "gemma3", "o200k_base"])
def test_a_row_is_exact_and_asks_the_same_under_any_tokenizer(published, name):
    counted_sources = published(name)
    usual = published("cl100k_base")
    for code in ("ja", "zh", "ko", "ta", "fa", "pl"):
        for task in ("niah_multikey", "cwe_hard"):
            row = task_of(counted_sources, task, code).row(1).columns
            assert (
                row["length"] == counted_sources.counter.count(row["input"]) + row["max_new_tokens"]
            )
            expected = task_of(usual, task, code).row(1).columns
            assert (row["question"], row["outputs"]) == (expected["question"], expected["outputs"])


@pytest.mark.nightly
def test_every_language_asks_the_same_nouns(published):
    counted_sources = published("cl100k_base")
    questions = set()
    for code in LANGUAGES:
        row = task_of(counted_sources, "niah_multivalue", code).row(5).columns
        nouns = counted_sources.language(code).nouns
        questions.add(str([(nouns.index(key), value) for key, value in needles(row)]))
        assert row["input"][row["context_start"] :].count(needles(row)[0][0]) >= 4
    assert len(questions) == 1


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        ("niah", "queries = 3\nkeys = 3", "queries must be 1 or 2"),
        ("niah", "queries = 2", "queries cannot be more than keys"),
        ("niah", "absent = 1", "absent must be bool"),
        ("niah", "absent = true\nkeys = 2\nqueries = 2", "one absent key"),
        ("niah", "absent = true\nnone_sentence = false", "none_sentence = true"),
        ("niah", "keys = 8\nvalues = 6", "cannot be more than 40"),
        ("niah", "keys = 9", "keys cannot be more than 8"),
        ("niah", 'same_as = "none_such"', "none_such"),
        ("words", "num_cw = 5", "num_cw must be 10"),
    ],
)
def test_invalid_parameters_are_refused(tmp_path, family, parameters, message):
    task = f'[tasks.mine]\nfamily = "multilingual_{family}"\n{parameters}\n'
    path = tmp_path / "suite.toml"
    path.write_text(f'dataset = "oneruler"\n{task}')
    with pytest.raises(RulerError, match=message):
        read_suite(path)


if __name__ == "__main__":
    texts = Sources(Store(None), parse_sources_option(["embedded"]))
    print(json.dumps(digests(CountedSources(texts, load_counter("tekken", Store(None)))), indent=4))
