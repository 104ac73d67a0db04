"""The rows behind the page's numbers: what was asked and answered, wrong ones first.

Wrong rows are sorted into kinds by eval/analysis/error_kinds.py, which needs their texts. A release
at 128k holds gigabytes, so of a large one only some texts are read: an even share of the budget for
each configuration. The page says how many rows were sorted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eval.analysis.error_kinds import error_of
from eval.analysis.prompt_rows import row_of_prompt
from eval.frozen_release import BATCH_ROWS, Row
from eval.report.page.page_model import ShownEvidence, ShownRow, ShownRows
from eval.report.page.page_runs import ReportedRun
from eval.report.page.visible_text import shortened
from eval.score import join
from eval.score.config_naming import read_name
from eval.score.prediction import Prediction
from eval.score.results_file import Cell

MOST_ROWS = 20
"""Rows of a configuration that the page holds."""
SORTED_CHARACTERS = 12_000_000
"""Of the texts that are sorted into kinds of errors, for the whole page."""
READ_CHARACTERS = 500_000_000
"""Of the texts that are read at all: a row group of a release is read whole."""
_COLUMNS = ("outputs", "question", "context_start", "context_end", "evidence", "none_word")
_CHARACTERS = 4  # of a token, about
_AROUND = 90  # characters shown before and after a piece of evidence
_LONGEST_EVIDENCE = 240
_MOST_EVIDENCE = 12
_LONGEST_QUESTION = 400
_LONGEST_REFERENCE = 120
_MOST_REFERENCES = 12
LONGEST_ANSWER = 1200
_LEFT_OUT = re.compile(r"…?\.{8,}…?")
"""Where a data file holds no more than pieces of a prompt (eval/score/reference_answers.py)."""
_BLANK: Row = {
    **{"input": "", "outputs": [], "context_start": 0, "context_end": 0, "evidence": []},
    "none_word": None,
}
"""A row of which nothing is known."""


@dataclass(kw_only=True)
class CellRows:
    """A configuration's rows: what is shown, and the kinds of those that were sorted."""

    n: int
    wrong: int
    sorted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    shown: list[ShownRow] = field(default_factory=list)

    @property
    def rows(self) -> ShownRows:
        """As the page holds them."""
        return {"n": self.n, "wrong": self.wrong, "rows": self.shown}


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The rows of one configuration to show, how many to sort and how many row groups to read."""

    run: ReportedRun
    name: str
    cell: Cell
    wrong: Sequence[int]
    shown: Sequence[int]
    to_sort: int = 0
    groups: int = 0

    @property
    def answered(self) -> list[int]:
        """The wrong rows that have an answer: their kinds depend on their texts."""
        answers = self.run.answers[self.name]
        return [i for i in self.wrong if i in answers and not answers[i].failed]


def rows_behind(runs: Sequence[ReportedRun]) -> list[dict[str, CellRows]]:
    """For each run the rows of its configurations; none for a run without answers."""
    plans = [plan for run in runs if run.answers for plan in _first_plans(run)]
    found: list[dict[str, CellRows]] = [{} for _ in runs]
    for plan in _within_budget(plans):
        number = next(i for i, run in enumerate(runs) if run is plan.run)
        found[number][plan.name] = _collect(plan)
    return found


def _first_plans(run: ReportedRun) -> Iterator[_Plan]:
    for name, cell in run.results["configurations"].items():
        scored = list(zip(cell["rows"]["index"], cell["rows"]["score"], strict=True))
        wrong = [index for index, score in scored if score < 1]
        right = [index for index, score in scored if score >= 1]
        shown = [*wrong, *right][:MOST_ROWS]
        yield _Plan(run=run, name=name, cell=cell, wrong=wrong, shown=shown)


def _within_budget(plans: Sequence[_Plan]) -> list[_Plan]:
    texts = [_CHARACTERS * plan.cell["max_length"] if _has_texts(plan) else 0 for plan in plans]
    needs = [size * len(plan.answered) for size, plan in zip(texts, plans, strict=True)]
    shares = fair_shares(needs, SORTED_CHARACTERS)
    groups = [len({index // BATCH_ROWS for index in (*p.shown, *p.wrong)}) for p in plans]
    sizes = [size * BATCH_ROWS for size in texts]
    reads = fair_shares(
        [size * count for size, count in zip(sizes, groups, strict=True)], READ_CHARACTERS
    )
    return [
        _Plan(
            run=plan.run,
            name=plan.name,
            cell=plan.cell,
            wrong=plan.wrong,
            shown=plan.shown,
            to_sort=max(1, share // size) if size else len(plan.wrong),
            groups=max(1, read // (size * BATCH_ROWS)) if size else 0,
        )
        for plan, size, share, read in zip(plans, texts, shares, reads, strict=True)
    ]


def _has_texts(plan: _Plan) -> bool:
    if plan.run.release is not None:
        return True
    first = next(iter(plan.run.answers[plan.name].values()), None)
    return first is not None and first.prompt is not None


def fair_shares(needs: Sequence[int], budget: int) -> list[int]:
    """Of a budget an even share for each, and what small needs leave over for the larger ones."""
    shares = [0] * len(needs)
    for done, place in enumerate(sorted(range(len(needs)), key=lambda number: needs[number])):
        shares[place] = min(needs[place], budget // (len(needs) - done))
        budget -= shares[place]
    return shares


def _collect(plan: _Plan) -> CellRows:
    cell = plan.cell["rows"]
    scores = dict(zip(cell["index"], cell["score"], strict=True))
    found = CellRows(n=len(scores), wrong=len(plan.wrong))
    config = read_name(plan.run.names, plan.name, plan.run.release is not None)
    task = join.rule_task(config.task, plan.run.release)
    language = config.instruction_language if config.dataset == "oneruler" else None
    answers = plan.run.answers[plan.name]
    to_sort = plan.answered[: plan.to_sort]
    rows = _rows(plan, {*plan.shown, *to_sort}, task)
    for index, row in rows.items():
        join.same_references(row, answers.get(index))
    unanswered = set(plan.wrong) - set(plan.answered)
    chosen = dict.fromkeys(sorted(unanswered), _BLANK)
    chosen |= {index: rows[index] for index in to_sort if "input" in rows.get(index, {})}
    errors = {
        index: error_of(row, answers.get(index), task, language, plan.run.rules)
        for index, row in chosen.items()
    }
    kinds = {index: error.kind for index, error in errors.items() if error is not None}
    found.kinds = Counter(kinds.values())
    found.sorted = len(kinds)
    truncated = set(cell["truncated"])
    found.shown = [
        _shown(index, scores[index], kinds.get(index), rows.get(index), answers.get(index))
        for index in plan.shown
    ]
    for shown in found.shown:
        if shown["index"] in truncated and shown["state"] == "ok":
            shown["state"] = "truncated"
    return found


def _rows(plan: _Plan, indices: set[int], task: str) -> dict[int, Row]:
    """The rows by index, those that are shown first; with their `input` where it is known."""
    order = [*plan.shown, *sorted(indices - set(plan.shown))]
    release, answers = plan.run.release, plan.run.answers[plan.name]
    if release is None:
        of_files = {i: _of_file(answers[i], task, plan) for i in order if i in answers}
        return {index: row for index, row in of_files.items() if row is not None}
    rows = {row["index"]: row for row in release.some_rows(plan.name, _COLUMNS, indices)}
    for text in release.some_rows(plan.name, ("input",), indices, plan.groups):
        rows[text["index"]]["input"] = text["input"]
    return {index: rows[index] for index in order if index in rows}


def _of_file(answer: Prediction, task: str, plan: _Plan) -> Row | None:
    """A row as far as the file of its answer holds it; without a prompt its text is empty."""
    if not answer.outputs:
        return None
    language = plan.cell["instruction_language"] if plan.run.names.dataset == "oneruler" else None
    if answer.prompt is not None:
        row = row_of_prompt(answer.prompt, answer.outputs, task, language, answer.columns)
    else:
        row = {**_BLANK, "outputs": list(answer.outputs)}
    return {"index": answer.index, "question": answer.question or "", **row}


def _shown(
    index: int, score: float, kind: str | None, row: Row | None, answer: Prediction | None
) -> ShownRow:
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
        "state": _state(answer),
        "evidence": list(_evidence(known)),
    }


def _state(answer: Prediction | None) -> str:
    if answer is None:
        return "missing"
    if answer.finish_reason == "does_not_fit":
        return "does not fit"
    if answer.failed:
        return "failed: " + shortened(answer.error or "no reason given", _LONGEST_REFERENCE)
    return "ok"


def _evidence(row: Mapping[str, Any]) -> Iterator[ShownEvidence]:
    """The evidence that carries an answer, in text order; distractors while there is room."""
    spans = row.get("evidence") or []
    gold = [span for span in spans if span["answer"]]
    others = [span for span in spans if not span["answer"]]
    chosen = [*gold, *others][:_MOST_EVIDENCE]
    for span in sorted(chosen, key=lambda span: float(span["depth"])):
        shown: ShownEvidence = {
            "depth": round(min(1.0, max(0.0, float(span["depth"]))), 4),
            "answer": bool(span["answer"]),
        }
        if row.get("input", "")[span["start"] : span["end"]].strip("."):
            shown["text"] = _text_around(row["input"], span["start"], span["end"])
        yield shown


def _text_around(text: str, start: int, end: int) -> list[str]:
    """The text before, the evidence (shortened where it is a document), and the text after."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    found = [
        ("…" if start > _AROUND else "") + shortened(before, _AROUND),
        shortened(text[start:end], _LONGEST_EVIDENCE),
        shortened(after, _AROUND) + ("…" if end + _AROUND < len(text) else ""),
    ]
    return [_LEFT_OUT.sub(" … ", part) for part in found]
