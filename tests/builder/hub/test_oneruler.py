"""ONERULER on the Hub: pushed, fetched in parts and loaded by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_builder.release.card import card_files
from ruler_builder.release.metadata import collect_facts
from ruler_common.manifest import read_manifest
from tests.builder.hub.test_fetch import contents
from tests.hub.client import Client
from tests.hub.stand_in import StandIn

REPO = "org/oneruler"


@pytest.fixture(scope="module")
def pushed(hub: StandIn, client: Client, oneruler: Path) -> str:
    """English, Chinese and across both; what the command said."""
    return client.ruler("push", oneruler, "--repo", REPO)


def test_it_is_pushed_with_a_card_that_the_hub_takes(hub, pushed, oneruler):
    files = len(read_manifest(oneruler)["files"])
    assert f"Verified: {files} files." in pushed
    assert "Tagged v1.0.0" in pushed
    repo = hub.dataset(REPO)
    held = {name: blob.data for name, blob in repo.commits[repo.main].items()}
    mine = contents(oneruler)
    described = card_files(collect_facts(read_manifest(oneruler), oneruler), False, REPO)
    mine.update({name: text.encode() for name, text in described.items()})
    assert {name: held[name] for name in mine} == mine


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


@pytest.mark.usefixtures("pushed")
def test_it_loads_by_name(client):
    result = client.python(
        """
import json
from datasets import load_dataset
found = [
    load_dataset("org/oneruler", name, split="test", revision="v1.0.0")
    for name in ("niah_none_8k_zh", "niah_8k_en", "niah_single_8k_en-zh")
]
columns = ("language", "instruction_language")
print(json.dumps([[len(rows), *(rows[0][name] for name in columns)] for rows in found]))"""
    )
    assert result == [[6, "zh", "zh"], [30, "en", "en"], [6, "en", "zh"]]
