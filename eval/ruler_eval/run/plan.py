r"""What a run has to do, known before its first row: rows, prompt tokens, cache share, cost.

    parts, estimate = plan_rows(release, parts, reasoning_tokens=0, by_prefix=True)
    print(*estimate.lines((0.15, 0.60)), sep="\\n")

Tokens are those the release gives each row, by its own tokenizer: no model is needed. A row's texts
begin as other rows of its file do, up to the first needle; an engine with a prefix cache reads such
a beginning once, if the rows come one after another. So rows are sorted by their beginnings, within
waves: N rows of every configuration, in the frozen random order (ruler_common/rows.py). A run that
ends between two waves holds the same random rows of every task.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from ruler_common.errors import RulerError
from ruler_common.terminal import steps
from ruler_common.text import number_of
from ruler_common.work import release_memory
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.run.backends.backend import WITHOUT_PREFIX_CACHE, load_model_tokenizer
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import TokenIds

COLUMNS = ("index", "input", "answer_prefix", "max_new_tokens", "length")
"""All that a prompt is made of: references and evidence never come near a model."""
SentRow = tuple[str, PartialRow]
"""A configuration and the columns of one row that make its prompt."""
CHUNK_TOKENS = 1 << 24
"""Prompt tokens of the rows of a file that are read at a time, at most, or one row: 64 MB or so."""
WINDOW_MARGIN = 0.05
"""The share by which a row may be longer than its configuration's first."""
TEMPLATE_TOKENS = 1024
"""Tokens that a chat template may add."""
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
    samples: int = 1
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int | None = None

    def lines(self, price: tuple[float, float] | None = None) -> list[str]:
        """Return the estimate in words; `price` of a million tokens of prompts and of answers."""
        samples = f"{self.samples} samples of " if self.samples > 1 else ""
        lines = [
            f"To do: {samples}{number_of(self.rows, 'row')} of "
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
        """Return the waves of a run.

        None where it has too many configurations to go round in waves.

        They grow, unless the caller looks at the rows between them: `look_every` is the most rows
        of one.
        """
        if configs > MOST_IN_WAVES:
            return None
        first = WAVE if lengths == 1 else WAVE_OVER_LENGTHS
        return cls(min(first, look_every or first), growing=look_every is None)

    def number(self, place: int) -> int:
        """Return the wave of the row at a place of the frozen order."""
        before = place // self.first
        return before.bit_length() if self.growing else before


def in_waves(parts: Iterable[Part], waves: Waves) -> list[list[Part]]:
    """Return the parts of each wave: its rows of every configuration, answered or missing.

    The parts are planned ones; the missing rows of a wave keep the order of sending.
    """
    in_wave: list[list[Part]] = []
    for part in parts:
        wave_of: dict[int, int] = {}
        indices: dict[int, list[int]] = {}
        for place, index in enumerate(part.indices):
            wave_of[index] = waves.number(place)
            indices.setdefault(wave_of[index], []).append(index)
        missing: dict[int, list[int]] = {wave: [] for wave in indices}
        tokens: dict[int, list[int]] = {wave: [] for wave in indices}
        for index, size in zip(part.missing, part.tokens, strict=True):
            missing[wave_of[index]].append(index)
            tokens[wave_of[index]].append(size)
        for wave in indices:
            if wave == len(in_wave):
                in_wave.append([])
            in_wave[wave].append(
                Part(
                    part.config,
                    tuple(indices[wave]),
                    tuple(missing[wave]),
                    tuple(tokens[wave]),
                )
            )
    return in_wave


def plan_rows(
    release: Release, parts: Sequence[Part], options: RunOptions, waves: Waves | None = None
) -> tuple[list[Part], Estimate]:
    """Return the parts with their rows in the order of sending, and what they amount to.

    Raises RulerError if a row that the manifest names is missing in a file.
    """
    by_prefix = options.backend not in WITHOUT_PREFIX_CACHE
    planned = []
    rows = configs = prompt_tokens = output_tokens = cached_tokens = 0
    for part in steps(parts, "Planning", quiet=not options.progress):
        part = _planned(release, part, by_prefix, waves)
        planned.append(part)
        rows += len(part.missing)
        configs += bool(part.missing)
        prompt_tokens += sum(part.tokens)
        output_tokens += part.output_tokens + options.reasoning.budget * len(part.missing)
        cached_tokens += part.cached_tokens
    samples = options.repeats
    cached_tokens += (samples - 1) * prompt_tokens  # the samples of a row have one prompt
    return planned, Estimate(
        rows=rows,
        configs=configs,
        samples=samples,
        prompt_tokens=samples * prompt_tokens,
        output_tokens=samples * output_tokens,
        cached_tokens=cached_tokens if by_prefix else None,
    )


def read_rows(release: Release, parts: Iterable[Part]) -> Iterator[SentRow]:
    """Yield the missing rows of planned parts in the order of sending.

    The row groups of a file are read once for many rows, CHUNK_TOKENS of prompts at a time.
    """
    for part in parts:
        for indices in _chunks(part):
            rows = {row["index"]: row for row in release.some_rows(part.config, COLUMNS, indices)}
            release_memory()  # what unpacking took
            for index in indices:
                yield part.config, rows.pop(index)


def _chunks(part: Part) -> Iterator[list[int]]:
    """Yield the missing rows in lists of at most CHUNK_TOKENS of prompts, or of one row."""
    chunk: list[int] = []
    tokens = 0
    for index, size in zip(part.missing, part.tokens, strict=True):
        if chunk and tokens + size > CHUNK_TOKENS:
            yield chunk
            chunk, tokens = [], 0
        chunk.append(index)
        tokens += size
    if chunk:
        yield chunk


def needed_window(release: Release, parts: Sequence[Part], options: RunOptions) -> int:
    """Return the tokens that the longest missing row may need with its answer; 0 for no rows.

    An engine then makes room for these rows and not for a window of a million tokens. Rows of a
    configuration are nearly of one length, which its first row tells under the model's own
    tokenizer; of configurations less than half as long as the longest no row is read.
    """
    lengths = {file["config"]: file["max_length"] for file in release.manifest["files"].values()}
    todo = [part for part in parts if part.missing]
    longest = max((lengths[part.config] for part in todo), default=0)
    if not longest:
        return 0
    token_ids = TokenIds(load_model_tokenizer(options))
    needed = 0
    for part in todo:
        if 2 * lengths[part.config] >= longest:
            (row,) = release.some_rows(part.config, COLUMNS, part.missing[:1])
            count = len(token_ids(row["input"] + row["answer_prefix"], special_tokens=False))
            count = max(count, row["length"] - row["max_new_tokens"])
            needed = max(needed, count + row["max_new_tokens"])
    window = int(needed * (1 + WINDOW_MARGIN)) + TEMPLATE_TOKENS + options.reasoning.budget
    return -(-window // 1024) * 1024


def _planned(release: Release, part: Part, by_prefix: bool, waves: Waves | None) -> Part:
    """Return a part with its missing rows in the order of sending, and its tokens."""
    if not part.missing:
        return part
    columns = ["length", "max_new_tokens"]
    if by_prefix:
        columns.append("input")
    tokens: dict[int, int] = {}
    output_tokens = 0
    beginnings: dict[int, Beginning] = {}
    for row in release.some_rows(part.config, columns, part.missing):
        output_tokens += row["max_new_tokens"]
        tokens[row["index"]] = row["length"] - row["max_new_tokens"]
        if by_prefix:
            beginnings[row["index"]] = Beginning.of(row["input"])
    if by_prefix:
        release_memory()
    for index in part.missing:
        if index not in tokens:
            raise RulerError(f"'{part.config}' has no row {index}. Run: ruler verify DIR")
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
        output_tokens=output_tokens,
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
        """Return the beginnings of a text."""
        digest = hashlib.blake2b(digest_size=_DIGEST)
        data = text.encode()
        found = bytearray()
        for at in range(0, len(data), BLOCK):
            digest.update(data[at : at + BLOCK])
            found += digest.copy().digest()
        return cls(bytes(found), len(data))

    def share_in(self, before: Beginning) -> float:
        """Return the share of the text, in whole blocks, with which another text begins too."""
        mine, theirs = self.digests, before.digests
        blocks = range(_DIGEST, min(len(mine), len(theirs)) + 1, _DIGEST)
        equal = bisect_left(blocks, True, key=lambda end: mine[:end] != theirs[:end])
        return min(1.0, equal * BLOCK / max(self.size, 1))
