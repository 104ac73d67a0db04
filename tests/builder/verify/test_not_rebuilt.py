"""What is proved by the lock, and what is said where a file cannot be made anew here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ruler_builder.release.build import build
from ruler_builder.release.order import BuildOrder
from ruler_builder.verify.verify import verify
from tests import in_process
from tests.builder.proof import planting
from tests.builder.proof.planting import manifest_of
from tests.builder.verify.test_rebuild import built, differences
from tests.conftest import Silent
from tests.shares import share

VT = "data/tekken/4k/vt.parquet"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The frozen rows of vt at 4k, which read no source; not to be changed."""
    root = tmp_path_factory.mktemp("frozen") / "r"
    build(BuildOrder(root, lengths=("4k",), tasks=("vt",)), Silent())
    return root


@pytest.fixture
def copy(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(frozen, tmp_path / "copy"))


def test_rows_in_the_lock_are_proved_by_it(frozen: Path) -> None:
    report = verify(frozen)
    assert (report.proved, report.frozen, report.rebuilt) == (True, [VT], [])
    assert report.sentence == "Of these files 1 holds frozen rows."


@pytest.mark.parametrize(
    ("key", "value", "what"),
    share(
        2,
        [
            ("seed", 7, "made anew, input differs from character "),
            ("reserve", 100, "made anew, input differs from character "),
        ],
    ),
)
def test_what_takes_rows_out_of_the_lock_sends_them_to_the_rebuild(
    copy: Path, key: str, value: int, what: str
) -> None:
    planting.write_manifest(copy, {**manifest_of(copy), key: value})
    report = verify(copy)
    assert (report.frozen, report.ok) == ([], False)
    assert differences(report, VT)[0][1].startswith(what)


def test_fewer_rows_than_the_lock_has_are_made_anew(tmp_path: Path) -> None:
    root = built(tmp_path / "r", lengths=("4k",), tasks=("vt",))
    report = verify(root)
    assert (report.proved, report.frozen, report.rebuilt) == (True, [], [VT])


def test_rows_of_another_data_version_cannot_be_made_here(copy: Path) -> None:
    planting.write_manifest(copy, {**manifest_of(copy), "data_version": "0.9.0"})
    report = verify(copy)
    ((why, paths),) = report.not_rebuilt.items()
    assert why.startswith("rows of data version 0.9.0, this builder makes 1.0.0: install ")
    assert (paths, report.ok, report.proved) == ([VT], True, False)


@pytest.fixture
def without_sources(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release made of SQuAD, which is neither in a mirror nor in the cache any more."""
    order = BuildOrder(tmp_path / "r", lengths=("4k",), tasks=("qa_1", "vt"), samples=3)
    build(order, Silent())
    monkeypatch.delenv("RULER_MIRROR")
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "empty"))
    return tmp_path / "r"


@pytest.mark.mirror
def test_what_a_missing_source_leaves_unproved_is_said_first(without_sources: Path) -> None:
    done = in_process.ruler("verify", without_sources)
    first = "Not rebuilt: 1 file, made of squad, not here: ruler sources fetch squad"
    assert " ".join(done.stderr.split()).startswith(first)
    said = " ".join(done.stdout.split())
    assert "1 was made anew and is the same, 1 was not made anew." in said
    assert done.code == 3
    assert in_process.ruler("verify", without_sources, "--laws-only").code == 0
    found = json.loads(in_process.ruler("verify", without_sources, "--json").stdout)
    assert (found["ok"], found["proved"]) == (True, False)


def test_the_laws_alone_are_proved_on_demand(copy: Path) -> None:
    planting.write_manifest(copy, {**manifest_of(copy), "seed": 7})
    done = in_process.ruler("verify", copy, "--laws-only")
    assert "Not rebuilt: 1 file, the laws alone were asked for" in " ".join(done.stderr.split())
    assert done.code == 0


@pytest.mark.mirror
def test_without_its_tokenizer_a_file_is_read_but_not_counted(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = ("vt", "cwe", "niah_single_2", "niah_multikey_3", "qa_1")
    asked = {"lengths": ("4k",), "tasks": tasks, "tokenizers": ("cl100k_base",)}
    root = built(tmp_path / "r", **asked)
    monkeypatch.delenv("RULER_MIRROR")
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "empty"))
    for flags in ((), ("--laws-only",)):
        done = in_process.ruler("verify", root, *flags)
        said = " ".join(done.stderr.split())
        assert "5 files, of cl100k_base, its file is not here: ruler sources fetch" in said
        assert "Not counted: tokens of cl100k_base, so exact length, full window" in said
        assert "All other laws hold: 5 files" in done.stdout
        assert done.code == 3
    planting.plant(root, "data/cl100k_base/4k/vt.parquet", lambda rows: rows.reverse())
    assert in_process.ruler("verify", root).code == 1
    place = in_process.ruler("sources", "fetch", "cl100k_base", "--mirror", mirror).stdout
    assert place.strip().endswith("cl100k_base.tiktoken")
