"""The rows of an examination, and what they cost.

    plan = make_plan(options, release, window=32768)
    plan.keys[:2]                        # [("niah_single_1_4k", 412), ("niah_single_1_32k", 412)]

Configurations take turns, each in its frozen order, so the first n rows are spread over tasks and
lengths. A comparison of two deployments (`--against`) begins with the tasks that reveal most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ruler_common.errors import RulerError
from ruler_common.manifest import FileEntry
from ruler_common.names import CONTROL_LENGTH, DEFAULT_TOKENIZER
from ruler_common.text import number_of
from ruler_eval.doctor.answers import Key
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.frozen_release import PartialRow, Release, chosen_files
from ruler_eval.score.rows import SCORE_COLUMNS

ROW_COLUMNS = (*SCORE_COLUMNS, "input", "max_new_tokens", "length", "evidence")
DEFAULT_LENGTH = 32768
"""Tokens. Without --lengths, the shortest and the longest length up to this one are used."""
REVEALING = ("niah_multiquery", "cwe", "vt", "cwe_easy", "cwe_hard")
"""The tasks whose answers differ most often between two deployments (bench/same_model.py)."""


@dataclass(frozen=True, kw_only=True)
class RowFacts:
    """What a verdict needs to know about a row."""

    length: str
    tokens: int
    """Tokens of the prompt, as counted by the release's tokenizer."""
    max_new_tokens: int
    depth: float | None
    """Position of the evidence as a share of the prompt; None unless there is one piece of it."""


@dataclass(frozen=True, kw_only=True)
class RowPlan:
    """The rows of an examination, in the order in which they are sent."""

    configs: tuple[str, ...]
    keys: tuple[Key, ...]
    reserve: dict[str, tuple[int, ...]]
    """Further rows of each configuration, in their frozen order."""
    rows: dict[Key, PartialRow]
    """The columns that a score needs, of planned and further rows."""
    facts: dict[Key, RowFacts]

    def waves(self, size: int) -> list[tuple[Key, ...]]:
        """Return the rows in waves of nearly equal size, of at least `size` rows."""
        parts = max(1, len(self.keys) // size)
        ends = [len(self.keys) * number // parts for number in range(parts + 1)]
        return [self.keys[start:end] for start, end in pairwise(ends)]

    def tokens(self, keys: Iterable[Key]) -> tuple[int, int]:
        """Return the tokens of the prompts and answers of rows, as the release counts them."""
        facts = [self.facts[key] for key in keys]
        return sum(row.tokens for row in facts), sum(row.max_new_tokens for row in facts)


def make_plan(
    options: DoctorOptions, release: Release, window: int | None, max_extra: int = 0
) -> RowPlan:
    """Return the rows of an examination, and up to `max_extra` more of each configuration.

    `window` is the model's context window in tokens, if it is known. Raises RulerError.
    """
    files = _chosen(release, options, window)
    orders = {file["config"]: release.order(file["config"]) for file in files}
    keys: list[Key] = []
    if options.compares:
        revealing = [config for config, file in zip(orders, files, strict=True) if _reveals(file)]
        less_revealing = [config for config in orders if config not in revealing]
        keys = [*_in_turn(revealing, orders), *_in_turn(less_revealing, orders)]
    else:
        keys = _in_turn(list(orders), orders)
    keys = keys[: options.row_count]
    planned = {config: sum(name == config for name, _ in keys) for config in orders}
    reserve = {
        config: tuple(order[planned[config] : planned[config] + max_extra])
        for config, order in orders.items()
        if planned[config]
    }
    rows, facts = {}, {}
    for config in reserve:
        length = release.parse(config).length
        wanted = orders[config][: planned[config] + max_extra]
        for row in release.some_rows(config, ROW_COLUMNS, wanted):
            facts[config, row["index"]] = _facts(length, row)
            rows[config, row["index"]] = {name: row[name] for name in SCORE_COLUMNS}
    return RowPlan(
        configs=tuple(reserve), keys=tuple(keys), reserve=reserve, rows=rows, facts=facts
    )


def _reveals(file: FileEntry) -> bool:
    return file["task"] in REVEALING


def _in_turn(configs: Sequence[str], orders: dict[str, list[int]]) -> list[Key]:
    """Return the rows of configurations that take turns."""
    longest = max((len(orders[config]) for config in configs), default=0)
    keys = []
    for position in range(longest):
        for config in configs:
            if position < len(orders[config]):
                keys.append((config, orders[config][position]))
    return keys


def _chosen(release: Release, options: DoctorOptions, window: int | None) -> list[FileEntry]:
    """Return the files whose rows are sent, those of a task at all lengths together.

    Raises RulerError.
    """
    files = release.manifest["files"]
    if options.configs:
        chosen = [files[path] for path in chosen_files(options.configs, release.manifest)]
        if options.lengths:
            lengths = _chosen_lengths(chosen, options, window)
            chosen = [file for file in chosen if file["length"] in lengths]
    else:
        chosen = [file for file in files.values() if file["length"] != CONTROL_LENGTH]
        chosen = _of_one_tokenizer(chosen)
        if not chosen:
            raise RulerError(
                f"The release '{options.dataset}' has only rows without a context "
                f"({CONTROL_LENGTH}): name a release with longer rows."
            )
        lengths = _chosen_lengths(chosen, options, window)
        chosen = [file for file in chosen if file["length"] in lengths]
    tasks = list(dict.fromkeys(file["task"] for file in chosen))
    chosen.sort(key=lambda file: (tasks.index(file["task"]), file["max_length"]))
    return chosen


def _of_one_tokenizer(files: Sequence[FileEntry]) -> list[FileEntry]:
    """Return the files of the default tokenizer, or else of the first one.

    Rows of several tokenizers ask the same, and would not be independent.
    """
    names = list(dict.fromkeys(file["tokenizer"] for file in files))
    if not names:
        return []
    chosen = DEFAULT_TOKENIZER if DEFAULT_TOKENIZER in names else names[0]
    return [file for file in files if file["tokenizer"] == chosen]


def _chosen_lengths(
    files: Sequence[FileEntry], options: DoctorOptions, window: int | None
) -> set[str]:
    """Return the lengths that are named, or else the shortest and a long one. Raises RulerError."""
    lengths = {file["length"]: file["max_length"] for file in files}
    unknown = [length for length in options.lengths if length not in lengths]
    if unknown:
        raise RulerError(
            f"No configuration that could be sent has length '{unknown[0]}'; they have "
            f"{', '.join(lengths)}."
        )
    if options.lengths:
        return set(options.lengths)
    ordered = sorted(lengths, key=lambda length: lengths[length])
    longest = min(DEFAULT_LENGTH, window or DEFAULT_LENGTH)
    fitting = [length for length in ordered if lengths[length] <= longest] or ordered[:1]
    return {fitting[0]} if options.compares else {fitting[0], fitting[-1]}


def _facts(length: str, row: PartialRow) -> RowFacts:
    with_answer = [piece for piece in row["evidence"] if piece["answer"]]
    return RowFacts(
        length=length,
        tokens=row["length"] - row["max_new_tokens"],
        max_new_tokens=row["max_new_tokens"],
        depth=with_answer[0]["start"] / len(row["input"]) if len(with_answer) == 1 else None,
    )


def cost_line(prompt_tokens: int, output_tokens: int, price: tuple[float, float]) -> str:
    """Return the price of an examination as a sentence."""
    cost = (prompt_tokens * price[0] + output_tokens * price[1]) / 1e6
    return f"Cost: {cost:,.2f} at most; cached tokens may cost less."


def rows_in_words(plan: RowPlan) -> str:
    """Return how many rows of how many configurations are sent."""
    rows, configs = number_of(len(plan.keys), "row"), number_of(len(plan.configs), "configuration")
    return f"{rows} of {configs}"
