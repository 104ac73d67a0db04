"""Loading a release: files are checked, rows loaded, offline too; public names are handed on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ruler_common.errors import RulerError
from ruler_common.manifest import MANIFEST, read_manifest
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
    with pytest.raises(RulerError, match="another tokenizer"):
        files_of("vt_4k_gemma3", manifest, "qwen2.5")


@pytest.mark.parametrize(
    ("asked", "meant"), [("vt_8k", "vt_4k"), ("niah_mk_4k_qwen2.5", "niah_mk_4k")]
)
def test_a_configuration_that_is_not_there_is_answered_by_one_that_is(release, asked, meant):
    with pytest.raises(RulerError, match=f"no '{asked}'. Did you mean '{meant}'. What it holds"):
        load(release, asked)


def test_load_checks_digests_unless_told_not_to(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    path = root / "data/tekken/4k/vt.parquet"
    pq.write_table(pq.read_table(path), path)
    with pytest.raises(RulerError, match="expected sha256"):
        load(root, "vt_4k")
    assert len(load(root, "vt_4k", verify=False)) == 20


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("no/such/folder", "neither a folder"),
        ("nothing", "neither a folder"),
        ("./nosuch", "neither a folder"),
        ("out/ruler-4k.", "neither a folder"),
    ],
)
def test_a_release_that_is_nowhere_is_one_sentence(where, message):
    with pytest.raises(RulerError, match=message):
        load(where, "vt_4k")


def test_a_missing_file_is_one_sentence(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    (root / "data/tekken/4k/vt.parquet").unlink()
    with pytest.raises(RulerError, match="in the manifest but missing"):
        load(root, "vt_4k")


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A user's process without a network, whose cache is `offline.home`."""
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
    """The cache as huggingface_hub lays it out: refs/main names the snapshot."""
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
        "unset it, or ask for what is in the cache."
    )


@pytest.mark.parametrize("name", ["a[1]", "b*", "c?"])
def test_a_path_with_signs_of_patterns_loads_its_own_files(release, tmp_path, name):
    for folder in (name, "a1", "bb", "cc"):
        (tmp_path / folder / VT).parent.mkdir(parents=True)
        shutil.copy(release / VT, tmp_path / folder / VT)
        shutil.copy(release / MANIFEST, tmp_path / folder)
    assert len(load(tmp_path / name, "vt_4k")) == 20


def test_public_names_are_handed_on_and_nothing_heavy_is_imported():
    code = (
        "import sys, ruler_dataset\n"
        "assert all(hasattr(ruler_dataset, name) for name in ruler_dataset.__all__)\n"
        "print(sorted({'numpy', 'pyarrow', 'datasets', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
