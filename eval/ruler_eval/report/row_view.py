"""A row as a person reads it: its parts, the text around each piece of evidence, the answers.

    view = row_view(Release.open("ruler"), "niah_multikey_1_4k", 3, [Path("runs/qwen")])
    view.pieces[0].text                   # "One of the special magic numbers for …"
    view.answers[0].verdict               # "distractor (…)", or "right"

What is shown is the row's own text (RULER, arXiv:2404.06654, Table 2): the instruction stands
before the context, the question after it, the answer prefix begins the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.text import shortened
from ruler_eval.analysis.errors import KINDS, answers_from_memory, error_of, memory_of
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.join import JoinedRow, join_predictions, join_row
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.row_score import rules_of_run
from ruler_eval.tasks import scoring_task

COLUMNS = (
    *("input", "answer_prefix", "outputs", "max_new_tokens", "max_length", "length"),
    *("context_start", "context_end", "question", "evidence", "none_word"),
)
AROUND = 160  # characters shown before and after a piece of evidence
LONGEST_REASON = 120  # characters of the error of a failed row
LONGEST_PIECE = 1200  # characters of evidence that is a document, in the short view
GOLD, DISTRACTOR = ("⟦", "⟧"), ("⟮", "⟯")
"""The marks around the evidence of an answer, and around a distractor."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of evidence: its place in `input`, in characters and as a share of the context.

    `answer` is false for a distractor.
    """

    before: str
    text: str
    after: str
    start: int
    end: int
    depth: float
    answer: bool


@dataclass(frozen=True, kw_only=True)
class RunAnswer:
    """How one run answered: the text, how it ended, its score (0 … 1), and what is wrong with it.

    `verdict` is `right`, or a kind of error (`ruler errors`) with its meaning.
    """

    model: str
    text: str | None
    state: str
    score: float
    verdict: str
    reasoning: str | None

    @property
    def outcome(self) -> str:
        """The verdict, and how the answer ended if the verdict does not say so."""
        return (
            self.verdict if self.verdict.startswith(self.state) else f"{self.verdict}; {self.state}"
        )


@dataclass(frozen=True, kw_only=True)
class RowView:
    """Everything that is shown of a row; texts are whole and as in the release.

    `row` has the release's columns, `rows` is how many there are.
    """

    config: str
    rows: int
    tokenizer: str
    row: PartialRow
    pieces: tuple[Piece, ...]
    answers: tuple[RunAnswer, ...]

    @property
    def input(self) -> str:
        """The row's whole text."""
        return str(self.row["input"])

    @property
    def context(self) -> tuple[int, int]:
        """Where the context begins and ends in it."""
        return self.row["context_start"], self.row["context_end"]

    @property
    def instruction(self) -> str:
        """The text before the context."""
        return self.input[: self.context[0]]

    @property
    def after_context(self) -> str:
        """The text after the context: the question in its words."""
        return self.input[self.context[1] :]

    def marked(self, start: int = 0, end: int | None = None) -> list[tuple[str, Piece | None]]:
        """Return the text of `input` from start to end in parts; evidence has its piece.

        A piece within another is marked with it.
        """
        end = len(self.input) if end is None else end
        parts: list[tuple[str, Piece | None]] = []
        at = start
        for piece in sorted(self.pieces, key=lambda piece: (piece.start, -piece.end)):
            if piece.start < at or piece.end > end:
                continue
            parts += [(self.input[at : piece.start], None), (piece.text, piece)]
            at = piece.end
        return [part for part in [*parts, (self.input[at:end], None)] if part[0]]


def row_view(release: Release, config: str, index: int, runs: Sequence[Path] = ()) -> RowView:
    """Return a row of a release with the answers of runs.

    Raises RulerError for what is not there.
    """
    name = _single(release, config)
    row = _row(release, name, index)
    return view_of(release, name, row, [_answer(release, name, row, run) for run in runs])


def view_of(
    release: Release, config: str, row: PartialRow, answers: Sequence[RunAnswer]
) -> RowView:
    """Return the view of a row that was read with COLUMNS."""
    return RowView(
        config=config,
        rows=release.size(config),
        tokenizer=release.parse(config).tokenizer,
        row=row,
        pieces=tuple(pieces_of(row)),
        answers=tuple(answers),
    )


def _single(release: Release, config: str) -> str:
    """Return the name of a configuration of one task, as the release has it."""
    if config in release.configs:
        return config
    parsed = release.parse(config)
    tasks = release.names.expand(parsed.task)
    if len(tasks) > 1:
        raise RulerError(
            f"'{config}' is a group of {len(tasks)} tasks: name one, such as "
            f"{config.replace(parsed.task, tasks[0], 1)}."
        )
    raise RulerError(
        f"The release '{release.source}' holds no '{config}'. "
        f"What it holds: ruler list {release.source}"
    )


def _row(release: Release, config: str, index: int) -> PartialRow:
    size = release.size(config)
    for row in release.some_rows(config, COLUMNS, {index}) if 0 <= index < size else ():
        return row
    raise RulerError(f"'{config}' has no row {index}: it has {size} rows, 0 to {size - 1}.")


def pieces_of(row: PartialRow, around: int = AROUND) -> Iterator[Piece]:
    """Yield the evidence in the order of the text, with as many characters around it."""
    text = row["input"]
    for span in sorted(row["evidence"] or (), key=lambda span: int(span["start"])):
        start, end = int(span["start"]), int(span["end"])
        yield Piece(
            before=text[max(row["context_start"], start - around) : start],
            text=text[start:end],
            after=text[end : min(row["context_end"], end + around)],
            start=start,
            end=end,
            depth=float(span["depth"]),
            answer=bool(span["answer"]),
        )


def _answer(release: Release, config: str, row: PartialRow, run: Path) -> RunAnswer:
    """How a run answered a row, by its files."""
    options = PredictionOptions(run, dataset=release.source, revision=release.revision)
    predictions, _ = open_predictions(options)
    rules = rules_of_run([run])
    joined = join_predictions(predictions, release, rules)
    row = dict(row)
    if config in joined:
        joined_row = joined[config].join(row)
    else:
        parsed = release.parse(config)
        task = scoring_task(parsed.task, parsed.dataset, release)
        language = parsed.instruction_language if parsed.dataset == "oneruler" else None
        joined_row = join_row(row, [], task, language, rules.for_release(release))
    answers = {name: configuration.answers for name, configuration in joined.items()}
    memory = memory_of(config, release, answers_from_memory(answers, release))
    row["memory"] = memory.get(int(row["index"]))
    return run_answer(str(predictions.run.get("model") or run), joined_row)


def run_answer(model: str, joined: JoinedRow) -> RunAnswer:
    """How a run answered a row, scored by the rules of its results."""
    answer, error = joined.prediction, error_of(joined)
    return RunAnswer(
        model=model,
        text=None if answer is None or answer.failed else answer.text,
        state=state_of(answer),
        score=joined.results[0].score,
        verdict="right" if error is None else f"{error.kind} ({KINDS[error.kind]})",
        reasoning=answer.thinking if answer else None,
    )


def state_of(given: Prediction | None) -> str:
    """Return how an answer ended: missing, does not fit, failed, truncated or ended."""
    if given is None:
        return "missing"
    if given.finish_reason == "does_not_fit":
        return "does not fit"
    if given.failed:
        return "failed: " + shortened(given.error or "no reason given", LONGEST_REASON)
    return "truncated" if given.finish_reason == "length" else "ended"
