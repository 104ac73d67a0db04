"""`ruler push` makes one commit of the files that the Hub lacks, and a tag."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from ruler_builder.release.card import card_files
from ruler_builder.release.facts import collect_facts
from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST, read_manifest
from tests.builder.verify.planting import write_manifest
from tests.hub.client import environment
from tests.hub.hub_store import Blob
from tests.in_process import ruler_command

ROWS = [f"data/tekken/1k/niah_single_{i}.parquet" for i in (1, 2, 3)]


def test_a_push_makes_one_commit_and_a_tag_that_hold_the_release(hub, client, small):
    message = client.ruler("push", small, "--repo", "org/first")
    repo = hub.dataset("org/first")
    assert repo.titles[1:] == ["ruler 1.0.0, 3 files"]
    assert repo.tags == {"v1.0.0": repo.main}
    files = repo.commits[repo.main]
    sent = {path.relative_to(small).as_posix(): path for path in small.rglob("*") if path.is_file()}
    assert {"README.md", MANIFEST, *ROWS} <= set(sent)
    assert set(files) == {".gitattributes", *sent}
    contents = {name: path.read_bytes() for name, path in sent.items()}
    facts = collect_facts(read_manifest(small))
    for name, text in card_files(facts, False, "org/first").items():
        contents[name] = text.encode()
    card = contents["README.md"].decode()
    assert 'load_dataset("org/first", ' in card
    assert 'evaluate.load("org/ruler_score")' in card
    assert "ORG/" not in card
    assert {name: files[name].data for name in sent} == contents
    assert "Verified: 3 files." in message
    assert f"{hub.url}/datasets/org/first/commit/{repo.main}" in message
    assert f"Tagged v1.0.0, commit {repo.main}: cite that." in message
    assert 'load_dataset("org/first", "niah_single_1_1k", revision="v1.0.0")' in message
    assert not repo.private


def test_a_dry_run_lists_what_a_push_would_send_and_sends_nothing(
    hub, client, small, extended, tmp_path
):
    mark = len(hub.requests)
    message = client.ruler("push", small, "--repo", "org/dry", "--dry-run")
    size = (small / ROWS[0]).stat().st_size
    assert f" {ROWS[0]} {size:,} no " in message
    assert "tagged v1.0.0. The repository would be created. Nothing was sent" in message
    assert hub.sent_since(mark) == []
    client.ruler("push", small, "--repo", "org/dry", "--skip-verify")
    message = client.ruler("push", small, "--repo", "org/dry", "--dry-run")
    assert "'org/dry' holds this release already, as v1.0.0." in message
    mark = len(hub.requests)
    extension = ("push", extended, "--repo", "org/dry", "--dry-run", "--revision", "v1.0.0.1")
    message = client.ruler(*extension)
    assert f" {ROWS[0]} {size:,} yes " in message
    assert re.search(r" data/mine/1k/niah_single_1\.parquet [0-9,]+ no ", message)
    assert hub.sent_since(mark) == []
    done = subprocess.run(
        ruler_command(*extension),
        env=environment("http://127.0.0.1:9", tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    sentence = "The Hub does not answer, so what it has is not known."
    assert sentence in " ".join(done.stdout.split())
    assert done.stderr == ""


def test_a_second_push_sends_nothing(hub, client, small):
    client.ruler("push", small, "--repo", "org/twice", "--skip-verify")
    mark = len(hub.requests)
    message = client.ruler("push", small, "--repo", "org/twice")
    assert message == "'org/twice' holds this release already, as v1.0.0."
    assert hub.sent_since(mark) == []


def test_an_extension_sends_only_its_new_files_card_and_manifest(hub, client, small, extended):
    client.ruler("push", small, "--repo", "org/grows", "--skip-verify")
    repo, uploads = hub.dataset("org/grows"), len(hub.uploads)
    first, mark = repo.main, len(hub.requests)
    message = client.ruler("push", extended, "--repo", "org/grows", "--skip-verify", code=2)
    assert "has a tag v1.0.0 that names another commit, and a tag is never moved" in message
    assert message.endswith("--revision v1.0.0.1")
    assert hub.sent_since(mark) == []
    client.ruler("push", extended, "--repo", "org/grows", "--skip-verify", "--revision", "v1.0.0.1")
    new = "data/mine/1k/niah_single_1.parquet"
    assert hub.uploads[uploads:] == [sha256_of(extended / new)]
    assert len(repo.titles) == 3
    assert repo.tags == {"v1.0.0": first, "v1.0.0.1": repo.main}
    assert repo.commits[repo.main][new].data == (extended / new).read_bytes()
    assert new not in repo.commits[first]
    message = client.ruler("push", extended, "--repo", "org/grows")
    assert message == "'org/grows' holds this release already, as v1.0.0.1."


def test_a_private_repository_is_invisible_without_a_token(hub, client, small):
    push = ("push", small, "--repo", "org/secret", "--skip-verify", "--private")
    client.ruler(*push)
    assert hub.dataset("org/secret").private
    assert "holds this release already" in client.ruler(*push)
    message = client.ruler(
        "fetch", "org/secret", "--to", small.parent / "no", code=2, HF_TOKEN=None
    )
    assert "The Hub has no 'org/secret', or your token may not see it" in message


def test_private_is_refused_for_a_public_repository(hub, client, small):
    client.ruler("push", small, "--repo", "org/public", "--skip-verify")
    message = client.ruler("push", small, "--repo", "org/public", "--private", code=2)
    assert message.startswith("Error: 'org/public' is public already")
    assert not hub.dataset("org/public").private


def test_a_push_interrupted_before_its_tag_only_adds_the_tag(hub, client, small):
    hub.fail("POST", "/org/untagged/tag/", 500)
    message = client.ruler("push", small, "--repo", "org/untagged", "--skip-verify", code=2)
    assert "The Hub has an internal error (500)" in message
    repo, uploads = hub.dataset("org/untagged"), len(hub.uploads)
    assert repo.tags == {}
    client.ruler("push", small, "--repo", "org/untagged", "--skip-verify")
    assert repo.tags == {"v1.0.0": repo.main}
    assert (len(repo.titles), len(hub.uploads)) == (2, uploads)


@pytest.fixture
def newer(small_copy: Path) -> Path:
    """Return two tasks of the small release under another data version, with the same rows."""
    manifest = json.loads((small_copy / MANIFEST).read_text(encoding="utf-8"))
    manifest["data_version"] = "1.1.0"
    del manifest["files"][ROWS[2]]
    write_manifest(small_copy, manifest)
    (small_copy / ROWS[2]).unlink()
    return small_copy


def test_a_new_data_version_replaces_the_old_one_which_keeps_its_tag(hub, client, small, newer):
    client.ruler("push", small, "--repo", "org/moves", "--skip-verify")
    repo = hub.dataset("org/moves")
    first = repo.main
    client.ruler("push", newer, "--repo", "org/moves", "--skip-verify")
    assert repo.tags == {"v1.0.0": first, "v1.1.0": repo.main}
    assert ROWS[2] in repo.commits[first]
    assert ROWS[2] not in repo.commits[repo.main]
    message = client.ruler("push", small, "--repo", "org/moves", "--skip-verify", code=2)
    assert "holds data version 1.1.0 already" in message


def test_a_main_branch_changed_by_hand_is_not_overwritten(hub, client, small):
    push = ("push", small, "--repo", "org/edited", "--skip-verify")
    client.ruler(*push)
    repo = hub.dataset("org/edited")
    files = repo.commits[repo.main]
    repo.main = repo.add({**files, "README.md": Blob(b"# Mine\n")}, "by hand")
    mark = len(hub.requests)
    assert "has a tag v1.0.0 that names another commit" in client.ruler(*push, code=2)
    assert hub.sent_since(mark) == []


def test_an_untagged_data_version_is_not_replaced(hub, client, small, newer):
    client.ruler("push", small, "--repo", "org/loose", "--skip-verify")
    repo = hub.dataset("org/loose")
    repo.tags.clear()
    message = client.ruler("push", newer, "--repo", "org/loose", "--skip-verify", code=2)
    assert "hf repos tag create org/loose v1.0.0 --repo-type dataset" in message
    assert len(repo.titles) == 2
