"""The rows behind a number, as the page shows them: a part of the model in page_model.py."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict


class ShownEvidence(TypedDict):
    """A needle, assignment or document of a row, and the text around it where it is at hand.

    `text` is what stands before, the evidence itself, and what stands after.
    """

    depth: float
    answer: bool
    text: NotRequired[list[str]]


class ShownRow(TypedDict):
    """One row behind a number, as text; `score` is 0 … 1, `kind` None for a right answer.

    `page` is the address of the page of its whole prompt, where one was made.
    """

    index: int
    score: float
    kind: str | None
    question: str
    references: list[str]
    answer: str | None
    state: str
    evidence: list[ShownEvidence]
    page: NotRequired[str]


RowsPart = tuple[int, int]
"""Where a configuration's rows stand in the file beside the page: their first byte, and the end."""


class ShownRows(TypedDict):
    """The rows of a configuration that the page holds, wrong ones first, of so many.

    `all` is where the file beside the page has all of them, if there is one.
    """

    n: int
    wrong: int
    rows: list[ShownRow]
    all: NotRequired[RowsPart]


class RowsFileFacts(TypedDict):
    """The file beside the page that holds every row: its name, and how many bytes it has."""

    name: str
    bytes: int


class ShowCommand(TypedDict):
    """What `ruler show` takes to show a row of a series: its release and its run, as a shell does.

    `run` is "" where the answers are in several places.
    """

    release: str
    run: str
