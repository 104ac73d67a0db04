"""Read RULER's vt back: noise lines with chains of assignments, after a solved example.

    VAR ABCDE = 12345
    VAR FGHIJ = VAR ABCDE

Section 3.2: names of five letters, in the example of three; a value is bound to hops + 1 names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from builder.checks.breaches import FileRules, context_of, pattern_of
from builder.checks.grammar.reading import Reading, framed, spans
from builder.sources.corpora import NOISE
from ruler_dataset import Row

_EXAMPLE_TOKENS = 500
_LINE = re.compile(r"VAR ([A-Z]+) = (?:([1-9][0-9]{4})|VAR ([A-Z]+) )")


class Assignment(NamedTuple):
    """A line that binds a name to a value, or to what another name is bound to."""

    line: int
    start: int
    end: int
    name: str
    chain: str
    """The value that the chain begins with."""


def read_chains(row: Row, about: FileRules) -> Reading:
    """Read a vt row back."""
    reading, start = Reading(), row["context_start"]
    template = about.wording
    found = _assignments(reading, context_of(row), 5, about)
    asked = re.search(r"[1-9][0-9]{4}", row["question"])
    value = asked[0] if asked else ""
    chain = [one.name for one in found if one.chain == value]
    if row["outputs"] != chain:
        reading.fault(f"the references {row['outputs']} are not the names bound to '{value}'")
    spans(reading, row, ((start + a.start, start + a.end, a.chain == value) for a in found))
    head, tail, prefix, question = _frame(template, value, about.task["hops"] + 1)
    example = row["input"][:start].removesuffix(head)
    values = _example(reading, example, about)
    framed(reading, row, example + head, tail, prefix=prefix, question=question)
    if shared := values & {one.chain for one in found}:
        reading.fault(f"the example shares the value {min(shared)} with the row")
    reading.unit = about.count(f"{NOISE}\n{NOISE}") - about.count(NOISE)
    return reading


def _frame(template: Mapping[str, str], value: str, names: int) -> tuple[str, str, str, str]:
    """The text before and after a context, the prefix and the question."""
    question = template["question"].format(value=value)
    head, tail = template["input"].split("{context}")
    prefix = template["prefix"].format(n=names, value=value)
    return head, tail.format(question=question), prefix, question


def _assignments(
    reading: Reading, context: str, letters: int, about: FileRules
) -> list[Assignment]:
    """The assignments of a context, each a line among lines of noise; faults for what is else."""
    found: list[Assignment] = []
    chain_of: dict[str, str] = {}
    lines = context.split("\n")
    odd = {line for line in set(lines) if line != NOISE}
    at = 0
    for number, line in enumerate(lines):
        if line in odd:
            match = _LINE.fullmatch(line)
            if match is None or len(match[1]) != letters:
                reading.fault(f"a line is neither noise nor an assignment: {line[:80]!r}")
            elif match[1] in chain_of:
                reading.fault(f"'{match[1]}' is assigned twice")
            elif match[3] and match[3] not in chain_of:
                reading.fault(f"'{match[3]}' is used before it is assigned")
            else:
                chain_of[match[1]] = match[2] or chain_of[match[3]]
                end = at + len(line)
                found.append(Assignment(number, at, end, match[1], chain_of[match[1]]))
        at += len(line) + 1
    _chains(reading, found, lines, about)
    return found


def _chains(reading: Reading, found: list[Assignment], lines: list[str], about: FileRules) -> None:
    """As many chains as the task has, each of hops + 1 names, apart by noise."""
    chains: dict[str, list[Assignment]] = {}
    for one in found:
        chains.setdefault(one.chain, []).append(one)
    sizes = [len(chain) for chain in chains.values()]
    if sizes != [about.task["hops"] + 1] * about.task["chains"]:
        reading.fault(f"there are chains of {sizes} names, not what the task has")
    if lines[-1] != NOISE:
        reading.fault("an assignment stands after the last line of noise")
    noise_before = [0]
    for line in lines:
        noise_before.append(noise_before[-1] + (line == NOISE))
    for chain in chains.values():
        for one, other in pairwise(chain):
            if noise_before[one.line] == noise_before[other.line]:
                reading.fault(f"no noise between '{one.name}' and '{other.name}'")


def _example(reading: Reading, example: str, about: FileRules) -> set[str]:
    """Hold the solved example to the same template; returns its values."""
    head, tail, prefix, _ = _frame(about.wording, "{value}", about.task["hops"] + 1)
    middle = example[len(head) :]
    if not example.startswith(head):
        reading.fault("the text does not begin with a solved example")
        return set()
    names = r"(?P<names>[A-Z]{3}(?: [A-Z]{3})*)"
    asked = pattern_of(tail + prefix, value=r"[1-9][0-9]{4}")
    match = re.search(asked.pattern + f" {names}\n\n\\Z", middle)
    if match is None:
        reading.fault("the solved example does not end as the wording has it")
        return set()
    found = _assignments(reading, middle[: match.start()], 3, about)
    solved = [one.name for one in found if one.chain == match["value"]]
    if match["names"].split(" ") != solved:
        reading.fault(f"the example's answer is '{match['names']}', its text says {solved}")
    most = about.task["hops"] + 1  # lines of noise that the chains need
    if about.count(example) > _EXAMPLE_TOKENS and middle.count(NOISE) > most:
        reading.fault(f"the example has more than {_EXAMPLE_TOKENS} tokens")
    return {one.chain for one in found}
