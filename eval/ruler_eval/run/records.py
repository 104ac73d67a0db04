"""A run on disk: a JSON-lines file for each configuration, and run.json with the settings.

    RUN/run.json                    model, backend, mode, template, sampling, data digests, …
    RUN/niah_single_1_4k.jsonl      one line for each row, sorted once the configuration is complete
    RUN/vt_4k.1of4.jsonl            the rows of a shard, RUN/vt_4k.jsonl once complete

A line is written and flushed as soon as its row is answered:

    {"config": "vt_4k", "index": 0, "prediction": "…", "thinking": null, "finish_reason": "stop",
     "usage": {"prompt_tokens": 3902, "completion_tokens": 21, "thinking_tokens": 0,
               "cached_tokens": 3328}, "error": null, "thinking_ended": null}

A server's lines have `in_flight`, `tries` and `seconds` too (see Record).
`finish_reason` is one of STATES; `thinking` is the model's reasoning. A line that is half-written
after a crash is dropped when the run resumes. A file with any other content is not touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from typing_extensions import NotRequired, Required, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import check_folder, parse_json, write_whole
from ruler_common.manifest import MANIFEST

FinishReason = Literal["stop", "length", "does_not_fit", "error"]
"""How a row ended: complete, truncated at max_new_tokens, too long for the model, or failed."""
STATES: tuple[FinishReason, ...] = get_args(FinishReason)
RUN_FILE = "run.json"
LOCK_TIMEOUT = 1.0
"""Seconds to wait for a lock. Another process may hold it briefly to test it; a run keeps it."""


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
    thinking_ended: bool | None
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
    concurrency: int | None
    stream: NotRequired[bool]
    versions: dict[str, str]
    machine: str
    ended: NotRequired[str]
    seconds: NotRequired[float]
    tokens: NotRequired[dict[str, int]]
    cached_share: NotRequired[float | None]
    window: NotRequired[int]
    options: NotRequired[dict[str, Any]]
    prompt_token_differences: NotRequired[int]


class RunFile(TypedDict, total=False):
    """The fields of every run.json, besides the settings that can change a score."""

    format: Required[int]
    rows: dict[str, str]
    sessions: list[dict[str, Any]]


RunSettings = dict[str, Any]
"""The content of run.json: the settings that can change a score, and the sessions."""


def read_lines(path: Path) -> Iterator[Record]:
    """Yield the records of a file, if it exists; a half-written last line is skipped.

    Raises RulerError for a line that is not a record of the configuration in the file's name.
    """
    if not path.exists():
        return
    config = re.sub(r"(\.\d+of\d+)?\.jsonl$", "", path.name)
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
                and record.get("config", config) == config
            ):
                if line.endswith(b"\n"):
                    yield cast(Record, record)
                continue
            start = f'{{"config": "{config}"'.encode()[: len(line)]
            if line.endswith(b"\n") or not line.startswith(start):
                raise RulerError(
                    f"'{path}', line {number}, is not a record of a run of {config}: move the file "
                    "away, or name a new --out."
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
    """The files of a run folder, as written by one shard or by a run without shards."""

    def __init__(self, folder: Path, shard: Shard | None = None) -> None:
        self.folder = Path(folder)
        self.shard = shard
        self._suffix = f".{shard.number}of{shard.total}" if shard else ""
        self._locks: list[Any] = []

    def lock(self) -> bool:
        """Lock the rows of this shard; return False if the folder is read-only.

        The lock is released when the process ends. Raises RulerError while another run writes.
        """
        from filelock import FileLock, Timeout

        if not self.folder.is_dir():  # an existing one may be read-only
            check_folder(self.folder)
            self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / MANIFEST).is_file():
            raise RulerError(f"'{self.folder}' is a release: name another folder with --out.")
        lock = self.folder / f"{self._suffix or '.whole'}.lock"
        others = [self.folder / ".whole.lock"] if self.shard else self.folder.glob(".*of*.lock")
        try:
            for path in others:  # shards that start at the same time test the same lock
                FileLock(path).acquire(timeout=LOCK_TIMEOUT).lock.release()
            self._locks.append(FileLock(lock).acquire(timeout=LOCK_TIMEOUT))
        except Timeout as error:
            raise RulerError(
                f"Another run is writing to '{self.folder}': wait for it, or name a new --out."
            ) from error
        except OSError:  # a read-only folder or file system
            return False
        return True

    def close(self) -> None:
        """Release the locks."""
        for lock in self._locks:
            lock.lock.release()
        self._locks.clear()

    def path(self, config: str) -> Path:
        """Return the file of a configuration that this writer appends to."""
        return self.folder / f"{config}{self._suffix}.jsonl"

    def files(self, config: str) -> list[Path]:
        """Return every file with rows of a configuration, including those of all shards."""
        pattern = re.compile(re.escape(config) + r"(\.\d+of\d+)?\.jsonl")
        return sorted(path for path in self.folder.glob("*.jsonl") if pattern.fullmatch(path.name))

    def read(self, config: str, without_failed: bool = False) -> dict[RowKey, Record]:
        """Return the records of a configuration by row and sample; an answer replaces a failure.

        Raises RulerError for a line that is not a record.
        """
        records: dict[RowKey, Record] = {}
        for path in self.files(config):
            for record in read_lines(path):
                key = record["index"], record.get("sample", 0)
                failed = record["finish_reason"] == "error"
                if not (failed and (without_failed or key in records)):
                    records[key] = record
        return records

    def repair(self, config: str, drop_failed: bool) -> None:
        """Remove a half-written line from this writer's file, and the failed rows if asked to."""
        path = self.path(config)
        if not path.is_file():
            return
        text = ""
        for record in read_lines(path):
            if not (drop_failed and record["finish_reason"] == "error"):
                text += _line(record)
        if text.encode() != path.read_bytes():
            write_whole(path, text)

    def write(self, record: Record) -> None:
        """Append one row and flush it; no file stays open."""
        with self.path(record["config"]).open("a", encoding="utf-8", newline="\n") as file:
            file.write(_line(record))

    def finish(self, config: str, keys: Sequence[RowKey]) -> dict[RowKey, Record]:
        """Return the records of a configuration, sorted into one file if it has all `keys`."""
        from filelock import FileLock

        whole = self.folder / f"{config}.jsonl"
        with FileLock(self.folder / ".run.lock"):
            records = self.read(config)
            if records and records.keys() >= set(keys):
                text = ""
                for key in sorted(records):
                    text += _line(records[key])
                if not whole.is_file() or whole.read_bytes() != text.encode():
                    write_whole(whole, text)
                for path in self.files(config):
                    if path != whole:
                        path.unlink()
        return records

    def settings(self) -> RunSettings:
        """Return the content of run.json; empty in a new folder. Raises RulerError if damaged."""
        path = self.folder / RUN_FILE
        if not path.exists():
            return {}
        wrong = "not a run.json of `ruler run`"
        settings = parse_json(path.read_bytes(), RunFile, path, "Name a new --out.", 1, wrong)
        return cast(RunSettings, settings)

    def record_settings(
        self,
        settings: Mapping[str, Any],
        session: Session,
        results: Mapping[str, Any] | None = None,
    ) -> None:
        """Check the settings against run.json and write them with this session.

        A session with the same `started` and shard is replaced. `results` of the whole run are
        replaced too, since rows that failed may be run again.
        """
        from filelock import FileLock

        with FileLock(self.folder / ".run.lock"):
            old = self.settings()
            check_settings(old, settings, self.folder)
            key = session["started"], session["shard"]
            sessions = []
            for earlier in old.get("sessions", []):
                if (earlier.get("started"), earlier.get("shard")) != key:
                    sessions.append(earlier)
            sessions.append(session)
            new = {
                **old,
                **settings,
                **(results or {}),
                "limit": rows_asked_for(sessions),
                "rows": {**old.get("rows", {}), **settings.get("rows", {})},
                "sessions": sessions,
            }
            text = json.dumps(new, ensure_ascii=False, indent=2) + "\n"
            write_whole(self.folder / RUN_FILE, text)


def _line(record: Record) -> str:
    """Return a record as a line; half a surrogate pair, which UTF-8 cannot hold, becomes `?`."""
    text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return text + "\n"


def rows_asked_for(sessions: Iterable[Mapping[str, Any]]) -> int | None:
    """Return how many rows of each configuration a run was asked for: `limit` in run.json.

    They are the first rows of the frozen order; None means all rows. If the run was resumed with a
    different --limit, the largest one counts.
    """
    max_limit = 0
    for session in sessions:
        limit = session.get("limit")
        if limit is None:
            return None
        max_limit = max(max_limit, limit)
    return max_limit or None


def check_settings(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Raise RulerError that names the first setting that differs from run.json."""
    for name, value in new.items():
        before = old.get(name, value)
        if before == value:
            continue
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            for key in sorted({*value, *before}):
                if name == "rows" and not (key in before and key in value):
                    continue  # configurations may be added to a run
                _check_setting(f"{name}.{key}", before.get(key), value.get(key), folder)
        else:
            _check_setting(name, before, value, folder)


def _check_setting(name: str, before: Any, value: Any, folder: Path) -> None:
    """Raise RulerError if a setting differs from run.json; "unknown" matches any value."""
    if before == value or "unknown" in (before, value):
        return
    if name in ("decide.alpha", "decide.rule"):  # set by the version, not by an option
        remedy = "continue with the version that started it"
    else:
        remedy = "use the old value"
    old = "none" if before is None else json.dumps(before, ensure_ascii=False)
    new = "none" if value is None else json.dumps(value, ensure_ascii=False)
    raise RulerError(
        f"'{folder}' was run with {name} = {old}, not {new}: name a new --out, or {remedy}."
    )
