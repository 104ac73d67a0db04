"""Make the manifest of a release again from its files, and compare it with the one that is there.

for place, what in manifest_differences(manifest, checked, here):
place, what                  # ("files", "data/…/vt.parquet", "unit"), "is 999, should be 33"
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from ruler_builder.oneruler.languages import language
from ruler_builder.release.card import languages
from ruler_builder.release.new_manifest import new_settings, with_files
from ruler_builder.release.suite import suite_in
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import sources_of
from ruler_builder.text import word_lists
from ruler_builder.text.sources import Sources, Store, choice_in, entry_of, prompts_of, registry
from ruler_builder.tokens.reference_counter import ReleaseAtHand
from ruler_builder.tokens.tokenizers import known_digests, named
from ruler_builder.verify.file_check import CheckedFile, short
from ruler_common.errors import RulerError
from ruler_common.manifest_form import (
    FileEntry,
    LanguageEntry,
    Manifest,
    SourceEntry,
    TokenizerEntry,
)

MAY_DIFFER = (
    "builder_version",
    "tokenizers.*.version",
    "tokenizers.*.backend_version",
    "files.*.counted_by",  # which engine counted: the numbers are the reference's
)
"""The fields of a manifest that may differ from a rebuilt one's. `*` is any name."""
MAY_DIFFER_IF_GIVEN = ("spec", "title", "commit", "backend_sha256")
"""What may also differ of a tokenizer that a user gave: it is known by its files' digests."""


def manifest_differences(
    manifest: Manifest, checked: Mapping[str, CheckedFile], here: ReleaseAtHand
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where the manifest is not the one that a build of these files writes, and how."""
    files = {path: checked[path].entry or entry for path, entry in manifest["files"].items()}
    if manifest["data_version"] == DATA_VERSION:
        rebuilt = rebuilt_manifest(manifest, files, checked, here)
    else:  # what this builder would write is of another data version
        rebuilt = cast(Manifest, {**manifest, "files": files})
    written, right = json.loads(json.dumps(manifest)), json.loads(json.dumps(rebuilt))
    for place, what in differences(written, right):
        if not _may_differ(manifest, place):
            yield place, what


def rebuilt_manifest(
    manifest: Manifest,
    files: Mapping[str, FileEntry],
    checked: Mapping[str, CheckedFile],
    here: ReleaseAtHand,
) -> Manifest:
    """Return the manifest that a build of these files writes.

    What is not known on this machine is taken from the manifest: the wording of a language whose
    prompts are missing, and why configurations were left out.
    """
    lengths = {entry["length"] for entry in files.values()}
    if manifest["words"].keys() >= word_lists.digests(extended=True).keys():
        lengths.add("1m")  # a longer file was asked for, which its window left out
    suite = suite_in(manifest)
    rebuilt = new_settings(suite, manifest["seed"], manifest["reserve"], lengths)
    sources = Sources(Store(here.mirror), choice_in(manifest["sources"], here.given))
    rebuilt["sources"] = _source_entries(manifest, sources)
    if manifest["dataset"] == "oneruler":
        rebuilt["languages"] = _language_entries(manifest, sources)
    rebuilt["tokenizers"] = _tokenizer_entries(manifest, checked)
    if "left_out" in manifest:
        rebuilt["left_out"] = manifest["left_out"]
    return with_files(rebuilt, files)


def _source_entries(manifest: Manifest, sources: Sources) -> dict[str, SourceEntry]:
    """Return what a manifest says of the sources that its files are made of."""
    found: dict[str, SourceEntry] = {}
    for entry in manifest["files"].values():
        for name in sources_of(manifest, entry):
            try:
                found[name] = entry_of(sources.file(name))
            except RulerError:  # of a language whose folder was not given
                if name in registry():
                    found[name] = entry_of(registry()[name].canonical)
                elif name in manifest["sources"]:
                    found[name] = manifest["sources"][name]
    return found


def _language_entries(manifest: Manifest, sources: Sources) -> dict[str, LanguageEntry]:
    """Return the wording of the languages, from their prompts if they are on this machine."""
    found: dict[str, LanguageEntry] = {}
    for code in languages(manifest):
        try:
            files = [sources.file(name) for name in prompts_of(code)]
            if all(file.is_here(sources.store) for file in files):
                found[code] = language(code, sources)
        except RulerError:  # its folder was not given, or a file of it is damaged
            pass
        if code not in found and code in manifest["languages"]:
            found[code] = manifest["languages"][code]
    return found


def _tokenizer_entries(
    manifest: Manifest, checked: Mapping[str, CheckedFile]
) -> dict[str, TokenizerEntry]:
    """Return what a manifest says of the tokenizers, as they were loaded or as they are known."""
    loaded: dict[str, TokenizerEntry] = {}
    for path, file in checked.items():
        name = manifest["files"][path]["tokenizer"]
        if file.tokenizer or name not in loaded:
            loaded[name] = file.tokenizer or manifest["tokenizers"][name]
    found: dict[str, TokenizerEntry] = {}
    for name, about in loaded.items():
        fields = {key: part for key, part in about.items() if key in TokenizerEntry.__annotations__}
        if known := named().get(name):
            fields |= {"spec": name, "title": known["title"], "library": known["library"]}
            fields["sha256"] = known_digests(name)
        found[name] = cast(TokenizerEntry, fields)
    return found


def differences(
    mine: object, rebuilt: object, place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where two values of JSON differ, and how, from the outermost place on."""
    if isinstance(mine, Mapping) and isinstance(rebuilt, Mapping):
        for name in {**rebuilt, **mine}:
            if name not in rebuilt:
                yield (*place, name), "does not belong there"
            elif name not in mine:
                yield (*place, name), "is missing"
            else:
                yield from differences(mine[name], rebuilt[name], (*place, name))
    elif type(mine) is not type(rebuilt) or mine != rebuilt:
        yield place, f"is {short(mine)}, should be {short(rebuilt)}"


def _may_differ(manifest: Manifest, place: tuple[str, ...]) -> bool:
    """Whether a field may differ from a rebuilt manifest's."""
    if len(place) == 3 and place[0] in ("tokenizers", "files"):
        name = place[1]
        if place[0] == "tokenizers" and name not in named() and place[2] in MAY_DIFFER_IF_GIVEN:
            return name in manifest["tokenizers"]
        return f"{place[0]}.*.{place[2]}" in MAY_DIFFER
    return ".".join(place) in MAY_DIFFER
