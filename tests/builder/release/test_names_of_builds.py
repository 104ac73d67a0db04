"""Whatever is built can be read, and other names are refused before the first file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import metadata_load
from hypothesis import given
from hypothesis import strategies as st

from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_common.names import DEFAULT_TOKENIZER, Names
from ruler_dataset import check_files, files_of, load
from tests.builder.tasks.row_reading import custom_task
from tests.embedded_release import build_embedded, contents

USUAL: dict[str, Any] = {"tasks": ["a"], "groups": {}, "tokenizers": [], "length": "1k"}
PIECES = ("vt", "VT", "niah", "4k", "4000", "default", "all", "con", "pl", "x" * 90, "", "é", "a.")
usual = st.sampled_from(["vt", "Vt", "niah_mk", "chain2", "mine", "Mine", "own_1", "8b", "1"])
unusual = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("_".join),
    st.text("aZ_.-4k0", max_size=4),
)
names = st.integers(0, 9).flatmap(lambda number: unusual if number == 9 else usual)
builds = st.fixed_dictionaries(
    {
        "tasks": st.lists(names, min_size=1, max_size=2, unique=True),
        "groups": st.dictionaries(names, st.sampled_from([1, 1, 2, 0]), max_size=1),
        "tokenizers": st.lists(names, max_size=1),
        "length": st.sampled_from(["1k", "1024", "1001", "2000", "4097", "999", "4٠k"]),
    }
)


def suite_of(tasks: list[str], groups: dict[str, int], path: Path) -> Path:
    """Write a suite; a group has the first tasks, as many as its number says."""
    tables = [custom_task("niah").replace("mine", f'"{task}"', 1) for task in tasks]
    listed = [f'"{name}" = {tasks[:count]}' for name, count in groups.items()]
    path.write_text("\n".join([*tables, "[groups]", *listed]), encoding="utf-8")
    return path


def build_of(root: Path, folder: Path, asked: dict[str, Any]) -> None:
    """Build one row of each task in a suite."""
    tokenizers = [f"{name}={folder}" for name in asked["tokenizers"]]
    build_embedded(
        root,
        suite=suite_of(asked["tasks"], asked["groups"], root.with_suffix(".toml")),
        tokenizers=tokenizers or DEFAULT_TOKENIZER,
        lengths=asked["length"],
        rows=1,
        workers=1,
    )


def is_built(root: Path, folder: Path, asked: dict[str, Any]) -> bool:
    """Build one row of each task in a suite, and return whether the build was not refused."""
    try:
        build_of(root, folder, asked)
    except RulerError:
        return False
    return True


def check_readable(root: Path) -> None:
    """Check that a release is read by the names of its configurations and groups."""
    manifest = read_manifest(root)
    for path, entry in manifest["files"].items():
        assert files_of(entry["config"], manifest) == [path]
        check_files([root / path], [path], manifest["files"], verify=True)
        for group, tasks in manifest["groups"].items():
            name = entry["config"].replace(entry["task"], group, 1)
            files = files_of(name, manifest, partly=True)
            assert {manifest["files"][file]["task"] for file in files} <= {*tasks}
    listed = [config["config_name"] for config in metadata_load(root / "README.md")["configs"]]
    assert sorted(listed) == sorted(Names.from_manifest(manifest).available(manifest))


@given(st.lists(builds, min_size=1, max_size=2))
def test_a_build_can_be_read_or_is_refused_before_its_first_file(
    trained_tokenizer, tmp_path_factory, requests
):
    root = tmp_path_factory.mktemp("names") / "ruler"
    for asked in requests:
        before = contents(root)
        if is_built(root, trained_tokenizer("crossing"), asked):
            check_readable(root)
        else:
            assert contents(root) == before
            assert root.exists() == bool(before)
    shutil.rmtree(root.parent)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tasks": ["x" * 90]}, "use at most 80 letters, digits and '_'"),
        ({"tasks": ["VT", "vt"]}, "'VT' and 'vt' differ only in case"),
        ({"tasks": ["vt"], "groups": {"VT": 1}}, "'vt' and 'VT' differ only in case"),
        ({"tasks": ["ALL"]}, "'ALL' and 'all' differ only in case"),
        ({"tasks": ["nul"]}, "device of Windows"),
        ({"tasks": ["vt_2024"]}, "no length"),
        ({"groups": {"none": 0}}, "The group 'none' has no task"),
        ({"tokenizers": ["mine."]}, "'mine.' cannot name a tokenizer"),
        ({"tokenizers": ["mine", "Mine"]}, "'mine' and 'Mine' differ only in case"),
        ({"tokenizers": ["Tekken"]}, "`ruler tokenizers` lists one of this name"),
        ({"tokenizers": ["pl"]}, "language"),
        ({"tokenizers": ["8k"]}, "no length"),
        ({"length": "100"}, "from 1000 to 4194304 tokens"),
    ],
)
def test_a_name_that_nothing_could_read_is_refused_before_the_first_file(
    trained_tokenizer, tmp_path, asked, message
):
    root = tmp_path / "ruler"
    with pytest.raises(RulerError, match=message):
        build_of(root, trained_tokenizer("crossing"), USUAL | asked)
    assert not root.exists()


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"tasks": ["vt"]}, {"tasks": ["VT"]}, "'vt' and 'VT' differ only in case"),
        ({"tasks": ["vt"]}, {"tasks": ["a"], "groups": {"vt": 1}}, "both a task and a group"),
        ({"tokenizers": ["mine"]}, {"tokenizers": ["Mine"]}, "'mine' and 'Mine' differ only"),
    ],
)
def test_a_release_is_not_extended_by_a_name_that_its_own_names_exclude(
    trained_tokenizer, tmp_path, first, second, message
):
    root, folder = tmp_path / "ruler", trained_tokenizer("crossing")
    build_of(root, folder, USUAL | first)
    before = contents(root)
    with pytest.raises(RulerError, match=message):
        build_of(root, folder, USUAL | second)
    assert contents(root) == before
    check_readable(root)


def test_datasets_loads_names_that_look_like_numbers(trained_tokenizer, tmp_path):
    from datasets import load_dataset

    root = tmp_path / "ruler"
    asked = {"tasks": ["1", "0x1"], "groups": {"12": 2}, "length": "2000"}
    build_of(root, trained_tokenizer("crossing"), USUAL | asked)
    check_readable(root)
    for name in ("1_2000", "0x1_2000", "12_2000"):  # integers in YAML
        assert load_dataset(str(root), name, split="test").to_list() == load(root, name).to_list()


def test_two_tokenizers_of_one_name_are_refused(trained_tokenizer, tmp_path):
    specs = [f"mine={trained_tokenizer('crossing')}", "mine=hf:org/name"]
    with pytest.raises(RulerError, match=r"--tokenizer mine is given as .* rename one"):
        build_embedded(tmp_path / "ruler", tokenizers=specs, lengths="1k", tasks="vt", rows=1)
    assert not (tmp_path / "ruler").exists()


def test_a_tokenizer_may_have_the_name_of_its_folder(trained_tokenizer, tmp_path, monkeypatch):
    shutil.copytree(trained_tokenizer("crossing"), tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    build_of(tmp_path / "ruler", Path("mine"), USUAL | {"tokenizers": ["mine"]})
    manifest = read_manifest(tmp_path / "ruler")
    assert {entry["tokenizer"] for entry in manifest["files"].values()} == {"mine"}
    check_readable(tmp_path / "ruler")
