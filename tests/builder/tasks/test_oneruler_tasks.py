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

from ruler_builder.release.folder import digest_row
from ruler_builder.tasks.base import Task, TaskKey
from ruler_builder.tasks.registry import read_suite
from ruler_builder.text.sources import Sources, Store, parse_sources_option
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.tokens.tokenizers import load_counter
from ruler_builder.window.haystacks import CountedSources
from ruler_common.errors import RulerError
from ruler_common.names import GROUPS, LANGUAGES, TASKS, parse_length
from ruler_common.rows import Row

ONERULER = GROUPS["oneruler"]["all"]
NIAH, CWE = GROUPS["oneruler"]["niah"], GROUPS["oneruler"]["cwe"]
GOLDEN = {
    "niah_single en": "b7e4b5d7fbcc954154c705a45d83734593c06e88c2c9974d1040a946ab69a734",
    "niah_multikey en": "9c2309a70e30618a07038c7b359a5eef21a460bcfb111a017565b3ca33e97bb2",
    "niah_multivalue en": "52ca0300077923c9747454fab6a0141aabd384d99cee81b80216286c478272ce",
    "niah_multiquery en": "1c51d7a63763b88f80a39687d40f2bc792e2a87993735d97bc8c39615cb75b93",
    "niah_none en": "b572cd20b99cdbc98c0e55a5825514f5718758116c5cc6e18299009aec0b0c22",
    "cwe_easy en": "bc61c16d378ada4f12fc8c0bc78d244d5418198c70b3633e734565891b5377fe",
    "cwe_hard en": "976109fc9f8761cf389035e6a6b1435e2a707e98e86bcf5d2192a32db2e9ce2c",
    "niah_single_nonone en": "24e5fa243a810d655e71772ffcb0e5b7e812cb9920acafc77baa49eeaea89a06",
    "niah_single zh": "e29f378fd4af6964f32e1d7e08d567531bdfd16e392278fd49e8649268c85a7d",
    "niah_multikey zh": "daf02eb92d4e9035d4cbee5a268f6b5ae8bbd943d1c4c6a146631bb9da30c2fd",
    "niah_multivalue zh": "f50970f840ade066120342f9161cfe54faea9f218ed57a3d446e33cc142715d5",
    "niah_multiquery zh": "9e23fb77eb62c201aaa3d0b7d882242f16c2711f5b80487e6d3b42394c7c0804",
    "niah_none zh": "d48f50e37135321772d392a2b0d7bb8132d7a0792b91ce6cc7f7aceef6e64083",
    "cwe_easy zh": "09f001213f9c1fc8553820d9efcdec48e6683c011380c5044e01b801e07e90dc",
    "cwe_hard zh": "a3465d4b28cf43bc76dc6ef86764cae5472d1c0673140edfae4cc2e3b3d4eeca",
    "niah_single_nonone zh": "94311dad73a4694cf365750d69717a187634c801b4c2f5dbfd4897bbf1c1fbd5",
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
