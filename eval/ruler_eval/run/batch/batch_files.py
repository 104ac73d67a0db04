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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import lines_of, write_whole
from ruler_common.parsing import json_value, parse_json
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.prompts import OPENING, Prompt

ENDPOINT = "/v1/chat/completions"
"""The one that every batch API and `vllm run-batch` know."""
MOST_LINES = 50_000
MOST_BYTES = 200_000_000
FOLDER = "batch"
ASKED = "asked.jsonl"
MOST_NAME = 200
"""Characters of a foreign custom_id that are shown."""


class AskedRow(TypedDict):
    """What must be known of a request when its answer is read.

    `prompt_tokens` is None if it was not counted, `opening`, the end of the rendered prompt, if
    the server renders it.
    """

    config: str
    index: int
    max_new_tokens: int
    reasoning_tokens: int
    row_tokens: int
    prompt_tokens: int | None
    opening: str | None


_OF_A_PROMPT = ("config", "index", "max_new_tokens", "reasoning_tokens", "row_tokens")


def asked_row(prompt: Prompt) -> AskedRow:
    """What to keep of a prompt that was written."""
    kept: dict[str, Any] = {name: getattr(prompt, name) for name in _OF_A_PROMPT}
    opening = None if prompt.text is None else prompt.text[-OPENING:]
    return cast(AskedRow, {**kept, "prompt_tokens": prompt.tokens, "opening": opening})


def prompt_of(row: AskedRow) -> Prompt:
    """The prompt again, as far as reading its answer needs it: without its text but the end."""
    kept = {name: value for name, value in row.items() if name in _OF_A_PROMPT}
    turns = ({"role": "user", "content": ""},)
    return Prompt(
        **cast(Any, kept),
        messages=turns,
        text=row["opening"],
        token_ids=None,
        counted_tokens=row["prompt_tokens"],
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

    path: Path

    def asked(self) -> dict[str, AskedRow]:
        """Every row that was ever written, by custom_id. Raises RulerError for a damaged file."""
        path = self.path / ASKED
        found: dict[str, AskedRow] = {}
        remedy = "Write the batch again with another --out."
        for number, line in lines_of(path) if path.exists() else ():
            row = parse_json(line, AskedRow, f"{path}:{number}", remedy)
            found[custom_id(row["config"], row["index"])] = row
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
        paths: list[Path] = []
        lines, size = most_lines, 0  # as if of a full file: the first request begins a new one
        try:
            for row, line in requests:
                if len(line) > most_bytes:
                    raise RulerError(
                        f"A request of {len(line):,} bytes is over the limit of {most_bytes:,} for "
                        "a whole file: use `ruler run`, or a greater --max-megabytes."
                    )
                if lines == most_lines or size + len(line) > most_bytes:
                    paths.append(work / f"requests-{len(paths) + 1:03}.jsonl")
                    lines = size = 0
                with paths[-1].open("ab") as file:
                    file.write(line)
                lines, size = lines + 1, size + len(line)
                asked[custom_id(row["config"], row["index"])] = row
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in asked.values())
            write_whole(self.path / ASKED, text)
            for path in self.request_files():
                path.unlink()
            return [path.rename(self.path / path.name) for path in paths]
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def request_files(self) -> list[Path]:
        """The request files that are there."""
        pattern = re.compile(r"requests-\d+\.jsonl")
        return sorted(path for path in self.path.glob("*.jsonl") if pattern.fullmatch(path.name))


def read_answers(path: Path, asked: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of an answer file by custom_id; RulerError for one of no row in `asked`."""
    try:
        for number, line in lines_of(path):
            if line.strip():
                yield _answer(line, asked, f"'{path}', line {number},")
    except OSError as error:
        raise RulerError(f"Cannot read '{path}': {error.strerror}.") from error


def _answer(line: bytes, asked: Collection[str], where: str) -> tuple[str, dict[str, Any]]:
    try:
        found = json_value(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(name := found.get("custom_id"), str):
        raise RulerError(f"{where} is not an answer of a batch: fetch the output file again.")
    if name not in asked:
        raise RulerError(
            f"{where} answers '{hide_keys(name, MOST_NAME)}', which this run never asked: "
            "give the answers of this run's own requests."
        )
    if "response" not in found and "error" not in found:
        raise RulerError(f"{where} is a request and no answer: give the output file.")
    return name, found
