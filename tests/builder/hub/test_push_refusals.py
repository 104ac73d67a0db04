"""`ruler push` refuses a release before it uploads anything."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST
from tests.builder.hub.conftest import SMALL_TASKS
from tests.builder.verify.planting import write_manifest
from tests.embedded_release import build_embedded
from tests.hub.fake_hub import FakeHub
from tests.hub.hub_store import Blob

FIRST = "data/tekken/1k/niah_single_1.parquet"


def leave_unfinished(root: Path) -> None:
    (root / ".build").mkdir()


def rewrite_file(root: Path) -> None:
    pq.write_table(pq.read_table(root / FIRST), root / FIRST)


def remove_file(root: Path) -> None:
    (root / FIRST).unlink()


def replace_manifest(hub: FakeHub, name: str, text: bytes) -> None:
    """Commit a changed manifest, as if by hand."""
    repo = hub.dataset(name)
    repo.main = repo.add({**repo.commits[repo.main], MANIFEST: Blob(text)}, "by hand")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (leave_unfinished, "is unfinished: run the same"),
        (rewrite_file, "is missing or not the file of the manifest. Run: ruler verify"),
        (remove_file, "is missing or not the file of the manifest. Run: ruler verify"),
    ],
)
def test_an_incomplete_release_is_refused_even_unverified(hub, client, small_copy, spoil, message):
    spoil(small_copy)
    mark = len(hub.requests)
    assert message in client.ruler("push", small_copy, "--repo", "org/bad", "--skip-verify", code=2)
    assert hub.sent_since(mark) == []


def test_a_release_that_fails_a_check_is_refused(hub, client, small_copy):
    manifest = json.loads((small_copy / MANIFEST).read_text(encoding="utf-8"))
    manifest["reserve"] = 900  # rows leave fewer tokens
    write_manifest(small_copy, manifest)
    mark = len(hub.requests)
    message = client.ruler("push", small_copy, "--repo", "org/invalid", code=2)
    remedy = f"Run: ruler verify {small_copy}"
    assert f"'{small_copy}' does not verify and is not pushed. {remedy}" in message
    assert hub.sent_since(mark) == []


def test_a_release_that_cannot_be_rebuilt_here_is_refused(hub, client, small_copy):
    manifest = json.loads((small_copy / MANIFEST).read_text(encoding="utf-8"))
    write_manifest(small_copy, {**manifest, "data_version": "0.9.0"})
    mark = len(hub.requests)
    message = client.ruler("push", small_copy, "--repo", "org/unproved", code=2)
    assert "could not be rebuilt: this version builds data version 1.0.0, not 0.9.0" in message
    assert hub.sent_since(mark) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repo", "ruler"], "'ruler' is not a Hub repository: write ORG/NAME."),
        (["--repo", "org/x", "--revision", "v2.0.0"], "names another version than 1.0.0"),
        (["--repo", "org/x", "--revision", "bad tag"], "'bad tag' cannot name a tag"),
        (["--repo", "org/x", "--revision", "main"], "'main' cannot name a tag"),
        (["--repo", "org/x", "--revision", "v1.0.0."], "'v1.0.0.' cannot name a tag"),
        (["--repo", "org/x", "--metric"], "Name a release or the metric"),
    ],
)
def test_wrong_options_are_refused(hub, client, small, arguments, message):
    mark = len(hub.requests)
    assert message in client.ruler("push", small, *arguments, code=2)
    assert hub.sent_since(mark) == []


def test_published_rows_never_change(hub, client, small, tmp_path):
    client.ruler("push", small, "--repo", "org/frozen", "--skip-verify")
    root = tmp_path / "ruler"
    build_embedded(root, lengths=("1k",), tasks=SMALL_TASKS, rows=8, seed=1)
    mark = len(hub.requests)
    message = client.ruler("push", root, "--repo", "org/frozen", code=2)
    assert (
        "'org/frozen' has published other rows of data/tekken/1k/niah_single_1.parquet" in message
    )
    assert "as data version 1.0.0, and these never change" in message
    assert hub.sent_since(mark) == []


def test_files_published_by_someone_else_must_be_fetched_first(hub, client, small, tmp_path):
    """Two people build a length each for one repository."""
    client.ruler("push", small, "--repo", "org/shared", "--skip-verify")
    root = tmp_path / "ruler"
    build_embedded(root, lengths=("2k",), tasks=SMALL_TASKS[:1], rows=8)
    push = ("push", root, "--repo", "org/shared", "--revision", "v1.0.0.1")
    mark = len(hub.requests)
    message = client.ruler(*push, code=2)
    assert f"holds 3 files that '{root}' lacks ({FIRST})" in message
    assert hub.sent_since(mark) == []
    remedy = message.split("Download them first: ruler ")[1].split()
    client.ruler(*remedy)
    assert "Verified: 4 files." in client.ruler(*push)
    files = hub.dataset("org/shared").commits[hub.dataset("org/shared").main]
    assert len([path for path in files if path.endswith(".parquet")]) == 4
    assert "niah_single_1_2k" in files["README.md"].data.decode()
    assert "niah_single_3_1k" in files["README.md"].data.decode()


def test_the_same_rows_in_other_bytes_may_be_pushed(hub, client, small, small_copy):
    """Another version of pyarrow may write other bytes; rows_sha256 identifies the rows."""
    client.ruler("push", small, "--repo", "org/bytes", "--skip-verify")
    rewrite_file(small_copy)
    manifest = json.loads((small_copy / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][FIRST]["sha256"] = sha256_of(small_copy / FIRST)
    write_manifest(small_copy, manifest)
    flags = ("--repo", "org/bytes", "--skip-verify", "--revision", "v1.0.0.1")
    client.ruler("push", small_copy, *flags)
    repo = hub.dataset("org/bytes")
    assert list(repo.tags) == ["v1.0.0", "v1.0.0.1"]
    assert repo.commits[repo.main][FIRST].data == (small_copy / FIRST).read_bytes()


def test_a_release_of_another_dataset_is_refused(hub, client, small, oneruler):
    client.ruler("push", small, "--repo", "org/kind", "--skip-verify")
    repo = hub.dataset("org/kind")
    message = client.ruler("push", oneruler, "--repo", "org/kind", "--skip-verify", code=2)
    assert f"'org/kind' holds ruler, '{oneruler}' oneruler: give another --repo." in message
    assert len(repo.titles) == 2


def test_a_damaged_manifest_on_the_hub_is_one_sentence(hub, client, small, tmp_path):
    client.ruler("push", small, "--repo", "org/damaged", "--skip-verify")
    replace_manifest(hub, "org/damaged", b"{")
    message = "'manifest.json of org/damaged' is damaged"
    assert message in client.ruler("push", small, "--repo", "org/damaged", code=2)
    assert message in client.ruler("fetch", "org/damaged", "--to", tmp_path / "to", code=2)
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"data/../../x.parquet": FIRST}, "files.data/../../x.parquet should be "),
        ({}, "'org/outside' has no files to download"),
    ],
)
def test_an_untrusted_manifest_writes_nothing(hub, client, small, tmp_path, files, message):
    hub.repos.pop("datasets/org/outside", None)
    client.ruler("push", small, "--repo", "org/outside", "--skip-verify")
    manifest = json.loads((small / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"] = {path: manifest["files"][source] for path, source in files.items()}
    replace_manifest(hub, "org/outside", json.dumps(manifest).encode())
    assert message in client.ruler("fetch", "org/outside", "--to", tmp_path / "to/deep", code=2)
    assert not (tmp_path / "to").exists()
