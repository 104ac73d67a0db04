"""results.json: what `ruler score` writes and every later command reads.

    results = open_results(Path("runs/qwen"))            # scored again if its answers changed
    results = load(Path("results.json"))                 # as the file has it
    row_values(results, "score")["vt_4k"][7]             # 0 … 1
    pandas.DataFrame(results["rows"])                    # a line for each row

The schema (FORMAT 4; scores and intervals 0 … 100, lengths in tokens, null where unknown):

    format, score_version     numbers of this schema and of the rules (ruler_score.SCORE_VERSION)
    partial                   true: only rows with a prediction count
    rules                     {"compat": null | "authors", "cut": "protocol" | "wrong" | "score"}
    options                   the other options of the scoring: partial (if it was asked for),
                              threshold ("chat", "base", or 0 … 100), claimed (tokens, or null)
    dataset                   name, source, data_version, builder_version, revision, seed, tasks
                              (in their order), standard (whether they are the paper's at its
                              lengths, so that its thresholds hold; null if unknown), parameters
                              {task: family and parameters} if the release is known, rows
                              {configuration: rows_sha256}, own_because: what the release is made
                              with otherwise than the frozen rows, null without a release
    model, mode, run          the model's name, the prompt mode, and all that run.json holds
    predictions               {file: sha256} of what was scored
    latency                   seconds of a request to a server: median, p95; null if not recorded
    configurations            {name: cell}
      task, length, max_length, tokenizer, language, instruction_language
      score, strict, n        the benchmark's rule, the strict variant, rows counted
      interval                95 % interval of the score, [low, high] (score/intervals.py); null for
                              a run that its own scores stopped
      missing, failed, cut    rows without a prediction; with an error or a prompt that did not fit;
                              truncated at the token limit or within the reasoning
      rows_asked              rows that the run was asked to answer: with --limit fewer than
                              rows_available, those of the configuration. Only these are scored
      does_not_fit            those of the failed whose prompt did not fit
      cut_scored              the truncated ones that were scored nevertheless (see ScoringRules)
      thinking, thinking_cut  rows with reasoning; rows that ended within it
      duplicated              predictions for a row that had one already; the first counts
      proof                   what ties the answers to the rows: "rows" (the run's digest of them),
                              "prompt" (every answer's prompt), "references" (these or the question
                              alone), "own" (the references are the answers' own), "none"
      dropped                 compat "authors": rows left out of n
      whole_word              qa: the score by whole words; words_right: oneruler's cwe, 0 … 10
      relative_to_0k          the score in percent of the same task's at 0k, if it was scored
      repeats, pass_at        of a run with several samples per row, whose mean is the row's score:
                              how many, and {"k": {score, interval}}: the share of rows that at
                              least one of k samples gets right (unbiased; intervals by row)
      documents               how many documents the rows ask about, if several ask about one;
                              design_effect: how many times the variance of independent rows the
                              score's is for that (score/scoring.py)
      depth                   ten bins (score/scoring.py), or null
    rows                      one table of all counted rows, as columns of equal length: config,
                              task, length, language ("en-ko": text and instruction), index, score
                              (0 … 1), state (ok, truncated, missing, failed or does_not_fit; of
                              several samples that of the first that is not ok), found
                              (references found), right (samples that are), thinking_tokens,
                              prompt_tokens, and digests of what was asked: references, question,
                              prompt, and document, which rows on the same documents share
    summary                   the tables' aggregates (score/aggregates.py)
    notes                     what was missing, duplicated, or damaged, in sentences
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import parse_json, sha256_of, write_whole
from ruler_common.frozen import rows_label
from ruler_common.manifest import MANIFEST
from ruler_common.names import EVIDENCE_ALONE
from ruler_common.text import note
from ruler_eval.score.own_run import RUN_FILE, RunFacts

FORMAT = 4
Compat = Literal["authors"]
CutRule = Literal["protocol", "wrong", "score"]
ROW_COUNTS: tuple[Literal["rows_asked", "rows_available"], ...] = ("rows_asked", "rows_available")
Proof = Literal["rows", "prompt", "references", "own", "none"]
"""The run's digest of the rows, every answer's prompt, or the references (or question) alone; `own`
where an answer brings its own references, and so its row."""
UNPROVED: dict[Proof, str] = {
    "none": "Unverified: nothing ties these answers to these rows (no digest, prompt or reference)",
    "references": "Unverified: the references agree, but other lengths and languages share them",
}
Interval = list[float]
RowState = Literal["ok", "truncated", "missing", "failed", "does_not_fit"]
RowColumn = Literal[
    "score", "state", "found", "right", "thinking_tokens", "prompt_tokens",
    "references", "question", "prompt", "document",
]  # fmt: skip
UNANSWERED: tuple[RowState, ...] = ("missing", "failed")
"""The states of rows that a repeated run may answer; a prompt that does not fit is not one."""


class RowTable(TypedDict):
    """Every counted row, column by column, in the order of configurations and of their files.

    Digests and tokens are None if they are not known; `document` is if no rows share documents.
    """

    config: list[str]
    task: list[str]
    length: list[str]
    language: list[str]
    index: list[int]
    score: list[float]
    state: list[RowState]
    found: list[float]
    right: list[int]
    thinking_tokens: list[int | None]
    prompt_tokens: list[int | None]
    references: list[str]
    question: list[str | None]
    prompt: list[str | None]
    document: list[str | None]


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
    cut: int
    cut_scored: int
    thinking: int
    thinking_cut: int
    missing: int
    duplicated: int
    does_not_fit: int
    rows_asked: int
    rows_available: int
    depth: list[DepthBin] | None
    proof: Proof
    dropped: NotRequired[int]
    whole_word: NotRequired[float | None]
    words_right: NotRequired[float | None]
    relative_to_0k: NotRequired[float]
    repeats: NotRequired[int]
    pass_at: NotRequired[dict[str, Mean]]
    documents: NotRequired[int]
    design_effect: NotRequired[float]


def rows_of(results: Results) -> str:
    """Whose rows were scored, and how many of them: "frozen rows 1.0.0, 20 of 500 rows"."""
    data = results["dataset"]
    answered = asked = available = 0
    digests = {}
    for name, cell in results["configurations"].items():
        digests[name] = data["rows"].get(name, "")
        answered += cell["rows_asked"] - cell["missing"]
        asked += cell["rows_asked"]
        available += cell["rows_available"]
    label = rows_label(data["name"], data["data_version"], digests, data["own_because"])
    if asked < available:
        label += f", {limit_of(results)}"
    return label if answered == asked else f"{label}, {answered:,} of {asked:,} rows"


def warnings_of(results: Results) -> list[str]:
    """Return what a reader must know before the scores, except whose rows they are of."""
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
    """Describe how few rows a run was asked for: `5 of 500 rows per task`; None for all of them."""
    cells = results["configurations"].values()
    if all(cell["rows_asked"] == cell["rows_available"] for cell in cells):
        return None
    if len({(cell["rows_asked"], cell["rows_available"]) for cell in cells}) > 1:
        asked, available = (sum(cell[name] for cell in cells) for name in ROW_COUNTS)
        return f"asked for {asked:,} of {available:,} rows"
    cell = next(iter(cells))
    return f"{cell['rows_asked']:,} of {cell['rows_available']:,} rows per task"


def answered_rows(results: Results) -> tuple[int, int]:
    """Return how many rows have an answer, and how many rows the scored configurations have."""
    answered = available = 0
    for cell in results["configurations"].values():
        answered += cell["rows_asked"] - cell["missing"]
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
    """What means and their intervals need of rows, by configuration and index.

    Scores are 0 … 1; documents are digests, known for configurations whose rows share some.
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


def lengths_of(cells: Iterable[Cell]) -> list[str]:
    """Return the names of the cells' lengths, shortest first."""
    tokens = {cell["length"]: cell["max_length"] for cell in cells}
    return sorted(tokens, key=tokens.__getitem__)


class LengthMean(TypedDict):
    """A group's mean over its tasks at one length, how many were scored there, and which not."""

    tokens: int
    score: float | None
    strict: float | None
    interval: Interval | None
    tasks: int
    lacking: list[str]
    relative_to_0k: NotRequired[float]


class LengthLoss(TypedDict):
    """How a group's mean changes from one length to a longer one: longer − shorter, in points.

    The mean over the tasks scored at both, of the differences of `rows` pairs of rows with the same
    index; negative if the longer texts are answered worse.
    """

    shorter: str
    longer: str
    difference: float
    interval: Interval | None
    rows: int
    tasks: int


class GroupSummary(TypedDict):
    """One group's row of a table: its means by length and what is made of them.

    `area` is that under the scores over log2 of the lengths. `effective_length_interval` holds the
    effective lengths of the intervals' lower and upper ends; `relative_effective_length` is the
    longest length, in tokens, whose score is RELATIVE of the score at the shortest, or more;
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


def is_alone(cell: Cell) -> bool:
    """Return whether a cell is of the control `0k`: rows that are only their evidence."""
    return cell["length"] == EVIDENCE_ALONE


class RulesUsed(TypedDict):
    """The options that a score depends on."""

    compat: Compat | None
    cut: CutRule


class ScoringOptions(TypedDict):
    """The options that a score's rows do not depend on: to score a run again in the same way."""

    partial: bool
    threshold: Literal["chat", "base"] | float
    claimed: int | None


class ScoredDataset(TypedDict):
    """The data that were scored: of a release, or as far as a run's own files tell."""

    name: str
    source: str | None
    data_version: str | None
    revision: str | None
    tasks: list[str]
    standard: bool | None
    parameters: NotRequired[dict[str, dict[str, Any]]]
    builder_version: NotRequired[str | None]
    seed: NotRequired[int | None]
    # What the release says of its languages that are none of the 26 (ruler_common/languages)
    languages: NotRequired[dict[str, dict[str, Any]]]
    rows: dict[str, str]
    own_because: str | None


class Latency(TypedDict):
    """The median and the 95th percentile of how long a server took for an answer, in seconds."""

    median: float
    p95: float


class Results(TypedDict):
    """The whole of a results.json; see the module's docstring."""

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
    latency: NotRequired[Latency | None]  # none in a file of an older version
    configurations: dict[str, Cell]
    rows: RowTable
    summary: Summary
    notes: list[str]


def write(results: Results, path: Path) -> None:
    """Write results.json, whole or not at all; a column of rows is one line."""
    parts = []
    for name, value in results.items():
        if name == "rows":
            columns = []
            for column, values in results["rows"].items():
                line = json.dumps(values, ensure_ascii=False, allow_nan=False)
                columns.append(f"  {json.dumps(column)}: {line}")
            parts.append(' "rows": {\n' + ",\n".join(columns) + "\n }")
        else:
            text = json.dumps({name: value}, ensure_ascii=False, indent=1, allow_nan=False)
            parts.append(text[1:-1].strip("\n"))
    write_whole(path, "{\n" + ",\n".join(parts) + "\n}\n")


def load(path: Path) -> Results:
    """Read a results.json, or the one in a RUN folder.

    Raises RulerError if there is none, if it is another file, or of another format.
    """
    if (path / MANIFEST).is_file():
        raise RulerError(f"'{path}' is a release: name a scored RUN folder or a results.json.")
    path = path / "results.json" if path.is_dir() else path
    if not path.exists():
        if path.name == "results.json":
            raise RulerError(
                f"There is no '{path}'. Make it: ruler score {path.parent} --out {path}"
            )
        raise RulerError(f"There is no '{path}': name a scored RUN folder or a results.json.")
    remedy = "Write it again with `ruler score`."
    what = "not a results.json of `ruler score`"
    results = cast(Results, parse_json(path.read_bytes(), Results, path, remedy, FORMAT, what))
    if results["format"] != FORMAT:
        raise RulerError(f"'{path}' has the older format {results['format']}. {remedy}")
    return results


def open_results(path: Path) -> Results:
    """Return the results in a file, or those of the answers that a RUN folder holds now.

    If the answers are not those that the folder's results.json is of, or if it has none, the run
    is scored, by the rules and on the release of the last scoring, and results.json is replaced.
    One line on stderr then says so. Raises RulerError if that is not possible.
    """
    if not (path / RUN_FILE).is_file():
        return load(path)
    place = path / "results.json"
    stored = load(place) if place.exists() else None
    digests = set()
    for file in path.glob("*.jsonl"):
        if not file.name.startswith("tmp_"):
            digests.add(sha256_of(file))
    if stored is not None:
        scored = set(stored["predictions"].values())
        if not digests or digests == scored:
            return stored
        folders = {str(Path(name).parent) for name in stored["predictions"]}
        if len(folders) > 1:
            if digests <= scored:
                return stored
            raise RulerError(
                f"The answers in '{path}' changed after they were scored together with those of "
                f"other folders. Score them again: ruler score {' '.join(sorted(folders))}"
            )
    why = "it had no results.json" if stored is None else "its answers changed after the last time"
    try:
        results = _score(path, stored)
    except RulerError as error:
        raise RulerError(
            f"'{path}' has to be scored ({why}), which failed: {error} Name its release: "
            f"ruler score {path} --dataset RELEASE"
        ) from error
    with suppress(OSError):  # a folder that cannot be written
        write(results, place)
    note(f"Scored '{path}': {why}.")
    return results


def _score(folder: Path, stored: Results | None) -> Results:
    """Score a run, in the way its results were made if it has any."""
    # most results are not scored again, and need none of this
    from ruler_eval.score import scoring
    from ruler_eval.score.join import ScoringRules
    from ruler_eval.score.options import PredictionOptions
    from ruler_eval.score.predictions import open_predictions

    if stored is None:
        predictions, release = open_predictions(PredictionOptions(folder))
        return scoring.score(predictions, release)
    dataset, rules = stored["dataset"], stored["rules"]
    options = stored["options"]
    as_stored = PredictionOptions(
        folder, dataset=dataset["source"], revision=dataset["revision"], name=stored["model"]
    )
    predictions, release = open_predictions(as_stored)
    return scoring.score(
        predictions,
        release,
        ScoringRules(rules["compat"], rules["cut"], options["partial"]),
        options["threshold"],
        options["claimed"],
    )
