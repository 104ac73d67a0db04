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
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from ruler_common.terminal import steps
from ruler_common.text import number_of
from ruler_eval.run.preparing.kept_rows import Key
from ruler_eval.run.preparing.row_reader import RowReader, SentRow

BLOCK = 512
"""Bytes by which the beginnings of texts are compared."""
_DIGEST = 8  # bytes
MOST_IN_WAVES = 128
"""Configurations of a run in waves; one of more is sent file after file."""
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
            f"To do: {number_of(self.rows, 'row')} of "
            f"{number_of(self.configs, 'configuration')}, {self.prompt_tokens:,} "
            f"prompt tokens as the release counts them, room for {self.output_tokens:,} tokens of "
            "answers."
        ]
        if self.cached_tokens and self.prompt_tokens:
            share = 100 * self.cached_tokens / self.prompt_tokens
            lines.append(
                f"Prompts begin alike: a prefix cache saves up to {share:.1f} % of their tokens."
            )
        if price is not None:
            prompts = self.prompt_tokens * price[0] / 1e6
            answers = self.output_tokens * price[1] / 1e6
            lines.append(
                f"Cost: {prompts:,.2f} for the prompts and up to {answers:,.2f} for the answers, "
                f"{prompts + answers:,.2f} at the most; cached tokens may cost less."
            )
        return lines


class Waves(NamedTuple):
    """Waves of `first` rows of every configuration; if `growing`, of as many as all before them."""

    first: int
    growing: bool = False

    @classmethod
    def of(cls, lengths: int, configs: int, look_every: int | None = None) -> Waves | None:
        """The waves of a run; None where it has too many configurations to go round in waves.

        They grow unless somebody looks between them, who names the most rows of one.
        """
        if configs > MOST_IN_WAVES:
            return None
        first = WAVE if lengths == 1 else WAVE_OVER_LENGTHS
        return cls(min(first, look_every or first), growing=look_every is None)

    def number(self, place: int) -> int:
        """The wave of the row at a place of the frozen order."""
        before = place // self.first
        return before.bit_length() if self.growing else before


def in_waves(parts: Iterable[Part], waves: Waves) -> list[list[Part]]:
    """The parts of each wave: its rows of every configuration, of which some may be missing.

    The parts are planned ones; their wave's rows keep the order of sending.
    """
    found: list[list[Part]] = []
    for part in parts:
        tokens = dict(zip(part.missing, part.tokens, strict=True))
        for number, places in groupby(range(len(part.indices)), waves.number):
            own = tuple(part.indices[place] for place in places)
            here = {*own}
            missing = tuple(index for index in part.missing if index in here)
            if number == len(found):
                found.append([])
            sizes = tuple(tokens[index] for index in missing)
            found[number].append(Part(part.config, own, missing, sizes))
    return found


def estimated(
    reader: RowReader,
    parts: Sequence[Part],
    reasoning_tokens: int,
    by_prefix: bool,
    quiet: bool,
    waves: Waves | None = None,
) -> tuple[list[Part], Estimate]:
    """The parts with their rows in the order of sending, and what they amount to.

    `reasoning_tokens` is the room for reasoning of each row.
    """
    shown = steps(parts, "Planning", quiet=quiet)
    found = [_planned(reader, part, by_prefix, waves) for part in shown]
    rows = sum(len(part.missing) for part in found)
    return found, Estimate(
        rows=rows,
        configs=sum(bool(part.missing) for part in found),
        prompt_tokens=sum(sum(part.tokens) for part in found),
        output_tokens=sum(part.output_tokens for part in found) + reasoning_tokens * rows,
        cached_tokens=sum(part.cached_tokens for part in found) if by_prefix else None,
    )


def in_order(parts: Iterable[Part]) -> list[Key]:
    """The missing rows of parts, in the order of sending."""
    return [(part.config, index) for part in parts for index in part.missing]


def sent_rows(
    reader: RowReader, parts: Iterable[Part], done: Collection[Key] = ()
) -> Iterator[SentRow]:
    """The missing rows of parts, in the order of sending, without those that are done."""
    return (reader(*key) for key in in_order(parts) if key not in done)


def _planned(reader: RowReader, part: Part, by_prefix: bool, waves: Waves | None) -> Part:
    if not part.missing:
        return part
    columns = ("length", "max_new_tokens", *(["input"] if by_prefix else []))
    missing = set(part.missing)
    tokens: dict[int, int] = {}
    rooms: dict[int, int] = {}
    beginnings: dict[int, Beginning] = {}
    for index, row in reader.all_rows(part.config, columns):
        if index in missing:
            rooms[index] = row["max_new_tokens"]
            tokens[index] = row["length"] - row["max_new_tokens"]
            if by_prefix:
                beginnings[index] = Beginning.of(row["input"])
    for index in part.missing:
        reader.place(part.config, index)  # an error where there is no such row
    order, cached = list(part.missing), 0.0
    if by_prefix:
        places = enumerate(part.indices)
        wave = {index: waves.number(place) if waves else 0 for place, index in places}
        order.sort(key=lambda index: (wave[index], beginnings[index].digests))
        for before, index in pairwise(order):
            if wave[before] == wave[index]:
                cached += tokens[index] * beginnings[index].share_in(beginnings[before])
    return replace(
        part,
        missing=tuple(order),
        tokens=tuple(tokens[index] for index in order),
        output_tokens=sum(rooms.values()),
        cached_tokens=int(cached),
    )


class Beginning(NamedTuple):
    """What is kept of a text to compare its beginning with others': digests, and its bytes.

    A digest for each beginning of 1, 2, … blocks of BLOCK bytes: equal as far as the texts are,
    so that sorting by them brings texts with a common beginning together.
    """

    digests: bytes
    size: int

    @classmethod
    def of(cls, text: str) -> Beginning:
        """The beginnings of a text."""
        digest = hashlib.blake2b(digest_size=_DIGEST)
        data = text.encode()
        found = bytearray()
        for at in range(0, len(data), BLOCK):
            digest.update(data[at : at + BLOCK])
            found += digest.copy().digest()
        return cls(bytes(found), len(data))

    def share_in(self, before: Beginning) -> float:
        """The share of the text, in whole blocks, that stands at the beginning of another."""
        mine, theirs = self.digests, before.digests
        blocks = range(_DIGEST, min(len(mine), len(theirs)) + 1, _DIGEST)
        equal = bisect_left(blocks, True, key=lambda end: mine[:end] != theirs[:end])
        return min(1.0, equal * BLOCK / max(self.size, 1))
