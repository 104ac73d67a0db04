"""A card names its sources, rights, known faults, versions and citations."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ruler_builder.release.card import render
from ruler_builder.release.facts import collect_facts
from ruler_builder.text.errata import errata, wording
from ruler_builder.text.sources import restricted_books
from ruler_common.frozen import frozen_sentence
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
    assert frozen_sentence(manifest) in versions
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
    assert "en" in ids["niah-needle-space"].split()
    assert "ko" in ids["cwe-spaces"].split()
    assert not any(id.startswith("niah-urdu") for id in ids)
    assert len(ids["nouns-not-unique"].split()) > 10
