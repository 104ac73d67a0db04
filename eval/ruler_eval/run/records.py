"""A run on disk: one JSON-lines file a configuration, and run.json with what can move a score.

    RUN/run.json                    model, backend, mode, template, sampling, data digests, …
    RUN/niah_single_1_4k.jsonl      a line a row, sorted once the configuration is complete
    RUN/vt_4k.1of4.jsonl            the rows that a shard makes, RUN/vt_4k.jsonl once complete

A line, written and flushed the moment its row is answered:

    {"config": "vt_4k", "index": 0, "prediction": "…", "thinking": null, "finish_reason": "stop",
     "usage": {"prompt_tokens": 3902, "completion_tokens": 21, "thinking_tokens": 0,
               "cached_tokens": 3328}, "error": null, "thinking_ended": null}

`finish_reason` is one of STATES; `thinking` is the model's reasoning. A line that a crash left
half-written is dropped when the run resumes. A file that holds anything else is not touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import json_value, lines_of, read_bytes, write_whole
from ruler_common.work import Shard

FinishReason = Literal["stop", "length", "does_not_fit", "error"]
"""How a row ends: by itself, truncated at max_new_tokens, over the model's window, or failed."""
STATES: tuple[FinishReason, ...] = get_args(FinishReason)
RUN_FILE = "run.json"
LOCK_TIMEOUT = 1.0
"""Seconds to wait for a lock that another process only tests; a run keeps its own."""


class Usage(TypedDict):
    """Tokens of a row, by the backend's count; the reasoning's are among the completion's.

    The cached ones are None where the backend does not tell.
    """

    prompt_tokens: int
    completion_tokens: int
    thinking_tokens: int
    cached_tokens: int | None


RowKey = tuple[int, int]
"""A row's index, and the number of the sample (0 unless a run has --repeats)."""


class Record(TypedDict):
    """A line of a run: what became of one row, or of one of its samples (`--repeats`)."""

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
    """Requests in flight with it, itself included; from a server."""
    tries: NotRequired[int]
    """How often it was sent; from a server."""


class Session(TypedDict):
    """One start of the program: its part of the work, its versions, what it did."""

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


RunSettings = dict[str, Any]
"""What run.json holds: what can move a score, and the sessions."""


def read_lines(path: Path) -> Iterator[Record]:
    """Yield the whole records of a file; a half-written or damaged line is skipped."""
    if not path.is_file():
        return
    for _, line in lines_of(path):
        try:
            record = json_value(line)
        except ValueError:
            continue
        if line.endswith(b"\n") and _is_record(record):
            yield cast(Record, record)


def _is_record(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and type(record.get("index")) is int
        and record.get("finish_reason") in STATES
    )


class Records:
    """The files of a run folder, written as one shard or as the whole."""

    def __init__(self, folder: Path, shard: Shard | None = None) -> None:
        self.folder = Path(folder)
        self.shard = shard
        self._locks: list[Any] = []

    def lock(self) -> bool:
        """Make sure that no other run writes the same rows; False if the folder is read-only.

        Released when the process ends. Raises RulerError while another run writes.
        """
        from filelock import FileLock, Timeout

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RulerError(
                f"Cannot make the folder '{self.folder}': {error.strerror}."
            ) from error
        own = self.folder / f".{self._suffix or 'whole'}.lock"
        others = [self.folder / ".whole.lock"] if self.shard else self.folder.glob(".*of*.lock")
        try:
            for path in others:  # shards that begin at once ask for the same one
                FileLock(path).acquire(timeout=LOCK_TIMEOUT).lock.release()
            self._locks.append(FileLock(own).acquire(timeout=LOCK_TIMEOUT))
        except Timeout as error:
            raise RulerError(
                f"Another run is writing to '{self.folder}': wait for it, or name a new --out."
            ) from error
        except OSError:  # a read-only folder or file system
            return False
        return True

    def path(self, config: str) -> Path:
        """Return the file this writer appends to. Raises RulerError for a path as a name."""
        if not re.fullmatch(r"(?!\.)[\w.-]{1,200}", config):
            raise RulerError(
                f"{config!r} cannot be the name of a configuration: get the release again."
            )
        return self.folder / ".".join(filter(None, (config, self._suffix, "jsonl")))

    def files(self, config: str) -> list[Path]:
        """Return every file that holds rows of a configuration, those of all shards too."""
        pattern = re.compile(re.escape(config) + r"(\.\d+of\d+)?\.jsonl")
        return sorted(path for path in self.folder.glob("*.jsonl") if pattern.fullmatch(path.name))

    def read(self, config: str, without_failed: bool = False) -> dict[RowKey, Record]:
        """Return the records of a configuration by row and sample; an answer replaces a failure."""
        found: dict[RowKey, Record] = {}
        for path in self.files(config):
            for record in read_lines(path):
                key = record["index"], record.get("sample", 0)
                failed = record["finish_reason"] == "error"
                if failed and (without_failed or key in found):
                    continue
                found[key] = record
        return found

    def check(self, configs: Sequence[str]) -> None:
        """Raise RulerError for a file of these names that no run wrote; nothing is changed."""
        self.settings()
        for config in configs:
            self.path(config)
            for path in self.files(config):
                for number, line in lines_of(path):
                    if not _is_line(line, config):
                        raise RulerError(
                            f"'{path}', line {number}, is not a record of a run of {config}: "
                            "move the file away, or name a new --out."
                        )

    def repair(self, config: str, drop_failed: bool) -> None:
        """Drop a half-written line from this writer's file and, if asked, the failed rows."""
        path = self.path(config)
        if not path.is_file():
            return
        kept = [
            _line(record)
            for record in read_lines(path)
            if not (drop_failed and record["finish_reason"] == "error")
        ]
        text = "".join(kept)
        if text.encode() != path.read_bytes():
            write_whole(path, text)

    def write(self, record: Record) -> None:
        """Append one row and hand it to the operating system at once; no file stays open."""
        with self.path(record["config"]).open("a", encoding="utf-8", newline="\n") as file:
            file.write(_line(record))

    def finish(self, config: str, keys: Iterable[RowKey]) -> bool:
        """Sort a complete configuration into one file; False if some of these rows are missing."""
        from filelock import FileLock

        with FileLock(self.folder / ".run.lock"):
            found = self.read(config)
            if not found or not set(keys) <= set(found):
                return False
            self._write_whole(config, found)
        return True

    def _write_whole(self, config: str, rows: Mapping[RowKey, Record]) -> None:
        """Write these rows, sorted, as the configuration's one file, and remove its other files."""
        whole = self.folder / f"{config}.jsonl"
        text = "".join(_line(rows[key]) for key in sorted(rows))
        if not whole.is_file() or whole.read_bytes() != text.encode():
            write_whole(whole, text)
        for path in self.files(config):
            if path != whole:
                path.unlink()

    def close(self) -> None:
        """Release the locks."""
        for lock in self._locks:
            lock.lock.release()
        self._locks.clear()

    def settings(self) -> RunSettings:
        """Return what run.json holds; empty in a new folder. Raises RulerError for another file."""
        path = self.folder / RUN_FILE
        if not path.exists():
            return {}
        try:
            settings = json_value(read_bytes(path))
        except ValueError:
            settings = None
        if not _is_run(settings):
            raise RulerError(f"'{path}' is not a run.json of `ruler run`: name a new --out.")
        return cast(RunSettings, settings)

    def record_settings(
        self, settings: Mapping[str, Any], session: Session, found: Mapping[str, Any] | None = None
    ) -> None:
        """Check the settings against run.json and write them with this session's facts.

        A session is known by its `started`; writing it again replaces it, and so with what the run
        has `found`: rows that failed and are run again may change it.
        """
        from filelock import FileLock

        with FileLock(self.folder / ".run.lock"):
            old = self.settings()
            check_settings(old, settings, self.folder)
            sessions = [
                other
                for other in old.get("sessions", [])
                if (other.get("started"), other.get("shard"))
                != (session["started"], session["shard"])
            ]
            sessions.append(session)
            new = {
                **old,
                **settings,
                **(found or {}),
                "limit": rows_asked_for(sessions),
                "rows": {**old.get("rows", {}), **settings.get("rows", {})},
                "sessions": sessions,
            }
            text = json.dumps(new, ensure_ascii=False, indent=2) + "\n"
            write_whole(self.folder / RUN_FILE, text)

    @property
    def _suffix(self) -> str:
        return "{}of{}".format(*self.shard) if self.shard else ""


def _is_run(settings: Any) -> bool:
    """Whether a value is what `ruler run` writes into run.json."""
    if not isinstance(settings, dict) or not isinstance(settings.get("format"), int):
        return False
    sessions = settings.get("sessions", [])
    if not isinstance(settings.get("rows", {}), dict) or not isinstance(sessions, list):
        return False
    return all(isinstance(session, dict) for session in sessions)


def _is_line(line: bytes, config: str) -> bool:
    """Whether a line is a record of a configuration, or the part of one that a crash left."""
    try:
        record = json_value(line)
    except ValueError:
        start = f'{{"config": "{config}"'.encode()[: len(line)]
        return not line.endswith(b"\n") and line.startswith(start)
    return _is_record(record) and record.get("config") == config


def _line(record: Record) -> str:
    """Return a record as a line; half a surrogate pair, which another tool may write, becomes ?."""
    text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return text + "\n"


def rows_asked_for(sessions: Iterable[Mapping[str, Any]]) -> int | None:
    """Return how many rows of each configuration a run was asked for: `limit` in run.json.

    They are the first ones of the frozen order; None means all rows. A run that was resumed with
    another --limit was asked for the rows of the largest one.
    """
    limits = [session.get("limit") for session in sessions]
    numbers = [limit for limit in limits if limit is not None]
    return max(numbers) if numbers and len(numbers) == len(limits) else None


def check_settings(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse to mix results: a RulerError names the first setting that differs from run.json."""
    for name, value in new.items():
        before = old.get(name, value)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            keys = sorted({*value, *before})
            if name == "rows":  # more configurations may join a run
                keys = [key for key in value if key in before]
            changed = next((key for key in keys if before.get(key) != value.get(key)), None)
            if changed is None:
                continue
            name, before, value = f"{name}.{changed}", before.get(changed), value.get(changed)
        if "unknown" in (before, value):  # the engine does not tell
            continue
        if before != value:
            ours = name in ("decide.alpha", "decide.rule")  # of the version, not of the command
            instead = "go on with the version that began it" if ours else "use the old value"
            then, now = (
                "none" if one is None else json.dumps(one, ensure_ascii=False)
                for one in (before, value)
            )
            raise RulerError(
                f"'{folder}' was run with {name} = {then}, not {now}: name a new --out, or "
                f"{instead}."
            )
