"""A run of `ruler run` as scoring reads it: its run.json and its lines of predictions.

    run_facts(Path("runs/qwen"))       # {"model": "Qwen/…", "sessions": [{"source": "ruler"}]}
    list(own_predictions(Path("runs/qwen/answers.jsonl"), damaged=[]))

Runs of any version and files written by hand can be read: every field of run.json may be missing,
but none may have another type, and a line needs `config`, `index` and `prediction`. The runner
itself reads more of both.

A run that stops when its scores look decided may stop at a lucky moment, so the usual intervals for
that number of rows are not valid. The valid interval is the one that `ruler decide` or `ruler run
--until` wrote into decision.json or estimate.json when it stopped: `stopped_at`.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from typing_extensions import NotRequired, Required, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import check_type, parse_json
from ruler_eval.prediction import Prediction, finish_reason_of, read_references, row_number
from ruler_eval.run.records import ANSWERS, RUN_FILE, Records, shard_folders

RESULTS = ("decision", "estimate")
"""The results of a run that are files of their own."""
NOT_UTF_8 = "has bytes that are not UTF-8, which are read as �: save the file as UTF-8"


class OwnUsage(TypedDict, total=False):
    """The tokens of a row, as the model counts them."""

    prompt_tokens: int | None
    thinking_tokens: int | None


class OwnLine(TypedDict, total=False):
    """The fields of a line of predictions that scoring reads."""

    config: Required[str]
    index: Required[Any]  # checked by `row_number`
    prediction: Required[str | None]
    sample: int | None
    finish_reason: str | None
    thinking: str | None
    thinking_ended: bool | None
    usage: OwnUsage | None
    error: str | None
    seconds: float | None
    outputs: Any  # checked by `read_references`


class SessionFacts(TypedDict):
    """One start of the program: the release, the requested configurations, and the times."""

    source: NotRequired[str]
    configs: NotRequired[list[str]]
    limit: NotRequired[int | None]  # rows of each configuration; None for all of them
    started: NotRequired[str | None]
    ended: NotRequired[str | None]


class Thinking(TypedDict):
    """Whether the model was asked to reason, and its budget for that in tokens."""

    on: bool
    budget: int


class Limit(TypedDict):
    """The limit that `ruler decide` fixed before the first row."""

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
    decide: Limit
    decision: StoppedAt
    estimate: StoppedAt


def run_folders(path: Path) -> list[Path]:
    """Return a RUN folder itself, or the folders of its shards; empty for anything else."""
    return [path] if (path / RUN_FILE).is_file() else shard_folders(path)


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


def is_own_file(file: Path) -> bool:
    """Return whether `own_predictions` can read the first line of a file."""
    if file.suffix in (".csv", ".json", ".parquet"):
        return False
    for _, line in json_lines(file, []):
        return isinstance(line, dict) and {"config", "index", "prediction"} <= line.keys()
    return False


def own_predictions(file: Path, damaged: list[str]) -> Iterator[Prediction]:
    """Yield the predictions of a file in its order; note lines that are not JSON in `damaged`.

    In the answers of a run the last line of a row counts, and they are sorted. Raises RulerError
    for a line with a missing or wrong field.
    """
    predictions = _predictions_in(file, damaged)
    if not _is_of_run(file):
        yield from predictions
        return
    last = {(row.config, row.index, row.sample): row for row in predictions}
    yield from (last[key] for key in sorted(last))


def _is_of_run(file: Path) -> bool:
    """Whether a file has the answers of a run, and not only the same name."""
    return file.name == ANSWERS and (file.parent / RUN_FILE).is_file()


def _predictions_in(file: Path, damaged: list[str]) -> Iterator[Prediction]:
    """Yield the prediction in each line of a file."""
    for where, value in json_lines(file, damaged):
        check_type(value, OwnLine, where, "Correct the line, or remove it.")
        line: OwnLine = value
        finish_reason, usage = line.get("finish_reason"), line.get("usage") or {}
        try:
            index, outputs = row_number(line["index"]), read_references(line.get("outputs"))
        except (ValueError, TypeError) as error:
            raise RulerError(f"'{where}' has a wrong field: {error}.") from error
        yield Prediction(
            line["config"],
            index,
            line["prediction"] or "",
            finish_reason=finish_reason_of(finish_reason),
            thinking=line.get("thinking"),
            thinking_ended=line.get("thinking_ended"),
            thinking_tokens=usage.get("thinking_tokens"),
            prompt_tokens=usage.get("prompt_tokens"),
            error=line.get("error"),
            seconds=line.get("seconds"),
            outputs=outputs,
            where=where,
            sample=line.get("sample") or 0,
        )


def json_lines(file: Path, damaged: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of each line of JSON; note other lines in `damaged`."""
    has_noted_bytes = False
    with file.open("rb") as stream:
        for number, data in enumerate(stream, 1):
            where, encoding = f"{file}:{number}", "utf-8"
            if number == 1:
                encoding = "utf-8-sig"
                if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    raise RulerError(f"'{file}' is UTF-16: save it as UTF-8.")
            is_text = True
            try:
                line = data.decode(encoding)
            except UnicodeDecodeError:
                line, is_text = data.decode(encoding, errors="replace"), False
            if not line or line.isspace():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                if not _is_of_run(file) or data.endswith(b"\n"):  # else a row in flight
                    damaged.append(f"{where} is not JSON")
                continue
            if not is_text and not has_noted_bytes:
                damaged.append(f"{where} {NOT_UTF_8}")
                has_noted_bytes = True
            yield where, value


def stopped_at(run: RunFacts) -> StoppedAt | None:
    """Return where a run was stopped by its own scores; None if it ran to its last row."""
    stop = run.get("decision") or run.get("estimate")
    return stop if stop and stop["rows"] < stop["of"] else None


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
