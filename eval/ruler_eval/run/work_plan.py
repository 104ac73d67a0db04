r"""What a run has to do, known before its first row: rows, prompt tokens, cache share, cost.

    parts, estimate = estimated(reader, parts, reasoning_tokens=0, by_prefix=True)
    print(*estimate.lines((0.15, 0.60)), sep="\\n")

Tokens are those the release gives each row, by its own tokenizer: no model is needed. A row's texts
begin as other rows of its file do, up to the first needle; an engine with a prefix cache reads such
a beginning once, if the rows come one after another. So rows are sorted by their beginnings, within
waves: so many rows of every configuration, in the frozen random order (ruler_common/rows.py). A run
that ends between two waves holds the same random rows of every task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache
from typing import Any

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_common.terminal import steps

COLUMNS = ("index", "input", "answer_prefix", "max_new_tokens", "length")
"""All that a prompt is made of: references and evidence never come near a model."""
SentRow = tuple[str, Mapping[str, Any]]
"""A configuration and the columns of one row that make its prompt."""
MOST_OPEN = 128
"""Configurations that are kept open at a time; a run of more is sent file after file."""
WAVE, WAVE_OVER_LENGTHS = 10, 2
"""Rows of every configuration in a wave: of a run at one length, and over several."""


@dataclass(frozen=True)
class Part:
    """A configuration of the plan: the rows of this run, and which of them still miss an answer.

    `indices` are in the frozen order, `missing` in the order in which rows are sent. Where the plan
    has been estimated, `tokens` are their prompts', `output_tokens` those of all answers,
    `cached_tokens` what a cache holds.
    """

    config: str
    indices: tuple[int, ...]
    missing: tuple[int, ...]
    tokens: tuple[int, ...] = ()
    _: KW_ONLY
    output_tokens: int = 0
    cached_tokens: int = 0


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


@contextmanager
def no_bars() -> Iterator[None]:
    """Keep the progress bars of `datasets` from the terminal."""
    import datasets

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


class RowReader:
    """Rows of a release by configuration and index, read one at a time; digests are checked."""

    def __init__(self, dataset: str, revision: str | None = None) -> None:
        self.dataset, self.revision = dataset, revision
        self.opened = lru_cache(MOST_OPEN)(self._opened)

    def __call__(self, config: str, index: int) -> SentRow:
        """A row as it is sent. Raises RulerError if there is no such row."""
        return config, self.opened(config)[0][self.position(config, index)]

    def rows(self, parts: Iterable[Part]) -> Iterator[SentRow]:
        """The missing rows of parts, in the order of sending."""
        return (self(part.config, index) for part in parts for index in part.missing)

    def position(self, config: str, index: int) -> int:
        """Where a row stands in its file. Raises RulerError if there is no such row."""
        positions = self.opened(config)[1]
        if index not in positions:
            raise RulerError(f"'{config}' has no row {index}. Run: ruler verify DIR")
        return positions[index]

    def _opened(self, config: str) -> tuple[Any, dict[int, int]]:
        """The data of a configuration, and the position of each index in them."""
        with no_bars():  # reading a file is quick; the run has its own bar
            data = ruler_dataset.load(config, self.dataset, revision=self.revision)
        positions = {index: position for position, index in enumerate(data["index"])}
        return data.select_columns(list(COLUMNS)), positions


def wave_size(lengths: int, configs: int) -> int | None:
    """Rows of a configuration in a wave; None where a run has too many to go round in waves."""
    if configs > MOST_OPEN:
        return None
    return WAVE if lengths == 1 else WAVE_OVER_LENGTHS


def in_waves(parts: Iterable[Part], size: int) -> list[list[Part]]:
    """The parts of each wave: `size` rows of every configuration, of which some may be missing.

    The parts are planned ones; their wave's rows keep the order of sending.
    """
    waves: list[list[Part]] = []
    for part in parts:
        tokens = dict(zip(part.missing, part.tokens, strict=True))
        for number, begin in enumerate(range(0, len(part.indices), size)):
            own = part.indices[begin : begin + size]
            missing = tuple(index for index in part.missing if index in {*own})
            sizes = tuple(tokens[index] for index in missing)
            if number == len(waves):
                waves.append([])
            waves[number].append(Part(part.config, own, missing, sizes))
    return waves


def estimated(
    reader: RowReader,
    parts: Sequence[Part],
    reasoning_tokens: int,
    by_prefix: bool,
    quiet: bool,
    wave: int | None = None,
) -> tuple[list[Part], Estimate]:
    """The parts with their rows in the order of sending, and what they amount to.

    `reasoning_tokens` is the room for reasoning of each row, `wave` the rows of a wave.
    """
    shown = steps(parts, "Planning", quiet=quiet)
    found = [_planned(reader, part, by_prefix, wave) for part in shown]
    rows = sum(len(part.missing) for part in found)
    return found, Estimate(
        rows=rows,
        configs=sum(bool(part.missing) for part in found),
        prompt_tokens=sum(sum(part.tokens) for part in found),
        output_tokens=sum(part.output_tokens for part in found) + reasoning_tokens * rows,
        cached_tokens=sum(part.cached_tokens for part in found) if by_prefix else None,
    )


def _planned(reader: RowReader, part: Part, by_prefix: bool, wave: int | None) -> Part:
    if not part.missing:
        return part
    data, _ = reader.opened(part.config)
    positions = {index: reader.position(part.config, index) for index in part.missing}
    sizes = data.select_columns(["length", "max_new_tokens"])[:]
    rooms = {index: sizes["max_new_tokens"][at] for index, at in positions.items()}
    tokens = {index: sizes["length"][at] - rooms[index] for index, at in positions.items()}
    order, cached = list(part.missing), 0.0
    if by_prefix and len(order) > 1:
        texts = data.select_columns(["input"])
        places = enumerate(part.indices)
        waves = {index: place // wave if wave else 0 for place, index in places}
        keys = {index: prefix_key(texts[positions[index]]["input"]) for index in order}
        order.sort(key=lambda index: (waves[index], keys[index]))
        before, last = "", -1
        for index in order:
            text = texts[positions[index]]["input"]
            if waves[index] == last:
                cached += tokens[index] * common_prefix(before, text) / max(len(text), 1)
            before, last = text, waves[index]
    return replace(
        part,
        missing=tuple(order),
        tokens=tuple(tokens[index] for index in order),
        output_tokens=sum(rooms.values()),
        cached_tokens=int(cached),
    )


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
