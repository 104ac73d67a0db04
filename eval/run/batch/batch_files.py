"""Batch files on disk: requests by the limits of batch APIs, and what was asked, for the answers.

    RUN/batch/requests-001.jsonl    {"custom_id": "vt_4k/0", "method": "POST",
                                     "url": "/v1/chat/completions", "body": {"model": …}}
    RUN/batch/asked.jsonl           a line for each row that was ever written, without its text

A batch file holds 50,000 requests and 200 MB at most: OpenAI's limits, which others took over.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from typing_extensions import TypedDict

from eval.run.prompts import Prompt
from ruler_dataset import RulerError, write_whole

ENDPOINT = "/v1/chat/completions"
"""The one that every batch API and `vllm run-batch` know."""
MOST_LINES = 50_000
MOST_BYTES = 200_000_000
FOLDER = "batch"
ASKED = "asked.jsonl"
OPENING = 200
"""Characters of a prompt's end that are kept: there a template may open a block of reasoning."""


class AskedRow(TypedDict):
    """What must be known of a request when its answer is read; counts are tokens.

    `prompt_tokens` is None where no tokenizer counted; `opening` is the end of the rendered prompt,
    None where the server renders it.
    """

    config: str
    index: int
    max_new_tokens: int
    reasoning_tokens: int
    row_tokens: int
    prompt_tokens: int | None
    opening: str | None


def asked_row(prompt: Prompt, prompt_tokens: int | None) -> AskedRow:
    """What to keep of a prompt that was written."""
    return {
        "config": prompt.config,
        "index": prompt.index,
        "max_new_tokens": prompt.max_new_tokens,
        "reasoning_tokens": prompt.reasoning_tokens,
        "row_tokens": prompt.row_tokens,
        "prompt_tokens": prompt_tokens,
        "opening": None if prompt.text is None else prompt.text[-OPENING:],
    }


def prompt_of(row: AskedRow) -> Prompt:
    """The prompt again, as far as reading its answer needs it: without its text but the end."""
    return Prompt(
        config=row["config"],
        index=row["index"],
        messages=({"role": "user", "content": ""},),
        text=row["opening"],
        token_ids=None,
        max_new_tokens=row["max_new_tokens"],
        reasoning_tokens=row["reasoning_tokens"],
        row_tokens=row["row_tokens"],
    )


def custom_id(config: str, index: int) -> str:
    """The name of a request: configuration and row."""
    return f"{config}/{index}"


def request_line(prompt: Prompt, body: Mapping[str, Any]) -> bytes:
    """One line of a batch file."""
    line = {
        "custom_id": custom_id(prompt.config, prompt.index),
        "method": "POST",
        "url": ENDPOINT,
        "body": body,
    }
    return json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n"


@dataclass(frozen=True)
class BatchFolder:
    """The folder RUN/batch."""

    run: Path

    @property
    def path(self) -> Path:
        """Where the files stand."""
        return self.run / FOLDER

    def asked(self) -> dict[str, AskedRow]:
        """Every row that was ever written, by custom_id. Raises RulerError for a damaged file."""
        path = self.path / ASKED
        found: dict[str, AskedRow] = {}
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                row = cast(AskedRow, json.loads(line))
                found[custom_id(row["config"], row["index"])] = row
            except (ValueError, KeyError, TypeError) as error:
                raise RulerError(
                    f"'{path}' is damaged: write the batch anew with another --out."
                ) from error
        return found

    def write(
        self,
        requests: Iterable[tuple[AskedRow, bytes]],
        most_lines: int = MOST_LINES,
        most_bytes: int = MOST_BYTES,
    ) -> list[Path]:
        """Write all requests in as few files as the limits allow; they appear together or not.

        Request files of before are replaced. Raises RulerError for a request over `most_bytes`.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        asked = self.asked()
        work = Path(tempfile.mkdtemp(prefix=".writing-", dir=self.path))
        try:
            files = _Files(work, most_lines, most_bytes)
            for row, line in requests:
                files.add(line)
                asked[custom_id(row["config"], row["index"])] = row
            files.close()
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in asked.values()]
            write_whole(self.path / ASKED, "".join(lines))
            for path in self.request_files():
                path.unlink()
            return [path.rename(self.path / path.name) for path in files.paths]
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def request_files(self) -> list[Path]:
        """The request files that are there."""
        pattern = re.compile(r"requests-\d+\.jsonl")
        return sorted(path for path in self.path.glob("*.jsonl") if pattern.fullmatch(path.name))


class _Files:
    """Request files under way: a new one where the next line would pass a limit."""

    def __init__(self, folder: Path, most_lines: int, most_bytes: int) -> None:
        self.folder, self.most_lines, self.most_bytes = folder, most_lines, most_bytes
        self.paths: list[Path] = []
        self._file: IO[bytes] | None = None
        self._lines = self._bytes = 0

    def add(self, line: bytes) -> None:
        if len(line) > self.most_bytes:
            raise RulerError(
                f"A request of {len(line):,} bytes is over the limit of {self.most_bytes:,} for a "
                "whole file: use `ruler run`, or a greater --max-megabytes."
            )
        full = self._lines == self.most_lines or self._bytes + len(line) > self.most_bytes
        if self._file is None or full:
            self.close()
            self.paths.append(self.folder / f"requests-{len(self.paths) + 1:03}.jsonl")
            self._file = self.paths[-1].open("wb")
            self._lines = self._bytes = 0
        self._file.write(line)
        self._lines += 1
        self._bytes += len(line)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an answer file with their line numbers; RulerError for a file of others."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _object(line, path, number)
    except OSError as error:
        raise RulerError(f"Cannot read '{path}': {error.strerror}.") from error


def _object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("custom_id"), str):
        raise RulerError(
            f"'{path}', line {number}, is no answer of a batch: fetch the output file anew."
        )
    return found
