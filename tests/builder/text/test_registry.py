from __future__ import annotations

import hashlib

import pytest

from ruler_builder.text.sources import (
    CANONICAL,
    EMBEDDED,
    Sources,
    Store,
    named_sources,
    parse_choice,
    registry,
    states,
)
from ruler_common.errors import RulerError


def test_every_pinned_corpus_is_what_the_mirror_holds(mirror, store):
    for source in registry().values():
        file = source.canonical.file
        assert store.get(file) == mirror / file.path
        assert len(store.read(file)) == file.bytes


def test_every_embedded_file_is_what_the_registry_says(store):
    shipped = {name: s.embedded for name, s in registry().items() if s.embedded}
    for own in shipped.values():
        assert len(Store(own.folder).read(own.file)) == own.file.bytes
        assert own.licence == "CC0-1.0"
    assert list(shipped) == [
        *("essays", "squad", "hotpotqa", "oneruler-nouns", "niah-en", "cwe-en", "book-en"),
        *("niah-zh", "cwe-zh", "book-zh", "words-zh"),
    ]


def test_every_source_is_pinned_cited_and_licensed():
    assert list(named_sources(["ruler"])) == ["essays", "squad", "hotpotqa"]
    assert len(named_sources(["oneruler"])) == 1 + 4 * 26 - 1  # English has no dictionary
    for source in registry().values():
        assert source.canonical.citation
        assert source.canonical.file.origins
        for file in filter(None, (source.canonical, source.embedded)):
            assert file.licence
            assert file.title
            assert len(file.file.sha256) == 64
            assert file.file.bytes > 0


# ---- Canonical or embedded -----------------------------------------------------------------------


def test_what_is_read_is_recorded(mirror):
    sources = Sources(Store(mirror))
    data = sources.read("squad")
    used = sources.used["squad"]
    assert used["variant"] == CANONICAL
    assert used["sha256"] == hashlib.sha256(data).hexdigest()
    assert used["bytes"] == len(data)
    assert used["citation"] == registry()["squad"].canonical.citation
    assert used["urls"] == registry()["squad"].canonical.file.origins


def test_a_damaged_file_is_not_replaced(folder):
    damaged = folder / registry()["squad"].canonical.file.path
    damaged.parent.mkdir()
    damaged.write_bytes(b"damaged")
    sources = Sources(Store(folder))
    with pytest.raises(RulerError, match="is damaged"):
        sources.read("squad")
    assert sources.used == {}


def test_embedded_chooses_the_projects_own_texts_for_all(folder):
    sources = Sources(Store(folder), parse_choice(["embedded"]))
    for name in [*named_sources(["ruler", "oneruler-nouns"]), "book-en", "words-zh"]:
        assert sources.read(name)
        assert sources.used[name]["variant"] == EMBEDDED


def test_a_later_choice_overrides_an_earlier_one():
    choice = parse_choice(["embedded", "squad=canonical"])
    assert choice.embedded == registry().keys() - {"squad"}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("squat=embedded", "Unknown source 'squat'. Did you mean 'squad'? See: ruler sources"),
        ("squad=rebuilt", "Unknown kind of source 'rebuilt'. Known: canonical, embedded."),
        ("embeded", "Unknown kind of source 'embeded'. Did you mean 'embedded'?"),
    ],
)
def test_an_unknown_choice_is_refused_with_a_suggestion(word, message):
    with pytest.raises(RulerError) as refusal:
        parse_choice([word])
    assert str(refusal.value).startswith(message)


def test_an_unknown_source_is_refused_with_a_suggestion(folder):
    with pytest.raises(RulerError, match=r"Unknown source 'essay'\. Did you mean 'essays'\?"):
        Sources(Store(folder)).read("essay")


def test_states_say_which_sources_are_present_damaged_or_missing(folder):
    for name, more in (("essays", 0), ("squad", 1)):
        file = registry()[name].canonical.file
        (folder / file.path).parent.mkdir(exist_ok=True)
        (folder / file.path).write_bytes(bytes(file.bytes + more))
    found = [(source.name, state) for source, state in states(Store(folder))]
    assert found == [("essays", "present"), ("squad", "damaged"), ("hotpotqa", "missing")]
