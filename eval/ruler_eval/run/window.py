"""The window that a run's rows need, so that an engine makes room for them and not for a million.

    needed = window_of(ready, parts)       # tokens: the longest prompt, its answer, reasoning

A configuration's rows are nearly of one length, which its first row tells under the model's own
tokenizer. The margin is for rows that differ, and for the chat template.
"""

from __future__ import annotations

from collections.abc import Sequence

from ruler_eval.run.backends.backend import tokenizer_of
from ruler_eval.run.preparing.row_reader import RowReader
from ruler_eval.run.preparing.token_ids import TokenIds
from ruler_eval.run.run_order import Prepared
from ruler_eval.run.work_plan import Part

MARGIN = 0.05
"""The share by which a row may be longer than its configuration's first."""
TEMPLATE = 1024
"""Tokens that a chat template may add."""


def window_of(ready: Prepared, parts: Sequence[Part]) -> int:
    """Tokens that the longest missing row may need, with answer and reasoning; 0 for no rows.

    Of configurations less than half as long as the longest no row is read.
    """
    lengths = {file["config"]: file["max_length"] for file in ready.manifest["files"].values()}
    todo = [part for part in parts if part.missing]
    longest = max((lengths[part.config] for part in todo), default=0)
    if not longest:
        return 0
    reader = RowReader(ready.order.dataset, ready.settings["data_revision"])
    ids = TokenIds(tokenizer_of(ready.order.options), fast=True)
    needed = 0
    for part in todo:
        if 2 * lengths[part.config] >= longest:
            _, row = reader(part.config, part.missing[0])
            text = row["input"] + row["answer_prefix"]
            count = len(ids(text, False, (part.config, row["index"])))
            most = max(count, row["length"] - row["max_new_tokens"])
            needed = max(needed, most + row["max_new_tokens"])
    budget = ready.order.reasoning.budget
    return -(-(int(needed * (1 + MARGIN)) + TEMPLATE + budget) // 1024) * 1024
