"""One command at a time writes into a release's folder."""

from __future__ import annotations

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.release.folder import locked_folder
from ruler_common.errors import RulerError


def test_a_second_build_in_a_folder_is_refused_and_writes_nothing(tmp_path, cache):
    order = BuildOptions(root=tmp_path / "ruler", lengths=("4k",), samples=1, sources=("embedded",))
    refused = pytest.raises(RulerError, match=r"is running in '.*': wait until it ends")
    with locked_folder(order.root), refused:
        build(order)
    assert not order.root.exists()


def test_a_folder_is_free_again_after_an_error(tmp_path, cache):
    with pytest.raises(KeyError), locked_folder(tmp_path):
        raise KeyError
    with locked_folder(tmp_path):
        assert not list(tmp_path.glob(".lock*"))


def test_another_machine_on_the_same_disk_is_kept_out(tmp_path, cache, monkeypatch):
    root = tmp_path / "shared/ruler"
    with locked_folder(root):
        monkeypatch.setenv("RULER_CACHE", str(tmp_path / "another"))  # its own user's cache
        with pytest.raises(RulerError, match="is running in"), locked_folder(root):
            raise AssertionError
    assert not root.parent.exists()
    with locked_folder(root):
        assert [path.name for path in root.parent.iterdir()] == [".ruler.building"]


def test_a_lock_that_a_killed_build_left_holds_nobody_up(tmp_path, cache):
    (tmp_path / ".ruler.building").touch()
    with locked_folder(tmp_path / "ruler"):
        pass
    assert not (tmp_path / ".ruler.building").exists()


def test_two_names_of_a_folder_are_one(tmp_path, cache):
    (tmp_path / "link").symlink_to(tmp_path)
    with locked_folder(tmp_path), pytest.raises(RulerError), locked_folder(tmp_path / "link"):
        raise AssertionError
