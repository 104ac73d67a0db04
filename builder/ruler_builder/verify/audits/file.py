"""`ruler verify --audit`: check every row of a file without the code that makes rows.

    audit = FileAudit(inputs, AUDITS["niah"])
    for row in rows:
        audit.add(row)
    audit.problems()             # [(3, "length is 4090, counted 4091"), …]

The checks of every row are here; those of a task family are in its own file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping

import numpy as np

from ruler_builder.verify.audits.shared import Audit, AuditInputs, context_of
from ruler_common.rows import Row

WHOLE_FILE = -1
"""The index of a problem that is not of one row."""
_MAX_PLACES = 1000  # of a row's asked words, if these are counted in a list


class FileAudit:
    """The audit of one file: what is wrong with its rows, and with all of them together."""

    def __init__(self, inputs: AuditInputs, audit: Audit) -> None:
        self.inputs, self.audit = inputs, audit
        self.clear()

    def clear(self) -> None:
        """Forget all rows, because they are read again."""
        self._problems: list[tuple[int, str]] = []
        self.question_digests: dict[int, str] = {}
        """A digest of what each row asks, by index."""
        self._index_of_input: dict[str, int] = {}
        # Where the middle of the evidence is, and how wide it is, as shares of the context.
        self._depths: list[float] = []
        self._widths: list[float] = []
        self._not_full = 0

    def add(self, row: Row) -> None:
        """Check a row."""
        index = row["index"] if row["index"] is not None else WHOLE_FILE
        try:
            problems = [*self._check_row(row), *self.audit(row, self.inputs)]
            self._collect(row)
        except Exception as error:  # a row that no builder makes; the others are still checked
            problems = [f"the row cannot be read ({type(error).__name__}: {str(error)[:80]})"]
        self._problems += [(index, what) for what in problems]

    def problems(self) -> list[tuple[int, str]]:
        """Return what is wrong with the rows, and with the file, each with the row's index."""
        return [*self._problems, *((WHOLE_FILE, what) for what in self._check_file())]

    def _check_row(self, row: Row) -> Iterator[str]:
        """Yield what is wrong with a row, whatever its task."""
        inputs, params, entry = self.inputs, self.inputs.params, self.inputs.entry
        if (row["task"], row["max_length"]) != (entry["task"], entry["max_length"]):
            yield f"task and max_length are {row['task']!r} and {row['max_length']}"
        languages = (row["language"], row["instruction_language"])
        if languages != (entry["language"], entry["instruction_language"]):
            yield f"the languages are {languages}"
        if row["canary"] != inputs.canary:
            yield f"canary is {row['canary']!r}, the manifest's is {inputs.canary!r}"
        counted = inputs.length_of(row)
        if row["length"] != counted:
            yield f"length is {row['length']}, counted {counted}"
        if row["max_new_tokens"] != params.max_new_tokens:
            yield f"max_new_tokens is {row['max_new_tokens']}, not {params.max_new_tokens}"
        if not inputs.is_control and inputs.remaining_tokens(row) < 0:
            yield f"the row is {-inputs.remaining_tokens(row)} tokens over its window"
        yield from self._check_positions(row)
        outputs = row["outputs"]
        if not outputs:
            yield "there is no reference"
            return
        if not params.from_corpus:  # annotators' answers overlap
            for output in outputs:
                if sum(output.casefold() in other.casefold() for other in outputs) > 1:
                    yield f"reference '{output}' is part of another"
        answers = params.right_answers(outputs, row["input"][row["context_end"] :])
        needed = min(inputs.count(answer) for answer in answers)
        if needed > row["max_new_tokens"]:
            yield f"the right answer takes {needed} tokens, of {row['max_new_tokens']}"

    def _check_positions(self, row: Row) -> Iterator[str]:
        """Yield which offsets do not hold what they claim."""
        start, end, text = row["context_start"], row["context_end"], row["input"]
        if getattr(self.inputs.params, "no_documents", False):
            return
        if not 0 < start < end < len(text):
            yield f"the context {start}…{end} is outside the input"
            return
        if row["question"] not in text[end:]:
            yield "the question does not follow the context"
        for span in row["evidence"]:
            depth = (span["start"] - start) / (end - start)
            if not start <= span["start"] < span["end"] <= end:
                yield f"evidence {span['start']}…{span['end']} is outside the context"
            elif not abs(depth - span["depth"]) <= 1e-5:
                yield f"depth {span['depth']:.5f} should be {depth:.5f}"

    def _collect(self, row: Row) -> None:
        """Note what the checks of the whole file need."""
        if row["index"] in self.question_digests:
            self._problems.append((row["index"], "its index occurs twice"))
        question = json.dumps([row["question"], row["outputs"]], ensure_ascii=False)
        self.question_digests[row["index"]] = _digest(question)
        if not (self.inputs.params.from_corpus and self.inputs.is_control):
            first = self._index_of_input.setdefault(_digest(row["input"]), row["index"])
            if first != row["index"]:
                self._problems.append((row["index"], f"the row is row {first} again"))
        if not self.inputs.is_control and self.inputs.remaining_tokens(row) >= self._unit:
            self._not_full += 1
        start, width = row["context_start"], max(1, row["context_end"] - row["context_start"])
        if row["evidence"]:
            spans = [span for span in row["evidence"] if span["answer"]]
            self._depths += [((s["start"] + s["end"]) / 2 - start) / width for s in spans]
            self._widths += [(span["end"] - span["start"]) / width for span in spans]
        else:
            words, common = context_of(row).split(" "), {*row["outputs"]}
            places = [place for place, word in enumerate(words) if word in common]
            step = len(places) // _MAX_PLACES + 1
            self._depths += [place / len(words) for place in places[::step]]

    @property
    def _unit(self) -> int:
        return max(1, self.inputs.entry["unit"])

    def _check_file(self) -> Iterator[str]:
        """Yield what only all rows together show."""
        if self._not_full > self.inputs.entry["exhausted"]:
            yield (
                f"{self._not_full} rows have room for a further unit of {self._unit} tokens, and "
                f"the manifest says that {self.inputs.entry['exhausted']} use up a text or list"
            )
        if self.inputs.is_control or not self._depths:
            return
        # The first term is for depths in 40 steps, the second for positions in steps of a whole
        # document, the third for chance.
        half_width = sum(self._widths) / max(1, len(self._widths)) / 2
        allowed = 0.05 + half_width + 2.5 / math.sqrt(len(self._depths))
        distance = _distance_from_even(self._depths)
        if distance > allowed:
            yield f"gold positions are not spread over the context (distance {distance:.2f})"


def check_paired(
    asked: Mapping[tuple[str, ...], Mapping[str, Mapping[int, str]]],
) -> Iterator[tuple[str, str, int]]:
    """Yield path, sentence and index of the rows that ask something else in another file.

    `asked` has, for each task and its languages, the digests of what the rows of each file ask.
    """
    for files in asked.values():
        first: dict[int, tuple[str, str]] = {}
        for path, digests in files.items():
            for index, digest in digests.items():
                first_digest, where = first.setdefault(index, (digest, path))
                if first_digest != digest:
                    yield path, f"the row's question is not that of the same row in {where}", index


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _distance_from_even(depths: list[float]) -> float:
    """Return the greatest distance of the depths from an even spread (Kolmogorov–Smirnov)."""
    ordered, number = np.sort(np.array(depths)), len(depths)
    steps = np.arange(number + 1) / max(1, number)
    distances = np.maximum(np.abs(steps[1:] - ordered), np.abs(steps[:-1] - ordered))
    return float(distances.max(initial=0.0))
