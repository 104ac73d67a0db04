"""A run on disk: one JSON-lines file a configuration, and run.json with what can move a score.

    RUN/run.json                    model, backend, mode, template, sampling, data digests, …
    RUN/niah_single_1_4k.jsonl      a line a row, sorted once the configuration is complete
    RUN/vt_4k.1of4.jsonl            the rows of a shard, merged into RUN/vt_4k.jsonl at the end

A line, written and flushed the moment its row is answered:

    {"config": "vt_4k", "index": 0, "prediction": "…", "thinking": null, "finish_reason": "stop",
     "usage": {"prompt_tokens": 3902, "completion_tokens": 21, "thinking_tokens": 0,
               "cached_tokens": 3328}, "error": null, "thinking_ended": null}

`finish_reason` is one of STATES. A line cut off by a crash is dropped when the run resumes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ruler_dataset import RulerError, write_whole

STATES = ("stop", "length", "does_not_fit", "error")
"""How a row ends: by itself, cut at max_new_tokens, over the model's window, or failed."""
RUN_FILE = "run.json"
Record = dict[str, Any]


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """Read `2/4`: the second of four shards; None for the whole."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise RulerError(f"--shard '{text}' is not i/n with 1 <= i <= n, such as 2/4.")
    return int(match[1]), int(match[2])


def read_lines(path: Path) -> Iterator[Record]:
    """The whole records of a file; a half-written or damaged line is passed over."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if line.endswith(b"\n") and isinstance(record, dict) and "index" in record:
                yield record


class Records:
    """The files of a run folder, written as one shard or as the whole."""

    def __init__(self, folder: Path, shard: tuple[int, int] | None = None) -> None:
        self.folder = Path(folder)
        self.shard = shard
        self._open: dict[str, IO[str]] = {}
        self._locks: list[Any] = []

    def lock(self) -> None:
        """Make sure that nobody else writes the same rows; released when the process ends."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        own = self.folder / f".{self._suffix or 'whole'}.lock"
        others = [self.folder / ".whole.lock"] if self.shard else self.folder.glob(".*of*.lock")
        try:
            for path in others:
                FileLock(path).acquire(timeout=0).lock.release()
            self._locks.append(FileLock(own).acquire(timeout=0))
        except Timeout as error:
            raise RulerError(
                f"Another run is writing to '{self.folder}': wait for it, or name a new --out."
            ) from error

    def path(self, config: str) -> Path:
        """The file this writer appends to."""
        return self.folder / ".".join(filter(None, (config, self._suffix, "jsonl")))

    def files(self, config: str) -> list[Path]:
        """Every file that holds rows of a configuration, whoever wrote it."""
        pattern = re.compile(re.escape(config) + r"(\.\d+of\d+)?\.jsonl")
        return sorted(path for path in self.folder.glob("*.jsonl") if pattern.fullmatch(path.name))

    def of(self, config: str) -> dict[int, Record]:
        """The records of a configuration by row index; an answer stands before a failure."""
        found: dict[int, Record] = {}
        for path in self.files(config):
            for record in read_lines(path):
                if record["index"] not in found or record["finish_reason"] != "error":
                    found[int(record["index"])] = record
        return found

    def repair(self, config: str, again: Callable[[Record], bool]) -> None:
        """Rewrite this writer's file without half-written lines and rows that are to run again."""
        path = self.path(config)
        if not path.is_file():
            return
        kept = [record for record in read_lines(path) if not again(record)]
        text = "".join(map(_line, kept))
        if text.encode() != path.read_bytes():
            write_whole(path, text)

    def write(self, record: Record) -> None:
        """Append one row and hand it to the operating system at once."""
        config = record["config"]
        if config not in self._open:
            self._open[config] = self.path(config).open("a", encoding="utf-8", newline="\n")
        self._open[config].write(_line(record))
        self._open[config].flush()

    def finish(self, config: str, indices: Iterable[int]) -> bool:
        """Sort a complete configuration into one file and drop its shards; False if rows miss."""
        if config in self._open:
            self._open.pop(config).close()
        from filelock import FileLock

        with FileLock(self.folder / ".run.lock"):
            found = self.of(config)
            if not found or not set(indices) <= set(found):
                return False
            whole = self.folder / f"{config}.jsonl"
            text = "".join(_line(found[index]) for index in sorted(found))
            if not whole.is_file() or whole.read_bytes() != text.encode():
                write_whole(whole, text)
            for path in self.files(config):
                if path != whole:
                    path.unlink()
        return True

    def close(self) -> None:
        """Close every file and let go of the folder."""
        for file in self._open.values():
            file.close()
        self._open.clear()
        for lock in self._locks:
            lock.lock.release()
        self._locks.clear()

    def settings(self) -> dict[str, Any]:
        """What run.json holds; empty in a new folder."""
        path = self.folder / RUN_FILE
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def record_settings(self, settings: Mapping[str, Any], session: Mapping[str, Any]) -> None:
        """Check the settings against run.json and write them with this session's facts.

        A session is known by its `started`; writing it again replaces it.
        """
        from filelock import FileLock

        with FileLock(self.folder / ".run.lock"):
            old = self.settings()
            check_settings(old, settings, self.folder)
            files = {**old.get("files", {}), **settings.get("files", {})}
            same = (session["started"], session["shard"])
            sessions = [s for s in old.get("sessions", []) if (s["started"], s["shard"]) != same]
            new = {**old, **settings, "files": files, "sessions": [*sessions, dict(session)]}
            text = json.dumps(new, ensure_ascii=False, indent=2) + "\n"
            write_whole(self.folder / RUN_FILE, text)

    @property
    def _suffix(self) -> str:
        return "{}of{}".format(*self.shard) if self.shard else ""


def check_settings(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse to mix results: a RulerError names the first setting that differs from run.json."""
    for name, value in new.items():
        before = old.get(name, value)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if name == "files":  # more configurations may join a run
                pairs = {key: (before[key], value[key]) for key in value if key in before}
            else:
                pairs = {
                    key: (before.get(key), value.get(key)) for key in sorted({*value, *before})
                }
            changed = next((key for key, (was, now) in pairs.items() if was != now), None)
            if changed is not None:
                name, before, value = f"{name}.{changed}", *pairs[changed]
            else:
                continue
        if before != value:
            raise RulerError(
                f"'{folder}' was run with {name} = {json.dumps(before, ensure_ascii=False)}, not "
                f"{json.dumps(value, ensure_ascii=False)}: name a new --out, or use the old value."
            )


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
