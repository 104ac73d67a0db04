"""Every source is pinned, licensed and cited; what is read is checked and described."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.text.sources import (
    CANONICAL,
    EMBEDDED,
    Sources,
    embedded_languages,
    named_sources,
    registry,
    source_states,
)
from ruler_common.errors import RulerError
from tests.in_process import ruler_output


def put(folder: Path, data: bytes, path: str) -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


# ---- The registry --------------------------------------------------------------------------------


def test_the_mirror_holds_every_pinned_file(mirror, store):
    for source in registry().values():
        assert store.get(source.canonical.file) == mirror / source.canonical.file.path


def test_every_embedded_file_has_the_size_and_licence_of_the_registry(store):
    embedded_sources = {name: s.embedded for name, s in registry().items() if s.embedded}
    for embedded in embedded_sources.values():
        assert len(Store(embedded.folder).read(embedded.file)) == embedded.file.bytes
        assert embedded.licence == "CC0-1.0"
    assert list(embedded_sources) == [
        *("essays", "squad", "hotpotqa", "oneruler-nouns", "niah-en", "cwe-en", "book-en"),
        *("niah-zh", "cwe-zh", "book-zh", "words-zh"),
    ]
    assert embedded_languages() == ["en", "zh"]


def test_an_empty_name_is_not_a_source():
    with pytest.raises(RulerError, match=re.escape("Unknown source ''. See: ruler sources")):
        named_sources([""])


def test_every_source_is_pinned_cited_and_licensed():
    assert list(named_sources(["ruler"])) == ["essays", "squad", "hotpotqa"]
    assert len(named_sources(["oneruler"])) == 1 + 4 * 26 - 1  # English has no dictionary
    for source in registry().values():
        assert source.canonical.citation
        assert source.canonical.file.origins
        for variant in filter(None, (source.canonical, source.embedded)):
            assert variant.licence
            assert variant.title
            assert len(variant.file.sha256) == 64
            assert variant.file.bytes > 0


def test_sources_are_named_by_name_data_set_or_language():
    kinds = ("niah", "cwe", "book", "words")
    assert list(named_sources(["squad", "ko"])) == ["squad", *(f"{kind}-ko" for kind in kinds)]
    assert list(named_sources()) == list(registry())
    with pytest.raises(RulerError, match=r"Unknown source 'book-plx'. Did you mean 'book-pl'\?"):
        named_sources(["book-plx"])


# ---- What is read --------------------------------------------------------------------------------


def test_the_manifest_describes_what_is_read_and_books_with_their_rights(mirror):
    sources = Sources(Store(mirror))
    data = sources.read("squad")
    used = sources.entry("squad")
    assert used["variant"] == CANONICAL
    assert (used["sha256"], used["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
    assert used["citation"] == registry()["squad"].canonical.citation
    assert used["urls"] == registry()["squad"].canonical.file.origins
    assert "book" not in used
    book = sources.entry("book-pl")["book"]
    assert (book["author"], book["restricted"]) == ("Maria Dąbrowska", True)


def test_a_damaged_or_unknown_source_is_refused(folder):
    put(folder, b"damaged", registry()["squad"].canonical.file.path)
    sources = Sources(Store(folder))
    for name, text in (("squad", "is damaged"), ("essay", "'essay'. Did you mean 'essays'")):
        with pytest.raises(RulerError, match=text):
            sources.read(name)


def test_embedded_selects_the_projects_texts_for_every_source(folder):
    sources = Sources(Store(folder), parse_sources_option(["embedded"]))
    for name in [*named_sources(["ruler", "oneruler-nouns"]), "book-en", "words-zh"]:
        assert sources.read(name)
        assert sources.entry(name)["variant"] == EMBEDDED
    with pytest.raises(RulerError, match=r"no embedded text for 'book-pl'.*en, zh"):
        sources.read("book-pl")


# ---- `ruler sources` -----------------------------------------------------------------------------


def test_sources_are_listed_as_present_damaged_or_missing(folder):
    for name, extra_bytes in (("essays", 0), ("squad", 1)):
        file = registry()[name].canonical.file
        put(folder, bytes(file.bytes + extra_bytes), file.path)
    state_of = {source.name: state for source, state in source_states(Store(folder))}
    assert state_of == {"essays": "present", "squad": "damaged", "hotpotqa": "missing"}
    output = ruler_output("sources", "--mirror", folder)
    for word in ("essays", "squad", "hotpotqa", "missing", "CC BY-SA 4.0", "To get missing"):
        assert word in output
    for name in ("squad", "hotpotqa"):
        file = registry()[name].canonical.file
        put(folder, bytes(file.bytes), file.path)
    output = ruler_output("sources", "--suite", "ruler", "--mirror", folder)
    assert "hotpotqa  present" in output
    assert "To get missing sources" not in output


def test_the_sources_of_oneruler_are_listed_by_language(folder):
    for name in ("niah-pl", "cwe-pl", "book-pl", "words-pl", "niah-ko"):
        file = registry()[name].canonical.file
        put(folder, bytes(file.bytes if name != "book-pl" else 3), file.path)
    lines = ruler_output("sources", "--suite", "oneruler", "--mirror", folder).splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line and line[0].isalpha()}
    assert rows["cs"][1] == "missing"
    assert rows["pl"][1:3] == ["book-pl", "damaged"]
    assert rows["nl"][-2:] == ["perhaps", "not"]
    assert "essays" not in rows
    assert any(line.strip().startswith("nl  Disputed") for line in lines)


def test_a_language_is_fetched_by_its_code(mirror):
    output = ruler_output("sources", "fetch", "oneruler-nouns", "st", "--mirror", mirror)
    names = [line.split(":")[0] for line in output.splitlines()]
    assert names == ["oneruler-nouns", "niah-st", "cwe-st", "book-st", "words-st"]
