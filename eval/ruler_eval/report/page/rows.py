"""The rows behind the page's numbers: questions, answers, and the kinds of wrong answers.

    rows = read_page_rows(open_answered_runs([Path("runs/qwen")]))
    rows.by_run[0]["vt_4k"].kinds[7]                  # "incomplete"
    rows.dialog["vt_4k"][0]["answers"]["Qwen"]["text"]
    text, sentence = fit_rows(rows.dialog, 900_000)   # "At most 10 rows of a configuration are …"

The dialog of the page shows a few rows of each configuration, with the text around their evidence
whatever the length. Wrong rows are sorted into kinds by analysis/errors.py, which reads their whole
texts: seven gigabytes in a release of 39,000 rows to 128k. Of a large release only the first rows
of each configuration are sorted, as many of a long one as of a short one, and the page says so. If
a row has several samples, the first is shown and sorted.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ruler_common.text import shortened
from ruler_eval.analysis.errors import ERROR_COLUMNS, answers_from_memory, error_of
from ruler_eval.figures.errors import BARS_NOTE, TaskErrors
from ruler_eval.figures.series import Runs
from ruler_eval.frozen_release import PartialRow
from ruler_eval.prediction import state_of
from ruler_eval.report.page.answers import AnsweredRun
from ruler_eval.report.row_view import pieces_of
from ruler_eval.score.results import RowState, row_values
from ruler_eval.score.rows import ConfigScores
from ruler_eval.tasks import family_of, row_of_prompt

SORTED_CHARACTERS = 1_500_000_000
"""Characters of the releases' texts in which wrong rows are sorted into kinds, unless all are."""
MIN_SORTED_ROWS = 50  # of a configuration, however long it is
_TOKEN_CHARACTERS = 4  # about
_NO_TEXT: PartialRow = {
    "input": "",
    "outputs": [],
    "context_start": 0,
    "context_end": 0,
    "evidence": [],
    "none_word": None,
}
"""A row whose text is unknown."""
MAX_BYTES = 1_900_000  # of the whole page
MAX_ROWS = 20  # rows of a configuration on the page
_MAX_DIFFERING = 15  # those of them that only some runs got right, if other rows are wrong
MAX_ANSWER = 1200  # characters
_MIN_ANSWER = 150  # characters; if the answers' beginnings do not fit, the page has fewer rows
_AROUND = 90  # characters shown before and after a piece of evidence
_MAX_PIECE = 240  # characters
_MAX_PIECES = 12
_MAX_QUESTION = 400  # characters
_MAX_REFERENCE = 120  # characters
_MAX_REFERENCES = 12
_OMITTED = re.compile(r"…?\.{8,}…?")
"""What Prediction.known_prompt has between the pieces of a prompt."""


@dataclass(frozen=True, kw_only=True)
class ConfigRows:
    """One run's rows of one configuration, by index, and the kinds of its errors."""

    run: AnsweredRun
    scored: ConfigScores
    scores: Mapping[int, float]  # 0 … 1
    states: Mapping[int, RowState]
    memory: Mapping[int, str]  # the run's answers without documents (analysis/errors.py)
    wrong: Sequence[int]  # the rows without the full score
    # The wrong rows that are sorted; None if the first of several samples is right.
    kinds: dict[int, str | None] = field(default_factory=dict)

    def kind_of(self, row: PartialRow) -> str | None:
        """Return the kind of error of the answer to a row; None if the answer is right."""
        index = row["index"]
        if index in self.kinds:
            return self.kinds[index]
        if self.scores[index] >= 1 or "input" not in row:
            return None
        row = {**row, "memory": self.memory.get(index)}
        scored = replace(self.scored.by_index[index], row=row)
        error = error_of(scored, self.scored.task, self.scored.language_rules)
        return None if error is None else error.kind


class PageRows(NamedTuple):
    """All rows of each run, and the rows that the page's dialog shows, by configuration."""

    by_run: list[dict[str, ConfigRows]]
    dialog: dict[str, list[dict[str, Any]]]


def read_page_rows(runs: Sequence[AnsweredRun], every_error: bool = False) -> PageRows:
    """Read the rows behind the page's numbers; a run without answers has none.

    With `every_error` all wrong rows are sorted into kinds.
    """
    by_run = [_rows_of(run) for run in runs]
    # Runs on the same configuration of the same release are read together.
    groups: dict[tuple[Path | None, str], list[ConfigRows]] = {}
    for rows_by_config in by_run:
        for name, rows in rows_by_config.items():
            root = rows.run.release.root if rows.run.release else None
            groups.setdefault((root, name), []).append(rows)
    tokens = sum(group[0].scored.config.max_length for group in groups.values())
    end = max(MIN_SORTED_ROWS, SORTED_CHARACTERS // (_TOKEN_CHARACTERS * max(1, tokens)))
    dialog: dict[str, list[dict[str, Any]]] = {}
    for (_, name), group in groups.items():
        dialog.setdefault(name, []).extend(_read_group(group, None if every_error else end))
    return PageRows(by_run, dialog)


def _read_group(group: Sequence[ConfigRows], end: int | None) -> list[dict[str, Any]]:
    """Sort the wrong rows below the index `end`, and return the rows that the dialog shows."""
    to_sort = set()
    for rows in group:
        for index in rows.wrong:
            if index not in rows.kinds and (end is None or index < end):
                to_sort.add(index)
    # Several rows of an index if the runs were asked with different texts.
    chosen: dict[int, list[dict[str, Any]]] = {index: [] for index in choose_rows(group)}
    for row, runs in _read(group, to_sort.union(chosen)):
        index = row["index"]
        if index in to_sort and "input" in row:
            for rows in runs:
                if rows.scores[index] < 1:
                    rows.kinds[index] = rows.kind_of(row)
        if index in chosen:
            chosen[index].append(dialog_row(row, runs))
    return [row for rows_of_index in chosen.values() for row in rows_of_index]


def _rows_of(run: AnsweredRun) -> dict[str, ConfigRows]:
    """Return the rows of a run by configuration, with the failed rows sorted."""
    scores, states = run.rows.scores, row_values(run.results, "state")
    memories: dict[str, dict[int, str]] = {}
    if run.release is not None:
        answers = {name: scores_of.answers for name, scores_of in run.configs.items()}
        memories = answers_from_memory(answers, run.release)
    rows_by_config = {}
    for name, scores_of in run.configs.items():
        if name not in run.results["configurations"]:
            continue
        rows = rows_by_config[name] = ConfigRows(
            run=run,
            scored=scores_of,
            scores=scores[name],
            states=states[name],
            memory=memories.get(name, {}),
            wrong=[index for index, score in scores[name].items() if score < 1],
        )
        for index in rows.wrong:  # the kinds of failed rows do not depend on their texts
            kind = scores_of.by_index[index].kind
            if kind in ("missing", "does not fit", "failed"):
                rows.kinds[index] = kind
    return rows_by_config


def choose_rows(group: Sequence[ConfigRows]) -> list[int]:
    """Return the rows to show: those that only some runs got right, then wrong, then right ones."""
    verdicts: dict[int, set[bool]] = {}  # whether the runs got a row right
    for rows in group:
        for index, score in rows.scores.items():
            verdicts.setdefault(index, set()).add(score >= 1)
    differing: list[int] = []
    wrong: list[int] = []
    right: list[int] = []
    for index, verdict in verdicts.items():
        (differing if len(verdict) > 1 else right if True in verdict else wrong).append(index)
    chosen = differing[:_MAX_DIFFERING] + wrong + differing[_MAX_DIFFERING:] + right
    return chosen[:MAX_ROWS]


def _read(
    group: Sequence[ConfigRows], indices: Collection[int]
) -> Iterator[tuple[PartialRow, list[ConfigRows]]]:
    """Yield rows with the runs that answered them.

    A row's texts are those of its release, or else those in the files of answers, of which each
    run may have different ones.
    """
    release = group[0].run.release
    if release is not None:
        for row in release.some_rows(group[0].scored.name, ERROR_COLUMNS, indices):
            yield row, [rows for rows in group if row["index"] in rows.scores]
        return
    for index in sorted(indices):
        by_content: dict[object, list[ConfigRows]] = {}
        for rows in group:
            if index in rows.scores:
                answer = rows.scored.answers.get(index)
                content = answer and (
                    answer.prompt, id(answer.columns), answer.outputs, answer.question
                )  # fmt: skip
                by_content.setdefault(content, []).append(rows)
        for runs in by_content.values():
            yield _row_in_file(index, runs[0]), runs


def _row_in_file(index: int, rows: ConfigRows) -> PartialRow:
    """Return what the file of an answer contains of the answer's row."""
    answer = rows.scored.answers.get(index)
    if answer is None or not answer.outputs:
        return {"index": index}
    row: PartialRow = {**_NO_TEXT, "outputs": list(answer.outputs)}
    prompt = answer.known_prompt
    if prompt is not None:
        config = rows.scored.config
        family = family_of(config.task, config.dataset, rows.run.release)
        row = row_of_prompt(prompt, answer.outputs, family, answer.columns)
    return {"index": index, "question": answer.question or "", **row}


def dialog_row(row: PartialRow, runs: Sequence[ConfigRows]) -> dict[str, Any]:
    """Return a row as the page's dialog shows it, with the runs' answers by the runs' labels."""
    index = row["index"]
    answers = {}
    for rows in runs:
        answer = rows.scored.answers.get(index)
        state = state_of(answer)
        if state == "ended" and rows.states[index] == "truncated":
            state = "truncated"
        if rows.scored.repeats > 1:
            state = f"the first of {rows.scored.repeats} samples: {state}"
        has_text = answer is not None and not answer.failed
        answers[rows.run.label] = {
            "score": round(rows.scores[index], 4),
            "kind": rows.kind_of(row),
            "text": shortened(answer.text.strip(), MAX_ANSWER) if answer and has_text else None,
            "state": state,
        }
        if answer is not None and "outputs" not in row:
            row = {**row, "outputs": answer.outputs or (), "question": answer.question or ""}
    references = list(row.get("outputs", ()))
    texts = [shortened(text, _MAX_REFERENCE) for text in references[:_MAX_REFERENCES]]
    if len(references) > _MAX_REFERENCES:
        texts.append(f"… and {len(references) - _MAX_REFERENCES} more")
    return {
        "index": int(index),
        "question": shortened(str(row.get("question") or "").strip(), _MAX_QUESTION),
        "references": texts,
        "evidence": _evidence(row),
        "answers": answers,
    }


def _evidence(row: PartialRow) -> list[dict[str, Any]]:
    """Return the pieces of evidence in text order; those of the answer take precedence."""
    pieces = sorted(pieces_of(row, _AROUND), key=lambda piece: (not piece.answer, piece.start))
    evidence = []
    for piece in sorted(pieces[:_MAX_PIECES], key=lambda piece: piece.start):
        item: dict[str, Any] = {
            "depth": round(min(1.0, max(0.0, piece.depth)), 4),
            "answer": piece.answer,
        }
        if piece.text.strip("."):
            texts = (
                f"{'…' if len(piece.before) == _AROUND else ''}{shortened(piece.before, _AROUND)}",
                shortened(piece.text, _MAX_PIECE),
                f"{shortened(piece.after, _AROUND)}{'…' if len(piece.after) == _AROUND else ''}",
            )
            item["text"] = [_OMITTED.sub(" … ", text) for text in texts]
        evidence.append(item)
    return evidence


def count_errors(runs: Runs, rows_of_runs: Sequence[Mapping[str, ConfigRows]]) -> list[TaskErrors]:
    """Count the kinds of errors of each series and task that has rows."""
    errors = []
    for series in runs.series:
        rows_by_config = rows_of_runs[series.run_number]
        for task in runs.tasks:
            configs = []
            kinds: Counter[str] = Counter()
            rows = wrong = 0
            for name, cell in series.cells.items():
                if cell["task"] == task and name in rows_by_config:
                    configs.append(name)
                    of_config = rows_by_config[name]
                    rows += len(of_config.scores)
                    wrong += len(of_config.wrong)
                    wrong -= sum(kind is None for kind in of_config.kinds.values())
                    kinds += kinds_of(of_config)
            if configs:
                errors.append(TaskErrors(series.id, task, configs, rows, wrong, kinds))
    return errors


def kinds_of(rows: ConfigRows) -> Counter[str]:
    """Return how often each kind of error was found among the sorted rows of a configuration."""
    return Counter(kind for kind in rows.kinds.values() if kind is not None)


def error_note(runs: Sequence[AnsweredRun], errors: Sequence[TaskErrors]) -> str:
    """Return what a reader must know about the kinds: which rows were sorted, and by what."""
    wrong = sum(task.wrong for task in errors)
    sorted_rows = sum(task.kinds.total() for task in errors)
    notes = []
    if wrong:
        notes.append(BARS_NOTE)
    elif errors:
        notes.append("No row was answered wrongly.")
    if sorted_rows < wrong:
        notes.append(
            f"{sorted_rows:,} of {wrong:,} wrong rows were sorted, those among the first rows of "
            "every configuration; `ruler report --every-error` sorts all of them."
        )
    for run in runs:
        if run.problem is not None:
            notes.append(f"The rows of {run.label} and their errors are missing: {run.problem}.")
    if any(scores.repeats > 1 for run in runs for scores in run.configs.values()):
        notes.append("Of several samples of a row only the first counts here.")
    if any(_lacks_texts(run) for run in runs):
        notes.append(
            "Rows whose release was not found were sorted without their texts, so distractors "
            "were not recognized: name the release with --dataset."
        )
    return " ".join(notes)


def _lacks_texts(run: AnsweredRun) -> bool:
    """Return whether neither a release nor the files of answers have the texts of the rows."""
    if run.release is not None:
        return False
    for scores in run.configs.values():
        if scores.answers and next(iter(scores.answers.values())).known_prompt is None:
            return True
    return False


def fit_rows(dialog: Mapping[str, Sequence[dict[str, Any]]], max_bytes: int) -> tuple[str, str]:
    """Return the rows, compressed to `max_bytes` or less, and a sentence that says which they are.

    Answers become shorter until the rows fit; then every configuration has fewer rows.
    """
    max_rows, max_answer = MAX_ROWS, MAX_ANSWER
    while True:
        fewer: dict[str, list[dict[str, Any]]] = {}
        for name, rows in dialog.items():
            fewer[name] = []
            for row in rows[:max_rows]:
                answers = {}
                for model, answer in row["answers"].items():
                    text = answer["text"]
                    # 40 characters: the note of `shortened`
                    if text is not None and len(text) > max_answer + 40:
                        answer = {**answer, "text": f"{text[:max_answer]} …"}
                    answers[model] = answer
                fewer[name].append({**row, "answers": answers})
        text = packed(json.dumps(fewer, separators=(",", ":")))
        if len(text) <= max_bytes or not max_rows:
            break
        if max_answer > _MIN_ANSWER:
            max_answer //= 2
        else:
            max_rows //= 2
    if not max_rows or not any(fewer.values()):
        return text, "The rows behind the numbers are not in the page."
    return text, (
        f"At most {max_rows} rows of a configuration are in the page, their answers shortened to "
        f"{max_answer:,} characters."
    )


def packed(text: str) -> str:
    """Return a text, compressed, in base64."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def show_command(run: AnsweredRun) -> dict[str, str] | None:
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

    A page may be published, and should not show the folders of its author's machine.
    """
    whole = path.absolute()
    for root, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if whole != root and whole.is_relative_to(root):
            return prefix + shortened(shlex.quote(whole.relative_to(root).as_posix()), 1000)
    return shortened(shlex.quote(whole.as_posix()), 1000)
