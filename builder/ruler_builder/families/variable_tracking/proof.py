r"""Read RULER's vt back: noise or essays with chains of assignments, after a solved example.

    VAR ABCDE = 12345
    VAR FGHIJ = VAR ABCDE

Section 3.2: a value is bound to hops + 1 names, of five letters if the task says no other number;
in examples they have three. Layout `2025` joins lines by newlines; `2024` ends lines of noise with
a newline and joins everything by spaces; in essays an assignment is a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ruler_builder.families.variable_tracking.params import chain_example_frame
from ruler_builder.reading.breaches import FileRules, context_of, pattern_of
from ruler_builder.reading.reading import Reading, framed, only_in_evidence, spans
from ruler_builder.reading.running_text import running_text
from ruler_builder.sources.corpora import NOISE
from ruler_builder.suites.wording import filled
from ruler_common.rows import Row

_EXAMPLE_TOKENS, _SLACK = 500, 2  # tokens of a line that it may lack where it meets another
_LINE = re.compile(r"VAR ([A-Z]+) = (?:([1-9][0-9]{4})|VAR ([A-Z]+) )")
_SENTENCE = re.compile(r"VAR ([A-Z]+) = (?:([1-9][0-9]{4})|VAR ([A-Z]+))\.")
_VALUE = r"[1-9][0-9]{4}"


class Assignment(NamedTuple):
    """A line that binds a name to a value, or to what another name is bound to."""

    line: int
    start: int
    end: int
    name: str
    chain: str  # the value that it begins with


class Line(NamedTuple):
    """A line of a context, or a sentence: where it stands, and its match if it assigns."""

    start: int
    end: int
    assigns: re.Match[str] | None


def read_chains(row: Row, about: FileRules) -> Reading:
    """Read a vt row back."""
    reading, start = Reading(), row["context_start"]
    letters = about.task["name_letters"]
    found = _assignments(reading, context_of(row), letters, about, about.alone)
    asked = re.search(_VALUE, row["question"])
    value = asked[0] if asked else ""
    chain = [one.name for one in found if one.chain == value]
    if row["outputs"] != chain:
        reading.ambiguous(f"the references {row['outputs']} are not the names bound to '{value}'")
    only_in_evidence(reading, row)
    spans(reading, row, ((start + a.start, start + a.end, a.chain == value) for a in found))
    frame = filled(about.wording, n=about.task["hops"] + 1, value=value)
    examples = row["input"][:start].removesuffix(frame.head)
    solved = _examples(reading, examples, about)
    framed(reading, row, frame._replace(head=examples + frame.head))
    if shared := {one.chain for one in solved} & {one.chain for one in found}:
        reading.fault(f"the example shares the value {min(shared)} with the row")
    for name in sorted({one.name for one in solved}):
        if holding := [output for output in row["outputs"] if name in output]:
            reading.ambiguous(f"the example's name '{name}' is part of '{holding[0]}'")
    if about.task["haystack"] == "noise":
        reading.unit = about.count(f"{NOISE}\n{NOISE}") - about.count(NOISE)
        if about.task["layout"] == "2024":
            reading.unit = about.count(f"{NOISE}\n {NOISE}\n {NOISE}") - about.count(NOISE)
        reading.unit_least = about.count(NOISE) - _SLACK
    return reading


def _assignments(
    reading: Reading, context: str, letters: int, about: FileRules, alone: bool
) -> list[Assignment]:
    """The assignments of a context among noise or essays; faults for what is else."""
    if about.task["haystack"] == "essay":
        lines = [Line(*match.span(), match) for match in _SENTENCE.finditer(context)]
        _in_essays(reading, context, lines, about, alone)
    else:
        lines = list(_lines(reading, context, about.task["layout"]))
    found: list[Assignment] = []
    chain_of: dict[str, str] = {}
    for number, (start, end, match) in enumerate(lines):
        if match is None:
            continue
        if len(match[1]) != letters:
            reading.fault(f"the name '{match[1]}' does not have {letters} letters")
        elif match[1] in chain_of:
            times = sum(line.assigns is not None and line.assigns[1] == match[1] for line in lines)
            reading.ambiguous(f"variable '{match[1]}' is assigned {times} times")
        elif match[3] and match[3] not in chain_of:
            reading.fault(f"'{match[3]}' is used before it is assigned")
        else:
            chain_of[match[1]] = match[2] or chain_of[match[3]]
            found.append(Assignment(number, start, end, match[1], chain_of[match[1]]))
    _chains(reading, found, lines, about, alone)
    return found


def _lines(reading: Reading, context: str, layout: str) -> Iterator[Line]:
    """The lines of noise and of assignments, which with what joins them are the whole context."""
    noise, between = (f"{NOISE}\n", " ") if layout == "2024" else (NOISE, "\n")
    at = 0
    while True:
        match = _LINE.match(context, at)
        if not match and not context.startswith(noise, at):
            reading.fault(f"a line is neither noise nor an assignment: {context[at : at + 80]!r}")
            return
        end = match.end() if match else at + len(noise)
        yield Line(at, end, match)
        if end == len(context):
            return
        if not context.startswith(between, end):
            reading.fault(f"a line goes on after its end: {context[end : end + 80]!r}")
            return
        at = end + len(between)


def _in_essays(
    reading: Reading, context: str, lines: list[Line], about: FileRules, alone: bool
) -> None:
    """What is no assignment is the essays' text, or, at `0k`, nothing."""
    if alone:
        if context != " ".join(context[line.start : line.end] for line in lines):
            reading.fault("there is more than the evidence")
        return
    gaps = [(line.start, line.end) for line in lines]
    essays = about.sources.essays()
    running_text(reading, context, gaps, " ", "VAR {name} = {value}.", essays, about.count)
    reading.origin = "essays"


def _chains(
    reading: Reading, found: list[Assignment], lines: list[Line], about: FileRules, alone: bool
) -> None:
    """As many chains as the task has, each of hops + 1 names; in noise, apart by noise."""
    chains: dict[str, list[Assignment]] = {}
    for one in found:
        chains.setdefault(one.chain, []).append(one)
    sizes = [len(chain) for chain in chains.values()]
    if sizes != [about.task["hops"] + 1] * about.task["chains"]:
        reading.ambiguous(f"there are chains of {sizes} names, not what the task has")
    if about.task["haystack"] == "essay":
        return
    noise_before = [0]
    for line in lines:
        noise_before.append(noise_before[-1] + (line.assigns is None))
    if alone:
        if noise_before[-1]:
            reading.fault("there is more than the evidence")
        return
    if lines and lines[-1].assigns:
        reading.fault("an assignment stands after the last line of noise")
    for chain in chains.values():
        for one, other in pairwise(chain):
            if noise_before[one.line] == noise_before[other.line]:
                reading.fault(f"no noise between '{one.name}' and '{other.name}'")


def _examples(reading: Reading, text: str, about: FileRules) -> list[Assignment]:
    """Hold the solved examples to the same template; returns their assignments."""
    found: list[Assignment] = []
    head, tail, prefix, end = chain_example_frame(
        about.wording, about.task["layout"], about.task["hops"] + 1, "{value}"
    )
    asked = pattern_of(tail + prefix, value=_VALUE).pattern
    solution = re.compile(rf"{asked} (?P<names>[A-Z]{{3}}(?: [A-Z]{{3}})*){end}")
    for _ in range(about.task["examples"]):
        if not text.startswith(head):
            reading.fault("the text does not begin with a solved example")
            return found
        match = solution.search(text, len(head))
        if match is None:
            reading.fault("the solved example does not end as the wording has it")
            return found
        context = text[len(head) : match.start()]
        found += _example(reading, text[: match.end()], context, match, about)
        text = text[match.end() :]
    if text:
        reading.fault(f"something else stands before the instruction: {text[:80]!r}")
    return found


def _example(
    reading: Reading, example: str, context: str, match: re.Match[str], about: FileRules
) -> list[Assignment]:
    """Hold the context and the answer of a solved example to the task; returns its assignments."""
    inner = Reading()  # its essays are not those around the row's own chains
    found = _assignments(inner, context, 3, about, alone=False)
    reading.faults += inner.faults
    solved = [one.name for one in found if one.chain == match["value"]]
    if match["names"].split(" ") != solved:
        reading.fault(f"the example's answer is '{match['names']}', its text says {solved}")
    least = about.task["hops"] + 1  # lines of noise that the chains need
    more = context.count(NOISE) > least or bool(inner.text)
    if about.counted and about.count(example) > _EXAMPLE_TOKENS and more:
        reading.fault(f"the example has more than {_EXAMPLE_TOKENS} tokens")
    return found
