"""What `ruler push` refuses before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_common.manifest import MANIFEST
from tests.builder.hub.conftest import rewrite
from tests.hub.hub_store import Blob
from tests.hub.stand_in import StandIn

FIRST = "data/tekken/1k/niah_single_1.parquet"


def unfinished(root: Path) -> None:
    (root / ".build").mkdir()


def other_bytes(root: Path) -> None:
    pq.write_table(pq.read_table(root / FIRST), root / FIRST)


def missing_file(root: Path) -> None:
    (root / FIRST).unlink()


def replace_manifest(hub: StandIn, name: str, text: bytes) -> None:
    """Commit another manifest by hand."""
    repo = hub.dataset(name)
    repo.main = repo.add({**repo.commits[repo.main], MANIFEST: Blob(text)}, "by hand")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (unfinished, "is unfinished: run the same"),
        (other_bytes, "is missing or not the file of the manifest. Run: ruler verify"),
        (missing_file, "is missing or not the file of the manifest. Run: ruler verify"),
    ],
)
def test_a_release_that_is_not_whole_is_refused_even_unverified(hub, client, mine, spoil, message):
    spoil(mine)
    mark = len(hub.requests)
    assert message in client.ruler("push", mine, "--repo", "org/bad", "--skip-verify", code=2)
    assert hub.sent_since(mark) == []


def test_a_release_that_fails_a_check_is_refused(hub, client, mine):
    manifest = json.loads((mine / MANIFEST).read_text(encoding="utf-8"))
    manifest["reserve"] = 900  # no row leaves so much room
    rewrite(mine, manifest)
    mark = len(hub.requests)
    message = client.ruler("push", mine, "--repo", "org/lawless", code=2)
    assert f"'{mine}' does not verify and is not pushed. Run: ruler verify {mine}" in message
    assert hub.sent_since(mark) == []


def test_a_release_that_cannot_be_rebuilt_here_is_refused(hub, client, mine):
    manifest = json.loads((mine / MANIFEST).read_text(encoding="utf-8"))
    rewrite(mine, {**manifest, "data_version": "0.9.0"})
    mark = len(hub.requests)
    message = client.ruler("push", mine, "--repo", "org/unproved", code=2)
    assert "could not be rebuilt: this version builds data version 1.0.0, not 0.9.0" in message
    assert hub.sent_since(mark) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repo", "ruler"], "'ruler' is not a Hub repository: write ORG/NAME."),
        (["--repo", "org/x", "--revision", "v2.0.0"], "names another version than 1.0.0"),
        (["--repo", "org/x", "--metric"], "Name a release or the metric"),
    ],
)
def test_wrong_options_are_refused(hub, client, small, arguments, message):
    mark = len(hub.requests)
    assert message in client.ruler("push", small, *arguments, code=2)
    assert hub.sent_since(mark) == []


def test_published_rows_never_change(hub, client, small, tmp_path):
    client.ruler("push", small, "--repo", "org/frozen", "--skip-verify")
    other = tmp_path / "other"
    tasks = ("niah_single_1", "niah_single_2", "niah_single_3")
    order = BuildOptions(
        other, lengths=("1k",), tasks=tasks, samples=8, seed=1, sources=("embedded",)
    )
    build(order)
    mark = len(hub.requests)
    message = client.ruler("push", other, "--repo", "org/frozen", code=2)
    assert (
        "'org/frozen' has published other rows of data/tekken/1k/niah_single_1.parquet" in message
    )
    assert "as data version 1.0.0, and these never change" in message
    assert hub.sent_since(mark) == []


def test_files_that_someone_else_published_are_not_lost_but_fetched_first(
    hub, client, small, tmp_path
):
    """Two builders, two lengths, one repository: the second brings in what the first made."""
    client.ruler("push", small, "--repo", "org/shared", "--skip-verify")
    mine = tmp_path / "mine"
    order = BuildOptions(
        mine, lengths=("2k",), tasks=("niah_single_1",), samples=8, sources=("embedded",)
    )
    build(order)
    push = ("push", mine, "--repo", "org/shared", "--revision", "v1.0.0.1")
    mark = len(hub.requests)
    message = client.ruler(*push, code=2)
    assert f"holds 3 files that '{mine}' lacks ({FIRST})" in message
    assert hub.sent_since(mark) == []
    remedy = message.split("Download them first: ruler ")[1].split()
    client.ruler(*remedy)
    assert "Verified: 4 files." in client.ruler(*push)
    files = hub.dataset("org/shared").commits[hub.dataset("org/shared").main]
    assert len([path for path in files if path.endswith(".parquet")]) == 4
    assert "niah_single_1_2k" in files["README.md"].data.decode()
    assert "niah_single_3_1k" in files["README.md"].data.decode()


def test_the_same_rows_in_other_bytes_may_be_pushed(hub, client, small, mine):
    """As when another version of pyarrow wrote them: rows have one identity, rows_sha256."""
    client.ruler("push", small, "--repo", "org/bytes", "--skip-verify")
    other_bytes(mine)
    manifest = json.loads((mine / MANIFEST).read_text(encoding="utf-8"))
    from ruler_common.files import sha256_of

    manifest["files"][FIRST]["sha256"] = sha256_of(mine / FIRST)
    rewrite(mine, manifest)
    client.ruler("push", mine, "--repo", "org/bytes", "--skip-verify", "--revision", "v1.0.0.1")
    repo = hub.dataset("org/bytes")
    assert list(repo.tags) == ["v1.0.0", "v1.0.0.1"]
    assert repo.commits[repo.main][FIRST].data == (mine / FIRST).read_bytes()


def test_a_release_of_another_dataset_is_refused(hub, client, small, oneruler):
    client.ruler("push", small, "--repo", "org/kind", "--skip-verify")
    repo = hub.dataset("org/kind")
    message = client.ruler("push", oneruler, "--repo", "org/kind", "--skip-verify", code=2)
    assert f"'org/kind' holds ruler, '{oneruler}' oneruler: give another --repo." in message
    assert len(repo.titles) == 2


def test_a_damaged_manifest_on_the_hub_is_one_sentence(hub, client, small, tmp_path):
    client.ruler("push", small, "--repo", "org/strange", "--skip-verify")
    replace_manifest(hub, "org/strange", b"{")
    message = "'manifest.json of org/strange' is damaged"
    assert message in client.ruler("push", small, "--repo", "org/strange", code=2)
    assert message in client.ruler("fetch", "org/strange", "--to", tmp_path / "to", code=2)
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
    manifest["files"] = {path: manifest["files"][known] for path, known in files.items()}
    replace_manifest(hub, "org/outside", json.dumps(manifest).encode())
    assert message in client.ruler("fetch", "org/outside", "--to", tmp_path / "to/deep", code=2)
    assert not (tmp_path / "to").exists()
