"""run.json as scoring reads it: what it needs of a run's settings, checked.

    run_facts(Path("runs/qwen"))       # {"model": "Qwen/…", "sessions": [{"source": "ruler"}]}

A run of any version counts, and one written by hand: every field may be missing, none may be of
another type. `ruler run` itself reads more of it.

A run that ends when its scores look decided ends at a lucky or an unlucky moment, so intervals for
the same number of rows chosen beforehand do not hold for it. What holds is what `ruler decide` or
`ruler run --until` wrote into run.json when it stopped: `stopped_at`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import cast

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import parse_json, read_bytes

RUN_FILE = "run.json"


class SessionFacts(TypedDict):
    """One start of the program: the release it read, the configurations asked for, its times."""

    source: NotRequired[str]
    configs: NotRequired[list[str]]
    limit: NotRequired[int | None]  # rows of each configuration; None for all of them
    started: NotRequired[str | None]
    ended: NotRequired[str | None]


class Thinking(TypedDict):
    """Whether the model was asked to reason, and its room for that in tokens."""

    on: bool
    budget: int


class Limit(TypedDict):
    """What `ruler decide` fixed before the first row."""

    max_drop: float


class StoppedAt(TypedDict):
    """Where `ruler decide` or `ruler run --until` stopped: after `rows` of `of` rows each.

    `score` (0 … 100) is what --until estimated, `interval` that of the score or the drop.
    """

    rows: int
    of: int
    interval: list[float]
    score: NotRequired[float]


class TemplateFacts(TypedDict):
    """A chat template that was given: its file's name and the sha256 of its text."""

    name: str
    sha256: str


class RunFacts(TypedDict, total=False):
    """The settings of a run; a run.json has more of them, which are kept as they are."""

    model: str | None
    mode: str | None
    backend: str | None
    revision: str | None
    direct: bool
    chat_template: TemplateFacts | None  # of a file used instead of the tokenizer's own
    thinking: Thinking | None
    repeats: int  # samples a row; absent: one
    dataset: str
    data_version: str | None
    data_revision: str | None
    rows: dict[str, str]  # rows_sha256 by configuration
    sessions: list[SessionFacts]
    decide: Limit
    decision: StoppedAt
    estimate: StoppedAt


def run_facts(folder: Path) -> RunFacts | None:
    """Return what a folder's run.json says; None without one. Raises RulerError if damaged."""
    file = folder / RUN_FILE
    if not file.is_file():
        return None
    found = cast(RunFacts, parse_json(read_bytes(file), RunFacts, file, "Score another folder."))
    check_times(found, file)
    return found


def check_times(run: RunFacts, where: Path) -> None:
    """Raise RulerError for a time that is not valid."""
    for session in run.get("sessions", []):
        for time in (session.get("started"), session.get("ended")):
            try:
                datetime.fromisoformat(time) if time else None
            except ValueError:
                raise RulerError(f"'{where}' is damaged: {time!r} is not a time.") from None


def stopped_at(run: RunFacts) -> StoppedAt | None:
    """Return where a run was stopped by its own scores; None if it ran to its last row."""
    found = run.get("decision") or run.get("estimate")
    return found if found and found["rows"] < found["of"] else None


def note_of_stopped(found: StoppedAt) -> str:
    """Say what holds for a stopped run: a note of its results."""
    low, high = found["interval"]
    by, holds = "ruler decide", "the verdict in run.json"
    if (score := found.get("score")) is not None:
        by, holds = "ruler run --until", f"the mean over all, {score:.1f} ({low:.1f} to {high:.1f})"
    return (
        f"`{by}` stopped this run after {found['rows']} of {found['of']} rows of each task, when "
        f"its scores said so. What holds is {holds}; no other interval is given."
    )
