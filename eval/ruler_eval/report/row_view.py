"""Prepare a row for reading: its parts, the text around each piece of evidence, and the answers.

    view = row_view(Release.open("ruler"), "niah_multikey_1_4k", 3, [Path("runs/qwen")])
    view.pieces[0].text                   # "One of the special magic numbers for …"
    view.answers[0].outcome               # "distractor (…)", or "right; ended"

The row's text is shown as it is (RULER, arXiv:2404.06654, Table 2): the instruction comes before
the context and the question after it; the answer prefix begins the answer. row_text.py shows a
view in the terminal, page/build.py as a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_eval.analysis.errors import KINDS, answers_from_memory, error_of
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import state_of
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.stored import open_scores

VIEW_COLUMNS = (
    "input", "answer_prefix", "outputs", "max_new_tokens", "max_length", "length",
    "context_start", "context_end", "question", "evidence", "none_word",
)  # fmt: skip
AROUND = 160  # characters shown before and after a piece of evidence
MAX_ANSWER = 4000  # characters; a model may repeat a word ten thousand times
MAX_PIECE = 1200  # characters of evidence that is a document, in the short view


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of evidence. The texts are empty if the row's text is unknown."""

    before: str
    text: str
    after: str
    start: int  # in `input`, in characters
    end: int
    depth: float  # 0 … 1, in the context
    answer: bool  # False for a distractor


@dataclass(frozen=True, kw_only=True)
class RunAnswer:
    """How one run answered: the text, how it ended, its score (0 … 1), and the kind of error.

    `kind` is None for a right answer, and for a wrong one that was not sorted; `score` is None for
    a row that was not a part of the run.
    """

    model: str
    text: str | None
    state: str
    score: float | None
    kind: str | None
    reasoning: str | None = None

    @property
    def verdict(self) -> str:
        """The score in percent, if there is one, and the outcome."""
        return self.outcome if self.score is None else f"{100 * self.score:.0f} %, {self.outcome}"

    @property
    def outcome(self) -> str:
        """The verdict on the answer, and how it ended unless the verdict says that."""
        if self.score is None:
            return self.state
        verdict = "right" if self.kind is None else f"{self.kind} ({KINDS[self.kind]})"
        return verdict if verdict.startswith(self.state) else f"{verdict}; {self.state}"


@dataclass(frozen=True, kw_only=True)
class RowView:
    """Everything that is shown of a row, with its whole texts as in the release.

    `row` has the known columns of the release; `rows` is the number of rows in the configuration.
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
        """The start and the end of the context in `input`."""
        return self.row["context_start"], self.row["context_end"]

    @property
    def instruction(self) -> str:
        """The text before the context."""
        return self.input[: self.context[0]]

    @property
    def after_context(self) -> str:
        """The text after the context, with the question."""
        return self.input[self.context[1] :]

    def marked(self, start: int = 0, end: int | None = None) -> list[tuple[str, Piece | None]]:
        """Return the text of `input` from start to end in parts, each with its piece if evidence.

        A piece inside another piece gets no separate part.
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

    Raises RulerError for a configuration or row that the release lacks.
    """
    config = _existing_config(release, config)
    size = release.size(config)
    rows = release.some_rows(config, VIEW_COLUMNS, {index}) if 0 <= index < size else iter(())
    row = next(rows, None)
    if row is None:
        raise RulerError(f"'{config}' has no row {index}: it has {size} rows, 0 to {size - 1}.")
    return RowView(
        config=config,
        rows=size,
        tokenizer=release.parse(config).tokenizer,
        row=row,
        pieces=pieces_of(row, AROUND),
        answers=tuple(_answer(release, config, row, run) for run in runs),
    )


def _existing_config(release: Release, config: str) -> str:
    """Return the name of a configuration as the release writes it: `vt_4k` for `vt_4K`."""
    parsed = release.parse(config)
    if parsed.name in release.configs:
        return parsed.name
    tasks = release.names.expand(parsed.task)
    if len(tasks) > 1:
        raise RulerError(
            f"'{config}' is a group of {len(tasks)} tasks: name one, such as "
            f"{config.replace(parsed.task, tasks[0], 1)}."
        )
    raise RulerError(
        f"The release '{release.source}' has no configuration '{config}'. "
        f"To list what it has: ruler list {release.source}"
    )


def pieces_of(row: PartialRow, around: int) -> tuple[Piece, ...]:
    """Return the evidence in text order, with `around` characters before and after each piece."""
    text = row.get("input", "")
    pieces = []
    for span in sorted(row.get("evidence") or (), key=lambda span: int(span["start"])):
        start, end = int(span["start"]), int(span["end"])
        pieces.append(
            Piece(
                before=text[max(row["context_start"], start - around) : start],
                text=text[start:end],
                after=text[end : min(row["context_end"], end + around)],
                start=start,
                end=end,
                depth=float(span["depth"]),
                answer=bool(span["answer"]),
            )
        )
    return tuple(pieces)


def _answer(release: Release, config: str, row: PartialRow, run: Path) -> RunAnswer:
    """Return how a run answered a row, scored by the rules of its results."""
    options = PredictionOptions(run, dataset=release.source, revision=release.revision)
    scores = open_scores(options)
    answers = {name: of_config.answers for name, of_config in scores.configs.items()}
    memories = answers_from_memory(answers, release)
    index = int(row["index"])
    row = {**row, "memory": memories.get(config, {}).get(index)}
    of_config = scores.configs.get(config)
    scored = of_config.by_index.get(index) if of_config else None
    if of_config is None or scored is None:
        state = "not a row of this run"
        return RunAnswer(
            model=str(scores.model or run), text=None, state=state, score=None, kind=None
        )
    scored = replace(scored, row=row)
    answer, error = scored.prediction, error_of(scored, of_config.task, of_config.language_rules)
    return RunAnswer(
        model=str(scores.model or run),
        text=None if answer is None or answer.failed else answer.text,
        state=state_of(answer),
        score=scored.score,
        kind=None if error is None else error.kind,
        reasoning=answer.thinking if answer else None,
    )
