"""The plan of an examination: rows, conditions, requests and their cost.

plan, rows = make_plan(options, release, sender)
plan.lines(price=None)                       # requests, tokens and price as sentences
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ruler_common.errors import RulerError
from ruler_common.names import EVIDENCE_ALONE
from ruler_common.text import number_of
from ruler_eval.doctor.answers import SCORE_COLUMNS, Key, Row
from ruler_eval.doctor.condition import COLD, Side
from ruler_eval.doctor.conditions import CACHED, CONDITIONS, REPEATS
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.doctor.sending import SHORT_TOKENS, Sender, conditions_for
from ruler_eval.frozen_release import PartialRow, Release, chosen_files

COLUMNS = (*SCORE_COLUMNS, "input", "answer_prefix", "max_new_tokens", "length", "evidence")
DEFAULT_LENGTH = 32768
"""Tokens. Without --lengths, the shortest and the longest length up to this one are used."""
ONE_BY_ONE = (COLD, CACHED, *REPEATS)
"""The sides that are sent row by row: a cold request, then identical ones that hit the cache."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The rows, conditions and requests of an examination."""

    configs: tuple[str, ...]
    rows_per_config: int
    rows: dict[Key, Row]
    """The rows in the order they are sent: configurations take turns, each in its frozen order."""
    conditions: tuple[str, ...]
    """The conditions that are tested."""
    reasons: dict[str, str]
    """Why the other conditions are not tested."""
    sides: tuple[Side, ...]
    waves: list[list[Key]]
    salt_field: bool
    requests: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int

    def lines(self, price: tuple[float, float] | None) -> list[str]:
        """Return the requests, tokens and price as sentences."""
        lines = [
            f"To do, at most: {number_of(self.requests, 'request')} for "
            f"{number_of(len(self.rows), 'row')} in {number_of(len(self.sides), 'way')}, "
            f"{self.prompt_tokens:,} prompt tokens ({self.cached_tokens:,} of them repeated), up "
            f"to {self.output_tokens:,} tokens of answers. It stops as soon as a fault is certain."
        ]
        if not self.salt_field:
            lines.append(
                "This server does not accept cache_salt. Instead each prompt begins with a "
                "different line, so that only requests that are meant to hit the prefix cache do."
            )
        if price is not None:
            cost = (self.prompt_tokens * price[0] + self.output_tokens * price[1]) / 1e6
            lines.append(f"Cost: {cost:,.2f} at most; cached tokens may cost less.")
        return lines


def make_plan(
    options: DoctorOptions, release: Release, sender: Sender
) -> tuple[Plan, dict[Key, PartialRow]]:
    """Return the plan and the columns of its rows. Raises RulerError."""
    configs = choose_configs(release, options, sender.backend.limit)
    rows_per_config = -(-options.row_count // len(configs))
    orders = {config: release.order(config)[:rows_per_config] for config in configs}
    texts, facts = {}, {}
    for config, indices in orders.items():
        length = release.parse(config).length
        for row in release.some_rows(config, COLUMNS, indices):
            texts[config, row["index"]] = row
            facts[config, row["index"]] = facts_of(config, length, row)
    keys = []
    for place in range(rows_per_config):
        keys += [(config, order[place]) for config, order in orders.items() if place < len(order)]
    conditions, reasons = conditions_for(sender, options.level, len(keys))
    sides = {side.name: side for name in conditions for side in CONDITIONS[name].sides}
    requests = prompt_tokens = cached_tokens = output_tokens = 0
    for side in sides.values():
        requests += len(keys) * (1 + side.short_neighbours)
        for key in keys:
            row = texts[key]
            tokens = row["length"] - row["max_new_tokens"]
            prompt_tokens += tokens
            cached_tokens += tokens if side.after else 0
            output_tokens += row["max_new_tokens"]
            output_tokens += side.short_neighbours * min(SHORT_TOKENS, row["max_new_tokens"])
    plan = Plan(
        configs=configs,
        rows_per_config=rows_per_config,
        rows={key: facts[key] for key in keys},
        conditions=tuple(conditions),
        reasons=reasons,
        sides=tuple(sides.values()),
        waves=split_evenly(keys, max(1, len(keys) // options.load)),
        salt_field=sender.salt_field,
        requests=requests,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        output_tokens=output_tokens,
    )
    return plan, texts


def choose_configs(release: Release, options: DoctorOptions, limit: int | None) -> tuple[str, ...]:
    """Return the configurations whose rows are sent, shortest length first. Raises RulerError.

    `limit` is the model's context length in tokens, if it is known.
    """
    files = release.manifest["files"]
    if options.configs:
        paths = chosen_files(options.configs, release.manifest)
        return tuple(files[path]["config"] for path in paths)
    lengths = {
        file["length"]: file["max_length"]
        for file in files.values()
        if file["length"] != EVIDENCE_ALONE
    }
    if not lengths:
        raise RulerError(
            f"The release '{options.dataset}' has only rows without a context "
            f"({EVIDENCE_ALONE}): name a release with longer rows."
        )
    unknown = [length for length in options.lengths if length not in lengths]
    if unknown:
        raise RulerError(
            f"The release '{options.dataset}' does not have length '{unknown[0]}'; it has "
            f"{', '.join(lengths)}."
        )
    chosen = set(options.lengths)
    if not chosen:
        ordered = sorted(lengths, key=lambda length: lengths[length])
        longest = min(DEFAULT_LENGTH, limit or DEFAULT_LENGTH)
        fitting = [length for length in ordered if lengths[length] <= longest] or ordered[:1]
        chosen = {fitting[0], fitting[-1]}
    names = [
        (file["max_length"], file["config"]) for file in files.values() if file["length"] in chosen
    ]
    return tuple(config for _, config in sorted(names, key=lambda name: name[0]))


def facts_of(config: str, length: str, row: PartialRow) -> Row:
    """Return the facts about a row that a verdict needs."""
    with_answer = [piece for piece in row["evidence"] if piece["answer"]]
    return Row(
        key=(config, row["index"]),
        length=length,
        row_tokens=row["length"] - row["max_new_tokens"],
        depth=with_answer[0]["start"] / len(row["input"]) if len(with_answer) == 1 else None,
    )


def split_evenly(keys: Sequence[Key], parts: int) -> list[list[Key]]:
    """Split rows into `parts` parts of nearly equal size."""
    ends = [len(keys) * number // parts for number in range(parts + 1)]
    return [list(keys[start:end]) for start, end in pairwise(ends)]
