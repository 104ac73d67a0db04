"""The rows behind the page's numbers: what was asked and answered, wrong ones first.

Wrong rows are sorted into kinds by analysis/errors.py, which needs their texts. A release of 39,000
rows to 128k holds seven gigabytes of them, so of a large one some texts are read, for all runs at
once: an even share of the budget for each configuration, and of that every wrong row. The page says
how many rows were sorted. What the page holds is compressed, and as much as fits.

    rows_behind(runs)[0]["vt_4k"].on_page()["rows"][0]["answer"]
    fitted(page["rows"], 900_000).sentence        # "At most 12 rows of a configuration are …"
    show_command(runs[0])              # {"release": "--dataset ruler", "run": "--run runs/qwen"}
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ruler_common.text import shortened
from ruler_eval.analysis.errors import error_of, memory_of
from ruler_eval.frozen_release import BATCH_ROWS, PartialRow
from ruler_eval.prediction import Prediction, read_name
from ruler_eval.report.page.model import ShowCommand, ShownEvidence, ShownRow, ShownRows
from ruler_eval.report.page.runs import ReportedRun
from ruler_eval.report.row_view import pieces_of, state_of
from ruler_eval.score.join import join_row
from ruler_eval.score.results import Cell
from ruler_eval.tasks import family_of, row_of_prompt, scoring_task

READ_CHARACTERS = 600_000_000
"""Of the releases' texts, for the whole page: with those of 39,000 rows it takes some seconds."""
_COLUMNS = ("outputs", "question", "context_start", "context_end", "evidence", "none_word")
_CHARACTERS = 4  # of a token, about
_BLANK: PartialRow = {  # a row of which nothing is known
    **{"input": "", "outputs": [], "context_start": 0, "context_end": 0, "evidence": []},
    "none_word": None,
}
MOST_ROWS = 20  # of a configuration that the page holds
LONGEST_ANSWER = 1200  # characters
_AROUND = 90  # characters shown before and after a piece of evidence
_LONGEST_EVIDENCE = 240
_MOST_EVIDENCE = 12
_LONGEST_QUESTION = 400
_LONGEST_REFERENCE = 120
_MOST_REFERENCES = 12
# Where no more than pieces of a prompt are known (Prediction.known_prompt).
_LEFT_OUT = re.compile(r"…?\.{8,}…?")
MOST_BYTES = 1_900_000  # of the whole page
# Rows of a configuration and characters of an answer, as much as fits.
_STEPS = (
    (MOST_ROWS, LONGEST_ANSWER),
    (MOST_ROWS, 500),
    (MOST_ROWS, 200),
    (12, 200),
    (8, 160),
    (5, 160),
    (3, 120),
    (1, 120),
    (0, 0),
)
Rows = Mapping[str, Mapping[str, ShownRows]]


class ConfigRows:
    """One run's rows of one configuration: what is wanted of them, and what was found so far.

    `scores` are by index, `wrong` the indices without the full score, `kinds` those sorted.
    """

    def __init__(self, number: int, run: ReportedRun, name: str, cell: Cell) -> None:
        self.number, self.run, self.name, self.cell = number, run, name, cell
        self.answers = run.answers[name]
        self.scores = run.rows.scores[name]
        self.wrong = [index for index, score in self.scores.items() if score < 1]
        self.right = [index for index, score in self.scores.items() if score >= 1]
        self.order = [*self.wrong, *self.right][:MOST_ROWS]
        config = read_name(run.names, name, run.release is not None)
        self.task = scoring_task(config.task, config.dataset, run.release)
        self.family = family_of(config.task, config.dataset, run.release)
        self.language = config.instruction_language if config.dataset == "oneruler" else None
        self.kinds: dict[int, str] = {}
        self.shown: dict[int, ShownRow] = {}
        for index in self.wrong:  # their kinds do not depend on their texts
            if (answer := self.answers.get(index)) is None or answer.failed:
                outputs = [*answer.outputs] if answer and answer.outputs else []
                self._sort(index, {**_BLANK, "outputs": outputs}, answer)

    def prefer(self, indices: Collection[int]) -> None:
        """Show these rows before others: those that tell it from other runs."""
        every = [*self.wrong, *self.right]
        first = [index for index in every if index in indices]
        rest = [index for index in every if index not in indices]
        chosen = [*first, *rest[: MOST_ROWS - len(first)]]
        self.order = sorted(chosen, key=lambda i: (self.scores[i] >= 1, i not in indices))

    @property
    def file(self) -> tuple[object, ...]:
        """What is the same for configurations whose rows are read together."""
        release = self.run.release
        return None if release is None else release.root, self.name

    @property
    def wanted(self) -> set[int]:
        """The rows that are to be shown or sorted, and are not yet."""
        return (set(self.order) - self.shown.keys()) | (set(self.wrong) - self.kinds.keys())

    def take(self, row: PartialRow, sorted_so: dict[object, str | None]) -> None:
        """Sort a wrong row into its kind, if its text is there, and keep what is shown of it.

        `sorted_so` are the kinds of the row's answers so far: near models often give the same.
        """
        index = int(row["index"])
        answer = self.answers.get(index)
        if (release := self.run.release) is not None:
            row = {**row, "memory": memory_of(self.name, release, self.run.memory).get(index)}
        if "input" in row and self.scores[index] < 1 and index not in self.kinds:
            said = self._said(row, answer)
            if said not in sorted_so:
                self._sort(index, row, answer)
                sorted_so[said] = self.kinds.get(index)
            elif (kind := sorted_so[said]) is not None:
                self.kinds[index] = kind
        if index in self.order:
            self.shown[index] = self._shown(index, row)

    def _said(self, row: PartialRow, answer: Prediction | None) -> object:
        """All that the kind of an answer to one row depends on."""
        if answer is None:
            return None
        rules = self.run.rules
        how = rules.compat, rules.cut, rules.model if rules.compat else None
        ended = answer.finish_reason, answer.error, answer.thinking, answer.thinking_ended
        return (*how, *ended, answer.text, answer.outputs, id(row["input"]), row.get("memory"))

    def on_page(self) -> ShownRows:
        """Return what the page holds of them; only the answer of a row that was not found."""
        rows = [self.shown.get(index) or self._shown(index, None) for index in self.order]
        return {"n": len(self.scores), "wrong": len(self.wrong), "rows": rows}

    def _sort(self, index: int, row: PartialRow, answer: Prediction | None) -> None:
        samples = [] if answer is None else [answer]
        error = error_of(join_row(row, samples, self.task, self.language, self.run.rules))
        if error is not None:
            self.kinds[index] = error.kind

    def _shown(self, index: int, row: PartialRow | None) -> ShownRow:
        score, answer = self.scores[index], self.answers.get(index)
        shown = shown_row(index, score, self.kinds.get(index), row, answer)
        if shown["state"] == "ended" and self.run.states[self.name][index] == "truncated":
            shown["state"] = "truncated"
        return shown


def rows_behind(
    runs: Sequence[ReportedRun], every_error: bool = False
) -> list[dict[str, ConfigRows]]:
    """For each run the rows of its configurations; none for a run without answers.

    With `every_error` all texts are read that sorting the wrong rows takes.
    """
    together: dict[tuple[object, ...], list[ConfigRows]] = {}
    for number, run in enumerate(runs):
        for name, cell in run.results["configurations"].items() if run.answers else ():
            rows = ConfigRows(number, run, name, cell)
            together.setdefault(rows.file, []).append(rows)
    _prefer_what_differs([rows for file in together.values() for rows in file])
    files = list(together.values())
    most = [_group_size(file) * len(_groups(file)) for file in files]
    shares = most if every_error else fair_shares(most, READ_CHARACTERS)
    found: list[dict[str, ConfigRows]] = [{} for _ in runs]
    for file, share in zip(files, shares, strict=True):
        groups = max(1, share // size) if (size := _group_size(file)) else 0
        _collect(file, groups)
        for rows in file:
            found[rows.number][rows.name] = rows
    return found


def _prefer_what_differs(every: Sequence[ConfigRows]) -> None:
    """Let runs on the same rows show the same ones of those that only some of them got right."""
    by_name: dict[str, list[ConfigRows]] = {}
    for rows in every:
        by_name.setdefault(rows.name, []).append(rows)
    for same in by_name.values():
        if len(same) < 2:
            continue
        known = [rows.run.references[rows.name] for rows in same]
        differ = [
            index
            for index in known[0]
            if all(other.get(index) == known[0][index] for other in known)
            and len({rows.scores[index] >= 1 for rows in same}) > 1
        ]
        for rows in same:
            rows.prefer({*differ[: MOST_ROWS * 3 // 4]})


def _groups(file: Sequence[ConfigRows]) -> set[int]:
    """Return the row groups of a release's file that hold rows wanted."""
    return {index // BATCH_ROWS for rows in file for index in rows.wanted}


def _group_size(file: Sequence[ConfigRows]) -> int:
    """About how many characters a row group holds; 0 without a release."""
    first = file[0]
    return BATCH_ROWS * _CHARACTERS * first.cell["max_length"] if first.run.release else 0


def fair_shares(needs: Sequence[int], budget: int) -> list[int]:
    """Of a budget an even share for each, and what small needs leave over for the larger ones."""
    shares = [0] * len(needs)
    for done, place in enumerate(sorted(range(len(needs)), key=lambda number: needs[number])):
        shares[place] = min(needs[place], budget // (len(needs) - done))
        budget -= shares[place]
    return shares


def _collect(file: Sequence[ConfigRows], groups: int) -> None:
    """Read one file's rows for every run on it, the texts of no more than so many row groups."""
    first = file[0]
    if first.run.release is None:
        together = [(index, rows) for rows in file for index in rows.wanted & rows.answers.keys()]
        number = itemgetter(0)
        for index, several in groupby(sorted(together, key=number), key=number):
            sorted_so: dict[object, str | None] = {}
            made: dict[tuple[object, ...], PartialRow | None] = {}  # runs on one row share its text
            for _, rows in several:
                answer = rows.answers[index]
                held = answer.prompt, id(answer.columns), answer.outputs, answer.question
                if held not in made:
                    made[held] = _of_file(answer, rows)
                if (row := made[held]) is not None:
                    rows.take(row, sorted_so)
        return
    for columns, most in (((*_COLUMNS, "input"), groups), (_COLUMNS, None)):
        wanted = [rows.wanted if most else set(rows.order) - rows.shown.keys() for rows in file]
        if indices := set().union(*wanted):
            for row in first.run.release.some_rows(first.name, columns, indices, most):
                sorted_so = {}
                for rows, mine in zip(file, wanted, strict=True):
                    if row["index"] in mine:
                        rows.take(row, sorted_so)


def _of_file(answer: Prediction, rows: ConfigRows) -> PartialRow | None:
    """Return a row as far as the file of its answer holds it.

    Without a prompt its text is empty.
    """
    if not answer.outputs:
        return None
    if (prompt := answer.known_prompt) is not None:
        row = row_of_prompt(prompt, answer.outputs, rows.family, answer.columns)
    else:
        row = {**_BLANK, "outputs": list(answer.outputs)}
    return {"index": answer.index, "question": answer.question or "", **row}


def shown_row(
    index: int, score: float, kind: str | None, row: PartialRow | None, answer: Prediction | None
) -> ShownRow:
    """Return a row's place on the page; `row` and `answer` are None where they are not known."""
    known: Mapping[str, Any] = row or {}
    question = str(known.get("question") or (answer.question if answer else None) or "")
    references = list(known.get("outputs") or (answer.outputs if answer else None) or ())
    shown = [shortened(text, _LONGEST_REFERENCE) for text in references[:_MOST_REFERENCES]]
    if len(references) > _MOST_REFERENCES:
        shown.append(f"… and {len(references) - _MOST_REFERENCES} more")
    return {
        "index": index,
        "score": round(score, 4),
        "kind": kind,
        "question": shortened(question.strip(), _LONGEST_QUESTION),
        "references": shown,
        "answer": None if answer is None else shortened(answer.text.strip(), LONGEST_ANSWER),
        "state": state_of(answer),
        "evidence": list(_evidence(known)),
    }


def _evidence(row: Mapping[str, Any]) -> Iterator[ShownEvidence]:
    """Yield the evidence of the answer, in text order; distractors as long as there is room."""
    spans = sorted(row.get("evidence") or [], key=lambda span: not span["answer"])
    known = {**_BLANK, **row, "evidence": spans[:_MOST_EVIDENCE]}
    for piece in pieces_of(known, _AROUND):
        shown: ShownEvidence = {
            "depth": round(min(1.0, max(0.0, piece.depth)), 4),
            "answer": piece.answer,
        }
        if piece.text.strip("."):
            parts = (
                ("…" if len(piece.before) == _AROUND else "") + shortened(piece.before, _AROUND),
                shortened(piece.text, _LONGEST_EVIDENCE),
                shortened(piece.after, _AROUND) + ("…" if len(piece.after) == _AROUND else ""),
            )
            shown["text"] = [_LEFT_OUT.sub(" … ", part) for part in parts]
        yield shown


class FittedRows(NamedTuple):
    """The rows, compressed, and a sentence about what was left out."""

    text: str
    sentence: str


def fitted(rows: Rows, most_bytes: int) -> FittedRows:
    """As many rows and as much of their answers as fit into `most_bytes`."""
    for most_rows, most_characters in _STEPS:
        text = packed(json.dumps(_less(rows, most_rows, most_characters), separators=(",", ":")))
        if len(text) <= most_bytes:
            break
    return FittedRows(
        text,
        f"At most {most_rows} rows of a configuration are in the page, their answers shortened to "
        f"{most_characters:,} characters.",
    )


def packed(text: str) -> str:
    """Return a text, compressed, in base64."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _less(rows: Rows, most_rows: int, most_characters: int) -> dict[str, dict[str, Any]]:
    return {
        series: {
            name: {
                **known,
                "rows": [_short(row, most_characters) for row in known["rows"][:most_rows]],
            }
            for name, known in configurations.items()
        }
        for series, configurations in rows.items()
    }


def _short(row: ShownRow, most: int) -> ShownRow:
    answer = row["answer"]
    if answer is None or len(answer) <= most + 40:  # room for the number of characters left out
        return row
    return {**row, "answer": f"{answer[:most]} …"}


def show_command(run: ReportedRun) -> ShowCommand | None:
    """Return the arguments by which `ruler show` shows a row of the run and its answer."""
    if (release := run.release) is None:
        return None
    at = f" --revision {release.revision}" if release.revision else ""
    place = release.source if release.revision else _place(Path(release.source))
    return {
        "release": f"--dataset {place}{at}",
        "run": f"--run {_place(run.places[0])}" if len(run.places) == 1 else "",
    }


def _place(path: Path) -> str:
    """Return a path as a shell takes it, from this folder or the user's own.

    A page may be published.
    """
    whole = path.absolute()
    for root, before in ((Path.cwd(), ""), (Path.home(), "~/")):
        if whole != root and whole.is_relative_to(root):
            return before + _quoted(whole.relative_to(root))
    return _quoted(whole)


def _quoted(path: Path) -> str:
    return shortened(shlex.quote(path.as_posix()), 1000)
