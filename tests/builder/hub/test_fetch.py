"""`ruler fetch` downloads a release, or a part of it that verifies and loads like a release."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST, read_manifest
from ruler_dataset import load
from tests.embedded_release import contents
from tests.full_disk import small_disk
from tests.hub.client import Client
from tests.hub.fake_hub import FakeHub
from tests.hub.hub_store import Blob

REPO = "org/fetched"
FIRST = "data/tekken/1k/niah_single_1.parquet"


@pytest.fixture(scope="module", autouse=True)
def pushed(hub: FakeHub, client: Client, small: Path, extended: Path) -> Iterator[None]:
    """Push three tasks as v1.0.0, and then a second tokenizer as v1.0.0.1 and `main`."""
    client.ruler("push", small, "--repo", REPO, "--skip-verify")
    client.ruler("push", extended, "--repo", REPO, "--skip-verify", "--revision", "v1.0.0.1")
    yield
    hub.failures.clear()


def test_a_whole_release_arrives_byte_for_byte(client, small, extended, tmp_path):
    message = client.ruler("fetch", REPO, "--to", tmp_path / "all")
    assert contents(tmp_path / "all") == contents(extended)
    assert "4 files, " in message
    assert f"'{tmp_path}/all' now has 4 files." in message
    client.ruler("fetch", REPO, "--revision", "v1.0.0", "--to", tmp_path / "tag")
    assert contents(tmp_path / "tag") == contents(small)
    message = client.ruler("fetch", REPO, "--to", tmp_path / "all")
    assert message.startswith("0 files, 0 bytes")


def test_a_full_disk_keeps_only_whole_files_and_the_fetch_continues(client, extended, tmp_path):
    entries = read_manifest(extended)["files"]
    with small_disk(tmp_path / "disk", 16384, client.process.pid) as disk:
        message = client.ruler("fetch", REPO, "--to", disk / "all", code=2)
        assert re.search("No space left on device|File too large", message)
        kept = [path for path in disk.rglob("*") if path.is_file() and path.suffix != ".lock"]
        for path in kept:
            name = path.relative_to(disk / "all").as_posix().removeprefix(".fetch/")
            assert sha256_of(path) == entries[name]["sha256"]
    client.ruler("fetch", REPO, "--to", tmp_path / "all")
    assert contents(tmp_path / "all") == contents(extended)


def test_a_part_is_a_whole_release_by_itself(client, small, tmp_path):
    part = tmp_path / "part"
    message = client.ruler(
        "fetch", REPO, "--configs", "niah_single_1_1k, niah_single_3_1k", "--to", part, "--verify"
    )
    assert "Nothing is wrong: 2 files, 16 rows." in message
    manifest = read_manifest(part)
    assert [entry["config"] for entry in manifest["files"].values()] == [
        "niah_single_1_1k",
        "niah_single_3_1k",
    ]
    assert list(manifest["tokenizers"]) == ["tekken"]
    described = {"README.md", "croissant.json", MANIFEST} | {"eval.yaml"} & set(contents(small))
    assert set(contents(part)) == {*described, *manifest["files"]}
    card = (part / "README.md").read_text(encoding="utf-8")
    configs = yaml.safe_load(card.split("---\n")[1])["configs"]
    assert [config["config_name"] for config in configs] == ["niah_single_1_1k", "niah_single_3_1k"]
    assert load(part, "niah_single_3_1k")[0] == load(small, "niah_single_3_1k")[0]


def test_a_part_is_extended_until_it_is_whole(client, extended, tmp_path):
    part = tmp_path / "part"
    client.ruler("fetch", REPO, "--configs", "niah_single_2_1k", "--to", part)
    message = client.ruler("fetch", REPO, "--tokenizer", "mine", "--to", part)
    assert (
        f"1 file, {(extended / 'data/mine/1k/niah_single_1.parquet').stat().st_size:,}" in message
    )
    assert list(read_manifest(part)["tokenizers"]) == ["mine", "tekken"]
    assert client.ruler("fetch", REPO, "--to", part).startswith("2 files")
    assert contents(part) == contents(extended)


def test_tokenizer_selects_the_suffix_of_a_configuration(client, tmp_path):
    part = tmp_path / "part"
    client.ruler(
        "fetch", REPO, "--configs", "niah_single_1_1k", "--tokenizer", "mine", "--to", part
    )
    assert list(read_manifest(part)["files"]) == ["data/mine/1k/niah_single_1.parquet"]


def test_a_custom_tokenizers_path_is_not_published_and_verify_asks_for_it(
    client, trained_tokenizer, tmp_path
):
    part, folder = tmp_path / "part", trained_tokenizer("gpt2")
    message = client.ruler("fetch", REPO, "--tokenizer", "mine", "--to", part, "--verify", code=3)
    remedy = f"Say where it is: ruler verify {part} --tokenizer mine=FOLDER"
    assert remedy in " ".join(message.split())
    assert read_manifest(part)["tokenizers"]["mine"]["spec"] == f"mine={folder.name}"
    assert not any(str(folder).encode() in text for text in contents(part).values())
    message = client.ruler("verify", part, "--tokenizer", f"mine={folder}")
    assert "Nothing is wrong: 1 file, 8 rows." in message


def test_an_interrupted_fetch_publishes_nothing_and_continues(hub, client, small, tmp_path):
    """The last of three files is refused; the others are not downloaded again."""
    to = tmp_path / "to"
    commit = hub.dataset(REPO).commits[hub.dataset(REPO).tags["v1.0.0"]]
    third = commit["data/tekken/1k/niah_single_3.parquet"].sha256
    hub.fail("GET", third, 403)
    fetch = ("fetch", REPO, "--revision", "v1.0.0", "--to", to)
    assert client.ruler(*fetch, code=2).count("Error:") == 1
    assert not (to / MANIFEST).exists()
    assert not (to / "data").exists()
    mark = len(hub.requests)
    client.ruler(*fetch)
    assert contents(to) == contents(small)
    downloads = [line for line in hub.requests[mark:] if line.startswith("GET /large/")]
    assert [line.rpartition("/")[2] for line in downloads] == [third]


def test_files_of_file_managers_and_of_git_are_not_other_files(client, small, tmp_path):
    for name in (".DS_Store", "Thumbs.db", ".gitattributes"):
        (tmp_path / name).write_text("")
    client.ruler("fetch", REPO, "--revision", "v1.0.0", "--to", tmp_path)
    assert contents(small).items() <= contents(tmp_path).items()


def test_a_damaged_file_is_not_kept(hub, client, tmp_path):
    repo = hub.dataset(REPO)
    oid = repo.commits[repo.main][FIRST].sha256
    data = repo.large[oid]
    repo.large[oid] = data[:-1] + b"x"
    fetch = ("fetch", REPO, "--configs", "niah_single_1_1k", "--to", tmp_path / "to")
    message = client.ruler(*fetch, code=2)
    assert f"'{FIRST}' of '{REPO}' has sha256" in message
    assert "it is not kept" in message
    assert not (tmp_path / "to" / FIRST).exists()
    repo.large[oid] = data
    client.ruler(*fetch)
    assert (tmp_path / "to" / FIRST).read_bytes() == data


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["org/none"], "The Hub has no 'org/none', or your token may not see it"),
        ([REPO, "--revision", "v9"], "no such revision: it has v1.0.0, v1.0.0.1, main."),
        (
            [REPO, "--configs", "niah_singel_1_1k"],
            f"Did you mean 'niah_single_1'? See: ruler list {REPO}",
        ),
        ([REPO, "--configs", "vt_1k"], f"To list what it has: ruler list {REPO}"),
        ([REPO, "--tokenizer", "teken"], "Did you mean 'tekken'?"),
        (["ruler"], "'ruler' is not a Hub repository: write ORG/NAME."),
    ],
)
def test_a_mistake_is_one_sentence_and_makes_no_folder(client, tmp_path, arguments, message):
    assert message in client.ruler("fetch", *arguments, "--to", tmp_path / "to", code=2)
    assert not (tmp_path / "to").exists()


def test_a_repository_without_a_manifest_is_refused(hub, client, small, tmp_path):
    hub.fail("POST", "/org/bare/commit/", 500)
    client.ruler("push", small, "--repo", "org/bare", "--skip-verify", code=2)
    message = client.ruler("fetch", "org/bare", "--to", tmp_path / "to", code=2)
    assert "'org/bare' has no manifest.json: it is not a release." in message


def test_a_folder_with_other_files_or_rows_is_not_touched(client, small, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    message = client.ruler("fetch", REPO, "--to", tmp_path / "notes.txt", code=2)
    assert "notes.txt' is a file: name a folder." in message
    message = client.ruler("fetch", REPO, "--to", tmp_path, code=2)
    assert "holds other files (notes.txt): give a new folder." in message
    (tmp_path / ".fetch").mkdir()
    message = client.ruler("fetch", REPO, "--to", tmp_path, code=2)
    assert "holds other files (notes.txt): give a new folder." in message
    root = Path(shutil.copytree(small, tmp_path / "other"))
    manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][FIRST]["rows_sha256"] = "0" * 64
    (root / MANIFEST).write_text(json.dumps(manifest))
    before = contents(root)
    message = client.ruler("fetch", REPO, "--to", root, code=2)
    assert f"'{root}' holds other rows in {FIRST}" in message
    manifest["seed"] = 1
    (root / MANIFEST).write_text(json.dumps(manifest | {"files": {}}))
    assert "was made with another seed" in client.ruler("fetch", REPO, "--to", root, code=2)
    assert contents(root) == before | {MANIFEST: (root / MANIFEST).read_bytes()}


def test_only_files_of_the_manifest_and_the_card_are_downloaded(hub, client, small, tmp_path):
    client.ruler("push", small, "--repo", "org/more", "--skip-verify")
    repo = hub.dataset("org/more")
    names = ("more.py", "data/tekken/1k/more.parquet", ".build/plan.json", "data/README.md")
    repo.commits[repo.main] |= {name: Blob(b"{}") for name in names}
    client.ruler("fetch", "org/more", "--to", tmp_path / "to")
    assert contents(tmp_path / "to") == contents(small)
