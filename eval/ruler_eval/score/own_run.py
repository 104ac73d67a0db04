"""The settings of a run of `ruler run`, as scoring reads them from its run.json.

    run_facts(Path("runs/qwen"))       # {"model": "Qwen/…", "sessions": [{"source": "ruler"}]}

Runs of any version can be read: every field of run.json may be missing, but none may have another
type. The runner itself reads more of it.

A run that stops when its scores look decided may stop at a lucky moment, so the usual intervals for
that number of rows are not valid. The valid interval is the one that `ruler decide` or `ruler run
--until` wrote into decision.json or estimate.json when it stopped: `stopped_at`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import check_type, parse_json
from ruler_eval.frozen_release import Release
from ruler_eval.run.look_order import look_order_of_file
from ruler_eval.run.records import ANSWERS, RUN_FILE, Records, Shard, shard_folders

RESULTS = ("decision", "estimate")
"""The results of a run that are files of their own."""


class SessionFacts(TypedDict):
    """One start of the program: the release, the requested configurations, and the times."""

    source: NotRequired[str]
    configs: NotRequired[list[str]]
    shard: NotRequired[str | None]  # i/n; None for the whole run
    limit: NotRequired[int | None]  # rows of each configuration; None for all of them
    started: NotRequired[str | None]
    ended: NotRequired[str | None]
    answering_models: NotRequired[list[str]]  # named by the answers, instead of the run's model


class Thinking(TypedDict):
    """Whether the model was asked to reason, and its budget for that in tokens."""

    on: bool
    budget: int


class FixedMargin(TypedDict):
    """The margin that `ruler decide` fixed before the first row."""

    max_drop: float


class StoppedAt(TypedDict):
    """Where `ruler decide` or `ruler run --until` stopped: after `rows` of `of` rows each.

    `score` (0 … 100) is the estimate of --until, `interval` that of the score or of the drop.
    """

    rows: int
    of: int
    interval: list[float]
    score: NotRequired[float]


class TemplateFacts(TypedDict):
    """The chat template of --chat-template: its file's name and the sha256 of its text."""

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
    repeats: int  # samples per row; absent: one
    dataset: str
    data_version: str | None
    data_revision: str | None
    rows: dict[str, str]  # rows_sha256 by configuration
    sessions: list[SessionFacts]
    decide: FixedMargin
    decision: StoppedAt
    estimate: StoppedAt


def run_folders(path: Path) -> list[Path]:
    """Return a RUN folder itself, or the folders of its shards; empty for anything else."""
    return [path] if (path / RUN_FILE).is_file() else shard_folders(path)


def is_of_run(file: Path) -> bool:
    """Whether a file has the answers of a run, and not only the same name."""
    return file.name == ANSWERS and (file.parent / RUN_FILE).is_file()


def run_facts(folder: Path) -> RunFacts | None:
    """Return the run.json of a folder, with its sessions and results; None without one.

    Older runs have all of it in run.json. Raises RulerError if it is damaged.
    """
    file = folder / RUN_FILE
    if not file.is_file():
        return None
    run: dict[str, Any] = parse_json(file.read_bytes(), RunFacts, file, "Score another folder.")
    for name in RESULTS:
        result = folder / f"{name}.json"
        if result.is_file():
            run[name] = parse_json(result.read_bytes(), StoppedAt, result, "Score another folder.")
    records = Records(folder)
    if sessions := records.sessions():
        run["sessions"], run["rows"] = sessions, records.digests()
    check_type(run, RunFacts, file, "Score another folder.")
    return cast(RunFacts, run)


def release_of_runs(runs: Iterable[RunFacts]) -> Release | None:
    """Open the release that the last session of the last run read; None if none names one."""
    source = revision = None
    for run in runs:
        revision = run.get("data_revision")
        for session in run.get("sessions", []):
            source = session.get("source", source)
    return None if source is None else open_again(source, revision)


def open_again(source: str, revision: str | None) -> Release:
    """Open the release of a run, which may have been a folder or, at a commit, a repository.

    A folder that is gone is not looked for on the Hub. Raises RulerError.
    """
    if not Path(source).is_dir() and revision is None:
        raise RulerError(f"The run was made on '{source}', which was not found: add --dataset.")
    try:
        return Release.open(source, revision)
    except RulerError as error:
        raise RulerError(
            f"The run was made on '{source}', which cannot be opened: {error} Or add --dataset."
        ) from error


def stopped_at(run: RunFacts) -> StoppedAt | None:
    """Return where a run was stopped by its own scores; None if it ran to its last row."""
    stop = run.get("decision") or run.get("estimate")
    return stop if stop and stop["rows"] < stop["of"] else None


def rows_looked_at(run: RunFacts, stop: StoppedAt, release: Release, config: str) -> list[int]:
    """Return the rows of a configuration that a stopped run looked at."""
    order = release.order(config)[: stop["of"]]
    if "decision" in run:
        order = look_order_of_file(release.manifest, release.entry(config), order)
    return order[: stop["rows"]]


def note_of_stopped(stop: StoppedAt) -> str:
    """Return the note about a stopped run: which of its figures is valid."""
    low, high = stop["interval"]
    command, valid_figure = "ruler decide", "its verdict"
    if (score := stop.get("score")) is not None:
        command = "ruler run --until"
        valid_figure = f"the mean over all, {score:.1f} ({low:.1f} to {high:.1f})"
    return (
        f"`{command}` stopped this run after {stop['rows']} of {stop['of']} rows of each task, "
        f"because of its scores. The valid result is {valid_figure}; other intervals are left out"
    )


def notes_of_shards(run: RunFacts) -> list[str]:
    """Return a note about a run of which some shards are missing; nothing for other runs."""
    numbers, totals = set(), set()
    for session in run.get("sessions", []):
        text = session.get("shard")
        if text is None:
            return []
        shard = Shard.parse(text)
        numbers.add(shard.number)
        totals.add(shard.total)
    if len(totals) != 1 or len(numbers) == max(totals):
        return []
    which = ", ".join(map(str, sorted(numbers)))
    return [
        f"Only shard {which} of {max(totals)} was scored: name the RUN folder, or all its shards"
    ]


def notes_of_models(run: RunFacts) -> list[str]:
    """Return a note about a run whose answers name another model; nothing for other runs."""
    names: dict[str, None] = {}
    for session in run.get("sessions", []):
        names |= dict.fromkeys(session.get("answering_models", []))
    if not names:
        return []
    if len(names) > 1:
        models = " and some of ".join(f"'{name}'" for name in names)
        return [f"By what the server said, some answers are of the model {models}"]
    model = run.get("model")
    return [
        f"By what the server said, the answers are of the model '{next(iter(names))}', and not "
        f"of '{model}'"
    ]
