"""ONERULER is pushed to the Hub and fetched in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_builder.release.card import card_files
from ruler_builder.release.facts import collect_facts
from ruler_common.manifest import read_manifest
from tests.embedded_release import contents
from tests.hub.client import Client
from tests.hub.fake_hub import FakeHub

REPO = "org/oneruler"


@pytest.fixture(scope="module")
def pushed(hub: FakeHub, client: Client, oneruler: Path) -> str:
    """Push English, Chinese and across, and return the command's output."""
    return client.ruler("push", oneruler, "--repo", REPO)


def test_it_is_pushed_with_a_card_that_the_hub_takes(hub, pushed, oneruler):
    files = len(read_manifest(oneruler)["files"])
    assert f"Verified: {files} files." in pushed
    assert "Tagged v1.0.0" in pushed
    repo = hub.dataset(REPO)
    published = {name: blob.data for name, blob in repo.commits[repo.main].items()}
    expected = contents(oneruler)
    described = card_files(collect_facts(read_manifest(oneruler)), False, REPO)
    expected.update({name: text.encode() for name, text in described.items()})
    assert {name: published[name] for name in expected} == expected


@pytest.mark.usefixtures("pushed")
def test_a_part_lists_only_its_languages_and_grows_until_it_is_whole(client, oneruler, tmp_path):
    part = tmp_path / "part"
    fetch = ("fetch", REPO, "--to", part)
    message = client.ruler(*fetch, "--configs", "niah_8k_zh, cwe_easy_8k_zh", "--verify")
    assert "Nothing is wrong: 6 files, 36 rows." in message
    manifest = read_manifest(part)
    assert set(manifest["sources"]) == {
        "book-zh",
        "cwe-zh",
        "niah-zh",
        "words-zh",
        "oneruler-nouns",
    }
    assert set(manifest["languages"]) == {"zh"}
    client.ruler(*fetch, "--configs", "niah_single_8k_en-zh", "--verify")
    manifest = read_manifest(part)
    assert set(manifest["languages"]) == {"en", "zh"}
    assert {"book-en", "book-zh"} <= set(manifest["sources"])
    client.ruler(*fetch)
    assert contents(part) == contents(oneruler)
