"""What stands in a release's folder and is no plain, listed file is named, and nothing hangs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError
from tests.builder.proof import planting

FOLDER = "data/tekken/4k"
PATH, OTHER = f"{FOLDER}/fwe.parquet", f"{FOLDER}/cwe.parquet"


@pytest.fixture
def root(release: Path, tmp_path: Path) -> Path:
    """A release of two files, which may be changed."""
    root = Path(shutil.copytree(release, tmp_path / "ruler"))
    planting.keep(root, PATH, OTHER)
    return root


def named(root: Path) -> dict[str, list[str]]:
    """The breaches of each file that has any."""
    files = verify(root).files.items()
    return {name: [b.what for b in file.breaches] for name, file in files if file.count}


def linked(path: Path) -> None:
    """A link to the very file, elsewhere."""
    shutil.move(path, path.parents[4] / "moved")
    path.symlink_to(path.parents[4] / "moved")


def piped(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def linked_to_a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def linked_to_a_pipe(path: Path) -> None:
    pipe = path.parents[4] / "pipe"
    piped(pipe)
    path.unlink()
    path.symlink_to(pipe)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


KINDS: dict[Callable[[Path], None], str] = {
    linked: "a link",
    piped: "a pipe or a device",
    linked_to_a_device: "a link",
    linked_to_a_pipe: "a link",
    a_folder: "a folder",
}


@pytest.mark.parametrize("change", KINDS)
def test_a_listed_file_that_is_no_plain_file_is_not_opened(
    root: Path, change: Callable[[Path], None]
) -> None:
    change(root / PATH)
    change(root / OTHER)  # the card shows a row of it
    right = [f"it is {KINDS[change]}: put the file itself there"]
    assert named(root) == {PATH: right, OTHER: right}


def test_a_folder_on_the_way_that_is_a_link_is_named(root: Path) -> None:
    (root / "data/tekken").rename(root.parent / "elsewhere")
    (root / "data/tekken").symlink_to(root.parent / "elsewhere")
    found = named(root)
    assert found.pop("data/tekken") == ["a link is not in the manifest"]
    assert found.keys() == {PATH, OTHER}
    (root / "data/tekken").unlink()
    (root / "data").rmdir()
    (root / "data").symlink_to(root.parent)
    assert named(root)["data"] == ["it is a link: put the files themselves into the release"]


def test_whatever_the_manifest_does_not_list_is_named_also_if_it_is_hidden(root: Path) -> None:
    (root / FOLDER / ".notes").write_text("42")
    (root / FOLDER / ".hidden").mkdir()
    (root / FOLDER / ".hidden/answers.txt").write_text("42")
    (root / FOLDER / "more.parquet").symlink_to("fwe.parquet")
    (root / "data/up").symlink_to("..")
    piped(root / FOLDER / "pipe")
    assert named(root) == {
        f"{FOLDER}/.notes": ["the file is not in the manifest"],
        f"{FOLDER}/.hidden/answers.txt": ["the file is not in the manifest"],
        f"{FOLDER}/more.parquet": ["a link is not in the manifest"],
        "data/up": ["a link is not in the manifest"],
        f"{FOLDER}/pipe": ["a pipe or a device is not in the manifest"],
    }


def test_what_stands_beside_a_release_is_listed_in_a_note(root: Path) -> None:
    for name in (".gitattributes", ".build", ".fetch"):
        (root / name).mkdir()
    assert verify(root).notes == []
    (root / ".git").mkdir()
    (root / "notes\x1b[31m.txt").write_text("")
    piped(root / "pipe")
    assert verify(root).ok
    assert verify(root).notes == [
        "Not of the release, and not checked: .git/, notes\\x1b[31m.txt, pipe."
    ]


@pytest.mark.parametrize("name", ["README.md", "croissant.json", "eval.yaml"])
def test_a_card_file_that_is_a_pipe_is_named(root: Path, name: str) -> None:
    piped(root / name)
    assert named(root) == {
        name: ["it is a pipe or a device, no file: run the same `ruler build` again"]
    }


def test_a_pipe_in_the_place_of_a_plan_is_refused(root: Path) -> None:
    (root / ".build").mkdir()
    piped(root / ".build/plan.json")
    with pytest.raises(RulerError, match="is no file that can be read, but a folder, pipe or"):
        verify(root)
