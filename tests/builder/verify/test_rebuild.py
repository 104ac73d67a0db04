"""A release that is sound row by row, but drawn by somebody else, is named by making it anew."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ruler_builder.oneruler.language_pairs import Languages
from ruler_builder.proof.verify_report import VerifyReport
from ruler_builder.reading.breaches import Law
from ruler_builder.release.build import build
from ruler_builder.release.order import BuildOrder
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.verify.verify import verify
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from tests.builder.proof import planting
from tests.builder.proof.planting import Row, manifest_of
from tests.conftest import Silent
from tests.shares import share

TASKS = ("niah_multikey_1", "niah_multivalue", "cwe", "fwe", "vt", "qa_1")


def built(root: Path, **order: Any) -> Path:
    """A release from the project's own texts."""
    build(BuildOrder(root, **{"samples": 4, "sources": ("embedded",), **order}), Silent())
    return root


@pytest.fixture(scope="module")
def ruler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RULER, some tasks of 4 rows at 4k; not to be changed."""
    return built(tmp_path_factory.mktemp("ruler") / "r", lengths=("4k",), tasks=TASKS)


@pytest.fixture(scope="module")
def oneruler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ONERULER in Chinese, two tasks of 4 rows at 8k; not to be changed."""
    root = tmp_path_factory.mktemp("oneruler") / "o"
    tasks = ("niah_multivalue", "cwe_easy")
    return built(root, suite="oneruler", lengths=("8k",), tasks=tasks, languages=Languages(("zh",)))


def differences(report: VerifyReport, path: str) -> list[tuple[int, str]]:
    """Where the rows made anew differ, and how."""
    found = report.files[path].breaches
    return [(row, what) for row, law, what in found if law == Law.REBUILT]


# ---- sound releases ----------------------------------------------------------------------------


@pytest.mark.parametrize("workers", share(2, [1, 2]))
def test_a_built_release_is_made_anew_and_is_the_same(ruler: Path, workers: int) -> None:
    report = verify(ruler, workers=workers)
    assert report.proved
    assert sorted(report.rebuilt) == sorted(report.files)
    assert report.sentence == "Of these files 6 were made anew and are the same."


def test_oneruler_is_made_anew_too(oneruler: Path) -> None:
    """Every suite of RULER: tests/test_suites.py."""
    assert verify(oneruler).proved


@pytest.mark.nightly
def test_extended_and_crossed_releases_are_made_anew(tmp_path: Path) -> None:
    root = built(tmp_path / "extended", lengths=("2k",), tasks=("vt", "qa_1"), samples=2)
    built(root, lengths=("4k",), tasks=("niah_single_2",), samples=3)
    assert verify(root).proved
    suite = tmp_path / "suite.toml"
    suite.write_text(
        '[tasks.deep]\nfamily = "variable_tracking"\nhops = 6\n'
        '[groups]\nmine = ["deep"]\n[families.variable_tracking]\n'
        'question = "Question: Name all variables that hold {value}, please."\n'
    )
    own = built(tmp_path / "own", lengths=("2k",), suite=suite, samples=2)
    assert verify(own).proved
    crossed = built(
        tmp_path / "crossed",
        suite="oneruler",
        lengths=("8k",),
        tasks=("niah_none",),
        languages=Languages(("en-zh", "zh")),
        samples=2,
    )
    assert verify(crossed).proved


def test_what_cannot_be_built_is_tried_again(tmp_path: Path) -> None:
    asked = {"lengths": ("1k", "4k"), "tasks": ("vt", "niah_single_1")}
    root = built(tmp_path / "r", samples=2, reserve=400, skip_impossible=True, **asked)
    manifest = json.loads((root / MANIFEST).read_bytes())
    assert [*manifest["left_out"]] == ["vt_1k"]
    assert verify(root).proved
    planting.write_manifest(root, {**manifest, "left_out": {"vt_1k": "It is too hard."}})
    ((_, what),) = differences(verify(root), MANIFEST)
    assert what.startswith("left_out: vt_1k cannot be built for another reason: ")
    there = {**manifest["left_out"], "vt_2k": "It is too hard."}
    planting.write_manifest(root, {**manifest, "left_out": there})
    assert differences(verify(root), MANIFEST) == [(-1, "left_out: vt_2k can be built")]
    for name in ("vt", "niah_mk_1k", "nothing_1k"):  # no configuration, a group, no task
        planting.write_manifest(root, {**manifest, "left_out": {name: "It is too hard."}})
        ((_, what),) = differences(verify(root), MANIFEST)
        assert what.startswith("left_out: ")


def test_more_rows_than_the_corpus_has_are_no_traceback(tmp_path: Path) -> None:
    root = built(tmp_path / "r", lengths=("2k",), tasks=("qa_1",), samples=1000)
    path = "data/tekken/2k/qa_1.parquet"
    most = read_manifest(root)["files"][path]["rows"]

    def more(rows: list[Row]) -> None:
        rows.append({**rows[0], "index": most})

    planting.plant(root, path, more)
    ((row, what),) = [one for one in differences(verify(root), path) if "anew, " in one[1]]
    assert (row, what.partition(":")[0]) == (most, "made anew, there is no such row")


def test_parameters_that_no_row_can_have_are_no_traceback(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text('[tasks.deep]\nfamily = "variable_tracking"\nhops = 6\n')
    root = built(tmp_path / "r", lengths=("2k",), suite=suite, samples=2)
    manifest = manifest_of(root)
    manifest["tasks"]["deep"] |= {"hops": 100, "chains": 100}
    planting.write_manifest(root, manifest)
    path = "data/tekken/2k/deep.parquet"
    assert any(
        what.startswith("made anew, it cannot be") for _, what in differences(verify(root), path)
    )


# ---- planted faults ----------------------------------------------------------------------------


def exchanged(rows: list[Row], other: list[Row]) -> None:
    rows[1], rows[2] = {**rows[2], "index": 1}, {**rows[1], "index": 2}


def of_another_seed(rows: list[Row], other: list[Row]) -> None:
    rows[2] = other[2]


def references_in_another_order(rows: list[Row], other: list[Row]) -> None:
    rows[3]["outputs"].reverse()


def a_value_redrawn(rows: list[Row], other: list[Row]) -> None:
    value = rows[2]["outputs"][0]
    planting.swap_all(rows[2], value, f"{(int(value) + 1) % 10**7:07}")


def a_near_duplicate_distractor(rows: list[Row], other: list[Row]) -> None:
    """The key of a distractor is the asked one but for its last letter."""
    row = rows[1]
    keys = [planting.key_and_value(needle)[0] for needle in planting.needles(row)]
    asked = next(key for key in keys if key in row["question"])
    distractor = next(key for key in keys if key != asked)
    planting.swap_all(row, distractor, asked[:-1] + ("x" if asked[-1] != "x" else "y"))


def documents_reversed(rows: list[Row], other: list[Row]) -> None:
    row = rows[0]
    texts = re.split(r"(?:^|\n\n)Document \d+:\n", planting_context(row))[1:]
    texts.reverse()
    joined = "\n\n".join(f"Document {n}:\n{text}" for n, text in enumerate(texts, 1))
    gold = [row["input"][span["start"] : span["end"]] for span in row["evidence"]]
    planting.edit(row, row["context_start"], row["context_end"], joined)
    for span, text in zip(row["evidence"], gold, strict=True):
        span["start"] = row["input"].index(text)
        span["end"] = span["start"] + len(text)


def planting_context(row: Row) -> str:
    text: str = row["input"][row["context_start"] : row["context_end"]]
    return text


def a_sorted_list(rows: list[Row], other: list[Row]) -> None:
    for row in rows:
        words = sorted(re.findall(r"\d+\. (\S+)", planting_context(row)))
        text = " ".join(f"{n}. {word}" for n, word in enumerate(words, 1))
        planting.edit(row, row["context_start"], row["context_end"], text)


def a_needle_moved(rows: list[Row], other: list[Row]) -> None:
    """Two needles of a row have changed places."""
    row = rows[0]
    first, second = sorted(row["evidence"], key=lambda span: span["start"])[:2]
    texts = [row["input"][span["start"] : span["end"]] for span in (first, second)]
    planting.edit(row, second["start"], second["end"], texts[0])
    planting.edit(row, first["start"], first["end"], texts[1])
    for span in row["evidence"]:
        text = row["input"][span["start"] : span["end"]]
        span["answer"] = any(value in text for value in row["outputs"])


FAULTS: dict[str, tuple[str, Callable[[list[Row], list[Row]], None], int]] = {
    "exchanged rows": ("vt", exchanged, 1),
    "another seed's row": ("fwe", of_another_seed, 2),
    "references of cwe in another order": ("cwe", references_in_another_order, 3),
    "references of multivalue in another order": (
        "niah_multivalue",
        references_in_another_order,
        3,
    ),
    "a redrawn value": ("niah_multikey_1", a_value_redrawn, 2),
    "a near-duplicate distractor": ("niah_multikey_1", a_near_duplicate_distractor, 1),
    "documents reversed": ("qa_1", documents_reversed, 0),
    "a sorted list": ("cwe", a_sorted_list, 0),
    "a moved needle": ("niah_multikey_1", a_needle_moved, 0),
}


@pytest.fixture(scope="module")
def another_seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("seed") / "r"
    return built(root, lengths=("4k",), tasks=TASKS, seed=7)


def planted(
    root: Path,
    to: Path,
    path: str,
    fault: Callable[[list[Row], list[Row]], None],
    other: list[Row],
    tekken: TokenCounter,
) -> VerifyReport:
    """Verify a copy of a release with a fault, everything else made to follow."""
    copy = Path(shutil.copytree(root, to / "copy"))

    def change(rows: list[Row]) -> None:
        fault(rows, other)
        for row in rows:
            planting.follow(row, tekken)

    planting.plant(copy, path, change)
    return verify(copy)


@pytest.mark.parametrize("name", FAULTS)
def test_rows_that_another_drew_are_named(
    name: str, ruler: Path, another_seed: Path, tmp_path: Path, tekken: TokenCounter
) -> None:
    task, fault, first = FAULTS[name]
    path = f"data/tekken/4k/{task}.parquet"
    other = pq.read_table(another_seed / path).to_pylist()
    report = planted(ruler, tmp_path, path, fault, other, tekken)
    found = [(row, what) for row, what in differences(report, path) if what.startswith("made anew")]
    assert [row for row, _ in found] == [first]
    assert not report.ok


@pytest.mark.parametrize("task", ["niah_multivalue", "cwe_easy"])
def test_references_of_oneruler_keep_their_order(
    task: str, oneruler: Path, tmp_path: Path, tekken: TokenCounter
) -> None:
    path = f"data/tekken/8k/zh/{task}.parquet"
    report = planted(oneruler, tmp_path, path, references_in_another_order, [], tekken)
    ((row, what), *_) = differences(report, path)
    assert row == 3
    assert what.startswith("made anew, outputs is [")


def test_a_whole_release_of_another_seed_is_named(
    ruler: Path, another_seed: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(another_seed, tmp_path / "copy"))
    manifest = json.loads((root / MANIFEST).read_bytes())
    planting.write_manifest(root, {**manifest, "seed": 0})
    report = verify(root)
    for path in manifest["files"]:
        ((row, what), *_) = differences(report, path)
        assert row == 0
        assert re.search(r"made anew, \w+ (differs from character|is) ", what)
    assert verify(another_seed).proved
