"""A release can be verified with only the files of its tokenizer."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from ruler_builder.tokens.tokenizers import named
from ruler_builder.verify.file_check import parse_tokenizer_folders
from ruler_common.errors import RulerError
from ruler_common.manifest import MANIFEST
from ruler_release.api import verify
from tests.builder.verify.planting import write_manifest
from tests.embedded_release import build_embedded
from tests.nightly import mostly_nightly

SMALL = {"lengths": ("1k",), "tasks": ("niah_single_1",), "rows": 4}


@pytest.mark.parametrize("name", mostly_nightly(2, ["cl100k_base", "qwen2.5"]))
@pytest.mark.usefixtures("cache")
def test_a_folder_with_a_named_tokenizers_files_is_enough(mirror, tmp_path, name):
    root = tmp_path / "ruler"
    build_embedded(root, tokenizers=(name,), mirror=mirror, **SMALL)
    bare = tmp_path / "bare"
    bare.mkdir()
    with pytest.raises(RulerError, match=r"'.*bare' has no .*: put the tokenizer's files there"):
        verify(root, tokenizers=[f"{name}={bare}"])
    paths = [Path(file["path"]) for file in named()[name]["files"]]
    for path in paths:
        shutil.copy(mirror / path, bare / path.name)
    report = verify(root, tokenizers=[f"{name}={bare}"])
    assert report.ok
    assert sum(file.rows for file in report.files.values()) == 4
    (bare / paths[0].name).write_text("another")
    with pytest.raises(RulerError, match="is damaged"):
        verify(root, tokenizers=[f"{name}={bare}"])


@pytest.mark.nightly
def test_a_folder_with_tekkens_file_is_enough(tmp_path):
    root, bare = tmp_path / "ruler", tmp_path / "bare"
    build_embedded(root, **SMALL)
    bare.mkdir()
    with pytest.raises(RulerError, match=r"bare' has no tekken_240911.json \(sha256 1948e2d4"):
        verify(root, tokenizers=[f"tekken={bare}"])
    shutil.copy(str(files("mistral_common") / "data" / "tekken_240911.json"), bare)
    assert verify(root, tokenizers=[f"tekken={bare}"]).ok


def test_an_invalid_place_of_a_tokenizer_is_refused(release):
    for spec, message in (
        ("teken=x", "Did you mean 'tekken'?"),
        ("tekken", "'tekken' does not say where 'tekken' is: write tekken=FOLDER"),
        ("tekken=no/folder", "'no/folder' is not a folder: 'tekken' is a named tokenizer"),
    ):
        with pytest.raises(RulerError) as error:
            verify(release, tokenizers=[spec])
        assert message in str(error.value)
    assert parse_tokenizer_folders({"tokenizers": {"mine": {}}}, ["mine=hf:a/b@c"]) == {
        "mine": "hf:a/b@c"
    }


def test_the_digest_of_the_library_decides_only_if_there_is_no_file_digest(
    trained_tokenizer, tmp_path
):
    folder = trained_tokenizer("gpt2")
    root = tmp_path / "ruler"
    build_embedded(root, tokenizers=(f"mine={folder}",), **SMALL)
    manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    manifest["tokenizers"]["mine"]["backend_sha256"] = "0" * 64
    write_manifest(root, manifest)
    assert verify(root, tokenizers=[f"mine={folder}"]).ok
    del manifest["tokenizers"]["mine"]["sha256"]
    del manifest["tokenizers"]["mine"]["ids_sha256"]
    write_manifest(root, manifest)
    with pytest.raises(RulerError, match="differs from the release's: backend_sha256"):
        verify(root, tokenizers=[f"mine={folder}"])
