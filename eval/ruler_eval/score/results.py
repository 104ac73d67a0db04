"""results.json and rows.parquet: what `ruler score` writes and every later command reads.

    results = load(Path("results.json"))
    row_values(results, "score")["vt_4k"][7]             # 0 … 1
    pandas.DataFrame(results["rows"])                    # a line for each row
    read_lines(Path("results.json"))["answer"]           # a line for each answer

The schema (FORMAT 6; scores and intervals 0 … 100, lengths in tokens, null if unknown):

    format, score_version     versions of this schema and of the rules (ruler_score.SCORE_VERSION)
    partial                   true: only rows with a prediction count
    rules                     compat: null | "authors"; truncated: "protocol" | "wrong" | "score"
    options                   the other options of `ruler score`: partial, threshold ("chat",
                              "base", or 0 … 100), claimed (tokens, or null)
    dataset                   name, source, data_version, builder_version, revision, seed, tasks
                              (in order), standard (whether they are the paper's tasks at its
                              lengths, so that its thresholds apply; null if unknown), groups
                              {group: tasks} if they are not, parameters {task: family and
                              parameters} if the release is known, rows {configuration:
                              rows_sha256}, sources {name: sha256} of the release,
                              custom_because: how the release differs from the frozen rows, null
                              without a release
    model, mode, run          the model's name, the prompt mode, and the whole run.json
    predictions               {file: sha256} of the scored files
    latency                   seconds of a request to a server: median, p95; null if not recorded
    configurations            {name: cell}
      task, length, max_length, tokenizer, language, instruction_language
      score, strict, n        the benchmark's rule, the strict variant, number of counted rows
      interval                95 % interval of the score, [low, high] (score/intervals.py); null for
                              a run that was stopped by its own scores
      missing, failed         rows without a prediction; with an error or a prompt that did not fit
      truncated               rows that ended at the token limit or within the reasoning
      rows_requested          rows that the run was asked to answer, the only ones that are scored;
                              with --limit fewer than rows_available, those of the configuration
      does_not_fit            failed rows whose prompt did not fit
      truncated_scored        truncated rows that were scored by their text (see ScoringRules)
      thinking                rows with reasoning
      thinking_truncated      rows that ended within their reasoning
      duplicated              further predictions for rows that had one; the first counts
      proof                   the evidence that the answers belong to the rows: "rows" (the run's
                              digest of the rows), "prompt" (every answer's prompt), "references"
                              (only the references or the question), "file" (the files hold the
                              references), "none"
      dropped                 compat "authors": rows left out of n
      whole_word              qa: the score by whole words; words_right: oneruler's cwe, 0 … 10
      percent_of_control      the score in percent of the task's control (0k), if it was scored
      repeats, pass_at        if there are several samples of a row, whose mean is the row's score:
                              their number, and {"k": {score, interval}}: the share of rows that at
                              least one of k samples gets right (unbiased; intervals by row)
      documents               the number of documents that the rows ask about, if several rows ask
                              about one; design_effect: the factor by which that increases the
                              variance of the score (score/cells.py)
      depth                   ten bins (score/cells.py), or null
    table                     file and sha256 of rows.parquet, next to results.json
    summary                   the tables' aggregates (score/aggregates.py)
    notes                     sentences about missing, duplicated or damaged predictions

rows.parquet has a line for each answer to a row that the run was asked to answer, and for each that
is missing: config, task, length, language ("en-ko": text and instruction), index, sample (null if
it is missing), counted (whether the row counts; see dropped and partial), answer, reasoning,
finish_reason, error, outputs (the references), score and strict (0 … 1), found (references found),
state (ok, truncated, missing, failed or does_not_fit), thinking (none, ended or truncated),
truncated_scored, kind (of error, if the row has no answer to read; `ruler errors` sorts the
others), thinking_tokens, prompt_tokens, and digests of what the row asks: references, question,
prompt, and document (equal for rows on the same documents).

`results["rows"]` in Python is computed from it: a line for each counted row, with the mean score of
its samples, the state of the first one that is not ok, and right (samples that are right).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import (
    check_type,
    open_parquet,
    parse_json,
    sha256_of,
    temporary_beside,
    write_whole,
)
from ruler_common.frozen import are_frozen, rows_label
from ruler_common.manifest import MANIFEST
from ruler_common.names import CONTROL_LENGTH
from ruler_common.text import command_line
from ruler_eval.score.own_run import RunFacts, run_folders
from ruler_score.split_reasoning import ReasoningState

FORMAT = 6
Compat = Literal["authors"]
TruncationRule = Literal["protocol", "wrong", "score"]
ROW_COUNTS: tuple[Literal["rows_requested", "rows_available"], ...] = (
    "rows_requested",
    "rows_available",
)
Proof = Literal["rows", "prompt", "references", "file", "none"]
"""The evidence that answers belong to their rows; see the module's docstring."""
UNPROVED: dict[Proof, str] = {
    "none": "Unverified: nothing ties these answers to these rows (no digest, prompt or reference)",
    "references": "Unverified: the references agree, but other lengths and languages share them",
}
Interval = list[float]
RowState = Literal["ok", "truncated", "missing", "failed", "does_not_fit"]
RowColumn = Literal[
    "score", "state", "truncated_scored", "found", "right", "thinking_tokens", "prompt_tokens",
    "references", "question", "prompt", "document",
]  # fmt: skip
UNANSWERED: tuple[RowState, ...] = ("missing", "failed")
"""The states of rows that a repeated run may answer; a prompt that does not fit is not one."""


class RowTable(TypedDict):
    """The columns of a table of all counted rows, in the order of configurations and files.

    Digests and tokens are None if unknown, and `document` if no rows share documents.
    """

    config: list[str]
    task: list[str]
    length: list[str]
    language: list[str]
    index: list[int]
    score: list[float]
    state: list[RowState]
    truncated_scored: list[bool]
    found: list[float]
    right: list[int]
    thinking_tokens: list[int | None]
    prompt_tokens: list[int | None]
    references: list[str]
    question: list[str | None]
    prompt: list[str | None]
    document: list[str | None]


class Lines(TypedDict):
    """The columns of rows.parquet; see the module's docstring."""

    config: list[str]
    task: list[str]
    length: list[str]
    language: list[str]
    index: list[int]
    sample: list[int | None]
    counted: list[bool]
    answer: list[str | None]
    reasoning: list[str | None]
    finish_reason: list[str | None]
    error: list[str | None]
    outputs: list[list[str]]
    score: list[float]
    strict: list[float]
    found: list[float]
    state: list[RowState]
    thinking: list[ReasoningState]
    truncated_scored: list[bool]
    kind: list[str | None]
    thinking_tokens: list[int | None]
    prompt_tokens: list[int | None]
    references: list[str]
    question: list[str | None]
    prompt: list[str | None]
    document: list[str | None]


_TEXTS = ("answer", "reasoning", "error", "outputs")
"""The columns that only showing and sorting answers needs."""


class DepthBin(TypedDict):
    """The score (0 … 100) of the n references whose depth (0 … 1) lies in a bin."""

    depth: list[float]
    score: float | None
    n: int


class Mean(TypedDict):
    """A mean score, 0 … 100, and its 95 % interval."""

    score: float | None
    interval: Interval | None


class Cell(TypedDict):
    """One configuration's scores and counts."""

    task: str
    length: str
    max_length: int
    tokenizer: str | None
    language: str
    instruction_language: str
    score: float | None
    strict: float | None
    n: int
    interval: Interval | None
    failed: int
    truncated: int
    truncated_scored: int
    thinking: int
    thinking_truncated: int
    missing: int
    duplicated: int
    does_not_fit: int
    rows_requested: int
    rows_available: int
    depth: list[DepthBin] | None
    proof: Proof
    dropped: NotRequired[int]
    whole_word: NotRequired[float | None]
    words_right: NotRequired[float | None]
    percent_of_control: NotRequired[float]
    repeats: NotRequired[int]
    pass_at: NotRequired[dict[str, Mean]]
    documents: NotRequired[int]
    design_effect: NotRequired[float]


def describe_rows(results: Results) -> str:
    """Return which rows were scored, and how many: "frozen rows 1.0.0, 20 of 500 rows"."""
    data = results["dataset"]
    answered = requested = available = 0
    digests = {}
    for name, cell in results["configurations"].items():
        digests[name] = data["rows"].get(name, "")
        answered += cell["rows_requested"] - cell["missing"]
        requested += cell["rows_requested"]
        available += cell["rows_available"]
    label = rows_label(data["name"], data["data_version"], digests, data["custom_because"])
    if data["custom_because"] is None and all(
        cell["proof"] == "rows" for cell in results["configurations"].values()
    ):  # without a release, a folder of references can have the same digests as the run
        by_digests = rows_label(data["name"], data["data_version"], digests, "")
        if are_frozen(by_digests):
            label = f"{by_digests}, references from a folder"
    if requested < available:
        label += f", {limit_of(results)}"
    return label if answered == requested else f"{label}, {answered:,} of {requested:,} rows"


def warnings_of(results: Results) -> list[str]:
    """Return what a reader must know before reading the scores."""
    parts = ["PARTIAL: only rows with a prediction count"] if results["partial"] else []
    cells = results["configurations"]
    for proof, warning in UNPROVED.items():
        count = 0
        for cell in cells.values():
            count += cell["proof"] == proof
        if count:
            parts.append(f"{warning} ({count} of {len(cells)} configurations)")
    return parts


def limit_of(results: Results) -> str | None:
    """Return the rows that a run was asked for: `5 of 500 rows per task`; None for all rows."""
    cells = results["configurations"].values()
    if all(cell["rows_requested"] == cell["rows_available"] for cell in cells):
        return None
    if len({(cell["rows_requested"], cell["rows_available"]) for cell in cells}) > 1:
        requested, available = (sum(cell[name] for cell in cells) for name in ROW_COUNTS)
        return f"asked for {requested:,} of {available:,} rows"
    cell = next(iter(cells))
    return f"{cell['rows_requested']:,} of {cell['rows_available']:,} rows per task"


def answered_rows(results: Results) -> tuple[int, int]:
    """Return how many rows have an answer, and how many rows the scored configurations have."""
    answered = available = 0
    for cell in results["configurations"].values():
        answered += cell["rows_requested"] - cell["missing"]
        available += cell["rows_available"]
    return answered, available


def row_values(results: Results, column: RowColumn) -> dict[str, dict[int, Any]]:
    """Return a column of the rows by configuration and index."""
    rows = results["rows"]
    values: dict[str, dict[int, Any]] = {}
    for name in results["configurations"]:
        values[name] = {}
    for config, index, value in zip(rows["config"], rows["index"], rows[column], strict=True):
        values.setdefault(config, {})[index] = value
    return values


Scores = Mapping[str, Mapping[int, float]]
"""Scores (0 … 1) by configuration and index."""


@dataclass(frozen=True)
class RowsByConfig:
    """The columns that means and intervals need, by configuration and index.

    Scores are 0 … 1. Documents are digests, for configurations whose rows share documents.
    """

    scores: dict[str, Mapping[int, float]]
    documents: dict[str, Mapping[int, str]]


def rows_by_config(results: Results) -> RowsByConfig:
    """Return the scores and the documents of results."""
    return RowsByConfig({**row_values(results, "score")}, documents_of(results))


def documents_of(results: Results) -> dict[str, Mapping[int, str]]:
    """Return the documents of the rows, of configurations in which all are known."""
    documents: dict[str, Mapping[int, str]] = {}
    for name, rows in row_values(results, "document").items():
        if rows and None not in rows.values():
            documents[name] = rows
    return documents


def tokenizer_of(cell: Cell) -> str:
    """Return the name of the tokenizer that counted a configuration's rows, to group and show it.

    Files of other tools do not name it.
    """
    return cell["tokenizer"] or "unknown tokenizer"


def lengths_of(cells: Iterable[Cell]) -> list[str]:
    """Return the names of the cells' lengths, shortest first."""
    tokens = {cell["length"]: cell["max_length"] for cell in cells}
    return sorted(tokens, key=tokens.__getitem__)


class LengthMean(TypedDict):
    """A group's mean over its tasks at one length, and the number of scored tasks.

    `lacking` has the tasks without a score, and the languages that lack one in a scored task.
    """

    tokens: int
    score: float | None
    strict: float | None
    interval: Interval | None
    tasks: int
    lacking: list[str]
    percent_of_control: NotRequired[float]


class LengthLoss(TypedDict):
    """How a group's mean changes from one length to a longer one: longer − shorter, in points.

    It is the mean over the tasks scored at both lengths of the differences of `rows` pairs of rows
    with the same index; negative if the scores are lower at the longer length.
    """

    shorter: str
    longer: str
    difference: float
    interval: Interval | None
    rows: int
    tasks: int


class GroupSummary(TypedDict):
    """One group's row of a table: its means by length, and the figures computed from them.

    `area` is the area under the scores over log2 of the lengths. `effective_length_interval` has
    the effective lengths by the lower and upper ends of the intervals; `relative_effective_length`
    is the longest length, in tokens, whose score is at least RELATIVE times that at the shortest;
    `losses` are the changes from the shortest length to each longer one.
    """

    tasks: int
    lengths: dict[str, LengthMean]
    average: Mean
    weighted_inc: Mean
    weighted_dec: Mean
    area: Mean
    threshold: float | None
    effective_length: int | None
    effective_length_interval: list[int | None] | None
    effective_length_name: str
    relative_effective_length: int | None
    losses: list[LengthLoss]


Summary = dict[str, dict[str, dict[str, GroupSummary]]]
"""Aggregates by tokenizer, languages and group."""


def is_control(cell: Cell) -> bool:
    """Return whether a cell is of the control `0k`: rows that are only their evidence."""
    return cell["length"] == CONTROL_LENGTH


class RulesUsed(TypedDict):
    """The options that the score of a row depends on."""

    compat: Compat | None
    truncated: TruncationRule


class ScoringOptions(TypedDict):
    """The other options, with which a run can be scored again in the same way."""

    partial: bool
    threshold: Literal["chat", "base"] | float
    claimed: int | None


class ScoredDataset(TypedDict):
    """The data that were scored: those of a release, or as far as the files describe them."""

    name: str
    source: str | None
    data_version: str | None
    revision: str | None
    tasks: list[str]
    standard: bool | None
    groups: NotRequired[dict[str, list[str]]]  # of a custom suite: the tasks of each
    parameters: NotRequired[dict[str, dict[str, Any]]]
    builder_version: NotRequired[str | None]
    seed: NotRequired[int | None]
    # the tables of a release's custom languages (ruler_common/languages)
    languages: NotRequired[dict[str, dict[str, Any]]]
    rows: dict[str, str]
    custom_because: str | None
    sources: NotRequired[dict[str, str]]


class Latency(TypedDict):
    """The median and the 95th percentile of a server's time for an answer, in seconds."""

    median: float
    p95: float


class TableFile(TypedDict):
    """The rows.parquet of a results.json."""

    file: str
    sha256: str


class ResultsFile(TypedDict):
    """The content of a results.json; see the module's docstring."""

    format: int
    score_version: str
    partial: bool
    rules: RulesUsed
    options: ScoringOptions
    dataset: ScoredDataset
    model: str | None
    mode: str | None
    run: RunFacts
    predictions: dict[str, str]
    latency: NotRequired[Latency | None]  # not in files of older versions
    configurations: dict[str, Cell]
    summary: Summary
    notes: list[str]
    table: NotRequired[TableFile]  # in the file


class Results(ResultsFile):
    """The same, with the table of its rows."""

    rows: RowTable


# ---- The table of rows ---------------------------------------------------------------------------


def row_table(lines: Lines) -> RowTable:
    """Return the table of counted rows: a line for each, of all its samples."""
    configs, indices, counted = lines["config"], lines["index"], lines["counted"]
    starts, last = [], None  # the place of the first sample of each row
    for place, row in enumerate(zip(configs, indices, strict=True)):
        if row != last:
            starts.append(place)
            last = row
    ends = [*starts[1:], len(configs)]
    spans = [(start, end) for start, end in zip(starts, ends, strict=True) if counted[start]]
    columns: dict[str, list[Any]] = {column: [] for column in RowTable.__annotations__}
    for column in _OF_FIRST_SAMPLE:
        values = cast(list[Any], lines[column])
        columns[column] = [values[start] for start, _ in spans]
    scores, states, found = lines["score"], lines["state"], lines["found"]
    scored = lines["truncated_scored"]
    columns["right"] = [scores[start:end].count(1) for start, end in spans]
    for start, end in spans:
        samples = end - start
        if samples == 1:
            columns["score"].append(scores[start])
            columns["found"].append(found[start])
            columns["state"].append(states[start])
            columns["truncated_scored"].append(scored[start])
            continue
        columns["score"].append(math.fsum(scores[start:end]) / samples)
        columns["found"].append(math.fsum(found[start:end]) / samples)
        trouble = [state for state in states[start:end] if state not in ("ok", "missing")]
        columns["state"].append(trouble[0] if trouble else states[start])
        ended = [scored[place] for place in range(start, end) if states[place] == "truncated"]
        columns["truncated_scored"].append(bool(ended) and all(ended))
    return cast(RowTable, columns)


_OF_FIRST_SAMPLE: tuple[
    Literal[
        "config", "task", "length", "language", "index", "thinking_tokens", "prompt_tokens",
        "references", "question", "prompt", "document",
    ],
    ...,
] = (
    "config", "task", "length", "language", "index", "thinking_tokens", "prompt_tokens",
    "references", "question", "prompt", "document",
)  # fmt: skip


def read_lines(path: Path, texts: bool = True) -> Lines:
    """Return the rows.parquet of a results.json; without `texts` only what numbers need.

    Raises RulerError if it is missing, damaged, or the one of other results.
    """
    stored = json.loads(path.read_bytes()).get("table")
    file = path.with_name(stored["file"]) if stored else rows_path(path)
    if not file.is_file():
        raise RulerError(
            f"'{file}', which has the rows of '{path}', does not exist: keep both files together, "
            "or score the answers again."
        )
    if stored and sha256_of(file) != stored["sha256"]:
        raise RulerError(f"'{file}' is not the table of '{path}': score the answers again.")
    columns = [name for name in Lines.__annotations__ if texts or name not in _TEXTS]
    with open_parquet(file) as parquet:
        table = parquet.read(columns=columns)
    return cast(Lines, table.to_pydict())


def rows_path(path: Path) -> Path:
    """Return the file of rows that belongs to a results.json or to results of another name."""
    if path.name == "results.json":
        return path.with_name("rows.parquet")
    return path.with_name(f"{path.name.removesuffix('.json')}.rows.parquet")


def write(results: Results, lines: Lines, path: Path) -> None:
    """Write rows.parquet, then results.json in one step, so that the two belong together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = rows_path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: _column(cast(list[Any], values), name) for name, values in lines.items()}
    table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    with temporary_beside(file) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    stored: TableFile = {"file": file.name, "sha256": sha256_of(file)}
    content: dict[str, Any] = {}
    for name, value in results.items():
        content[name] = value if name != "rows" else stored
        if name == "rows":
            content["table"] = content.pop("rows")
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_whole(path, text + "\n")


def _column(values: Sequence[Any], name: str) -> Any:
    r"""Return a column of rows.parquet as an Arrow array.

    It is built from its buffers, because `pa.array` imports pandas, which takes a quarter of a
    second. A lone surrogate, which UTF-8 cannot encode, is written as the escape `\udXXX`.
    """
    import numpy as np
    import pyarrow as pa

    if name == "outputs":
        counts = [len(outputs) for outputs in values]
        texts = [text for outputs in values for text in outputs]
        offsets = pa.Array.from_buffers(pa.int64(), len(counts) + 1, [None, _offsets(counts)])
        return pa.LargeListArray.from_arrays(offsets, _column(texts, "text"))
    known = None
    if None in values:
        is_known = np.array([value is not None for value in values], dtype=bool)
        known = pa.py_buffer(np.packbits(is_known, bitorder="little"))
    if name in _NUMBERS:
        numbers = np.array([value or 0 for value in values], dtype=_NUMBERS[name])
        kind = pa.int64() if _NUMBERS[name] == "int64" else pa.float64()
        return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(numbers)])
    if name in ("counted", "truncated_scored"):
        bits = np.packbits(np.array(values, dtype=bool), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    texts = [value or "" for value in values] if known else list(values)
    joined = "".join(texts)
    if joined.isascii():
        lengths, data = [len(text) for text in texts], joined.encode()
    else:
        pieces = [text.encode("utf-8", "backslashreplace") for text in texts]
        lengths, data = [len(piece) for piece in pieces], b"".join(pieces)
    buffers = [known, _offsets(lengths), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def _offsets(lengths: Sequence[int]) -> Any:
    """Return Arrow's offsets of values with these lengths."""
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.concatenate([[0], np.cumsum(lengths)]).astype("int64"))


_NUMBERS = {
    **dict.fromkeys(("index", "sample", "thinking_tokens", "prompt_tokens"), "int64"),
    **dict.fromkeys(("score", "strict", "found"), "float64"),
}
"""The columns of numbers, and their types."""


# ---- results.json --------------------------------------------------------------------------------


def load(path: Path) -> Results:
    """Read a results.json, or the one in a RUN folder, with the table of its rows.

    The table may also be in the JSON itself, as Python's json writes the result of `ruler.score`.
    Raises RulerError if it does not exist, or is another file or of another format.
    """
    if (path / MANIFEST).is_file():
        raise RulerError(f"'{path}' is a release: name a scored RUN folder or a results.json.")
    path = path / "results.json" if path.is_dir() else path
    if not path.exists():
        if path.name == "results.json":
            raise RulerError(
                f"'{path}' does not exist. Make it: ruler score {path.parent} --out {path}"
            )
        raise RulerError(f"'{path}' does not exist: name a scored RUN folder or a results.json.")
    what = "not a results.json of `ruler score`"
    scored = path.with_name(f"{path.stem}.results.json")
    remedy = "If it has predictions, score them: "
    remedy += command_line("ruler", "score", path, "--dataset", "RELEASE", "--out", scored)
    if path.name == "results.json" and run_folders(path.parent):
        remedy = f"Score the run again: {command_line('ruler', 'score', path.parent)}"
    text = path.read_bytes()
    if path.suffix != ".json" and not text.lstrip().startswith(b"{\n"):
        raise RulerError(f"'{path}' is {what}. {remedy}")
    content = parse_json(text, ResultsFile, path, remedy, FORMAT, what)
    if content["format"] != FORMAT:
        raise RulerError(
            f"'{path}' has the older format {content['format']}. Write it again with `ruler score`."
        )
    if "rows" in content:
        check_type(content["rows"], RowTable, path, remedy, what)
    else:
        content["rows"] = row_table(read_lines(path, texts=False))
    content.pop("table", None)
    return cast(Results, content)
