"""Check what the files of a release have in common: questions, texts, wording, sources."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, cast

from ruler_builder.common.project_files import DISTRIBUTION
from ruler_builder.families.table import FAMILIES, listed, read_params
from ruler_builder.proof.inspect_rows import InspectedRowGroup, SharedText, unlike_most
from ruler_builder.proof.verify_report import AskedDigest, FileReport
from ruler_builder.reading.breaches import Law
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.sources import word_lists
from ruler_builder.sources.registry import entry_of, registry
from ruler_builder.suites.wording import standard_suite, suite_names
from ruler_builder.tokens.tokenizers import named
from ruler_common.frozen_rows import read_frozen, unexplained
from ruler_common.manifest import suite_digest
from ruler_common.manifest_form import OWN_SUITE, Manifest
from ruler_common.names import parse_length

_NEAR = 0.1  # of the context: needles stand between sentences, and these differ in length


def check_same_asked(manifest: Manifest, reports: dict[str, FileReport]) -> None:
    """Row i of a task must ask the same in every file of its scope, at the same depths."""
    first: dict[tuple[str, int, str], tuple[AskedDigest, str]] = {}
    for path, report in reports.items():
        task = manifest["files"][path]["task"]
        task = manifest["tasks"][task].get("same_as") or task
        for index, found in report.asked.items():
            key = (task, index, found.scope)
            before, where = first.setdefault(key, (found, report.config))
            if before.digest != found.digest:
                report.add(
                    f"asks something else than row {index} of {where}", Law.PAIRED, row=index
                )
            elif _far(before.depths, found.depths):
                report.add(
                    f"has its needles elsewhere than row {index} of {where}", Law.PAIRED, row=index
                )


def _far(depths: list[float], others: list[float]) -> bool:
    """Whether needles stand at other depths, or more of them."""
    pairs = zip(depths, others, strict=False)
    return len(depths) != len(others) or any(abs(a - b) > _NEAR for a, b in pairs)


def check_same_texts(groups: Iterable[InspectedRowGroup], reports: dict[str, FileReport]) -> None:
    """Essays, and the book of a language, are one text from its beginning in all files."""
    by_origin: dict[str, list[SharedText]] = defaultdict(list)
    for group in groups:
        if group.text is not None:
            by_origin[group.text.origin].append(group.text)
    for texts in by_origin.values():
        for odd in unlike_most(texts, tried=5):
            what = "the text around the needles is not that of the other files"
            reports[odd.path].add(what, row=odd.row)


def check_manifest(manifest: Manifest, sources: SourcesAtHand, report: FileReport) -> None:
    """The manifest's wording, sources and words are the project's, where it names those."""
    for check in (_wording, _sources, _words, _tokenizers, _left_out):
        for what in check(manifest):
            report.add(what)
    for what in _most_rows(manifest, sources):
        report.add(what)
    for code, worded in manifest.get("languages", {}).items():
        published = sources.language(code)
        if published is not None and _plain(asdict(published)) != _plain(worded):
            report.add(f"the wording of '{code}' is not the published one")


def check_frozen(manifest: Manifest, reports: Mapping[str, FileReport]) -> None:
    """Files that should hold the frozen rows of the data version, by what it was made with, do."""
    frozen = read_frozen(manifest["data_version"])
    for path in unexplained(manifest, frozen) if frozen else ():
        what = (
            f"not the rows of data version {manifest['data_version']}, though sources, seed, "
            "reserve and suite are theirs: changed since, or made by a changed builder"
        )
        reports[path].add(what)


def _plain(value: object) -> Any:
    """A value as JSON has it: lists for tuples."""
    return json.loads(json.dumps(value))


def is_own_suite(manifest: Manifest) -> bool:
    """Whether the release was built with a suite of a user's own."""
    return manifest.get("suite") == OWN_SUITE


def _wording(manifest: Manifest) -> Iterator[str]:
    """Groups, wording and tasks' parameters are those of the suite that the manifest names."""
    name = manifest.get("suite", manifest["dataset"])
    if is_own_suite(manifest):
        return
    if name not in suite_names():
        yield f"'{name}' is no suite that this version knows"
        return
    suite = standard_suite(name)
    for group in {**suite.groups, **manifest["groups"]}:  # over whose tasks scores are means
        if tuple(manifest["groups"].get(group, ())) != suite.groups.get(group, ()):
            yield f"the group '{group}' does not hold the tasks that it has in the suite '{name}'"
    tasks = {t: listed(about["family"], read_params(t, about)) for t, about in suite.tasks.items()}
    right = cast(Manifest, {**manifest, "tasks": tasks, "families": suite.families})
    if suite_digest(manifest) == suite_digest(right):
        return
    yield "the tasks and their wording are not those of the suite that the manifest names"
    for family, wording in suite.families.items():
        if manifest["families"].get(family) != wording:
            yield f"the wording of '{family}' is not that of the suite '{name}'"
    for task, described in manifest["tasks"].items():
        if task not in tasks:
            yield f"the suite '{name}' has no task '{task}'"
            continue
        for parameter in {**tasks[task], **described}:
            mine, value = described.get(parameter), tasks[task].get(parameter)
            if mine != value:
                yield f"{parameter} of '{task}' is {mine!r}, the suite has {value!r}"


def _tokenizers(manifest: Manifest) -> Iterator[str]:
    """A named tokenizer is described as the project does; of others the digest of a file is there.

    Verify counts every row again by the tokenizer itself, whatever is said of it.
    """
    mine = version(DISTRIBUTION) == manifest["builder_version"]
    for name, about in manifest["tokenizers"].items():
        if not (about.get("sha256") or about.get("backend_sha256")):
            yield f"the tokenizer '{name}' has no digest"
        known = named().get(name) if mine else None
        described = about["spec"], about["title"], about["library"]
        if known and described != (name, known["title"], known["library"]):
            yield f"the tokenizer '{name}' is not described as the one of this name"


def _most_rows(manifest: Manifest, sources: SourcesAtHand) -> Iterator[str]:
    """There are as many rows as a corpus has questions, and no end of them in other tasks."""
    for entry in manifest["files"].values():
        task, right = manifest["tasks"][entry["task"]], entry["most_rows"]
        if not FAMILIES[task["family"]].params.from_corpus:
            right = None
        elif (corpus := sources.corpus(task["dataset"])) is not None:
            right = len(corpus.questions)
        if entry["most_rows"] != right:
            yield f"most_rows of {entry['config']} is {entry['most_rows']}, not {right}"


def _left_out(manifest: Manifest) -> Iterator[str]:
    """What is left out is not there."""
    there = {entry["config"] for entry in manifest["files"].values()}
    for name in there & {*manifest.get("left_out", {})}:
        yield f"left_out names '{name}', which is there"


def _sources(manifest: Manifest) -> Iterator[str]:
    """Each source is one of the registry, in the variant, with the digest and rights it has there.

    Another version of the builder may know more of the rights: of its releases only the licence is
    held to what this one knows.
    """
    mine = version(DISTRIBUTION) == manifest["builder_version"]
    for name, entry in manifest.get("sources", {}).items():
        source = registry().get(name)
        of_variant = {"canonical": source.canonical, "embedded": source.embedded} if source else {}
        if (known := of_variant.get(entry["variant"])) is None:
            yield f"'{name}' ({entry['variant']}) is no source that this version knows"
        elif (entry["sha256"], entry["bytes"]) != (known.file.sha256, known.file.bytes):
            yield f"the digest of '{name}' is not that of its {entry['variant']} file"
        elif mine and _plain(entry) != _plain(entry_of(name, known)):
            yield f"title, licence, citation or rights of '{name}' are not those of this source"
        elif entry["licence"] != entry_of(name, known)["licence"]:
            yield f"the licence of '{name}' is not that of this source"


def _words(manifest: Manifest) -> Iterator[str]:
    """The word lists have the digests of those that this version reads."""
    lengths = (entry["length"] for entry in manifest["files"].values())
    longest = max((parse_length(name, manifest["dataset"]) for name in lengths), default=0)
    known = word_lists.digests(extended=True)
    needed = word_lists.digests(extended=longest > parse_length("128k", manifest["dataset"]))
    words = manifest.get("words", {})
    if any(words.get(name) != digest for name, digest in needed.items()):
        yield "the digests of the word lists are not those of the lists read here"
    if unknown := set(words) - set(known):
        yield f"'{min(unknown)}' is no word list that this version knows"
