"""Check what the files of a release have in common: questions, texts, wording, sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ruler_builder.families.table import FAMILIES
from ruler_builder.proof.inspect_rows import InspectedRowGroup
from ruler_builder.proof.shared_texts import SharedText, unlike_most
from ruler_builder.proof.verify_report import AskedDigest, FileReport
from ruler_builder.reading.breaches import Law
from ruler_common.frozen_rows import frozen_for, unexplained
from ruler_common.manifest_form import Manifest

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


def corpora_of(manifest: Manifest) -> list[str]:
    """The corpora whose questions the release's files ask."""
    tasks = [manifest["tasks"][entry["task"]] for entry in manifest["files"].values()]
    asked = (t["dataset"] for t in tasks if FAMILIES[t["family"]].params.from_corpus)
    return sorted({*asked})


def check_most_rows(
    manifest: Manifest, questions: Mapping[str, int | None], report: FileReport
) -> None:
    """There are as many rows as a corpus has questions, and no end of them in other tasks.

    `questions` has None for a corpus that is not at hand.
    """
    for entry in manifest["files"].values():
        task, right = manifest["tasks"][entry["task"]], entry["most_rows"]
        if not FAMILIES[task["family"]].params.from_corpus:
            right = None
        elif (asked := questions[task["dataset"]]) is not None:
            right = asked
        if entry["most_rows"] != right:
            what = f"most_rows of {entry['config']} is {entry['most_rows']}, not {right}"
            report.add(what)


def check_frozen(manifest: Manifest, reports: Mapping[str, FileReport]) -> None:
    """Files that should hold the frozen rows of the data version, by what it was made with, do."""
    frozen = frozen_for(manifest)
    for path in unexplained(manifest, frozen) if frozen else ():
        what = (
            f"not the rows of data version {manifest['data_version']}, though sources, seed, "
            "reserve and suite are theirs: changed since, or made by a changed builder"
        )
        reports[path].add(what)
