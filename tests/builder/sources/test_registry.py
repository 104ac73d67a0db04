from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from builder.sources.download import Store
from builder.sources.registry import (
    CANONICAL,
    EMBEDDED,
    Sources,
    named_sources,
    parse_choice,
    registry,
    states,
)
from ruler_dataset import RulerError


def test_every_pinned_corpus_is_what_the_mirror_holds(mirror: Path, store: Store) -> None:
    held = {
        (source.name, variant.name)
        for source in registry().values()
        for variant in source.variants.values()
        if (mirror / variant.file.path).is_file()
    }
    assert held == {
        ("essays", CANONICAL),
        ("squad", "rebuilt"),
        ("hotpotqa", "partial"),
        *((name, CANONICAL) for name in named_sources(["oneruler"])),
    }
    for source, variant in held:
        file = registry()[source].variants[variant].file
        assert len(store.read(file)) == file.bytes


def test_every_embedded_file_is_what_the_registry_says(store: Store) -> None:
    shipped = {n: s.variants[EMBEDDED] for n, s in registry().items() if EMBEDDED in s.variants}
    for variant in shipped.values():
        assert len(variant.read(store)) == variant.file.bytes
        assert variant.licence == "CC0-1.0"
    assert list(shipped) == [
        *("essays", "squad", "hotpotqa", "oneruler-nouns", "niah-en", "cwe-en", "book-en"),
        *("niah-zh", "cwe-zh", "book-zh", "words-zh"),
    ]


def test_every_source_is_pinned_cited_and_licensed() -> None:
    assert list(named_sources(["ruler"])) == ["essays", "squad", "hotpotqa"]
    assert len(named_sources(["oneruler"])) == 1 + 4 * 26 - 1  # English has no dictionary
    for source in registry().values():
        assert source.citation
        assert next(iter(source.variants)) == CANONICAL
        assert source.variants[CANONICAL].file.urls
        for variant in source.variants.values():
            assert variant.licence
            assert variant.title
            assert len(variant.file.sha256) == 64
            assert variant.file.bytes > 0


# ---- Variants ----------------------------------------------------------------------------------


def test_a_named_variant_is_used_and_recorded(mirror: Path) -> None:
    sources = Sources(Store(mirror), parse_choice(["squad=rebuilt"]))
    data = sources.read("squad")
    used = sources.used["squad"]
    assert used["variant"] == "rebuilt"
    assert used["sha256"] == hashlib.sha256(data).hexdigest()
    assert used["bytes"] == len(data)
    assert used["citation"] == registry()["squad"].citation


@pytest.fixture
def only_a_variant(mirror: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror with a variant of SQuAD alone, and no network."""
    for scheme in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    path = registry()["squad"].variants["rebuilt"].file.path
    (folder / path).parent.mkdir()
    (folder / path).symlink_to(mirror / path)
    return folder


def test_a_variant_is_not_used_unless_it_is_allowed(only_a_variant: Path) -> None:
    sources = Sources(Store(only_a_variant))
    with pytest.raises(RulerError, match=r"variant 'rebuilt' is here: --allow-variants uses it"):
        sources.read("squad")
    assert sources.used == {}


def test_an_allowed_variant_is_used_where_the_canonical_file_is_missing(
    only_a_variant: Path,
) -> None:
    sources = Sources(Store(only_a_variant), allow_variants=True)
    assert sources.read("squad")
    assert sources.used["squad"]["variant"] == "rebuilt"


def test_the_canonical_file_is_used_where_it_is_here_though_variants_are_allowed(
    mirror: Path,
) -> None:
    sources = Sources(Store(mirror), allow_variants=True)
    sources.read("essays")
    assert sources.used["essays"]["variant"] == CANONICAL


def test_a_damaged_canonical_file_is_not_replaced_by_a_variant(only_a_variant: Path) -> None:
    damaged = only_a_variant / registry()["squad"].variants[CANONICAL].file.path
    damaged.write_bytes(b"damaged")
    for allowed in (False, True):
        sources = Sources(Store(only_a_variant), allow_variants=allowed)
        with pytest.raises(RulerError, match="expected sha256") as refusal:
            sources.read("squad")
        assert "'canonical' is here" not in str(refusal.value)
        assert sources.used == {}


def test_an_allowed_variant_is_never_an_embedded_one(folder: Path) -> None:
    for name in registry():
        assert Sources(Store(folder), allow_variants=True).variant(name).name == CANONICAL


def test_embedded_chooses_the_projects_own_texts_for_all(folder: Path) -> None:
    sources = Sources(Store(folder), parse_choice(["embedded"]))
    for name in [*named_sources(["ruler", "oneruler-nouns"]), "book-en", "words-zh"]:
        assert sources.read(name)
        assert sources.used[name]["variant"] == EMBEDDED


def test_a_later_choice_overrides_an_earlier_one() -> None:
    choice = parse_choice(["embedded", "squad=rebuilt"])
    assert choice == dict.fromkeys(registry(), EMBEDDED) | {"squad": "rebuilt"}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("squat=rebuilt", "Unknown source 'squat'. Did you mean 'squad'? See: ruler sources"),
        ("squad=rebuild", "Unknown variant of squad 'rebuild'. Did you mean 'rebuilt'?"),
        ("embeded", "Unknown source variant 'embeded'. Did you mean 'embedded'?"),
    ],
)
def test_an_unknown_choice_is_refused_with_a_suggestion(word: str, said: str) -> None:
    with pytest.raises(RulerError) as refusal:
        parse_choice([word])
    assert str(refusal.value).startswith(said)


def test_an_unknown_source_is_refused_with_a_suggestion(folder: Path) -> None:
    with pytest.raises(RulerError, match=r"Unknown source 'essay'\. Did you mean 'essays'\?"):
        Sources(Store(folder)).read("essay")


def test_states_say_which_sources_are_present_stood_in_for_or_missing(folder: Path) -> None:
    for source, variant in (("essays", CANONICAL), ("squad", "rebuilt")):
        file = registry()[source].variants[variant].file
        (folder / file.path).parent.mkdir()
        (folder / file.path).write_bytes(bytes(file.bytes))
    found = [(s["source"], s["variant"], s["state"]) for s in states(Store(folder))]
    assert found == [
        ("essays", CANONICAL, "present"),
        ("squad", "rebuilt", "variant"),
        ("hotpotqa", CANONICAL, "missing"),
    ]
