"""Examine a finished run without sending requests: patterns, and scores by circumstance.

    observation = observe(Path("runs/mine"))
    observation.patterns, observation.circumstances

A pattern has a single explanation, or is marked as an observation. Scores by circumstance are
observations, not proofs: rows that hit the cache, for example, and rows that did not are different
rows. Scores are differences from the mean of the row's configuration, so tasks and lengths do not
mix.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import check_type
from ruler_common.text import number_of, sentences, table
from ruler_eval.doctor.answers import Answer, Scorer
from ruler_eval.doctor.verdict import MIN_ROWS
from ruler_eval.frozen_release import Release
from ruler_eval.run.records import Record, Records
from ruler_eval.score.own_run import release_of_runs, run_facts
from ruler_eval.score.rows import SCORE_COLUMNS
from ruler_score.split_reasoning import split_reasoning

MIN_TRUNCATED_SHARE = 0.9
"""The share of rows that end at the token limit if the budget is too small."""
LOW, HIGH = 0.2, 0.5
"""A score below LOW is low. HIGH is a score that shows that a model can do a task, or a share of
rows that makes a pattern."""
ECHO_CHARACTERS = 40
"""Characters at the beginning of an answer that are searched for in its prompt."""
FALL = 0.25
"""A task's score falls if it is below this share of its score at the next shorter length."""
Z = 1.96
"""Standard errors on either side of a mean difference."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A pattern that has a single explanation, and what to change."""

    name: str
    """Also the section in docs/doctor.md."""
    sentence: str
    remedy: str
    is_proof: bool = True
    """Whether no model does this by itself; if not, it is only an observation."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """The scores of rows with the same label."""

    label: str
    rows: int
    difference: float
    """The mean difference from the rows' configurations, in points."""
    half_width: float
    """Of the 95 % interval, in points."""


@dataclass(frozen=True, kw_only=True)
class Circumstance:
    """Scores by a circumstance, such as the number of requests in flight."""

    title: str
    groups: tuple[Group, ...]
    reason: str = ""
    """Why nothing could be compared; empty if there are groups."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The patterns and the scores by circumstance of a run."""

    rows: int
    patterns: tuple[Pattern, ...]
    circumstances: tuple[Circumstance, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the observation for --json."""
        return {
            "rows": self.rows,
            "patterns": [asdict(pattern) for pattern in self.patterns],
            "circumstances": [asdict(circumstance) for circumstance in self.circumstances],
        }


class RunJson(TypedDict, total=False):
    """The fields of run.json that are read here."""

    thinking: dict[str, Any] | None
    mode: str | None


@dataclass(frozen=True, kw_only=True)
class ObservedRow:
    """A row of a run with its answer and score."""

    record: Record
    answer: Answer
    task: str
    length: int
    """The configuration's length in tokens."""
    max_new_tokens: int
    place: float | None
    """Its approximate position among the rows of its configuration, 0 … 1; None if unknown."""
    repeats_prompt: bool = False
    """Whether the beginning of the answer occurs in the prompt."""
    difference: float = 0.0
    """From the mean score of its configuration, −1 … 1."""


def observe(folder: Path, dataset: str | None = None) -> Observation:
    """Examine a finished run.

    `dataset` is its release, if run.json does not name one that exists. Raises RulerError.
    """
    if not folder.is_dir():
        raise RulerError(f"There is no folder '{folder}': name the --out folder of a `ruler run`.")
    records = Records(folder)
    settings = records.settings()
    if not settings:
        hint = ""
        if (folder / "doctor.json").exists():
            hint = f" It is a folder of `ruler doctor`: name one of its runs, {folder / 'cold'}."
        raise RulerError(f"'{folder}' is not a folder of `ruler run`: it has no run.json.{hint}")
    check_type(settings, RunJson, folder / "run.json", "Run it again with a new --out.")
    release = Release.open(dataset) if dataset else release_of_runs([run_facts(folder) or {}])
    if release is None:
        raise RulerError(f"'{folder}' does not name its release: add --dataset.")
    rows: list[ObservedRow] = []
    answers: dict[str, list[Record]] = {}
    for record in records.read():
        check_type(record, Record, records.path, "Run it again with a new --out.")
        answers.setdefault(record["config"], []).append(record)
    for config, digest in records.digests().items():
        if config not in release.configs or release.rows_sha256(config) != digest:
            raise RulerError(
                f"'{folder}' was run on different rows than those of '{release.source}': name its "
                "release with --dataset."
            )
        # `ruler decide` and `--until` do not send rows in the order of their file
        in_order = "decide" not in settings and "until" not in settings
        rows += read_rows(folder, answers.get(config, []), release, config, in_order)
    if len(rows) < MIN_ROWS:
        raise RulerError(
            f"'{folder}' has {number_of(len(rows), 'answer')}, which is too few: at least "
            f"{MIN_ROWS} are needed."
        )
    return Observation(
        rows=len(rows),
        patterns=tuple(find_patterns(rows, settings)),
        circumstances=tuple(by_circumstance(rows)),
    )


def read_rows(
    folder: Path, records: Sequence[Record], release: Release, config: str, in_order: bool
) -> list[ObservedRow]:
    """Return the scored answers of a run to one configuration. Raises RulerError.

    `in_order` says that rows were sent in the order of their file, as `ruler run` does. Prompts are
    long, so they are read one at a time and not kept.
    """
    scorer, parsed = Scorer(release), release.parse(config)
    by_index: dict[int, list[Record]] = {}
    for record in records:
        by_index.setdefault(record["index"], []).append(record)
    indices = sorted(by_index)
    if not set(indices) <= set(release.order(config)):
        raise RulerError(
            f"'{folder}' answers rows of {config} that the release does not have: it is "
            "damaged, or belongs to another release (--dataset)."
        )
    places = {index: place / len(indices) for place, index in enumerate(indices)}
    columns = (*SCORE_COLUMNS, "input", "max_new_tokens")
    is_needle = parsed.task.startswith("niah")
    rows = []
    for row in release.some_rows(config, columns, indices) if indices else ():
        for record in by_index[row["index"]]:
            rows.append(
                ObservedRow(
                    record=record,
                    answer=scorer.score(record, row),
                    task=parsed.task,
                    length=parsed.max_length,
                    max_new_tokens=row["max_new_tokens"],
                    place=places[row["index"]] if in_order else None,
                    repeats_prompt=is_needle and _repeats(record["prediction"], row["input"]),
                )
            )
    counted = [row.answer.score for row in rows if row.answer.counts]
    mean = sum(counted) / len(counted) if counted else 0.0
    return [replace(row, difference=row.answer.score - mean) for row in rows]


def _repeats(prediction: str, prompt: str) -> bool:
    """Return whether the beginning of an answer occurs in the prompt."""
    start = " ".join(prediction.split())[:ECHO_CHARACTERS]
    return len(start) == ECHO_CHARACTERS and start in " ".join(prompt.split())


# ---- patterns ------------------------------------------------------------------------------------


def find_patterns(rows: Sequence[ObservedRow], settings: Mapping[str, Any]) -> list[Pattern]:
    """Return the patterns in a run."""
    answered = [row for row in rows if row.answer.counts]
    patterns = (
        _failures(rows),
        _shortened(rows),
        _echo(answered),
        _reasoning_marks(answered, settings),
        _budget(answered, settings),
        _fall_at_length(answered),
    )
    return [pattern for pattern in patterns if pattern is not None]


def _share(rows: Sequence[ObservedRow], holds: Callable[[ObservedRow], bool]) -> float:
    return sum(holds(row) for row in rows) / len(rows) if rows else 0.0


def _mean(rows: Sequence[ObservedRow]) -> float:
    return sum(row.answer.score for row in rows) / len(rows) if rows else 0.0


def _failures(rows: Sequence[ObservedRow]) -> Pattern | None:
    """Return the pattern of requests that failed."""
    failures = [row.answer.failure for row in rows if row.answer.failure]
    if len(failures) < HIGH * len(rows):
        return None
    return Pattern(
        name="failures",
        sentence=f"{len(failures):,} of {number_of(len(rows), 'request')} failed, such as: "
        f"{failures[0]}.",
        remedy="Read the server's log, then run the command again with --retry-failed",
    )


def _shortened(rows: Sequence[ObservedRow]) -> Pattern | None:
    """Return the pattern of prompts that the server shortened."""
    shortened = [row for row in rows if row.answer.shortened]
    if len(shortened) < 2:
        return None
    return Pattern(
        name="tokens",
        sentence=f"The server shortened {number_of(len(shortened), 'prompt')}: "
        f"{shortened[0].record['error']}.",
        remedy="Raise the server's context window (vLLM: `--max-model-len`; Ollama: `num_ctx`)",
    )


def _echo(rows: Sequence[ObservedRow]) -> Pattern | None:
    """Return the pattern of low niah scores with answers whose beginning is in the prompt."""
    needles = [row for row in rows if row.task.startswith("niah")]
    tasks = {row.task for row in needles}
    if len(needles) < MIN_ROWS:
        return None
    low = all(_mean([row for row in needles if row.task == task]) < LOW for task in tasks)
    share = _share(needles, lambda row: row.repeats_prompt)
    if not low or share < HIGH:
        return None
    return Pattern(
        name="template",
        sentence=f"Every niah task scores below {100 * LOW:.0f} %, and {100 * share:.0f} % of the "
        "answers repeat the prompt: the model continues the text instead of answering, so the "
        "answer prefix or the chat template is missing.",
        remedy="Use --mode prefill (chat models), or the model's template with --chat-template",
    )


def _reasoning_marks(rows: Sequence[ObservedRow], settings: Mapping[str, Any]) -> Pattern | None:
    """Return the pattern of answers that begin with reasoning in a run without --thinking."""
    if (settings.get("thinking") or {}).get("on"):
        return None

    def is_marked(row: ObservedRow) -> bool:
        in_answer = split_reasoning(row.record["prediction"]).state != "none"
        return in_answer or bool(row.record.get("thinking"))

    def is_in_reasoning(row: ObservedRow) -> bool:
        record = row.record
        is_empty = not record["prediction"].strip() and record["finish_reason"] == "stop"
        return is_empty and bool(record.get("thinking"))

    share = _share(rows, is_in_reasoning)
    if share >= HIGH:
        return Pattern(
            name="reasoning",
            sentence=f"{100 * share:.0f} % of the answers are empty because the server took them "
            "for reasoning.",
            remedy="Start the server without its `--reasoning-parser`, or run with --thinking",
        )
    share = _share(rows, is_marked)
    if share < HIGH:
        return None
    return Pattern(
        name="reasoning",
        sentence=f"{100 * share:.0f} % of the answers begin with reasoning, but the run did not "
        "ask for it: it uses up the tokens of the answer.",
        remedy="Run with --thinking, or turn reasoning off in the server's template; the server "
        "needs its `--reasoning-parser`",
    )


def _budget(rows: Sequence[ObservedRow], settings: Mapping[str, Any]) -> Pattern | None:
    """Return the pattern of low-scoring answers that were truncated at the token limit."""
    share = _share(rows, lambda row: row.record["finish_reason"] == "length")
    unfinished = _share(rows, lambda row: row.record.get("thinking_ended") is False)
    if unfinished < HIGH and (settings.get("mode") == "completion" or _mean(rows) >= LOW):
        return None  # a base model always continues to the limit after its answer
    if max(share, unfinished) < MIN_TRUNCATED_SHARE:
        return None
    percent = f"{100 * max(share, unfinished):.0f} % of the rows"
    if unfinished >= HIGH:
        sentence = f"The reasoning of {percent} did not end within its budget of tokens."
    else:
        sentence = f"The answers to {percent} were truncated at their token limit."
    return Pattern(
        name="budget",
        sentence=sentence,
        remedy="Give --thinking more tokens, or look at how the answers begin (ruler show)",
    )


def _fall_at_length(rows: Sequence[ObservedRow]) -> Pattern | None:
    """Return the pattern of a length at which the scores of all tasks fall at once."""
    lengths = sorted({row.length for row in rows if row.length})
    tasks = sorted({row.task for row in rows})
    if len(tasks) < 3:
        return None
    cells: dict[tuple[str, int], list[ObservedRow]] = {}
    for row in rows:
        cells.setdefault((row.task, row.length), []).append(row)
    scores = {cell: _mean(rows_of_cell) for cell, rows_of_cell in cells.items()}
    for shorter, longer in itertools.pairwise(lengths):
        both = [task for task in tasks if (task, shorter) in cells and (task, longer) in cells]
        solved = [task for task in both if scores[task, shorter] >= HIGH]
        fallen = [task for task in solved if scores[task, longer] < FALL * scores[task, shorter]]
        if len(solved) >= 3 and len(fallen) == len(solved):
            return Pattern(
                name="window",
                sentence=f"The scores of all {len(solved)} tasks that the model can do at "
                f"{shorter:,} tokens fall to less than a quarter at {longer:,}.",
                remedy="A model that was never trained at that length does so, or an engine with a "
                "wrong context window, sliding window or rope scaling: compare it with another "
                "engine (ruler doctor --against)",
                is_proof=False,
            )
    return None


# ---- scores by circumstance ----------------------------------------------------------------------

# fmt: off
LABELS = (
    "none", "less than half", "half or more", "all (truncated)",
    "1", "2 to 8", "9 to 32", "more than 32",
    "one", "several",
    "first third", "second third", "last third",
)
# fmt: on
"""The names of groups, in the order in which they are shown."""


def by_circumstance(rows: Sequence[ObservedRow]) -> Iterable[Circumstance]:
    """Yield the scores by cached share, concurrency, retries, position and length of the answer."""
    answered = [row for row in rows if row.answer.counts]
    yield _grouped("Cached share of the prompt", answered, _cached_share)
    yield _grouped("Requests in flight", answered, _in_flight)
    yield _grouped("Tries", answered, _tries)
    yield _grouped("Position in the run", answered, _third, "rows were sent in another order")
    yield _grouped("Tokens of the answer", answered, _answer_tokens)


def _cached_share(row: ObservedRow) -> str | None:
    cached, prompt = row.answer.cached_tokens, row.answer.prompt_tokens
    if cached is None or not prompt:
        return None
    if cached == 0:
        return "none"
    return "half or more" if cached >= prompt / 2 else "less than half"


def _in_flight(row: ObservedRow) -> str | None:
    count = row.record.get("in_flight")
    if count is None:
        return None
    for limit, label in ((1, "1"), (8, "2 to 8"), (32, "9 to 32")):
        if count <= limit:
            return label
    return "more than 32"


def _tries(row: ObservedRow) -> str | None:
    tries = row.record.get("tries")
    if tries is None:
        return None
    return "one" if tries == 1 else "several"


def _third(row: ObservedRow) -> str | None:
    if row.place is None:
        return None
    return ("first third", "second third", "last third")[int(3 * row.place)]


def _answer_tokens(row: ObservedRow) -> str | None:
    usage = row.record["usage"]
    if usage is None:
        return None
    if row.record["finish_reason"] == "length":
        return "all (truncated)"
    share = usage["completion_tokens"] / row.max_new_tokens
    return "less than half" if share < 0.5 else "half or more"


def _grouped(
    title: str,
    rows: Sequence[ObservedRow],
    label: Callable[[ObservedRow], str | None],
    unknown: str = "the run did not record it",
) -> Circumstance:
    """Group rows by a label; rows without one, and groups of fewer than MIN_ROWS, are left out."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        name = label(row)
        if name is not None:
            groups.setdefault(name, []).append(row.difference)
    if not groups:
        return Circumstance(title=title, groups=(), reason=unknown)
    large = {name: values for name, values in groups.items() if len(values) >= MIN_ROWS}
    if len(large) < 2:
        reason = f"all rows: {next(iter(groups))}"
        if len(groups) > 1:
            sizes = [f"{name}: {len(values):,}" for name, values in groups.items()]
            reason = f"too few rows to compare ({', '.join(sizes)})"
        return Circumstance(title=title, groups=(), reason=reason)
    names = sorted(large, key=LABELS.index)
    return Circumstance(title=title, groups=tuple(_group(name, large[name]) for name in names))


def _group(label: str, values: Sequence[float]) -> Group:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    half = Z * (variance / len(values)) ** 0.5
    return Group(label=label, rows=len(values), difference=100 * mean, half_width=100 * half)


def observation_text(observation: Observation) -> str:
    """Return an observation as text for the terminal."""
    parts = []
    for pattern in observation.patterns:
        start = "" if pattern.is_proof else "An observation: "
        parts.append(sentences(f"{start}{pattern.sentence} {pattern.remedy}."))
    if not parts:
        parts.append(sentences(f"No pattern of a broken engine in {observation.rows:,} rows."))
    rows = [
        [
            circumstance.title,
            group.label,
            f"{group.rows:,}",
            f"{group.difference:+.1f}",
            f"± {group.half_width:.1f}",
        ]
        for circumstance in observation.circumstances
        for group in circumstance.groups
    ]
    if rows:
        header = ["Scores by", "", "rows", "points", "95 %"]
        parts += ["", table(header, rows, left=(0, 1))]
    parts.append("")
    for circumstance in observation.circumstances:
        if not circumstance.groups:
            parts.append(sentences(f"{circumstance.title}: {circumstance.reason}."))
    parts.append(
        sentences(
            "Points are differences from the mean of each row's configuration. This is an "
            "observation, not a proof: ruler doctor --base-url URL tests the engine."
        )
    )
    return "\n".join(parts)
