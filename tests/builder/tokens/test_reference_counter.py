"""A release's tokenizer, found again by its files alone, years later."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.tokens.tokenizers import named
from ruler_builder.verify.file_check import parse_tokenizer_folders
from ruler_common.errors import RulerError
from ruler_common.manifest import MANIFEST
from ruler_release.api import verify
from tests.builder.verify.planting import write_manifest
from tests.nightly import mostly_nightly


def built(root: Path, tokenizer: str, mirror: Path | None = None) -> Path:
    order = BuildOptions(
        root,
        tokenizers=(tokenizer,),
        lengths=("1k",),
        tasks=("niah_single_1",),
        samples=4,
        sources=("embedded",),
        mirror=mirror,
    )
    build(order)
    return root


@pytest.fixture
def years_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No mirror, an empty cache."""
    monkeypatch.delenv("RULER_MIRROR", raising=False)
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", mostly_nightly(2, ["cl100k_base", "qwen2.5"]))
@pytest.mark.usefixtures("years_later")
def test_a_named_tokenizers_files_in_a_bare_folder_are_enough(mirror, tmp_path, name):
    root = built(tmp_path / "ruler", name, mirror)
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
def test_tekken_too_where_its_package_no_longer_brings_it(tmp_path):
    root, bare = built(tmp_path / "ruler", "tekken"), tmp_path / "bare"
    bare.mkdir()
    with pytest.raises(RulerError, match=r"bare' has no tekken_240911.json \(sha256 1948e2d4"):
        verify(root, tokenizers=[f"tekken={bare}"])
    shutil.copy(str(files("mistral_common") / "data" / "tekken_240911.json"), bare)
    assert verify(root, tokenizers=[f"tekken={bare}"]).ok


def test_a_wrong_place_of_a_tokenizer_is_refused(release):
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


def test_the_digest_of_a_librarys_own_writing_decides_only_where_no_file_is_known(
    trained_tokenizer, tmp_path
):
    folder = trained_tokenizer("gpt2")
    root = built(tmp_path / "ruler", f"mine={folder}")
    manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    about = manifest["tokenizers"]["mine"]
    for change, ok in (({}, True), ({"sha256": None}, False)):
        changed = {**about, **change, "backend_sha256": "0" * 64}
        changed = {key: value for key, value in changed.items() if value is not None}
        manifest["tokenizers"]["mine"] = changed
        write_manifest(root, manifest)
        if ok:
            assert verify(root, tokenizers=[f"mine={folder}"]).ok
        else:
            with pytest.raises(RulerError, match="differs from the release's: backend_sha256"):
                verify(root, tokenizers=[f"mine={folder}"])
