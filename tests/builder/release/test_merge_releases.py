"""Shards of a build, made apart and merged, are the bytes of one build."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ruler_builder.common.build_folder import read_shard
from ruler_builder.release.build import build
from ruler_builder.release.merge_releases import merge_releases
from ruler_builder.release.order import BuildOrder
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.work import Shard
from tests.conftest import Silent

ORDER = BuildOrder(
    Path(), lengths=("1k", "4k"), tasks=("niah_s", "vt"), samples=3, sources=("embedded",)
)


def files(root: Path) -> dict[str, str]:
    """The digest of every file of a release, by path, but for the notes of a build."""
    paths = (path for path in root.rglob("*") if path.is_file() and ".build" not in path.parts)
    return {path.relative_to(root).as_posix(): sha256_of(path) for path in paths}


@pytest.fixture(scope="module")
def order() -> BuildOrder:
    """Four files at 4k, three at 1k: vt needs more there, and is left out."""
    return replace(ORDER, reserve=400, skip_impossible=True)


@pytest.fixture(scope="module")
def whole(order: BuildOrder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("whole") / "ruler"
    build(replace(order, root=root), Silent())
    return root


@pytest.fixture(scope="module")
def parts(order: BuildOrder, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Eight shards: the last of them has the file alone that cannot be built."""
    folder = tmp_path_factory.mktemp("parts")
    for number in range(1, 9):
        build(replace(order, root=folder / str(number), shard=Shard(number, 8)), Silent())
    return [folder / str(number) for number in range(1, 9)]


def test_merged_shards_are_the_bytes_of_one_build(
    whole: Path, parts: list[Path], tmp_path: Path
) -> None:
    assert "vt_1k" in read_manifest(whole)["left_out"]
    report = Silent()
    built = merge_releases(tmp_path / "all", parts[::-1], report)
    assert files(tmp_path / "all") == files(whole)
    assert not (tmp_path / "all" / ".build").exists()
    assert (len(built.new), report.plan, report.made) == (7, (7, 21, 0), 21)
    assert verify(tmp_path / "all").ok
    assert merge_releases(tmp_path / "all", parts, Silent()).new == []
    assert files(tmp_path / "all") == files(whole)


def test_each_file_is_one_shards_and_the_longest_are_dealt_first(parts: list[Path]) -> None:
    held = [sorted(read_manifest(part)["files"]) for part in parts]
    assert [len(paths) for paths in held] == [1, 1, 1, 1, 1, 1, 1, 0]
    assert all("/4k/" in path for paths in held[:4] for path in paths)


def test_a_shard_alone_is_a_release_that_verifies(parts: list[Path]) -> None:
    assert verify(parts[0]).ok


def test_a_missing_shard_is_named_and_nothing_is_written(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(RulerError, match=r"2 files are in none.* shards 2/8, 6/8"):
        merge_releases(
            tmp_path / "all", [part for part in parts if part.name not in "26"], Silent()
        )
    assert not (tmp_path / "all").exists()


def test_a_damaged_file_is_not_merged(parts: list[Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(parts[0], tmp_path / "1"))
    (path,) = copy.rglob("*.parquet")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RulerError, match=r"is damaged\. Run: ruler verify"):
        merge_releases(tmp_path / "all", [copy, *parts[1:]], Silent())
    assert not (tmp_path / "all" / MANIFEST).exists()
    merge_releases(tmp_path / "all", parts, Silent())  # it goes on
    assert verify(tmp_path / "all").ok


def test_parts_of_another_seed_are_refused(
    order: BuildOrder, parts: list[Path], tmp_path: Path
) -> None:
    other = replace(order, root=tmp_path / "other", seed=1, lengths=("1k",), tasks=("niah_s",))
    build(other, Silent())
    with pytest.raises(RulerError, match="another seed: 0, not 1"):
        merge_releases(tmp_path / "all", [*parts, tmp_path / "other"], Silent())


def test_a_folder_is_one_shards(order: BuildOrder, parts: list[Path]) -> None:
    with pytest.raises(RulerError, match="is the folder of shard 1/8"):
        build(replace(order, root=parts[0], shard=Shard(2, 8)), Silent())
    found = read_shard(parts[0])
    assert found
    assert found["shard"] == "1/8"


def test_more_shards_than_files_leave_the_last_without_work(
    order: BuildOrder, tmp_path: Path
) -> None:
    report = Silent()
    assert build(replace(order, root=tmp_path / "9", shard=Shard(9, 9)), report).new == []
    assert report.notes == ["Shard 9/9 has no file: there are 8 in all."]
    assert not (tmp_path / "9").exists()
