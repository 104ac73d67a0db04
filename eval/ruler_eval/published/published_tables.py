"""Published tables of results, read from the TOML files beside this module.

    for table in newest_tables("ruler"):
        table.group                                       # "all", "retrieval (NIAH)", …
        table.models[0].model, table.models[0].scores["128k"]      # percent

Of RULER (arXiv:2404.06654): Tables 3 and 10 to 16, and the reference repository's table; of
ONERULER (arXiv:2503.01996): Figure 3. Every table gives its source, its date and the rows it was
measured on, which are never the rows of a release: the figures show the level of known models, and
a difference of a few points means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ruler_common.files import read_toml

ModelKind = Literal["aligned", "base"]


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    """One row of a table, as printed; scores and averages in percent, None where none is printed.

    `scores` has the names of lengths as keys (`4k`, in the dataset's own thousands). `source` is
    where the model's own authors published it, if not the authors of the table.
    """

    model: str
    claimed: str
    scores: Mapping[str, float]
    effective: str | None = None
    average: float | None = None
    inc: float | None = None
    inc_rank: int | None = None
    dec: float | None = None
    dec_rank: int | None = None
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """A table of results: which figures they are, of which models, and where they stand.

    `group` is the name of a group in the summary of a results.json, or of a task (`is_task`);
    `languages` are the languages there. `threshold` is the score of `threshold_model` at 4K, for
    the effective lengths of RULER.
    """

    dataset: str
    name: str
    group: str
    languages: str
    models_are: ModelKind
    models: tuple[PublishedModel, ...]
    source: str
    url: str
    date: str
    measured_on: str
    is_task: bool = False
    threshold_model: str | None = None
    threshold: float | None = None

    @property
    def lengths(self) -> list[str]:
        """The names of the lengths that any model was measured at, in the table's order."""
        return list(dict.fromkeys(length for model in self.models for length in model.scores))


def newest_tables(
    dataset: str, models_are: ModelKind = "aligned", of_tasks: bool = False
) -> list[PublishedTable]:
    """Return the latest table for each group and language of `ruler` or `oneruler`.

    None for another.

    With `of_tasks` those for each task.

    The reference repository's table repeats Table 3 of the paper, so it stands for it here.
    """
    newest: dict[tuple[str, str], PublishedTable] = {}
    for table in sorted(published_tables(), key=lambda table: table.date):
        kind = table.dataset, table.models_are, table.is_task
        if kind == (dataset, models_are, of_tasks):
            newest[table.group, table.languages] = table
    return list(newest.values())


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    """Every table of the TOML files in this folder."""
    return tuple(
        table
        for file in sorted(files(__package__).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
        for table in _tables({"languages": "en", **read_toml(file)})
    )


def _tables(common: dict[str, Any]) -> Iterator[PublishedTable]:
    """Yield the tables of one file: what stands above them holds for all."""
    for table in common.pop("tables"):
        models = tuple(PublishedModel(**model) for model in table["models"])
        yield PublishedTable(**{**common, **table, "models": models})
