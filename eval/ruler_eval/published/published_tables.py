"""Read published tables of results from the TOML files of this folder.

    for table in newest_tables("ruler"):
        table.group                                       # "all", "retrieval (NIAH)", …
        table.models[0].model, table.models[0].scores["128k"]      # percent

They are Tables 3 and 10 to 16 of RULER (arXiv:2404.06654), the table of its repository, and Figure
3 of ONERULER (arXiv:2503.01996). Every table names its source, its date and the rows it was
measured on, which are never the rows of a release: the figures show the level of well-known models,
and a difference of a few points means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ruler_common.files import read_toml

ModelKind = Literal["aligned", "base"]


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    """One row of a table as printed; None if a value is not printed."""

    model: str
    claimed: str
    scores: Mapping[str, float]  # percent, by the names of lengths in the data set (`4k`)
    effective: str | None = None
    average: float | None = None  # percent, as are inc and dec
    inc: float | None = None
    inc_rank: int | None = None
    dec: float | None = None
    dec_rank: int | None = None
    source: str | None = None  # of scores that the model's authors published


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """A table of results."""

    dataset: str
    name: str
    group: str  # the name of a group in the summary of a results.json, or of a task (`is_task`)
    languages: str  # as in that summary
    models_are: ModelKind
    models: tuple[PublishedModel, ...]
    source: str
    url: str
    date: str
    measured_on: str
    is_task: bool = False
    threshold: float | None = None  # Llama-2-7B's score at 4K, for RULER's effective lengths

    @property
    def lengths(self) -> list[str]:
        """The names of the lengths at which any model was measured, in the table's order."""
        return list(dict.fromkeys(length for model in self.models for length in model.scores))


def newest_tables(
    dataset: str, models_are: ModelKind = "aligned", of_tasks: bool = False
) -> list[PublishedTable]:
    """Return the newest table for each group, or with `of_tasks` for each task, and language.

    The table of the reference repository repeats Table 3 of the paper and replaces it.
    """
    newest: dict[tuple[str, str], PublishedTable] = {}
    for table in sorted(published_tables(), key=lambda table: table.date):
        kind = table.dataset, table.models_are, table.is_task
        if kind == (dataset, models_are, of_tasks):
            newest[table.group, table.languages] = table
    return list(newest.values())


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    """Return the tables of all TOML files in this folder."""
    tables = []
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            shared: dict[str, Any] = {"languages": "en", **read_toml(file)}  # by all of its tables
            for table in shared.pop("tables"):
                models = tuple(PublishedModel(**model) for model in table["models"])
                tables.append(PublishedTable(**{**shared, **table, "models": models}))
    return tuple(tables)
