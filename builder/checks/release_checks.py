"""Check what the files of a release have in common: questions, texts, wording, sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from builder.checks.breaches import Law
from builder.checks.inspect_rows import InspectedRowGroup, same_text
from builder.checks.sources_at_hand import SourcesAtHand
from builder.checks.verify_report import WHOLE_FILE, AskedDigest, FileReport
from builder.common.frozen_rows import read_frozen, unexplained
from builder.common.project_files import DISTRIBUTION
from builder.sources import word_lists
from builder.sources.registry import entry_of, registry
from builder.tasks.wording import standard_suite
from builder.tokens.tokenizers import named
from ruler_dataset import OWN_SUITE, SUITE_DIGESTS, Manifest, parse_length, suite_digest

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
                report.add(index, Law.PAIRED, f"asks something else than row {index} of {where}")
            elif _far(before.depths, found.depths):
                report.add(
                    index, Law.PAIRED, f"has its needles elsewhere than row {index} of {where}"
                )


def _far(depths: list[float], others: list[float]) -> bool:
    """Whether needles stand at other depths, or more of them."""
    pairs = zip(depths, others, strict=False)
    return len(depths) != len(others) or any(abs(a - b) > _NEAR for a, b in pairs)


def check_same_texts(groups: Iterable[InspectedRowGroup], reports: dict[str, FileReport]) -> None:
    """Essays, and the book of a language, are one text from its beginning in all files."""
    by_origin: dict[str, list[InspectedRowGroup]] = defaultdict(list)
    for group in groups:
        if group.text is not None:
            by_origin[group.text.origin].append(group)
    for sharing in by_origin.values():
        texts = [group.text.text for group in sharing if group.text]
        usual = max(texts[:5], key=lambda one: sum(same_text(one, other) for other in texts))
        for group in sharing:
            if group.text and not same_text(usual, group.text.text):
                what = "the text around the needles is not that of the other files"
                reports[group.path].add(group.text.row, Law.ACCOUNTED, what)


def check_manifest(manifest: Manifest, sources: SourcesAtHand, report: FileReport) -> None:
    """The manifest's wording, sources and words are the project's, where it names those."""
    for what in (
        *(*_wording(manifest), *_groups(manifest), *_sources(manifest), *_words(manifest)),
        *(*_tokenizers(manifest), *_most_rows(manifest, sources), *_left_out(manifest)),
    ):
        report.add(WHOLE_FILE, Law.ACCOUNTED, what)
    for code, worded in manifest.get("languages", {}).items():
        published = sources.language(code)
        if published is not None and _plain(asdict(published)) != _plain(dict(worded)):
            report.add(
                WHOLE_FILE, Law.ACCOUNTED, f"the wording of '{code}' is not the published one"
            )


def check_frozen(manifest: Manifest, reports: Mapping[str, FileReport]) -> None:
    """Files that should hold the frozen rows of the data version, by what it was made with, do."""
    frozen = read_frozen(manifest["data_version"])
    for path in unexplained(manifest, frozen) if frozen else ():
        what = (
            f"not the rows of data version {manifest['data_version']}, though sources, seed, "
            "reserve and suite are theirs: changed since, or made by a changed builder"
        )
        reports[path].add(WHOLE_FILE, Law.ACCOUNTED, what)


def _plain(value: Any) -> Any:
    """A value as JSON has it: lists for tuples."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def is_own_suite(manifest: Manifest) -> bool:
    """Whether the release was built with a suite of a user's own."""
    return manifest.get("suite") == OWN_SUITE


def _wording(manifest: Manifest) -> Iterator[str]:
    """The wording and the tasks' parameters are those of the suite that the manifest names."""
    name, dataset = manifest.get("suite", manifest["dataset"]), manifest["dataset"]
    if is_own_suite(manifest) or suite_digest(manifest) == SUITE_DIGESTS.get(name):
        return
    if name not in SUITE_DIGESTS:
        yield f"'{name}' is no suite that this version knows"
        return
    yield "the tasks and their wording are not those of the suite that the manifest names"
    suite = standard_suite(name)
    for family, wording in suite.families.items():
        if manifest["families"].get(family) != wording:
            yield f"the wording of '{family}' is not that of the suite '{name}'"
    for task, described in manifest["tasks"].items():
        right = suite.tasks.get(task)
        if right is None:
            yield f"the suite '{name}' has no task '{task}'"
            continue
        for parameter in {**right, **described} if name == dataset else right:
            mine, value = described.get(parameter), right.get(parameter)
            if mine != value:
                yield f"{parameter} of '{task}' is {mine!r}, the suite has {value!r}"


def _groups(manifest: Manifest) -> Iterator[str]:
    """The groups, over whose tasks scores are means, are those of the suite that is named."""
    name = manifest.get("suite", manifest["dataset"])
    if is_own_suite(manifest) or name not in SUITE_DIGESTS:
        return
    right = standard_suite(name).groups
    for group in {**right, **manifest["groups"]}:
        if tuple(manifest["groups"].get(group, ())) != right.get(group, ()):
            yield f"the group '{group}' does not hold the tasks that it has in the suite '{name}'"


def _tokenizers(manifest: Manifest) -> Iterator[str]:
    """A named tokenizer is described as the project does; of others the digest of a file is there.

    Verify counts every row again by the tokenizer itself, whatever is said of it.
    """
    mine = version(DISTRIBUTION) == manifest["builder_version"]
    for name, about in manifest["tokenizers"].items():
        if not (about.get("sha256") or about.get("backend_sha256")):
            yield f"the tokenizer '{name}' has no digest"
        known = named().get(name)
        if (
            known
            and mine
            and (about["spec"], about["title"], about["library"])
            != (*(name, known["title"], known["library"]),)
        ):
            yield f"the tokenizer '{name}' is not described as the one of this name"


def _most_rows(manifest: Manifest, sources: SourcesAtHand) -> Iterator[str]:
    """There are as many rows as a corpus has questions, and no end of them in other tasks."""
    for entry in manifest["files"].values():
        task, right = manifest["tasks"][entry["task"]], entry["most_rows"]
        if task["family"] != "question_answering":
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

    Another version of the builder may know more of the rights: of its releases they are not held
    to what this one knows.
    """
    mine = version(DISTRIBUTION) == manifest["builder_version"]
    for name, entry in manifest.get("sources", {}).items():
        source = registry().get(name)
        of_variant = {"canonical": source.canonical, "embedded": source.embedded} if source else {}
        if (known := of_variant.get(entry["variant"])) is None:
            yield f"'{name}' ({entry['variant']}) is no source that this version knows"
        elif (entry["sha256"], entry["bytes"]) != (known.file.sha256, known.file.bytes):
            yield f"the digest of '{name}' is not that of its {entry['variant']} file"
        elif mine and _plain(dict(entry)) != _plain(dict(entry_of(name, known))):
            yield f"title, licence, citation or rights of '{name}' are not those of this source"


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


def unlisted(root: Path, manifest: Manifest) -> Iterator[str]:
    """The files among a release's data that the manifest does not list, but for hidden ones."""
    for found in sorted(root.glob("data/**/*")):
        name = found.relative_to(root).as_posix()
        if name not in manifest["files"] and found.is_file() and not found.name.startswith("."):
            yield name
