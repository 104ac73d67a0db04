r"""The task families of the evaluation: which there are, whose rule a task follows, the oracle.

    solve("…One of the special magic numbers for apt-fox is: 1234567. …\nWhat is the special "
          "magic number for apt-fox mentioned in the provided text?")      # "1234567"
    rule_task("chain_of_9", "ruler", release)                             # "vt"

A new family is a module of this room and its entry in FAMILIES.
"""

from __future__ import annotations

from collections.abc import Mapping

from ruler_common.errors import RulerError
from ruler_eval.families import (
    common_words,
    frequent_words,
    multilingual_niah,
    multilingual_words,
    niah,
    question_answering,
    variable_tracking,
)
from ruler_eval.families.family import Family
from ruler_eval.frozen_release import Release

FAMILIES: dict[str, Family] = {
    "niah": niah.FAMILY,
    "variable_tracking": variable_tracking.FAMILY,
    "common_words": common_words.FAMILY,
    "frequent_words": frequent_words.FAMILY,
    "question_answering": question_answering.FAMILY,
    # ONERULER's tell their rows by tags alone, not by words: they come last
    "multilingual_words": multilingual_words.FAMILY,
    "multilingual_niah": multilingual_niah.FAMILY,
}
"""By the names that manifests have for them, in the order in which the oracle asks them."""
_OF_BENCHMARKS = {(f.dataset, task): f for f in FAMILIES.values() for task in f.tasks}


def family_of(task: str, dataset: str, release: Release | None = None) -> Family:
    """The family of a benchmark's task; of another task the one that its release's manifest names.

    `dataset` is `ruler` or `oneruler`, for some names are of tasks of both. Raises RulerError for a
    family that is not known here.
    """
    if (dataset, task) in _OF_BENCHMARKS:
        return _OF_BENCHMARKS[dataset, task]
    if release is None:
        raise RulerError(
            f"There is no scoring rule for the task '{task}': it is none of {dataset}'s. Name the "
            "release that describes it with --dataset."
        )
    if (name := release.family(task)) not in FAMILIES:
        raise RulerError(
            f"There is no scoring rule for the task '{task}' of family '{name}', which is not "
            f"known here (known: {', '.join(FAMILIES)}): use the version of ruler-release that "
            "made the release, or add the family to ruler_eval/families/table.py."
        )
    return FAMILIES[name]


def rule_task(task: str, dataset: str, release: Release | None = None) -> str:
    """The task whose scoring rule holds: its own, or its family's in a suite of a user's own.

    Raises RulerError for a family that is not known here.
    """
    family = family_of(task, dataset, release)
    if task in family.tasks:
        return task
    absent = release is not None and release.manifest["tasks"][task].get("absent")
    return family.absent_rule if absent and family.absent_rule else family.rule


def solve(text: str, dictionary: Mapping[str, str] | None = None) -> str:
    """The oracle's answer to one row's `input`; the empty string if the wording is no family's.

    `dictionary` has the text's word for each word of the question, where the question is in another
    language than the text.
    """
    for family in FAMILIES.values():
        if dictionary and family.solve_across:
            answer = family.solve_across(text, dictionary)
        else:
            answer = family.solve(text)
        if answer is not None:
            return answer
    return ""
