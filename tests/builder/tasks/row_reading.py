"""Read parts of rows: the text around the context, lists, documents, haystacks."""

from __future__ import annotations

import json
import re

from ruler_builder.tasks.base import Task, TaskKey
from ruler_builder.tasks.registry import Suite, read_suite
from ruler_builder.text.counted import CountedSources
from ruler_common.names import TASKS, parse_length
from ruler_common.rows import Row

RULER = TASKS["ruler"]
RESERVE = 128
NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."


def task_of(
    counted_sources: CountedSources,
    name: str,
    length: str,
    suite: Suite | None = None,
    seed: int = 0,
    reserve: int = RESERVE,
) -> Task:
    suite = suite or read_suite()
    key = TaskKey(
        dataset=suite.dataset,
        task=name,
        max_length=parse_length(length, suite.dataset),
        reserve=reserve,
        seed=seed,
    )
    return suite.task(key, counted_sources)


def parts(row: Row) -> tuple[str, str, str]:
    start, end = row["context_start"], row["context_end"]
    return row["input"][:start], row["input"][start:end], row["input"][end:]


def numbered(text: str) -> list[str]:
    return re.findall(r"\d+\. (\S+)", text)


def documents(context: str) -> list[str]:
    return re.split(r"(?:\A|\n\n)Document \d+:\n", context)[1:]


def haystack(row: Row) -> str:
    """Return the context without its evidence and the separators after it."""
    start, end = row["context_start"], row["context_end"]
    for e in row["evidence"]:
        assert row["input"][e["end"] : e["end"] + 1] in (" ", "\n")
    edges = [start, *(edge for e in row["evidence"] for edge in (e["start"], e["end"] + 1)), end]
    return "".join(row["input"][a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def custom_task(family: str, **parameters: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in parameters.items()]
    return "\n".join(["[tasks.mine]", f'family = "{family}"', *lines])
