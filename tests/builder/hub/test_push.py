"""`ruler push`: one commit with what the Hub lacks, a tag, and the same read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.card.card_files import card_files
from ruler_builder.hub.push_plan import Digest, PushPlan, Shipment
from ruler_builder.hub.release_files import release_files
from ruler_common.files import sha256_of
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_release.tables.release_tables import show_plan
from tests.builder.hub.conftest import rewrite
from tests.hub.client import Client
from tests.hub.hub_store import Blob
from tests.hub.stand_in import StandIn

ROWS = [f"data/tekken/1k/niah_single_{i}.parquet" for i in (1, 2, 3)]


def test_a_push_makes_one_commit_and_a_tag_that_hold_the_release(
    hub: StandIn, client: Client, small: Path
) -> None:
    said = client.ruler("push", small, "--repo", "org/first")
    repo = hub.dataset("org/first")
    assert repo.titles[1:] == [f"ruler 1.0.0, 3 files, manifest {sha256_of(small / MANIFEST)[:12]}"]
    assert repo.tags == {"v1.0.0": repo.main}
    files = repo.commits[repo.main]
    sent = {path.relative_to(small).as_posix(): path for path in release_files(small)}
    assert {"README.md", MANIFEST, *ROWS} <= set(sent)
    assert set(files) == {".gitattributes", *sent}
    contents = {name: path.read_bytes() for name, path in sent.items()}
    contents |= {
        name: text.encode()
        for name, text in card_files(small, read_manifest(small), False, "org/first").items()
    }
    card = contents["README.md"].decode()
    assert 'load_dataset("org/first", ' in card
    assert 'evaluate.load("org/ruler_score")' in card
    assert "ORG/" not in card
    assert {name: files[name].data for name in sent} == contents
    size = sum(map(len, contents.values()))
    assert f"org/first: {len(sent)} files to send, {size:,} bytes; 0 are there" in said
    assert "niah_single_1_1k … niah_single_3_1k 3" in said
    assert "Verified: all laws hold, 3 files." in said
    assert f"{hub.url}/datasets/org/first/commit/{repo.main}" in said
    assert f"Read back: {len(sent)} files, every digest is right. Tagged v1.0.0" in said
    assert not repo.private


def test_a_second_push_sends_nothing(hub: StandIn, client: Client, small: Path) -> None:
    client.ruler("push", small, "--repo", "org/twice", "--skip-verify")
    mark = len(hub.requests)
    said = client.ruler("push", small, "--repo", "org/twice")
    assert said == "'org/twice' holds all of this already, as v1.0.0: nothing to send."
    assert hub.sent_since(mark) == []


def test_an_extension_sends_only_its_new_files_card_and_manifest(
    hub: StandIn, client: Client, small: Path, extended: Path
) -> None:
    client.ruler("push", small, "--repo", "org/grows", "--skip-verify")
    repo, uploads = hub.dataset("org/grows"), len(hub.uploads)
    first, mark = repo.main, len(hub.requests)
    said = client.ruler("push", extended, "--repo", "org/grows", "--skip-verify", code=2)
    assert f"has a tag v1.0.0 that names other files (commit {first[:12]})" in said
    assert "a tag is never moved" in said
    assert said.endswith("--revision v1.0.0.1")
    assert hub.sent_since(mark) == []
    said = client.ruler(
        "push", extended, "--repo", "org/grows", "--skip-verify", "--revision", "v1.0.0.1"
    )
    new = "data/mine/1k/niah_single_1.parquet"
    changed = len(release_files(extended)) - len(ROWS)  # what stands at the root, and one file
    assert f"org/grows: {changed} files to send" in said
    assert "; 3 are there" in said
    assert hub.uploads[uploads:] == [sha256_of(extended / new)]
    assert len(repo.titles) == 3
    assert repo.tags == {"v1.0.0": first, "v1.0.0.1": repo.main}
    assert repo.commits[repo.main][new].data == (extended / new).read_bytes()
    assert new not in repo.commits[first]
    again = client.ruler("push", extended, "--repo", "org/grows")
    assert "as v1.0.0.1: nothing to send" in again


def test_a_dry_run_shows_verifies_and_sends_nothing_even_without_a_token(
    hub: StandIn, client: Client, small: Path
) -> None:
    mark = len(hub.requests)
    said = client.ruler("push", small, "--repo", "org/dry", "--dry-run", HF_TOKEN=None)
    assert f"{len(release_files(small))} files to send" in said
    assert "Tag: v1.0.0" in said
    assert "'org/dry' is to be made, public." in said
    assert "Verified: all laws hold" in said
    assert said.endswith("Dry run: nothing was sent.")
    assert hub.sent_since(mark) == []
    assert "datasets/org/dry" not in hub.repos


def test_a_private_repository_is_made_and_stays_unseen(
    hub: StandIn, client: Client, small: Path
) -> None:
    push = ("push", small, "--repo", "org/secret", "--skip-verify", "--private")
    client.ruler(*push)
    assert hub.dataset("org/secret").private
    assert "nothing to send" in client.ruler(*push)
    said = client.ruler("fetch", "org/secret", "--to", small.parent / "no", code=2, HF_TOKEN=None)
    assert "The Hub has no 'org/secret', or your token may not see it" in said


def test_private_is_refused_for_a_public_repository(
    hub: StandIn, client: Client, small: Path
) -> None:
    client.ruler("push", small, "--repo", "org/public", "--skip-verify")
    said = client.ruler("push", small, "--repo", "org/public", "--private", code=2)
    assert said.startswith("Error: 'org/public' is public already")
    assert not hub.dataset("org/public").private


def test_a_pull_request_is_opened_once_without_a_tag_and_tagged_after_the_merge(
    hub: StandIn, client: Client, small: Path, extended: Path
) -> None:
    client.ruler("push", small, "--repo", "org/asked", "--skip-verify")
    repo = hub.dataset("org/asked")
    first = repo.main
    ask = ("push", extended, "--repo", "org/asked", "--skip-verify", "--create-pr")
    said = client.ruler(*ask)
    assert f"Sent: {hub.url}/datasets/org/asked/discussions/1 Read back: " in said
    assert "No tag was made: after the merge" in said
    assert (repo.main, list(repo.tags)) == (first, ["v1.0.0"])
    mark = len(hub.requests)
    assert "is open already" in client.ruler(*ask)
    assert len(repo.pull_requests) == 1
    assert hub.sent_since(mark) == []
    repo.merge(1)
    assert "as main: nothing to send" in client.ruler(*ask)
    client.ruler("push", extended, "--repo", "org/asked", "--skip-verify", "--revision", "v1.0.0.1")
    assert repo.tags == {"v1.0.0": first, "v1.0.0.1": repo.main}
    assert len(repo.titles) == 3


def test_a_tag_that_an_interrupted_push_lacks_is_made_and_nothing_sent(
    hub: StandIn, client: Client, small: Path
) -> None:
    hub.fail("POST", "/org/untagged/tag/", 500)
    said = client.ruler("push", small, "--repo", "org/untagged", "--skip-verify", code=2)
    assert "The Hub itself fails (500)" in said
    repo, uploads = hub.dataset("org/untagged"), len(hub.uploads)
    assert repo.tags == {}
    client.ruler("push", small, "--repo", "org/untagged", "--skip-verify")
    assert repo.tags == {"v1.0.0": repo.main}
    assert (len(repo.titles), len(hub.uploads)) == (2, uploads)


@pytest.fixture
def newer(mine: Path) -> Path:
    """The small release as another data version of two tasks; the rows do not matter here."""
    manifest = json.loads((mine / MANIFEST).read_text(encoding="utf-8"))
    manifest["data_version"] = "1.1.0"
    del manifest["files"][ROWS[2]]
    rewrite(mine, manifest)
    (mine / ROWS[2]).unlink()
    return mine


def test_another_data_version_takes_the_place_of_the_old_which_stays_at_its_tag(
    hub: StandIn, client: Client, small: Path, newer: Path
) -> None:
    client.ruler("push", small, "--repo", "org/moves", "--skip-verify")
    repo = hub.dataset("org/moves")
    first = repo.main
    said = client.ruler("push", newer, "--repo", "org/moves", "--skip-verify")
    assert "1 files of an older data version leave main, not their tag." in said
    assert repo.tags == {"v1.0.0": first, "v1.1.0": repo.main}
    assert ROWS[2] in repo.commits[first]
    assert ROWS[2] not in repo.commits[repo.main]
    said = client.ruler("push", small, "--repo", "org/moves", "--skip-verify", code=2)
    assert "holds data version 1.1.0 already" in said


def test_a_main_that_was_changed_by_hand_is_left_and_told(
    hub: StandIn, client: Client, small: Path
) -> None:
    push = ("push", small, "--repo", "org/edited", "--skip-verify")
    client.ruler(*push)
    repo = hub.dataset("org/edited")
    files = repo.commits[repo.main]
    repo.main = repo.add({**files, "README.md": Blob(b"# Mine\n")}, "by hand")
    mark = len(hub.requests)
    assert client.ruler(*push) == (
        "'org/edited' holds this as v1.0.0 already; main was changed since (README.md): "
        "nothing to push."
    )
    assert hub.sent_since(mark) == []


def test_a_plan_of_many_files_is_summed_up(capsys: Any) -> None:
    """Above 100 files: a line a tokenizer and length, in place of one a folder."""
    names = [f"data/{t}/{n}k/xx/{i}.parquet" for t in "ab" for n in (4, 8) for i in range(30)]
    entries = {
        path: {"tokenizer": path.split("/")[1], "length": path.split("/")[2], "config": path}
        for path in names
    }
    digests = {path: Digest(1000, "", "") for path in ["README.md", MANIFEST, *names]}
    shipment = Shipment(
        repo="org/many", kind="dataset", files={}, digests=digests, version="1.0.0", title="many"
    )
    plan = PushPlan(tuple(digests), (), "v1.0.0")
    show_plan(shipment, plan, {"files": entries})
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said[0] == "org/many: 122 files to send, 122,000 bytes; 0 are there"
    assert said[3:] == [
        "card, manifest 2 2,000",
        *(f"{t} {n}k 30 30,000" for t in "ab" for n in (4, 8)),
        "Tag: v1.0.0",
    ]


def test_an_untagged_data_version_is_not_replaced(
    hub: StandIn, client: Client, small: Path, newer: Path
) -> None:
    client.ruler("push", small, "--repo", "org/loose", "--skip-verify")
    repo = hub.dataset("org/loose")
    repo.tags.clear()
    said = client.ruler("push", newer, "--repo", "org/loose", "--skip-verify", code=2)
    assert "hf repos tag create org/loose v1.0.0 --repo-type dataset" in said
    assert len(repo.titles) == 2
