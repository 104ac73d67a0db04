"""Breaches in single rows of ONERULER, planted behind a needle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from builder.checks.breaches import FileRules
from builder.checks.laws import breaches
from ruler_dataset import read_manifest

FILE = "data/tekken/8k/en/niah_multivalue.parquet"


@pytest.fixture(scope="module")
def rules(oneruler: Path) -> FileRules:
    manifest = read_manifest(oneruler)
    task = manifest["tasks"]["niah_multivalue"]
    return FileRules(
        entry=manifest["files"][FILE],
        task=task,
        wording=manifest["families"][task["family"]],
        reserve=manifest["reserve"],
        languages=manifest["languages"],
    )


@pytest.fixture
def row(oneruler: Path) -> dict[str, Any]:
    return dict(pq.read_table(oneruler / FILE).to_pylist()[1])


def behind_the_needle(row: dict[str, Any], text: str) -> dict[str, Any]:
    """The row with another beginning of the sentence behind its second needle."""
    start = row["evidence"][1]["end"] + 1
    found = row["input"][:start] + text + row["input"][start + len(text) :]
    return row | {"input": found}


def inside(row: dict[str, Any], rules: FileRules) -> list[str]:
    found = breaches(row, row["length"] - row["max_new_tokens"], rules)
    return [breach.what for breach in found if "inside a sentence" in breach.what]


def test_the_needles_of_a_good_row_stand_between_sentences(
    row: dict[str, Any], rules: FileRules
) -> None:
    assert list(breaches(row, row["length"] - row["max_new_tokens"], rules)) == []


@pytest.mark.parametrize(
    "after",
    ["– said he. ", "-dijo don ", ") And so ", '" He went ', "» Il partit ", "122. And so "],
)
def test_a_needle_inside_a_sentence_is_found(
    row: dict[str, Any], rules: FileRules, after: str
) -> None:
    place = row["evidence"][1]["start"]
    assert inside(behind_the_needle(row, after), rules) == [
        f"the needle at {place} stands inside a sentence"
    ]


@pytest.mark.parametrize("after", ["– Said he. ", "“Well, ", "(And so ", "1812 was ", "'s Avonds "])
def test_a_sentence_may_begin_with_a_sign_or_a_number(
    row: dict[str, Any], rules: FileRules, after: str
) -> None:
    assert inside(behind_the_needle(row, after), rules) == []


def test_a_book_may_begin_with_a_number_behind_the_first_needle(
    row: dict[str, Any], rules: FileRules
) -> None:
    text, start = row["input"], row["context_start"]
    needle = row["evidence"][0]
    shown = text[needle["start"] : needle["end"]]
    rest = text[start : needle["start"]] + text[needle["end"] + 1 :]
    moved = row | {
        "input": f"{text[:start]}{shown} 122. {rest}",
        "evidence": [{**needle, "start": start, "end": start + len(shown)}],
    }
    assert inside(moved, rules) == []
