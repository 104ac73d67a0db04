"""A run on disk: one file of answers, the settings, and a file for each start of the program.

    RUN/run.json               model, mode, template, sampling, …: written once, and then checked
    RUN/answers.jsonl          a line for each answer, appended as it comes; of a row with several
                               lines (--retry-failed) the last one counts
    RUN/sessions/2026-….json   each start of the program: its part of the work, versions, times
    RUN/2of4/…                 a shard (--shard 2/4), which is a folder like RUN
    RUN/decision.json          where `ruler decide` stopped; estimate.json: `ruler run --until`

A line is written and flushed as soon as its row is answered:

    {"config": "vt_4k", "index": 0, "prediction": "…", "thinking": null, "finish_reason": "stop",
     "usage": {"prompt_tokens": 3902, "completion_tokens": 21, "thinking_tokens": 0,
               "cached_tokens": 3328}, "error": null, "thinking_ended": null}

A server's lines have `in_flight`, `tries` and `seconds` too (see Record).
`finish_reason` is one of STATES; `thinking` is the model's reasoning. A line that is half-written
after a crash does not count, and is removed when the run resumes. A file with any other content is
not touched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from typing_extensions import NotRequired, Required, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import check_folder, check_outside_rows, parse_json, write_whole
from ruler_common.manifest import MANIFEST
from ruler_eval.run.reply_rules import Kind

FinishReason = Literal["stop", "length", "does_not_fit", "error"]
"""How a row ended: complete, truncated at max_new_tokens, too long for the model, or failed."""
STATES: tuple[FinishReason, ...] = get_args(FinishReason)
FAILED_STATES = ("error", "does_not_fit")
"""The states of rows without an answer, which --retry-failed runs again."""
FORMAT = 2
"""The format of run.json. Format 1 had a file of answers for each configuration."""
RUN_FILE, ANSWERS, SESSIONS = "run.json", "answers.jsonl", "sessions"
LOCK_TIMEOUT = 1.0
"""Seconds to wait for a lock, which a process that ends may still hold."""
TAIL_BYTES = 1 << 16
"""Bytes that are read at a time to find the last whole line."""


class Usage(TypedDict):
    """The tokens of a row, as the backend counts them.

    `completion_tokens` include `thinking_tokens`. `cached_tokens` is None if the backend does not
    report them.
    """

    prompt_tokens: int
    completion_tokens: int
    thinking_tokens: int
    cached_tokens: int | None


RowKey = tuple[int, int]
"""A row's index, and the number of the sample (0 unless a run has --repeats)."""


class Record(TypedDict):
    """A line of a run: the result of a row, or of a sample of a row (`--repeats`)."""

    config: str
    index: int
    sample: NotRequired[int]
    prediction: str
    thinking: str | None
    finish_reason: FinishReason
    usage: Usage | None
    error: str | None
    failure: NotRequired[Kind]
    """The kind of the error, or why the row does not fit."""
    at_limit: NotRequired[Literal[True]]
    """Set if all tokens were used, although the server reports that the answer ended."""
    thinking_ended: bool | None
    counted_tokens: NotRequired[int]
    """Tokens of the prompt as counted before it was sent, if the server counted others."""
    in_flight: NotRequired[int]
    """Requests in flight at the same time, including this one; only from a server."""
    tries: NotRequired[int]
    """How often the row was sent; only from a server."""
    seconds: NotRequired[float]
    """From the last time it was sent to the end of the reply; only from a server."""


class Session(TypedDict):
    """A session is one start of the program: its part of the work, its versions, its results."""

    started: str
    shard: str | None
    limit: int | None
    source: str
    configs: list[str]
    rows: NotRequired[dict[str, str]]
    """The rows_sha256 of its configurations."""
    max_model_len: NotRequired[int | None]
    concurrency: int | None
    stream: NotRequired[bool]
    versions: dict[str, str]
    machine: str
    ended: NotRequired[str]
    seconds: NotRequired[float]
    tokens: NotRequired[dict[str, int]]
    cached_share: NotRequired[float | None]
    needed_context: NotRequired[int]  # see Backend
    options: NotRequired[dict[str, Any]]
    prompt_token_differences: NotRequired[int]
    answering_models: NotRequired[list[str]]
    """The models that the answers name, if they are not all of the model that was asked for."""


class RunFile(TypedDict, total=False):
    """The fields of every run.json, besides the settings that can change a score."""

    format: Required[int]


class SessionFile(TypedDict, total=False):
    """The fields of the file of a session that are read again."""

    started: Required[str]
    source: str | None
    rows: dict[str, str]
    limit: int | None


RunSettings = dict[str, Any]
"""The content of run.json: the settings that can change a score."""


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file, if it exists; a half-written last line is skipped.

    Raises RulerError for a line that is not a record.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if (
                isinstance(record, dict)
                and type(record.get("index")) is int
                and record.get("finish_reason") in STATES
                and isinstance(record.get("config"), str)
            ):
                if line.endswith(b"\n"):
                    yield cast(Record, record)
                continue
            start = b'{"config": "'[: len(line)]
            if line.endswith(b"\n") or not line.startswith(start):
                raise RulerError(
                    f"'{path}', line {number}, is not a record of `ruler run`: move the file away, "
                    "or name a new --out."
                )


class Shard(NamedTuple):
    """A part of a run, answered by a separate process: `2/4` is the second of four parts."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `2/4`. Raises RulerError."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise RulerError(f"--shard '{text}' is not i/n with 1 <= i <= n, such as 2/4.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def chosen(self, sizes: Mapping[str, int]) -> set[str]:
        """Return the names that belong to this shard.

        The largest names are assigned first, each to the shard with the least work so far, so that
        all processes compute the same division.

        Args:
            sizes: The work of each name, such as its tokens.
        """
        work = [0] * self.total
        chosen = set()
        for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
            shard = work.index(min(work))
            work[shard] += sizes[name]
            if shard + 1 == self.number:
                chosen.add(name)
        return chosen


class Records:
    """The folder of a run, or of a shard of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / ANSWERS
        self._lock: Any = None

    def lock(self) -> bool:
        """Lock the folder, and drop a half-written line; return False if it is read-only.

        The lock is released when the process ends. Raises RulerError while another run writes, and
        for a folder that this release does not write.
        """
        from filelock import FileLock, Timeout

        check_outside_rows(self.folder)
        if not self.folder.is_dir():  # an existing one may be read-only
            check_folder(self.folder)
            self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / MANIFEST).is_file():
            raise RulerError(f"'{self.folder}' is a release: name another folder with --out.")
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=LOCK_TIMEOUT)
        except Timeout as error:
            raise RulerError(
                f"Another run is writing to '{self.folder}': wait for it, or name a new --out."
            ) from error
        except OSError:  # a read-only folder or file system
            return False
        self._lock = lock
        self._drop_torn_line()
        return True

    def _drop_torn_line(self) -> None:
        """Remove a line without an end, which a process that was killed left behind."""
        if not self.path.is_file():
            return
        with self.path.open("r+b") as file:
            end = file.seek(0, os.SEEK_END)
            length = 0  # of the line without an end
            while length < end:
                step = min(TAIL_BYTES, end - length)
                file.seek(end - length - step)
                _, newline, tail = file.read(step).rpartition(b"\n")
                length += len(tail)
                if newline:
                    break
            if length:
                file.truncate(end - length)

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def states(self) -> dict[str, dict[RowKey, FinishReason]]:
        """Return the state of each row by configuration. Raises RulerError for other content."""
        states: dict[str, dict[RowKey, FinishReason]] = {}
        for record in read_records(self.path):
            states.setdefault(record["config"], {})[key_of(record)] = record["finish_reason"]
        return states

    def read(self) -> Iterator[Record]:
        """Yield the record of each row that counts, which is its last one, in their order."""
        last: dict[tuple[str, RowKey], int] = {}
        for number, record in enumerate(read_records(self.path)):
            last[record["config"], key_of(record)] = number
        for number, record in enumerate(read_records(self.path)):
            if last[record["config"], key_of(record)] == number:
                yield record

    def write(self, record: Record) -> None:
        """Append one row and flush it; no file stays open."""
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(_line(record))

    def settings(self) -> RunSettings:
        """Return the content of run.json; empty in a new folder.

        Raises RulerError if it is damaged, or of another format.
        """
        path = self.folder / RUN_FILE
        if not path.exists():
            return {}
        wrong = "not a run.json of `ruler run`"
        settings = parse_json(path.read_bytes(), RunFile, path, "Name a new --out.", FORMAT, wrong)
        if settings["format"] != FORMAT:
            raise RulerError(
                f"'{self.folder}' is a run of an older version of ruler, which can be scored and "
                "not continued: name a new --out."
            )
        return cast(RunSettings, settings)

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Write run.json, or check that it has these settings. Raises RulerError."""
        if before := self.settings():
            check_settings(before, settings, self.folder)
            return
        text = json.dumps({"format": FORMAT, **settings}, ensure_ascii=False, indent=2) + "\n"
        write_whole(self.folder / RUN_FILE, text)

    def write_session(self, session: Session) -> None:
        """Write the file of a session; its own process replaces it at the end."""
        folder = self.folder / SESSIONS
        folder.mkdir(exist_ok=True)
        name = re.sub(r"[^0-9A-Za-z.-]", ".", session["started"])
        text = json.dumps(session, ensure_ascii=False, indent=2) + "\n"
        write_whole(folder / f"{name}.json", text)

    def sessions(self) -> list[dict[str, Any]]:
        """Return the sessions in the order of their starts. Raises RulerError if one is damaged."""
        sessions = []
        for path in sorted((self.folder / SESSIONS).glob("*.json")):
            session = parse_json(path.read_bytes(), SessionFile, path, "Move the file away.")
            sessions.append(cast("dict[str, Any]", session))
        return sessions

    def digests(self) -> dict[str, str]:
        """Return the rows_sha256 of all configurations of the run."""
        digests: dict[str, str] = {}
        for session in self.sessions():
            digests |= session.get("rows", {})
        return digests

    def write_result(self, name: str, result: Mapping[str, Any]) -> None:
        """Write a result of the whole run, such as decision.json."""
        text = json.dumps(result, ensure_ascii=False, indent=2) + "\n"
        write_whole(self.folder / f"{name}.json", text)


def key_of(record: Record) -> RowKey:
    """Return the row and the sample of a record."""
    return record["index"], record.get("sample", 0)


def shard_folders(folder: Path) -> list[Path]:
    """Return the folders of a run's shards, in their order; empty for a run without shards."""
    found = {}
    for path in folder.glob("*of*"):
        match = re.fullmatch(r"(\d+)of(\d+)", path.name)
        if match is not None and (path / RUN_FILE).is_file():
            found[path] = int(match[1])
    return sorted(found, key=lambda path: found[path])


def _line(record: Record) -> str:
    """Return a record as a line; half a surrogate pair, which UTF-8 cannot hold, becomes `?`."""
    text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return text + "\n"


def check_settings(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Raise RulerError that names the first setting that differs from run.json."""
    for name, value in new.items():
        before = old.get(name, value)
        if before == value or (name == "max_model_len" and _is_longer(value, before)):
            continue
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            for key in sorted({*value, *before}):
                _check_setting(f"{name}.{key}", before.get(key), value.get(key), folder)
        else:
            _check_setting(name, before, value, folder)


def _is_longer(context_window: int | None, before: int | None) -> bool:
    """Whether a context window may follow another: the rows that fitted still fit."""
    return context_window is None or before is None or context_window >= before


def _check_setting(name: str, before: Any, value: Any, folder: Path) -> None:
    """Raise RulerError if a setting differs from run.json; "unknown" matches any value."""
    if before == value or "unknown" in (before, value):
        return
    if name in ("decide.alpha", "decide.rule"):  # set by the version, not by an option
        remedy = "continue with the version that started it"
    elif name in ("decide.max_drop", "decide.max_task_drop"):
        remedy = "use the old value: a margin is fixed before the first row"
    else:
        remedy = "use the old value"
    old = "none" if before is None else json.dumps(before, ensure_ascii=False)
    new = "none" if value is None else json.dumps(value, ensure_ascii=False)
    raise RulerError(
        f"'{folder}' was run with {name} = {old}, not {new}: name a new --out, or {remedy}."
    )
