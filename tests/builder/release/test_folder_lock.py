"""One command at a time writes into a release's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_builder.release.build import build
from ruler_builder.release.folder_lock import alone_in
from ruler_builder.release.plan import BuildOrder
from ruler_common.errors import RulerError
from tests.conftest import Silent


def test_a_second_build_in_a_folder_is_refused_and_writes_nothing(
    tmp_path: Path, cache: Path
) -> None:
    order = BuildOrder(root=tmp_path / "ruler", lengths=("4k",), samples=1, sources=("embedded",))
    refused = pytest.raises(RulerError, match=r"is running in '.*': wait until it has ended")
    with alone_in(order.root), refused:
        build(order, Silent())
    assert not order.root.exists()


def test_a_folder_is_free_again_after_an_error(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(KeyError), alone_in(tmp_path):
        raise KeyError
    with alone_in(tmp_path):
        assert not list(tmp_path.glob(".lock*"))


def test_another_machine_on_the_same_disk_is_kept_out(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "shared/ruler"
    with alone_in(root):
        monkeypatch.setenv("RULER_CACHE", str(tmp_path / "another"))  # its own user's cache
        with pytest.raises(RulerError, match="is running in"), alone_in(root):
            raise AssertionError
    assert not root.parent.exists()
    with alone_in(root):
        assert [path.name for path in root.parent.iterdir()] == [".ruler.building"]


def test_a_lock_that_a_killed_build_left_holds_nobody_up(tmp_path: Path, cache: Path) -> None:
    (tmp_path / ".ruler.building").touch()
    with alone_in(tmp_path / "ruler"):
        pass
    assert not (tmp_path / ".ruler.building").exists()


def test_two_names_of_a_folder_are_one(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with alone_in(tmp_path), pytest.raises(RulerError), alone_in(tmp_path / "link"):
        raise AssertionError
