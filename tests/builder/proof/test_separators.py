"""What stands between two needles, before the first and after the last is held to the character.

The needles of a sound row are moved: all beside each other, at the beginning of the context or at
its end. That is a sound row still; then one separator is left out, doubled, another or too many.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ruler_builder.reading.breaches import FileRules
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.tokens.counters import TokenCounter
from ruler_common.manifest import read_manifest
from tests.builder.proof.planting import (
    Row,
    edit,
    needles,
    read,
    rows_of,
    wording_of,
)
from tests.shares import ALL, share

ROW = 1
OTHERS = ("\n", " ", "\t", "\u00a0", "x")
"""What may stand where the separator should."""
IN_TEXT = (
    "niah_single_2",
    "niah_single_3",
    "niah_multikey_1",
    "niah_multivalue",
    "niah_multiquery",
)
FILES = [
    *(("release", f"4k/{task}", " ") for task in IN_TEXT),
    *(("release", f"4k/{task}", "\n") for task in ("niah_single_1", "niah_multikey_2", "vt")),
    ("ruler_complexity", "4k/vt_chains_4", "\n"),
    ("ruler_2024", "4k/vt", " "),
    ("optional", "4k/vt_in_essays", " "),
    ("oneruler", "8k/en/niah_single", " "),
    ("oneruler", "8k/en/niah_multivalue", " "),
    ("oneruler", "8k/zh/niah_multikey", ""),
    ("oneruler", "8k/zh/niah_multivalue", ""),
    ("oneruler", "8k/en-zh/niah_multiquery", " "),
    ("oneruler", "8k/zh-en/niah_none", ""),
]
"""Releases, files in them, and what joins their texts and needles."""


@pytest.mark.parametrize("at_hand", [True, False], ids=["with the source", "without it"])
@pytest.mark.parametrize(("name", "file", "separator"), FILES, ids=lambda value: repr(value))
def test_every_separator_around_needles_is_accounted_for(
    name: str,
    file: str,
    separator: str,
    at_hand: bool,
    root_of: Callable[[str], Path],
    tekken: TokenCounter,
    cache: Path,
) -> None:
    root, path = root_of(name), f"data/tekken/{file}.parquet"
    rules = wording_of(root, path, tekken, None if at_hand else _nowhere(root))
    assert _missed(rows_of(root, path)[ROW], separator, rules) == []


def test_two_needles_in_noise_are_joined_by_one_line_feed(
    release: Path, tekken: TokenCounter
) -> None:
    path = "data/tekken/4k/niah_single_1.parquet"
    rules = wording_of(release, path, tekken)
    row, (other,) = copy.deepcopy(rows_of(release, path)[ROW]), needles(rows_of(release, path)[0])
    one = row["evidence"][0]
    edit(row, one["end"] + 1, one["end"] + 1, f"{other}\n")
    start = one["end"] + 1
    row["evidence"].append({"start": start, "end": start + len(other), "depth": 0, "answer": False})
    two_keys = replace(rules, task={**rules.task, "keys": 2})
    assert read(row, two_keys).faults == []
    assert _missed(row, "\n", two_keys) == []


def _missed(row: Row, separator: str, rules: FileRules) -> list[str]:
    """The faults around the needles of a row that nothing names; there are several."""
    missed, tried = [], 0
    for moved in _arranged(row, separator, rules):
        for what, fault in share(3, _faults(moved, separator)):  # of seven or eight in a place
            tried += 1
            changed = copy.deepcopy(moved)
            fault(changed)
            if not read(changed, rules).faults:
                missed.append(what)
    assert tried > (8 if ALL else 2)
    return missed


@pytest.fixture(scope="module")
def root_of(
    release: Path, oneruler: Path, suite_release: Callable[[str], Path]
) -> Callable[[str], Path]:
    """A release by its name."""
    known = {"release": release, "oneruler": oneruler}
    return lambda name: known.get(name) or suite_release(name)


def _nowhere(root: Path) -> SourcesAtHand:
    """The sources of a release on a machine that has none of them."""
    manifest = copy.deepcopy(read_manifest(root))
    for name, entry in manifest["sources"].items():
        manifest["sources"][name] = {**entry, "variant": "canonical"}
    return SourcesAtHand(manifest, None)


def _arranged(row: Row, separator: str, rules: FileRules) -> Iterator[Row]:
    """The row with its needles at the beginning of the context and at its end, where sound."""
    spans = sorted(row["evidence"], key=lambda span: span["start"])
    chained = rules.task["family"] == "variable_tracking" and rules.task["haystack"] == "noise"
    moving = spans[:1] if chained else spans  # whose other links need noise between them
    for at_end in (False, True):
        moved = _moved(row, moving, separator, at_end)
        if not read(moved, rules).faults:
            yield moved


def _moved(row: Row, moving: list[Row], separator: str, at_end: bool) -> Row:
    """The row with some of its needles at an end of the context, one beside the other."""
    start, end = row["context_start"], row["context_end"]
    moved, rest, at = copy.deepcopy(row), [], start
    for span in moving:
        rest.append(row["input"][at : span["start"]])
        at = span["end"]
    rest.append(row["input"][at:end])
    text = separator.join(part.strip(separator) for part in rest if part.strip(separator))
    needles = [row["input"][span["start"] : span["end"]] for span in moving]
    others = [span for span in row["evidence"] if span not in moving]
    context = separator.join([text, *needles] if at_end else [*needles, text])
    moved["input"] = row["input"][:start] + context + row["input"][end:]
    moved["context_end"] = start + len(context)
    moved["evidence"] = []
    for span in [*moving, *others]:
        place = moved["input"].index(row["input"][span["start"] : span["end"]], start)
        width = span["end"] - span["start"]
        moved["evidence"].append({**span, "start": place, "end": place + width})
    moved["evidence"].sort(key=lambda span: span["start"])
    return moved


Fault = Callable[[Row], object]


def _faults(row: Row, separator: str) -> Iterator[tuple[str, Fault]]:
    """Faults at each border of the first and the last two needles."""
    start, end, width = row["context_start"], row["context_end"], len(separator)
    places: dict[str, tuple[int, int]] = {}
    for number, span in enumerate(row["evidence"]):
        if span["start"] == start:
            places["before the first"] = start, start
        else:
            places[f"before {number}"] = span["start"] - width, span["start"]
        if span["end"] == end:
            places["after the last"] = end, end
        else:
            places[f"after {number}"] = span["end"], span["end"] + width
    for where, (begin, stop) in places.items():
        there = row["input"][begin:stop]
        for new in {"", there * 2, separator, *OTHERS} - {there}:
            yield f"{new!r} for {there!r} {where} ({begin - start})", _replaced(begin, stop, new)


def _replaced(begin: int, stop: int, new: str) -> Fault:
    def fault(row: Row) -> None:
        start = row["context_start"]
        edit(row, begin, stop, new)
        row["context_start"] = start

    return fault
