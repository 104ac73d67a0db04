"""A card names its sources, rights, known faults, versions and citations."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from ruler_builder.release import card
from ruler_builder.release.card import render
from ruler_builder.release.metadata import collect_facts
from ruler_builder.text.errata import errata, wording
from ruler_builder.text.sources import restricted_books
from ruler_common import frozen as frozen_rows
from ruler_common.frozen import read_frozen
from ruler_common.manifest import read_manifest
from ruler_common.names import LANGUAGES
from tests.builder.release.card_reading import labels, section, tables
from tests.project import ROOT

Manifest = dict[str, Any]


def test_the_card_has_the_digests_of_tokenizers_sources_and_word_lists(text, manifest):
    about = manifest["tokenizers"]["tekken"]
    assert all(digest in text for digest in about["sha256"].values())
    assert f"{about['library']} {about['version']}" in text
    assert all(digest in text for digest in manifest["words"].values())
    sources = section(text, "Sources and licences")
    digits = 64 if manifest["dataset"] == "ruler" else 12
    for source in manifest["sources"].values():
        assert f"{source['sha256'][:digits]}`" in sources
        assert f" {source['bytes']:,} " in sources
        assert source["licence"] in sources


def test_versions_and_citations_are_those_of_the_files(text, manifest):
    versions = " ".join(section(text, "Versions").split())
    assert f"Data version {manifest['data_version']}, seed {manifest['seed']}" in versions
    assert f"ruler-release {manifest['builder_version']}." in versions
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## \[(.*data version.*)$", changelog, re.MULTILINE)
    assert titles
    assert all(f"{title.replace(']', '')}:" in versions for title in titles)
    assert "Unreleased" not in versions
    released = " ".join(changelog.split("## [0.3.0]")[1].split())
    changes = re.findall(
        r"- ((?:Data|Score)\b.*?)(?= - | 0\.\d\.0)", versions.split("the score:")[1]
    )
    assert len(changes) == len(re.findall(r"^- (?:Data|Score)\b", changelog, re.MULTILINE)) > 10
    assert all(f"- {change}" in released for change in changes)
    cited = section(text, "Citation")
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    for paper in cff["references"]:
        assert paper["title"] in cited
        assert all(author["family-names"] in cited for author in paper["authors"])
        assert f"arXiv:{paper['url'].rpartition('/')[2]}" in cited
    assert cited.count("@article{") == 2
    assert f"data version {manifest['data_version']}, seed" in cited.split("@misc{")[1]


def test_the_card_shows_the_needles_and_none_words_of_the_manifest(oneruler):
    manifest = read_manifest(oneruler)
    table, *_ = tables((oneruler / "README.md").read_text(encoding="utf-8"), "language")
    assert table == [
        {"language": code, "needle": entry["parts"]["needle"], "none word": entry["none_word"]}
        for code, entry in manifest["languages"].items()
    ]


def test_the_card_lists_the_frozen_data_versions_and_their_changes(root, tmp_path, monkeypatch):
    manifest = read_manifest(root)
    dataset, digests = manifest["dataset"], {"a_4k": "0" * 64, "b_4k": "1" * 64}
    for version in ("1.0.0", "1.10.0", "1.9.0"):
        (tmp_path / f"{version}.toml").write_text(
            f'data_version = "{version}"\nbuilder_version = "0.2.0"\npublished = false\n'
            f"seed = 7\nreserve = 128\n[samples]\n[sources]\n[rows.{dataset}]\n"
            + "".join(f'{name} = "{digest}"\n' for name, digest in digests.items())
        )
    changes = "- Data 1.9.0: one row\n  of vt.\n- Data 1.9.0: another.\n- Added: a flag.\n"
    (tmp_path / "CHANGELOG.md").write_text(f"## [0.3.0]\n\n{changes}")
    monkeypatch.setattr(frozen_rows, "FROZEN", tmp_path)
    monkeypatch.setattr(card, "read_frozen", lambda name: read_frozen(name, tmp_path))
    monkeypatch.setattr(card, "project_file", tmp_path.joinpath)
    frozen = "2 configurations, seed 7, reserve 128"
    table = card.versions(manifest)["data_versions"]
    assert [tuple(version.values()) for version in table] == [
        ("1.0.0", frozen, "1.9.0", ["the first version"]),
        ("1.9.0", frozen, "1.10.0", ["one row of vt.", "another."]),
        ("1.10.0", frozen, "–", []),
    ]
    later = {**manifest, "data_version": "2.0.0"}
    newest = card.versions(later)["data_versions"][-1]
    assert tuple(newest.values()) == ("2.0.0", "not yet", "–", [])


# ---- The published files -------------------------------------------------------------------------


def test_embedded_texts_have_no_rights_table_and_no_faults(oneruler):
    text = (oneruler / "README.md").read_text(encoding="utf-8")
    assert "\n## Rights\n" not in text
    assert section(text, "Faults of the published files").startswith("\nNone: ")
    assert "not written by native speakers" in section(text, "Known limits")


@pytest.mark.nightly
def test_the_card_lists_every_fault_of_the_errata(every_language):
    text = (every_language / "README.md").read_text(encoding="utf-8")
    faults = section(text, "Faults of the published files")
    (corrected,) = tables(faults, "erratum")
    assert {row["erratum"].strip("`") for row in corrected} == {e.id for e in errata()}
    (kept,) = tables(faults, "language")
    listed = [(row["language"], row["file"], row["what"]) for row in kept]
    assert sorted(listed) == sorted((fault.language, fault.file, fault.what) for fault in wording())
    assert all(f"`{fault.excerpt}`" in faults for fault in wording() if fault.excerpt)


@pytest.mark.nightly
def test_every_book_is_in_the_table_of_rights(every_language):
    manifest = read_manifest(every_language)
    text = (every_language / "README.md").read_text(encoding="utf-8")
    (table,) = tables(section(text, "Rights"), "language")
    assert labels(table) == list(LANGUAGES)
    for row in table:
        book = manifest["sources"][f"book-{row['language']}"]["book"]
        assert row["book"] == book["title"]
        assert row["author"].startswith(f"{book['author']} (died {book['died']})")
        assert (row["first published"], row["status"]) == (book["published"], book["status"])
        assert ("perhaps not" in row["free at life + 70 years and in the US"]) is book["restricted"]
    assert f"the books of {', '.join(restricted_books())} may not be free everywhere" in text


@pytest.mark.nightly
def test_a_part_lists_only_its_languages(every_language):
    manifest = read_manifest(every_language)
    manifest["files"] = {
        path: entry for path, entry in manifest["files"].items() if "/en-ko/" in path
    }
    text = render(collect_facts(manifest))
    assert "in 2 languages (en, ko)" in text
    (rights,) = tables(section(text, "Rights"), "language")
    assert labels(rights) == ["en"]
    assert "may not be free everywhere" not in text
    (corrected,) = tables(section(text, "Faults of the published files"), "erratum")
    ids = {row["erratum"].strip("`"): row["languages"] for row in corrected}
    assert ids["niah-needle-space"] == "en"
    assert ids["cwe-spaces"] == "ko"
    assert not any(id.startswith(("book", "niah-urdu")) for id in ids)
    assert len(ids["nouns-not-unique"].split()) > 10
