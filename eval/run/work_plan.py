r"""What a run has to do, known before its first row: rows, prompt tokens, cache share, cost.

    parts, estimate = estimated(reader, parts, reasoning_tokens=0, by_prefix=True)
    print(*estimate.lines((0.15, 0.60)), sep="\\n")

Tokens are those the release gives each row, by its own tokenizer: no model is needed. A row's texts
begin as other rows of its file do, up to the first needle; an engine with a prefix cache reads such
a beginning once, if the rows come one after another. So rows are sorted by their beginnings.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import ruler_dataset
from eval.step_bar import steps
from ruler_dataset import RulerError

COLUMNS = ("index", "input", "answer_prefix", "max_new_tokens", "length")
"""All that a prompt is made of: references and evidence never come near a model."""
MOST_OPEN = 16
"""Configurations that are kept open at a time."""


@dataclass(frozen=True)
class Part:
    """A configuration of the plan: the rows of this run, and which of them still miss an answer.

    `missing` is in the order in which rows are sent; `tokens` are their prompts' tokens, where the
    plan has been estimated.
    """

    config: str
    indices: tuple[int, ...]
    missing: tuple[int, ...]
    tokens: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What is to be done: rows, and tokens by the release's own count.

    `cached_tokens` are those of the prompts that an ideal prefix cache holds already when a row
    comes; None where the backend has no such cache.
    """

    rows: int = 0
    configs: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int | None = None

    def lines(self, price: tuple[float, float] | None = None) -> list[str]:
        """The estimate in words; `price` of a million tokens of prompts and of answers."""
        lines = [
            f"To do: {self.rows:,} rows of {self.configs:,} configurations, {self.prompt_tokens:,} "
            f"prompt tokens as the release counts them, room for {self.output_tokens:,} tokens of "
            "answers."
        ]
        if self.cached_tokens is not None and self.prompt_tokens:
            share = self.cached_tokens / self.prompt_tokens
            lines.append(f"A prefix cache can hold {share:.1%} of the prompt tokens already.")
        if price is not None:
            prompts = self.prompt_tokens * price[0] / 1e6
            answers = self.output_tokens * price[1] / 1e6
            lines.append(
                f"Cost: {prompts:,.2f} for the prompts and up to {answers:,.2f} for the answers, "
                f"{prompts + answers:,.2f} at the most; cached tokens may cost less."
            )
        return lines


class RowReader:
    """Rows of a release by configuration and index, read one at a time; digests are checked."""

    def __init__(self, dataset: str, revision: str | None = None) -> None:
        self.dataset, self.revision = dataset, revision
        self._open: OrderedDict[str, tuple[Any, dict[int, int]]] = OrderedDict()

    def __call__(self, config: str, index: int) -> dict[str, Any]:
        """The columns of a row that make its prompt. Raises RulerError if there is no such row."""
        row: dict[str, Any] = self.opened(config)[0][self.position(config, index)]
        return row

    def position(self, config: str, index: int) -> int:
        """Where a row stands in its file. Raises RulerError if there is no such row."""
        positions = self.opened(config)[1]
        if index not in positions:
            raise RulerError(f"'{config}' has no row {index}. Run: ruler verify DIR")
        return positions[index]

    def opened(self, config: str) -> tuple[Any, dict[int, int]]:
        """The data of a configuration, and the position of each index in them."""
        if config not in self._open:
            data = ruler_dataset.load(config, self.dataset, revision=self.revision)
            needed = data.select_columns(list(COLUMNS))
            positions = {index: position for position, index in enumerate(data["index"])}
            self._open[config] = needed, positions
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(config)
        return self._open[config]


def estimated(
    reader: RowReader, parts: Sequence[Part], reasoning_tokens: int, by_prefix: bool, quiet: bool
) -> tuple[list[Part], Estimate]:
    """The parts with their rows in the order of sending, and what they amount to.

    `reasoning_tokens` is the room for reasoning of each row.
    """
    found, prompts, answers, cached = [], 0, 0, 0
    for part in steps(parts, "Planning", quiet=quiet):
        planned = _planned(reader, part, by_prefix)
        prompts += sum(planned.part.tokens)
        answers += planned.output_tokens + reasoning_tokens * len(part.missing)
        cached += planned.cached_tokens
        found.append(planned.part)
    return found, Estimate(
        rows=sum(len(part.missing) for part in found),
        configs=sum(bool(part.missing) for part in found),
        prompt_tokens=prompts,
        output_tokens=answers,
        cached_tokens=cached if by_prefix else None,
    )


class _Planned(NamedTuple):
    """A part in the order of sending; tokens of all its answers, and of what a cache holds."""

    part: Part
    output_tokens: int
    cached_tokens: int


def _planned(reader: RowReader, part: Part, by_prefix: bool) -> _Planned:
    if not part.missing:
        return _Planned(part, 0, 0)
    data, _ = reader.opened(part.config)
    positions = {index: reader.position(part.config, index) for index in part.missing}
    sizes = data.select_columns(["length", "max_new_tokens"])[:]
    rooms = {index: sizes["max_new_tokens"][at] for index, at in positions.items()}
    tokens = {index: sizes["length"][at] - rooms[index] for index, at in positions.items()}
    order, cached = list(part.missing), 0.0
    if by_prefix and len(order) > 1:
        texts = data.select_columns(["input"])
        order.sort(key=lambda index: prefix_key(texts[positions[index]]["input"]))
        before = ""
        for index in order:
            text = texts[positions[index]]["input"]
            cached += tokens[index] * common_prefix(before, text) / max(len(text), 1)
            before = text
    counts = tuple(tokens[index] for index in order)
    ordered = replace(part, missing=tuple(order), tokens=counts)
    return _Planned(ordered, sum(rooms.values()), int(cached))


def rows_of(
    dataset: str, revision: str | None, parts: Iterable[Part], by_prefix: bool
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The missing rows, read one at a time, those with the longest common beginning together."""
    reader = RowReader(dataset, revision)
    for part in parts:
        ordered = _planned(reader, part, True).part if by_prefix else part
        for index in ordered.missing:
            yield part.config, reader(part.config, index)


def prefix_key(text: str, block: int = 2048) -> tuple[bytes, ...]:
    """A short sort key that brings texts with a common beginning together.

    One digest for each beginning of 1, 2, … blocks of bytes: equal as far as the texts are.
    """
    digest = hashlib.blake2b(digest_size=8)
    data = text.encode()
    keys = []
    for at in range(0, len(data), block):
        digest.update(data[at : at + block])
        keys.append(digest.copy().digest())
    return tuple(keys)


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
