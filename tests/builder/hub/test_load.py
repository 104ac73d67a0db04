"""A pushed release loads by name, by tag, as a stream and offline, as `datasets` users expect."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.embedded_release import build_embedded
from tests.hub.client import Client
from tests.hub.fake_hub import FakeHub

REPO = "org/ruler"
LOAD = """
import json
from datasets import load_dataset
from huggingface_hub import snapshot_download
import ruler_dataset

def row(row): return [row["task"], row["index"], row["outputs"]]
def rows(table): return [len(table), row(table[0])]
"""


@dataclass
class Published:
    """A release on a fake Hub whose `main` is newer than its tag, and a user of it.

    The user's two processes share a cache; `offline` has no network and HF_HUB_OFFLINE set.
    """

    hub: FakeHub
    user: Client
    offline: Client

    def python(self, code: str) -> Any:
        """Run a user's program, and return its last line of output, read as JSON."""
        return self.user.python(LOAD + code)

    def python_offline(self, code: str) -> Any:
        """Run a user's program without the Hub."""
        return self.offline.python(LOAD + code)


@pytest.fixture(scope="module")
def published(
    hub: FakeHub, client: Client, release: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Published]:
    """Push 13 tasks at 4k, tagged v1.0.0; then add vt at 2k as v1.0.0.1 and `main`."""
    folder = tmp_path_factory.mktemp("published")
    client.ruler("push", release, "--repo", REPO)
    client.ruler("fetch", REPO, "--to", folder / "more")
    build_embedded(folder / "more", lengths=("2k",), tasks=("vt",), rows=8)
    client.ruler("push", folder / "more", "--repo", REPO, "--revision", "v1.0.0.1")
    user = Client(hub.url, folder / "user")
    offline = Client("http://127.0.0.1:9", folder / "user", HF_HUB_OFFLINE="1")
    yield Published(hub, user, offline)
    user.close()
    offline.close()


def test_datasets_loads_it_by_name_by_tag_and_streamed(published):
    mk, vt, qa, later, refused = published.python(
        """
try: load_dataset("org/ruler", "vt_2k", revision="v1.0.0")
except ValueError as error: refused = str(error)
print(json.dumps([
    rows(load_dataset("org/ruler", "niah_mk_4k", split="test")),
    rows(load_dataset("org/ruler", "vt_4k", split="test", revision="v1.0.0")),
    row(next(iter(load_dataset("org/ruler", "qa_1_4k", split="test", streaming=True)))),
    rows(load_dataset("org/ruler", "vt_2k", split="test")),
    refused,
]))"""
    )
    assert (mk[0], mk[1][:2]) == (60, ["niah_multikey_1", 0])
    assert (vt[0], vt[1][:2]) == (20, ["vt", 0])
    assert qa[:2] == ["qa_1", 0]
    assert later == [8, vt[1]]  # row 0 asks the same at every length
    assert "BuilderConfig 'vt_2k' not found" in refused  # a tag keeps its state


def test_ruler_dataset_loads_and_lists_it_by_name_and_tag(published):
    result = published.python(
        """
from ruler_dataset import load, manifest_of
try: load("org/ruler", "vt_2k", revision="v1.0.0")
except ruler_dataset.RulerError as error: refused = str(error)
print(json.dumps([
    rows(load("org/ruler", "qa_4k"))[0],
    rows(load("org/ruler", "vt_2k"))[0],
    len(manifest_of("org/ruler")["files"]),
    len(manifest_of("org/ruler", "v1.0.0")["files"]),
    refused,
]))"""
    )
    assert result[:4] == [40, 8, 14, 13]
    assert "This release has no 'vt_2k'" in result[4]


def test_ruler_list_shows_a_repository(published):
    message = published.user.ruler("list", REPO)
    assert message.startswith("ruler 1.0.0, seed 0")
    assert message.count("_4k ") == 13
    assert "vt_2k" in message


def test_what_was_loaded_once_loads_offline_from_the_cache(published):
    """By name, by tag and from a snapshot of the tag, without waiting for the network."""
    published.python(
        """
load_dataset("org/ruler", "fwe_4k", split="test")
ruler_dataset.load("org/ruler", "fwe_4k", revision="v1.0.0")
snapshot_download("org/ruler", repo_type="dataset", revision="v1.0.0")
print("null")"""
    )
    mark, start = len(published.hub.requests), time.monotonic()
    result = published.python_offline(
        """
from ruler_dataset import load
snapshot = snapshot_download("org/ruler", repo_type="dataset", revision="v1.0.0")
print(json.dumps([
    rows(load_dataset("org/ruler", "fwe_4k", split="test")),
    rows(load("org/ruler", "fwe_4k", revision="v1.0.0")),
    rows(load_dataset(snapshot, "cwe_4k", split="test")),
    rows(load(snapshot, "ag_4k")),
]))"""
    )
    assert [count for count, _ in result] == [20, 20, 20, 40]
    assert result[0] == result[1]
    assert time.monotonic() - start < 15
    assert len(published.hub.requests) == mark


def test_offline_ruler_dataset_respects_a_revision_and_datasets_does_not(published):
    """The card warns that `load_dataset` takes what it cached last, whatever the revision."""
    published.python(
        """
load_dataset("org/ruler", "vt_2k", split="test")
ruler_dataset.manifest_of("org/ruler", "v1.0.0")
print("null")"""
    )
    count, refused = published.python_offline(
        """
try: ruler_dataset.load("org/ruler", "vt_2k", revision="v1.0.0")
except ruler_dataset.RulerError as error: refused = str(error)
print(json.dumps([
    len(load_dataset("org/ruler", "vt_2k", split="test", revision="v1.0.0")), refused
]))"""
    )
    assert count == 8  # those of main: v1.0.0 has none
    assert "This release has no 'vt_2k'" in refused
