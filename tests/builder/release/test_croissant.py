"""croissant.json is valid, loads with mlcroissant, and agrees with the manifest."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.release.card import card_files
from ruler_builder.release.croissant import croissant, described_repository
from ruler_builder.release.facts import CROISSANT, collect_facts
from ruler_builder.text.sources import registry
from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_common.names import Config
from ruler_common.rows import COLUMN_TYPES
from ruler_dataset import load

Manifest = dict[str, Any]
ROWS, REPOSITORY = "rows", "repo"  # ids in the file


@pytest.fixture(scope="module")
def mlc() -> Any:
    """Import mlcroissant, which only these tests need."""
    import mlcroissant

    return mlcroissant


def read_croissant(root: Path) -> Any:
    return json.loads((root / CROISSANT).read_text(encoding="utf-8"))


def test_mlcroissant_finds_nothing_wrong(mlc, root, caplog):
    with caplog.at_level(logging.WARNING, logger="absl"):
        dataset = mlc.Dataset(jsonld=str(root / CROISSANT))
    assert dataset.metadata.ctx.issues.report() == ""
    assert caplog.messages == []
    assert dataset.metadata.data_limitations
    assert dataset.metadata.personal_sensitive_information


def test_it_conforms_to_version_1_1_and_names_each_source_by_its_digest(mlc, root, manifest):
    described = read_croissant(root)
    assert described["conformsTo"][0] == "http://mlcommons.org/croissant/1.1"
    dataset = mlc.Dataset(jsonld=str(root / CROISSANT))
    assert dataset.metadata.ctx.is_v1_1()
    origins = {entry["name"]: entry["sha256"] for entry in described["prov:wasDerivedFrom"]}
    sources = {name: source["sha256"] for name, source in manifest["sources"].items()}
    assert origins == sources | manifest["words"]
    assert manifest["canary"] in described["usageInfo"]["text"]
    assert "do not train" in described["usageInfo"]["text"]


def test_rows_that_are_not_frozen_are_called_custom(root):
    described = read_croissant(root)
    assert described["name"].endswith(", custom rows")
    assert described["description"].startswith("Custom rows of ")
    assert "rozen" not in described["name"] + described["description"]


def test_only_the_name_of_a_repository_is_accepted_as_one(release):
    code = 'org/ruler", trust_remote_code=True)\nimport os; os.system("id") #'
    for repo in (code, "org", "org/ruler/tree", "org/ru ler", ""):
        with pytest.raises(RulerError, match="is not the name of a Hub repository"):
            card_files(collect_facts(read_manifest(release)), repo=repo)


@pytest.mark.parametrize("evidence", [True, False])
def test_a_record_is_a_row_of_the_release(mlc, root, evidence):
    records = mlc.Dataset(jsonld=str(root / CROISSANT)).records(ROWS)
    record = next(r for r in records if bool(r[f"{ROWS}/evidence"]) is evidence)
    assert as_row(record) == row_of(record, root)


def row_of(record: dict[str, Any], root: Path) -> dict[str, Any]:
    """Return the row of the release in `root` that a record of mlcroissant describes."""
    config = read_manifest(root)["files"][record[f"{ROWS}/file"].decode()]["config"]
    row: dict[str, Any] = load(root, config)[int(record[f"{ROWS}/index"])]
    return row


def as_row(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of mlcroissant in the form of a row."""
    result = {name.removeprefix(f"{ROWS}/"): plain(value) for name, value in record.items()}
    result["evidence"] = [
        {name.rpartition("/")[2]: value for name, value in span.items()}
        for span in result["evidence"]
    ]
    del result["file"]
    return result


def plain(value: Any) -> Any:
    """Return a value of mlcroissant's in the form of `datasets`: no bytes, no numpy numbers."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if hasattr(value, "item") else value


# ---- Of a repository on the Hub --------------------------------------------------------------


@pytest.fixture
def pushed(manifest: Manifest, tmp_path: Path) -> Path:
    """Write the croissant.json of a repository."""
    (tmp_path / CROISSANT).write_text(
        croissant(collect_facts(manifest), "org/ruler"), encoding="utf-8"
    )
    return tmp_path / CROISSANT


def test_the_file_of_a_repository_names_it_and_is_valid(mlc, pushed, root, manifest, caplog):
    with caplog.at_level(logging.WARNING, logger="absl"):
        dataset = mlc.Dataset(jsonld=str(pushed))
    assert dataset.metadata.ctx.issues.report() == ""
    assert caplog.messages == []
    assert dataset.metadata.url == "https://huggingface.co/datasets/org/ruler"
    assert described_repository(pushed.parent) == "org/ruler"
    assert described_repository(root) is None
    clone, *files, rows = read_croissant(pushed.parent)["distribution"]
    assert clone["contentUrl"] == dataset.metadata.url
    assert {part["containedIn"]["@id"] for part in (*files, rows)} == {REPOSITORY}
    assert {file["contentUrl"]: file["sha256"] for file in files} == {
        path: entry["sha256"] for path, entry in manifest["files"].items()
    }


# ---- Its parts -------------------------------------------------------------------------------


def test_every_file_is_listed_with_its_digest(root, manifest):
    *files, _ = read_croissant(root)["distribution"]
    assert {file["@id"]: (file["sha256"], file["contentSize"]) for file in files} == {
        path: (entry["sha256"], f"{entry['bytes']} B") for path, entry in manifest["files"].items()
    }
    assert all(file["contentUrl"] == file["@id"] for file in files)


def test_one_record_set_has_the_columns_of_the_contract(root):
    (rows,) = read_croissant(root)["recordSet"]
    names = [f"{ROWS}/{name}" for name in ("file", *COLUMN_TYPES)]
    assert [field["name"] for field in rows["field"]] == names
    assert all(field["description"] for field in rows["field"])


def test_a_licence_is_an_spdx_address_or_a_sentence(manifest):
    licences = {*json.loads(croissant(collect_facts(manifest)))["license"]}
    for licence in {source.canonical.licence for source in registry().values()}:
        sources = {name: {**s, "licence": licence} for name, s in manifest["sources"].items()}
        described = json.loads(croissant(collect_facts({**manifest, "sources": sources})))[
            "license"
        ]
        licences |= {described} if isinstance(described, str) else {*described}
    spdx = {name for name in licences if name.startswith("https://spdx.org/licenses/")}
    assert {Path(name).stem for name in spdx} == {"CC-BY-SA-4.0", "CC0-1.0", "MIT"}
    assert len(licences - spdx) == 3
    assert all("stated" in name or "terms" in name for name in licences - spdx)


def test_the_file_of_a_full_release_is_small(release):
    manifest = read_manifest(release)
    files = {}
    for tokenizer in (f"tokenizer{number}" for number in range(11)):
        for length in ("4k", "8k", "16k", "32k", "64k", "128k"):
            for entry in read_manifest(release)["files"].values():
                config = Config("ruler", entry["task"], length, tokenizer=tokenizer)
                more = {"config": config.name, "length": length, "tokenizer": tokenizer}
                files[config.path] = {**entry, **more}
    assert len(files) == 11 * 6 * 13
    text = croissant(collect_facts({**manifest, "files": files}))
    assert len(text.encode()) < 400_000
    assert len(json.loads(text)["distribution"]) == len(files) + 1
