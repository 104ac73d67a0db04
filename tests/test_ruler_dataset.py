"""ruler_dataset loads checked rows of a release, also offline, and exports its public names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST, manifest_text, read_manifest
from ruler_common.rows import features
from ruler_dataset import files_of, load
from tests.hub.client import Client

VT = "data/tekken/4k/vt.parquet"


def test_load_gives_a_dataset_with_the_features(release):
    import datasets

    rows = load(release, "niah_mk_4k")
    assert isinstance(rows, datasets.Dataset)
    assert rows.features == features()
    assert len(rows) == 60
    assert list(dict.fromkeys(rows["task"])) == [f"niah_multikey_{i}" for i in (1, 2, 3)]


def test_load_takes_a_tokenizer_for_the_suffix(release):
    manifest = read_manifest(release)
    assert files_of("vt_4k", manifest, "tekken") == ["data/tekken/4k/vt.parquet"]
    with pytest.raises(RulerError, match=r"no 'vt_4k_qwen2\.5'"):
        files_of("vt_4k", manifest, "qwen2.5")
    assert files_of("vt_4k_tekken", manifest, "tekken") == ["data/tekken/4k/vt.parquet"]
    for suffix in ("gemma3", "tekken"):
        message = f"'vt_4k_{suffix}' names the tokenizer '{suffix}', not 'qwen2.5': name only one"
        with pytest.raises(RulerError, match=message):
            files_of(f"vt_4k_{suffix}", manifest, "qwen2.5")


@pytest.mark.parametrize(
    ("name", "suggestion"), [("vt_8k", "vt_4k"), ("niah_mk_4k_qwen2.5", "niah_mk_4k")]
)
def test_an_unknown_configuration_is_refused_with_a_suggestion(release, name, suggestion):
    with pytest.raises(RulerError, match=f"no '{name}'. Did you mean '{suggestion}'. To list"):
        load(release, name)


@pytest.mark.parametrize(
    ("root", "name", "suggestion"),
    [
        ("release", "niah_mk", "niah_mk_4k"),
        ("release", "VT", "vt_4k"),
        ("release", "all", "all_4k"),
        ("oneruler", "niah_none", "niah_none_8k_en"),
        ("oneruler", "cwe", "cwe_8k_en"),
    ],
)
def test_a_task_or_group_without_a_length_is_answered_with_its_configuration(
    root, name, suggestion, request
):
    root = request.getfixturevalue(root)
    with pytest.raises(RulerError, match=f"'{name}' is not a .* Did you mean '{suggestion}'"):
        load(root, name)
    assert len(load(root, suggestion)) > 0


def test_another_release_with_the_same_path_and_times_gives_its_own_rows(release, tmp_path):
    root = tmp_path / "release"
    shutil.copytree(release, root)
    path = root / VT
    os.utime(path, (0, 0))
    first = load(root, "vt_4k")

    path.unlink()
    pq.write_table(pq.read_table(release / VT).slice(1), path)
    manifest = read_manifest(root)
    manifest["files"][VT]["sha256"] = sha256_of(path)
    (root / MANIFEST).write_text(manifest_text(manifest))
    os.utime(path, (0, 0))
    assert load(root, "vt_4k")["input"] == first["input"][1:]


def test_load_checks_digests_unless_verify_is_false(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    path = root / "data/tekken/4k/vt.parquet"
    pq.write_table(pq.read_table(path), path)
    with pytest.raises(RulerError, match=r"has changed: expected sha256 .*Download or build it"):
        load(root, "vt_4k")
    assert len(load(root, "vt_4k", verify=False)) == 20


@pytest.mark.parametrize("place", ["no/such/folder", "nothing", "./nosuch", "out/ruler-4k."])
def test_a_release_that_does_not_exist_is_refused(place):
    with pytest.raises(RulerError, match="neither a folder"):
        load(place, "vt_4k")


def test_a_missing_file_is_refused(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    (root / "data/tekken/4k/vt.parquet").unlink()
    with pytest.raises(RulerError, match="in the manifest but missing"):
        load(root, "vt_4k")


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a user's process without a network, whose cache is `offline.home`."""
    user = Client("http://127.0.0.1:9", tmp_path_factory.mktemp("hf"), HF_HUB_OFFLINE="1")
    yield user
    user.close()


@pytest.mark.parametrize(("config", "rows"), [("vt_4k", 20), ("ag_4k", 40)])
def test_load_dataset_reads_a_bare_relative_folder_offline(release, offline, config, rows):
    result = offline.python(
        "import datasets, json, os\n"
        f"os.chdir({str(release.parent)!r})\n"
        f"print(json.dumps(datasets.load_dataset('ruler', '{config}').num_rows))"
    )
    assert result == {"test": rows}


def test_a_release_in_the_hubs_cache_loads_offline(release, offline):
    """In huggingface_hub's cache, refs/main names the snapshot."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    repo = offline.home / "hub/datasets--org--ruler"
    shutil.copytree(release, repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text(commit)
    rows, refused = offline.python(
        "import json, ruler_dataset\n"
        "rows = len(ruler_dataset.load('org/ruler', 'qa_4k'))\n"
        "try: ruler_dataset.load('org/other', 'qa_4k')\n"
        "except ruler_dataset.RulerError as error: print(json.dumps([rows, str(error)]))"
    )
    assert rows == 40
    assert refused == (
        "HF_HUB_OFFLINE is set, and 'org/other' is not in the cache: "
        "unset it, or name a repository that is in the cache."
    )


@pytest.mark.parametrize("name", ["a[1]", "b*", "c?"])
def test_a_path_with_wildcard_characters_loads_only_its_files(release, tmp_path, name):
    for folder in (name, "a1", "bb", "cc"):
        (tmp_path / folder / VT).parent.mkdir(parents=True)
        shutil.copy(release / VT, tmp_path / folder / VT)
        shutil.copy(release / MANIFEST, tmp_path / folder)
    assert len(load(tmp_path / name, "vt_4k")) == 20


def test_a_cache_that_cannot_be_written_is_one_sentence(release, tmp_path):
    (tmp_path / "file").touch()
    code = "import sys, ruler_dataset; ruler_dataset.load(sys.argv[1], 'vt_4k')"
    done = subprocess.run(
        [sys.executable, "-c", code, release],
        env={**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "file/cache")},
        capture_output=True,
        text=True,
    )
    assert "RulerError: The rows cannot be copied to the cache of `datasets` (" in done.stderr
    assert "set HF_HOME to a folder that can be written." in done.stderr


def test_public_names_exist_and_importing_them_imports_nothing_heavy():
    code = (
        "import sys, ruler_dataset\n"
        "assert all(hasattr(ruler_dataset, name) for name in ruler_dataset.__all__)\n"
        "print(sorted({'numpy', 'pyarrow', 'datasets', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
