"""The rows behind the page's numbers: questions, answers, and the kinds of wrong answers.

Wrong rows are sorted into kinds by analysis/errors.py, which needs their texts. A release of 39,000
rows to 128k has seven gigabytes of them, so only some texts of a large release are read, for all
runs at once: each configuration gets an even share of the budget, and within it every wrong row is
sorted. The page says how many rows were sorted. It holds as many rows as fit, compressed. If a row
has several samples, the first is shown and sorted.

    rows = read_rows(page)
    rows.by_run[0]["vt_4k"].kinds[7]                        # "incomplete"
    rows.shown["vt_4k"][0].answers[0].text
    fitted(rows.shown, 900_000).sentence       # "At most 12 rows of a configuration are …"
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ruler_common.text import shortened
from ruler_eval.analysis.errors import answers_from_memory, error_of
from ruler_eval.frozen_release import BATCH_ROWS, PartialRow
from ruler_eval.prediction import Prediction
from ruler_eval.report.page.runs import PageInput, ReportedRun
from ruler_eval.report.row_view import RowView, RunAnswer, pieces_of, state_of
from ruler_eval.score.join import JoinedConfig, join_row
from ruler_eval.score.results import RowState, row_values
from ruler_eval.tasks import family_of, row_of_prompt

READ_CHARACTERS = 600_000_000
"""Characters of the releases' texts that are read for a page; reading them takes some seconds."""
_COLUMNS = ("outputs", "question", "context_start", "context_end", "evidence", "none_word")
_TOKEN_CHARACTERS = 4  # about
_NO_TEXT: PartialRow = {
    "input": "",
    "outputs": [],
    "context_start": 0,
    "context_end": 0,
    "evidence": [],
    "none_word": None,
}
"""A row of which nothing is known."""
MAX_ROWS = 20  # rows of a configuration on the page
_MAX_DIFFERING = 15  # those of them that only some runs got right
MAX_ANSWER = 1200  # characters
_AROUND = 90  # characters shown before and after a piece of evidence
_MAX_PIECE = 240  # characters
_MAX_PIECES = 12
_MAX_QUESTION = 400  # characters
_MAX_REFERENCE = 120  # characters
_MAX_REFERENCES = 12
_LEFT_OUT = re.compile(r"…?\.{8,}…?")
"""What Prediction.known_prompt has between the pieces of a prompt."""
MAX_BYTES = 1_900_000  # of the whole page
_STEPS = (
    (MAX_ROWS, MAX_ANSWER),
    (MAX_ROWS, 500),
    (MAX_ROWS, 200),
    (12, 200),
    (8, 160),
    (5, 160),
    (3, 120),
    (1, 120),
    (0, 0),
)
"""Rows of a configuration and characters of an answer; the page has the first that fit."""


@dataclass(frozen=True, kw_only=True)
class ConfigRows:
    """One run's rows of one configuration, by index, and the kinds of its errors."""

    run: ReportedRun
    joined: JoinedConfig
    answers: Mapping[int, Prediction]
    scores: Mapping[int, float]  # 0 … 1
    states: Mapping[int, RowState]
    references: Mapping[int, str]  # digests
    memory: Mapping[int, str]  # the run's answers without documents (analysis/errors.py)
    wrong: Sequence[int]  # the rows without the full score
    # The wrong rows that are sorted; None if the first of several samples is right.
    kinds: dict[int, str | None] = field(default_factory=dict)

    def sort(self, index: int, row: PartialRow) -> None:
        """Sort a wrong answer into its kind."""
        samples = [self.answers[index]] if index in self.answers else []
        joined = self.joined
        error = error_of(join_row(row, samples, joined.task, joined.language, joined.rules))
        self.kinds[index] = None if error is None else error.kind


class PageRows(NamedTuple):
    """All rows of each run, and the rows that the page shows, by configuration."""

    by_run: list[dict[str, ConfigRows]]
    shown: dict[str, list[RowView]]


def read_rows(page: PageInput, every_error: bool = False) -> PageRows:
    """Read the rows behind the page's numbers; a run without answers has none.

    With `every_error` all texts are read that are needed to sort the wrong rows.
    """
    by_run = [_rows_of(run) for run in page.runs]
    # Runs on one file of a release, or on files with the same configuration, are read together.
    files: dict[tuple[object, str], list[ConfigRows]] = {}
    for rows_by_config in by_run:
        for name, rows in rows_by_config.items():
            root = rows.run.release.root if rows.run.release else None
            files.setdefault((root, name), []).append(rows)
    chosen = [choose_rows(file) for file in files.values()]
    sizes, needs = [], []  # characters of a row group, and of all row groups with wanted rows
    for file, indices in zip(files.values(), chosen, strict=True):
        wanted = _unsorted(file).union(indices)
        size = 0
        if file[0].run.release:
            size = BATCH_ROWS * _TOKEN_CHARACTERS * file[0].joined.config.max_length
        sizes.append(size)
        needs.append(size * len({index // BATCH_ROWS for index in wanted}))
    shares = needs if every_error else fair_shares(needs, READ_CHARACTERS)
    shown: dict[str, list[RowView]] = {}
    for file, indices, size, share in zip(files.values(), chosen, sizes, shares, strict=True):
        if file[0].run.release is None:
            views = _read_predictions(file, indices)
        else:
            views = _read_release(file, indices, max(1, share // size) if size else 0)
        shown.setdefault(file[0].joined.name, []).extend(views)
    return PageRows(by_run, shown)


def _rows_of(run: ReportedRun) -> dict[str, ConfigRows]:
    """Return the rows of a run by configuration, with the failed rows sorted."""
    results, release = run.results, run.release
    scores, states = run.rows.scores, row_values(results, "state")
    references = row_values(results, "references")
    answers = {name: joined.answers for name, joined in run.joined.items()}
    memories = {} if release is None else answers_from_memory(answers, release)
    rows_by_config = {}
    for name, joined in run.joined.items():
        if name not in results["configurations"]:
            continue
        rows = ConfigRows(
            run=run,
            joined=joined,
            answers=answers[name],
            scores=scores[name],
            states=states[name],
            references=references[name],
            memory=memories.get(name, {}),
            wrong=[index for index, score in scores[name].items() if score < 1],
        )
        for index in rows.wrong:  # the kinds of failed rows do not depend on their texts
            answer = rows.answers.get(index)
            if answer is None or answer.failed:
                outputs = [*answer.outputs] if answer and answer.outputs else []
                rows.sort(index, {**_NO_TEXT, "index": index, "outputs": outputs})
        rows_by_config[name] = rows
    return rows_by_config


def _unsorted(file: Sequence[ConfigRows]) -> set[int]:
    """Return the wrong rows of any run that are not sorted yet."""
    return {index for rows in file for index in rows.wrong if index not in rows.kinds}


def choose_rows(file: Sequence[ConfigRows]) -> list[int]:
    """Return the rows to show: those that only some runs got right, then wrong, then right ones."""
    chosen: dict[int, None] = {}
    for index, digest in file[0].references.items():
        is_shared = all(rows.references.get(index) == digest for rows in file)
        if is_shared and len({rows.scores[index] >= 1 for rows in file}) > 1:
            chosen[index] = None
        if len(chosen) == _MAX_DIFFERING:
            break
    for wrong in zip_longest(*(rows.wrong for rows in file)):  # equally many of each run
        chosen |= dict.fromkeys(index for index in wrong if index is not None)
        if len(chosen) >= MAX_ROWS:
            break
    for rows in file:
        chosen |= dict.fromkeys(rows.scores)
    return list(chosen)[:MAX_ROWS]


def fair_shares(needs: Sequence[int], budget: int) -> list[int]:
    """Divide a budget evenly; what the small needs do not use goes to the larger ones."""
    shares = [0] * len(needs)
    smallest_first = sorted(range(len(needs)), key=needs.__getitem__)
    for done, place in enumerate(smallest_first):
        shares[place] = min(needs[place], budget // (len(needs) - done))
        budget -= shares[place]
    return shares


def _read_release(
    file: Sequence[ConfigRows], indices: Sequence[int], max_groups: int
) -> list[RowView]:
    """Sort the wrong rows of one file of a release, and return the rows that are shown.

    The texts of at most `max_groups` row groups are read; of the remaining shown rows only the
    columns that the page shows.
    """
    release = file[0].run.release
    assert release is not None
    views: dict[int, RowView] = {}
    wanted = _unsorted(file).union(indices)
    for columns, groups in (((*_COLUMNS, "input"), max_groups), (_COLUMNS, None)):
        if groups is None:
            wanted = set(indices) - views.keys()
        if wanted:
            for row in release.some_rows(file[0].joined.name, columns, wanted, groups):
                index = int(row["index"])
                members = [rows for rows in file if index in rows.scores]
                _sort_answers(index, row, members)
                if index in indices:
                    views[index] = _view(index, row, members)
    return [views[index] for index in indices if index in views]


def _read_predictions(file: Sequence[ConfigRows], indices: Sequence[int]) -> list[RowView]:
    """Sort the wrong rows of runs without a release, as far as their files contain the rows."""
    views = []
    for index in sorted(_unsorted(file).union(indices)):
        # Runs on one row share its text.
        members: dict[object, list[ConfigRows]] = {}
        for rows in file:
            if index in rows.scores:
                answer = rows.answers.get(index)
                content = answer and (
                    answer.prompt, id(answer.columns), answer.outputs, answer.question
                )  # fmt: skip
                members.setdefault(content, []).append(rows)
        for same_row in members.values():
            row = _row_in_file(index, same_row[0])
            _sort_answers(index, row, same_row)
            if index in indices:
                views.append(_view(index, row, same_row))
    views.sort(key=lambda view: indices.index(view.row["index"]))
    return views


def _row_in_file(index: int, rows: ConfigRows) -> PartialRow:
    """Return what the answer's file contains of its row; the text may be empty."""
    answer = rows.answers.get(index)
    if answer is None or not answer.outputs:
        return {"index": index}
    row: PartialRow = {**_NO_TEXT, "outputs": list(answer.outputs)}
    prompt = answer.known_prompt
    if prompt is not None:
        config = rows.joined.config
        family = family_of(config.task, config.dataset, rows.run.release)
        row = row_of_prompt(prompt, answer.outputs, family, answer.columns)
    return {"index": index, "question": answer.question or "", **row}


def _sort_answers(index: int, row: PartialRow, members: Sequence[ConfigRows]) -> None:
    """Sort the wrong answers to a row into kinds, if its text is known.

    Equal answers are sorted once: similar models often give the same answer.
    """
    kinds: dict[object, str | None] = {}
    for rows in members:
        answer = rows.answers.get(index)
        if "input" not in row or rows.scores[index] >= 1 or index in rows.kinds or answer is None:
            continue
        memory = rows.memory.get(index)
        rules = rows.joined.rules
        same = (
            rules.compat, rules.cut, rules.model if rules.compat else None, memory,
            answer.finish_reason, answer.error, answer.thinking, answer.thinking_ended,
            answer.text, answer.outputs,
        )  # fmt: skip
        if same in kinds:
            rows.kinds[index] = kinds[same]
        else:
            rows.sort(index, {**row, "memory": memory})
            kinds[same] = rows.kinds[index]


def _view(index: int, row: PartialRow, members: Sequence[ConfigRows]) -> RowView:
    """Return a row with the answers of the runs that have it."""
    answers = []
    for rows in members:
        answer = rows.answers.get(index)
        state = state_of(answer)
        if state == "ended" and rows.states[index] == "truncated":
            state = "truncated"
        if rows.joined.repeats > 1:
            state = f"the first of {rows.joined.repeats} samples: {state}"
        answers.append(
            RunAnswer(
                model=rows.run.label,
                text=None if answer is None or answer.failed else answer.text,
                state=state,
                score=rows.scores[index],
                kind=rows.kinds.get(index),
            )
        )
        if answer is not None and "outputs" not in row:
            row = {**row, "outputs": answer.outputs or (), "question": answer.question or ""}
    return RowView(
        config=members[0].joined.name,
        rows=len(members[0].scores),
        tokenizer="",
        row=row,
        pieces=pieces_of(row, _AROUND),
        answers=tuple(answers),
    )


class FittedRows(NamedTuple):
    """The compressed rows, and a sentence that says how many of them are on the page."""

    text: str
    sentence: str


def fitted(shown: Mapping[str, Sequence[RowView]], max_bytes: int) -> FittedRows:
    """Return as many rows, and as much of their answers, as fit in `max_bytes`."""
    rows = {name: [dialog_row(view) for view in views] for name, views in shown.items()}
    for max_rows, max_answer in _STEPS:
        less = {}
        for name, rows_of_config in rows.items():
            less[name] = [_shorter(row, max_answer) for row in rows_of_config[:max_rows]]
        text = packed(json.dumps(less, separators=(",", ":")))
        if len(text) <= max_bytes:
            break
    sentence = (
        f"At most {max_rows} rows of a configuration are in the page, their answers shortened to "
        f"{max_answer:,} characters."
    )
    if not any(less.values()):
        sentence = "The rows behind the numbers are not in the page."
    return FittedRows(text, sentence)


def packed(text: str) -> str:
    """Return a text, compressed, in base64."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _shorter(row: dict[str, Any], max_answer: int) -> dict[str, Any]:
    answers = {}
    for model, answer in row["answers"].items():
        text = answer["text"]
        if text is not None and len(text) > max_answer + 40:  # 40: the note of `shortened`
            answer = {**answer, "text": f"{text[:max_answer]} …"}
        answers[model] = answer
    return {**row, "answers": answers}


def dialog_row(view: RowView) -> dict[str, Any]:
    """Return a row as the page's dialog shows it, with the answers by the labels of the models."""
    references = list(view.row.get("outputs", ()))
    texts = [shortened(text, _MAX_REFERENCE) for text in references[:_MAX_REFERENCES]]
    if len(references) > _MAX_REFERENCES:
        texts.append(f"… and {len(references) - _MAX_REFERENCES} more")
    answers = {}
    for answer in view.answers:
        text = None if answer.text is None else shortened(answer.text.strip(), MAX_ANSWER)
        answers[answer.model] = {
            "score": round(answer.score, 4),
            "kind": answer.kind,
            "text": text,
            "state": answer.state,
        }
    question = str(view.row.get("question") or "")
    return {
        "index": int(view.row["index"]),
        "question": shortened(question.strip(), _MAX_QUESTION),
        "references": texts,
        "evidence": list(_evidence(view)),
        "answers": answers,
    }


def _evidence(view: RowView) -> Iterator[dict[str, Any]]:
    """Yield the evidence of the answer in text order, and distractors if there is space."""
    preferred = sorted(view.pieces, key=lambda piece: not piece.answer)[:_MAX_PIECES]
    for piece in sorted(preferred, key=lambda piece: piece.start):
        shown: dict[str, Any] = {
            "depth": round(min(1.0, max(0.0, piece.depth)), 4),
            "answer": piece.answer,
        }
        if piece.text.strip("."):
            before = shortened(piece.before, _AROUND)
            after = shortened(piece.after, _AROUND)
            if len(piece.before) == _AROUND:
                before = f"…{before}"
            if len(piece.after) == _AROUND:
                after = f"{after}…"
            texts = (before, shortened(piece.text, _MAX_PIECE), after)
            shown["text"] = [_LEFT_OUT.sub(" … ", text) for text in texts]
        yield shown


def show_command(run: ReportedRun) -> dict[str, str] | None:
    """Return the arguments with which `ruler show` shows a row of the run and its answer.

    They are quoted for a shell; `run` is empty if the answers are in several places.
    """
    release = run.release
    if release is None:
        return None
    place = f"--dataset {_shell_path(Path(release.source))}"
    if release.revision:
        place = f"--dataset {release.source} --revision {release.revision}"
    answers = f"--run {_shell_path(run.places[0])}" if len(run.places) == 1 else ""
    return {"release": place, "run": answers}


def _shell_path(path: Path) -> str:
    """Return a path quoted for a shell, relative to this folder or the home folder if possible.

    A page may be published, and should not show where its author keeps the files.
    """
    whole = path.absolute()
    for root, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if whole != root and whole.is_relative_to(root):
            return prefix + shortened(shlex.quote(whole.relative_to(root).as_posix()), 1000)
    return shortened(shlex.quote(whole.as_posix()), 1000)
