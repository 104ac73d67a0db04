"""What a finished run shows of its engine without a request: patterns, and scores by circumstance.

    seen = observe(Path("runs/mine"))
    seen.patterns, seen.circumstances

A pattern is named only if it has one explanation. The scores by circumstance are observations and
prove nothing: rows that hit the cache, for one, are other rows than those that did not. Scores are
differences from the mean of the row's own configuration, so that tasks and lengths do not mix.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.text import number_of
from ruler_eval.doctor.answers import SCORE_COLUMNS, Scorer
from ruler_eval.doctor.conditions import DOCS
from ruler_eval.doctor.findings import Answer
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.run.records import Record, Records, read_lines

MIN_ROWS = 10
"""Rows below which nothing is said."""
MOST = 0.9
"""The share of rows that makes a pattern of a run."""
LOW, HIGH = 0.2, 0.5
"""Scores that are low, and that show that a model can do a task."""
ECHO = 40
"""Characters with which an answer begins, to be looked for in its prompt."""
FALL = 0.25
"""A task's score falls if it keeps less than this share of its score at the next shorter length."""
REASONING_MARKS = ("<think>", "</think>", "<|channel|>", "[THINK]", "<reasoning>", "◁think▷")
Z = 1.96
"""Standard errors on either side of a mean difference."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """What has one explanation, and what to change."""

    name: str
    """Also the anchor in docs/doctor.md."""
    sentence: str
    remedy: str

    @property
    def docs(self) -> str:
        """Where it is explained."""
        return f"{DOCS}#{self.name}"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rows under one circumstance: their mean difference from their configurations, in points."""

    label: str
    rows: int
    difference: float
    half_width: float


@dataclass(frozen=True, kw_only=True)
class Circumstance:
    """Scores by one circumstance; without groups, why there are none."""

    title: str
    groups: tuple[Group, ...]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """All that was seen of a run."""

    rows: int
    patterns: tuple[Pattern, ...]
    circumstances: tuple[Circumstance, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        patterns = [{**asdict(pattern), "docs": pattern.docs} for pattern in self.patterns]
        return {
            "rows": self.rows,
            "patterns": patterns,
            "circumstances": [asdict(one) for one in self.circumstances],
        }


@dataclass(frozen=True, kw_only=True)
class SeenRow:
    """A row of the run: what was asked, what came back, and its score."""

    record: Record
    row: PartialRow
    answer: Answer
    task: str
    length: int
    """The configuration's length in tokens."""
    place: float
    """Where the row is in the frozen order, 0 … 1: about when it was asked."""
    difference: float = 0.0
    """From the mean score of its configuration, −1 … 1."""


def observe(folder: Path, dataset: str | None = None) -> Observation:
    """Look at a finished run; `dataset` is its release, if run.json names none that is there.

    Raises RulerError.
    """
    settings = Records(folder).settings()
    if not settings:
        raise RulerError(f"'{folder}' is not a folder of `ruler run`: it has no run.json.")
    sessions = settings.get("sessions", [])
    sources = [session.get("source") for session in sessions]
    source = dataset or next((name for name in reversed(sources) if name), None)
    if source is None:
        raise RulerError(f"'{folder}' does not name its release: add --dataset.")
    rows = read_rows(folder, Release.open(source), settings.get("rows", {}))
    if len(rows) < MIN_ROWS:
        raise RulerError(f"'{folder}' has {number_of(len(rows), 'row')}, too few to look at.")
    return Observation(
        rows=len(rows),
        patterns=tuple(find_patterns(rows, settings)),
        circumstances=tuple(by_circumstance(rows, sessions)),
    )


def read_rows(folder: Path, release: Release, digests: Mapping[str, str]) -> list[SeenRow]:
    """Read the rows of a run with their scores. Raises RulerError for another release's."""
    scorer, records = Scorer(release), Records(folder)
    found = []
    for config, digest in digests.items():
        if config in release.configs and release.rows_sha256(config) != digest:
            raise RulerError(f"'{folder}' was run on other rows than '{release.source}' has.")
        kept = [record for path in records.files(config) for record in read_lines(path)]
        indices = [record["index"] for record in kept]
        columns = (*SCORE_COLUMNS, "input", "max_new_tokens")
        asked = {row["index"]: row for row in release.some_rows(config, columns, indices)}
        order = {index: place for place, index in enumerate(release.order(config))}
        answers = [scorer.score(record, asked[record["index"]]) for record in kept]
        mean = sum(answer.score for answer in answers) / max(1, len(answers))
        parsed = release.parse(config)
        found += [
            SeenRow(
                record=record,
                row=asked[record["index"]],
                answer=answer,
                task=parsed.task,
                length=parsed.max_length,
                place=order[record["index"]] / len(order),
                difference=answer.score - mean,
            )
            for record, answer in zip(kept, answers, strict=True)
        ]
    return found


# ---- patterns ------------------------------------------------------------------------------------


def find_patterns(rows: Sequence[SeenRow], settings: Mapping[str, Any]) -> Iterable[Pattern]:
    """Yield the patterns that the run shows."""
    for look in (_shortened, _echo, _reasoning_marks, _budget, _fall_at_length):
        pattern = look(rows, settings)
        if pattern is not None:
            yield pattern


def _share(rows: Sequence[SeenRow], holds: Callable[[SeenRow], bool]) -> float:
    return sum(holds(row) for row in rows) / len(rows) if rows else 0.0


def _mean(rows: Sequence[SeenRow]) -> float:
    return sum(row.answer.score for row in rows) / len(rows) if rows else 0.0


def _shortened(rows: Sequence[SeenRow], _: Mapping[str, Any]) -> Pattern | None:
    """Prompts that the server shortened."""
    short = [row for row in rows if "shortened the prompt" in (row.record["error"] or "")]
    if len(short) < 2:
        return None
    return Pattern(
        name="tokens",
        sentence=f"The server shortened {number_of(len(short), 'prompt')}: "
        f"{short[0].record['error']}.",
        remedy="Raise the server's context length (vLLM: `--max-model-len`; Ollama: `num_ctx`)",
    )


def _echo(rows: Sequence[SeenRow], _: Mapping[str, Any]) -> Pattern | None:
    """Every niah task low, and answers that begin as the prompt does somewhere."""
    needles = [row for row in rows if row.task.startswith("niah")]
    tasks = {row.task for row in needles}
    if len(needles) < MIN_ROWS:
        return None
    low = all(_mean([row for row in needles if row.task == task]) < LOW for task in tasks)

    def repeats(row: SeenRow) -> bool:
        start = " ".join(row.record["prediction"].split())[:ECHO]
        return len(start) == ECHO and start in " ".join(row.row["input"].split())

    share = _share(needles, repeats)
    if not low or share < HIGH:
        return None
    return Pattern(
        name="template",
        sentence=f"Every niah task scores below {100 * LOW:.0f} %, and {100 * share:.0f} % of the "
        "answers repeat the prompt: the model continues the text instead of answering, so the "
        "answer prefix or the chat template is missing.",
        remedy="Use --mode prefill (chat models), or give the model's own --chat-template",
    )


def _reasoning_marks(rows: Sequence[SeenRow], settings: Mapping[str, Any]) -> Pattern | None:
    """Answers that begin with reasoning although none was asked for."""
    if (settings.get("thinking") or {}).get("on"):
        return None

    def is_marked(row: SeenRow) -> bool:
        text = row.record["prediction"].lstrip()
        return text.startswith(REASONING_MARKS) or bool(row.record.get("thinking"))

    share = _share(rows, is_marked)
    if share < HIGH:
        return None
    return Pattern(
        name="reasoning",
        sentence=f"{100 * share:.0f} % of the answers begin with reasoning, but the run asked for "
        "none: it uses up the tokens of the answer.",
        remedy="Run with --thinking, or turn reasoning off in the server's template; the server "
        "needs its `--reasoning-parser`",
    )


def _budget(rows: Sequence[SeenRow], settings: Mapping[str, Any]) -> Pattern | None:
    """Answers that were cut at the token limit, and score low."""
    share = _share(rows, lambda row: row.record["finish_reason"] == "length")
    unfinished = _share(rows, lambda row: row.record.get("thinking_ended") is False)
    if unfinished < HIGH and (settings.get("mode") == "completion" or _mean(rows) >= LOW):
        return None  # a base model always goes on to the limit, after its answer
    if max(share, unfinished) < MOST:
        return None
    what = "reasoning of" if unfinished >= HIGH else "answers to"
    return Pattern(
        name="budget",
        sentence=f"The {what} {100 * max(share, unfinished):.0f} % of the rows did not end within "
        "its tokens.",
        remedy="Give --thinking more tokens, or look at what the answers begin with (ruler show)",
    )


def _fall_at_length(rows: Sequence[SeenRow], _: Mapping[str, Any]) -> Pattern | None:
    """Return a length at which the scores of all tasks fall at once."""
    lengths = sorted({row.length for row in rows if row.length})
    tasks = sorted({row.task for row in rows})
    if len(tasks) < 3:
        return None
    for shorter, longer in itertools.pairwise(lengths):
        before, after = (
            [_mean([row for row in rows if (row.task, row.length) == (task, length)])
             for task in tasks]
            for length in (shorter, longer)
        )  # fmt: skip
        can = [place for place, score in enumerate(before) if score >= HIGH]
        fallen = [place for place in can if after[place] < FALL * before[place]]
        if len(can) >= 3 and len(fallen) == len(can):
            return Pattern(
                name="window",
                sentence=f"The scores of all {len(can)} tasks that the model can do at "
                f"{shorter:,} tokens fall to less than a quarter at {longer:,}.",
                remedy="Check the context length, sliding window and rope scaling in the server's "
                "log: a model seldom loses every task at one length",
            )
    return None


# ---- scores by circumstance ----------------------------------------------------------------------


def by_circumstance(
    rows: Sequence[SeenRow], sessions: Sequence[Mapping[str, Any]]
) -> Iterable[Circumstance]:
    """Yield the scores by cached share, concurrency, retries, position and length of the answer."""
    yield _grouped("Cached share of the prompt", rows, _cached_share)
    at_once = sorted({session.get("concurrency") or 0 for session in sessions})
    yield _grouped(
        "Requests in flight",
        rows,
        lambda row: _range_of(row.record.get("in_flight")),
        f"this run did not record it; its sessions had up to {', '.join(map(str, at_once))}",
    )
    yield _grouped("Tries", rows, _tries, "this run did not record them")
    yield _grouped("Position in the run", rows, lambda row: _THIRDS[min(2, int(3 * row.place))])
    yield _grouped("Tokens of the answer", rows, _answer_tokens)


_THIRDS = ("first third", "second third", "last third")


def _cached_share(row: SeenRow) -> str | None:
    cached, prompt = row.answer.cached_tokens, row.answer.prompt_tokens
    if cached is None or not prompt:
        return None
    if cached == 0:
        return "none"
    return "half or more" if cached >= prompt / 2 else "less than half"


def _range_of(count: Any) -> str | None:
    if type(count) is not int:
        return None
    for most in (1, 8, 32):
        if count <= most:
            return f"up to {most}"
    return "more than 32"


def _tries(row: SeenRow) -> str | None:
    tries = row.record.get("tries")
    if type(tries) is not int:
        return None
    return "one" if tries == 1 else "several"


def _answer_tokens(row: SeenRow) -> str | None:
    usage = row.record["usage"]
    if usage is None:
        return None
    if row.record["finish_reason"] == "length":
        return "all (cut)"
    share = usage["completion_tokens"] / row.row["max_new_tokens"]
    return "less than half" if share < 0.5 else "half or more"


def _grouped(
    title: str,
    rows: Sequence[SeenRow],
    label: Callable[[SeenRow], str | None],
    reason: str = "the run does not tell",
) -> Circumstance:
    """Group rows by a label; rows without one, and groups of a few rows, are left out."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        name = label(row)
        if name is not None:
            groups.setdefault(name, []).append(row.difference)
    shown = {name: values for name, values in groups.items() if len(values) >= MIN_ROWS}
    if not shown:
        return Circumstance(title=title, groups=(), reason=reason)
    if len(shown) == 1:
        return Circumstance(title=title, groups=(), reason=f"all rows: {next(iter(shown))}")
    return Circumstance(
        title=title, groups=tuple(_group(name, shown[name]) for name in sorted(shown))
    )


def _group(label: str, values: Sequence[float]) -> Group:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    half = Z * (variance / len(values)) ** 0.5
    return Group(label=label, rows=len(values), difference=100 * mean, half_width=100 * half)
