"""What stands behind a needle of ONERULER, planted there, is named by what reads it back."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ruler_builder.families.multilingual_niah.proof import parts_speech
from ruler_builder.oneruler.languages import sentences
from ruler_builder.reading.breaches import FileRules
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.sources.chosen_sources import Sources
from ruler_builder.sources.download import Store
from ruler_builder.tokens.counters import TokenCounter
from ruler_common.languages import facts
from tests.builder.proof.planting import read, wording_of

FOLDER = "data/tekken/8k/en"
Row = dict[str, Any]


def rules_of(root: Path, name: str, counter: TokenCounter) -> FileRules:
    return wording_of(root, f"{FOLDER}/{name}.parquet", counter)


def row_of(root: Path, name: str) -> Row:
    return dict(pq.read_table(root / FOLDER / f"{name}.parquet").to_pylist()[1])


def found_in(row: Row, rules: FileRules) -> list[str]:
    return [breach.what for breach in read(row, rules).faults]


@pytest.fixture(scope="module")
def rules(oneruler: Path, tekken: TokenCounter) -> FileRules:
    return rules_of(oneruler, "niah_multivalue", tekken)


@pytest.fixture
def row(oneruler: Path) -> Row:
    return row_of(oneruler, "niah_multivalue")


def behind_the_needle(row: Row, text: str) -> Row:
    """The row with another beginning of the sentence behind its second needle."""
    start = row["evidence"][1]["end"] + 1
    found = row["input"][:start] + text + row["input"][start + len(text) :]
    return row | {"input": found}


def inside(row: Row, rules: FileRules) -> list[str]:
    return [what for what in found_in(row, rules) if "inside a sentence" in what]


def test_the_needles_of_a_good_row_stand_between_sentences(row: Row, rules: FileRules) -> None:
    assert found_in(row, rules) == []


@pytest.mark.parametrize(
    "after",
    ["– said he. ", "-dijo don ", ") And so ", '" He went ', "» Il partit ", "122. And so "],
)
def test_a_needle_inside_a_sentence_is_found(row: Row, rules: FileRules, after: str) -> None:
    place = row["evidence"][1]["start"]
    assert inside(behind_the_needle(row, after), rules) == [
        f"the needle at {place} stands inside a sentence"
    ]


@pytest.mark.parametrize("after", ["– Said he. ", "“Well, ", "(And so ", "1812 was ", "'s Avonds "])
def test_a_sentence_may_begin_with_a_sign_or_a_number(
    row: Row, rules: FileRules, after: str
) -> None:
    assert inside(behind_the_needle(row, after), rules) == []


def test_a_book_may_begin_with_a_number_behind_the_first_needle(row: Row, rules: FileRules) -> None:
    text, start = row["input"], row["context_start"]
    needle = row["evidence"][0]
    shown = text[needle["start"] : needle["end"]]
    rest = text[start : needle["start"]] + text[needle["end"] + 1 :]
    moved = row | {
        "input": f"{text[:start]}{shown} 122. {rest}",
        "evidence": [{**needle, "start": start, "end": start + len(shown)}],
    }
    assert inside(moved, rules) == []


@pytest.mark.parametrize("zero", ["\uff10", "\U0001d7ce", "0"])
def test_a_value_in_the_book_is_found_in_digits_of_any_width(
    row: Row, rules: FileRules, zero: str
) -> None:
    value = "".join(chr(ord(zero) + int(digit)) for digit in row["outputs"][0])
    found = found_in(behind_the_needle(row, f"In {value} days "), rules)
    assert f"value '{row['outputs'][0]}' stands elsewhere in the context too" in found


@pytest.mark.parametrize("name", ["niah_single", "niah_single_nonone"])
def test_a_none_word_that_is_part_of_a_key_does_not_ask_for_it(
    oneruler: Path, tekken: TokenCounter, name: str
) -> None:
    """Russian нет is part of планета: the sentence that asks for it is looked for, whole."""
    rules, row = rules_of(oneruler, name, tekken), row_of(oneruler, name)
    english = rules.languages["en"]
    key = next(noun for noun in english["nouns"] if noun in row["question"])
    assert english["none_word"] not in row["question"]
    sentence = english["parts"]["if_no"].replace(english["none_word"], key[:3])
    changed = {**english, "none_word": key[:3], "parts": {**english["parts"], "if_no": sentence}}
    end = row["context_end"]
    tail = row["input"][end:].replace(english["parts"]["if_no"], sentence)
    row |= {"input": row["input"][:end] + tail, "none_word": key[:3] if row["none_word"] else ""}
    assert found_in(row, replace(rules, languages={"en": changed})) == []


@pytest.mark.parametrize(
    ("before", "after", "code", "paragraph", "parts"),
    [
        ('" 가자. "', "하고 갔다.", "ko", None, True),
        ('" 가자. "', "비가 왔다.", "ko", True, True),
        ("비가 왔다.", "하늘이 맑다.", "ko", None, False),
        ("“வா!”", "என்றார்.", "ta", True, True),
        ("வா!", "என்றார் ஒருவர்.", "ta", None, True),
        ("“வா!”", "அவன் வந்தான்.", "ta", False, True),
        ("“வா!”", "அவன் வந்தான்.", "ta", True, False),
        ("‘चलो।’", "कह कर वह गई।", "hi", False, True),
        ("‘चलो।’", "वह गई।", "hi", True, False),
        ("»Komm!«", "Sie kam.", "de", False, False),
        ("", "하고 갔다.", "ko", None, False),
    ],
)
def test_a_needle_that_parts_speech_from_its_verb_is_known(
    before: str, after: str, code: str, paragraph: bool | None, parts: bool
) -> None:
    assert parts_speech(before, after, facts(code).sentences, paragraph) == parts


@pytest.mark.parametrize("code", ["fa", "hi", "ko", "ta"])
def test_no_border_of_a_published_book_parts_speech_from_its_verb(mirror: Path, code: str) -> None:
    """The books' first 100,000 characters, more than a window of 32k holds."""
    sources = Sources(Store(mirror))
    book, at = SourcesAtHand({"sources": {}}, str(mirror)).book(code, 100_000), 0  # type: ignore[typeddict-item]
    assert book
    for before, after in pairwise(islice(sentences(code, sources), len(book.units))):
        at += len(before) + 1
        assert not parts_speech(before, after, facts(code).sentences, book.begins_paragraph(at))
