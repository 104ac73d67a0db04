"""The task families, with their scoring rules and the wording of their prompts.

    scoring_task("chain_of_9", "ruler", release)                # "vt"
    family_of("niah_multikey_1", "ruler").answers               # "values"

Each task of the benchmarks has a scoring rule. A custom task has the rule of its family, which the
release's manifest names. The families are those of RULER (arXiv:2404.06654, section 3) and ONERULER
(arXiv:2503.01996, section 2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ruler_common.errors import RulerError
from ruler_common.names import Config
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import ScoredConfig
from ruler_score.ruler_score import ONERULER_TASKS, QA_TASKS, RULER_TASKS

Answers = Literal["values", "variables", "words", "text"]
"""What an answer is: the values of needles, names of variables, words of a list, or free text."""


@dataclass(frozen=True, kw_only=True)
class TaskFamily:
    """A task family."""

    dataset: str
    """The benchmark of the family: `ruler` or `oneruler`."""
    tasks: tuple[str, ...]
    """The benchmark's tasks of this family."""
    rule: str
    """The task whose scoring rule applies to custom tasks of this family."""
    absent_rule: str = ""
    """The same for tasks with the parameter `absent`, whose right answer is the none word."""
    answers: Answers
    before_context: str = ""
    """The last words before the context, for prompts without their release."""
    after_context: str = "Question:"
    """The first words after the context."""
    evidence: re.Pattern[str] | None = None
    """A piece of evidence. Its group is a value; without a group, a piece that contains a reference
    is evidence."""


FAMILIES: Mapping[str, TaskFamily] = {
    "niah": TaskFamily(
        dataset="ruler",
        tasks=tuple(task for task in RULER_TASKS if task.startswith("niah")),
        rule="niah_single_1",
        answers="values",
        before_context="afterwards.",
        after_context="What ",
        evidence=re.compile(r"One of the special magic \w+ for [^\n]{1,120}? is: ([\w-]+)\."),
    ),
    "variable_tracking": TaskFamily(
        dataset="ruler",
        tasks=("vt",),
        rule="vt",
        answers="variables",
        before_context="hidden in the following text.",
        evidence=re.compile(r"VAR ([A-Z]+) = (?:VAR [A-Z]+|\d+)"),
    ),
    "common_words": TaskFamily(
        dataset="ruler",
        tasks=("cwe",),
        rule="cwe",
        answers="words",
        before_context="Memorize the ones that appear most often.",
    ),
    "frequent_words": TaskFamily(
        dataset="ruler",
        tasks=("fwe",),
        rule="fwe",
        answers="words",
        before_context="most frequently appeared coded words.",
    ),
    "question_answering": TaskFamily(
        dataset="ruler",
        tasks=QA_TASKS,
        rule="qa_1",
        answers="text",
        before_context="The following are given documents.",
        after_context="Answer the question based on the given documents.",
        evidence=re.compile(r"Document \d+:\n(?:(?!\n\nDocument \d+:\n).)+", re.DOTALL),
    ),
    "multilingual_words": TaskFamily(
        dataset="oneruler",
        tasks=("cwe_easy", "cwe_hard"),
        rule="cwe_easy",
        answers="words",
        after_context="",
    ),
    "multilingual_niah": TaskFamily(
        dataset="oneruler",
        tasks=tuple(task for task in ONERULER_TASKS if task.startswith("niah")),
        rule="niah_single",
        absent_rule="niah_none",
        answers="values",
        after_context="",
        evidence=re.compile(r"(?<!\d)(\d{7})(?!\d)"),
    ),
}
"""The families, by the names that manifests have for them."""


def family_of(task: str, dataset: str, release: Release | None = None) -> TaskFamily:
    """Return the family of a benchmark's task, or of a custom task whose release names it.

    `dataset` is `ruler` or `oneruler`: some names are tasks of both. Raises RulerError for a
    family that is not in the table.
    """
    for family in FAMILIES.values():
        if family.dataset == dataset and task in family.tasks:
            return family
    if release is None:
        raise RulerError(
            f"There is no scoring rule for the task '{task}': it is not one of {dataset}'s tasks. "
            "Name the release that describes it with --dataset."
        )
    name = release.family(task)
    if name is None or name not in FAMILIES:
        raise RulerError(
            f"There is no scoring rule for the task '{task}': its family '{name}' is unknown "
            f"(known: {', '.join(FAMILIES)}). Use the version of ruler-release that made the "
            "release, or add the family to ruler_eval/tasks.py."
        )
    return FAMILIES[name]


def scoring_task(task: str, dataset: str, release: Release | None = None) -> str:
    """Return the task whose scoring rule applies: a custom task has that of its family.

    Raises RulerError for a family that is not in the table.
    """
    family = family_of(task, dataset, release)
    if task in family.tasks:
        return task
    if family.absent_rule and release and release.manifest["tasks"][task].get("absent"):
        return family.absent_rule
    return family.rule


def scoring_language(config: Config | ScoredConfig) -> str | None:
    """Return the language by whose rules answers are scored: the instruction's; None in RULER."""
    return config.instruction_language if config.dataset == "oneruler" else None


def find_whole(value: str, text: str) -> int:
    """Return the position of a value in a text, not within a longer word or number; or -1."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not any(part.isalnum() or part == "_" for part in (before, after)):
            return at
        at = text.find(value, at + 1)
    return -1


def row_of_prompt(
    prompt: str,
    outputs: Sequence[str],
    family: TaskFamily,
    columns: Mapping[str, Any] | None = None,
) -> PartialRow:
    """Return a row's input, context, references and evidence from its prompt alone.

    If `columns` have the context and the evidence, as in an exported row, these are used. Otherwise
    the wording of the reference code's templates shows where they are.
    """
    columns = columns or {}
    row: PartialRow = {"input": prompt, "outputs": list(outputs)}
    row["none_word"] = columns.get("none_word")
    if {"context_start", "context_end", "evidence"} <= columns.keys():
        names = ("context_start", "context_end", "evidence", "question")
        return row | {name: columns[name] for name in names if name in columns}
    start, end = 0, len(prompt)
    if family.before_context and family.before_context in prompt:
        start = prompt.rindex(family.before_context) + len(family.before_context)
    if family.after_context and prompt.rfind(family.after_context) > start:
        end = prompt.rindex(family.after_context)
    evidence = _evidence(prompt, start, end, outputs, family.evidence) if family.evidence else ()
    return row | {"context_start": start, "context_end": end, "evidence": list(evidence)}


def _evidence(
    text: str, start: int, end: int, outputs: Sequence[str], pattern: re.Pattern[str]
) -> Iterator[dict[str, Any]]:
    """Yield the pieces of evidence between two offsets, as a release's rows have them."""
    references = [output.casefold() for output in outputs]
    for match in pattern.finditer(text, start, end):
        if pattern.groups:
            carries_answer = match[1].casefold() in references
        else:
            piece = match[0].casefold()
            carries_answer = any(find_whole(reference, piece) >= 0 for reference in references)
            if not carries_answer:
                continue  # a document without the reference is not evidence
        yield {
            "start": match.start(),
            "end": match.end(),
            "depth": (match.start() - start) / max(1, end - start),
            "answer": carries_answer,
        }
