"""Predictions and a frozen split in, one result anybody can reproduce out: results.json.

    results = score(read([Path("RUN")]), Release.open("ruler"), ScoringRules())
    results["configurations"]["vt_4k"]["score"]                        # 0 … 100, unrounded

The form of results.json is in ruler_eval/score/results_file.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import compress
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.frozen_rows import own_because
from ruler_common.manifest import has_threshold
from ruler_common.names import Names, check_name
from ruler_common.rows import full_rows
from ruler_eval.families.table import rule_task
from ruler_eval.frozen_release import PartialRow, Release, place_of
from ruler_eval.prediction import Prediction
from ruler_eval.release_languages import Languages
from ruler_eval.score import depth, intervals, join
from ruler_eval.score.aggregates import summary
from ruler_eval.score.config_naming import ScoredConfig, read_name
from ruler_eval.score.documents import mark_documents
from ruler_eval.score.effective_length import Baseline
from ruler_eval.score.evidence_alone import mark_relative
from ruler_eval.score.formats.form_reader import digest
from ruler_eval.score.formats.run_facts import RunFacts
from ruler_eval.score.prediction_files import Predictions
from ruler_eval.score.results_file import (
    FORMAT,
    Cell,
    Compat,
    CutRule,
    Results,
    RowScores,
    ScoredDataset,
)
from ruler_eval.score.trust.plausibility import AnsweredRow, doubts, sentences
from ruler_eval.score.trust.proof import proof_of
from ruler_eval.score.trust.stopped import is_part, mark_stopped
from ruler_score import ruler_score as rules_of
from ruler_score.oneruler_rules import authors_leave_out
from ruler_score.split_reasoning import ReasoningState

CUTS = ("protocol", "wrong", "score")
_NOTHING = Prediction("", 0, "")  # in place of an answer that is missing
State = Literal["ok", "missing", "failed", "cut"]
Reasoning = Literal["none", "ended", "cut"]


@dataclass(frozen=True)
class ScoringRules:
    """Which rows count as wrong whatever their text is.

    `cut` decides on an answer that was truncated at the token limit. Missing, failed and truncated
    rows are wrong; but in RULER `max_new_tokens` is part of the protocol and not a limit on it: a
    base model always runs to it, its answer is complete long before, and the published scores were
    made that way. So `protocol` (the default) scores an answer that used up RULER's fixed budget by
    its text, as the reference code does, and counts it beside the score; an answer truncated within
    its reasoning is wrong, and in ONERULER, whose models end by themselves, every truncated one is.
    `wrong` makes every truncated answer wrong, `score` reads every one.
    """

    compat: Compat | None = None
    cut: CutRule = "protocol"
    partial: bool = False
    _: KW_ONLY
    model: str = ""
    """The model's name: ONERULER's authors treat some models in ways of their own (`compat`)."""
    languages: Languages = field(default_factory=Languages)
    """With those that the release brings along (`of`)."""

    def of(self, release: Release | None) -> ScoringRules:
        """The same rules for the rows of a release."""
        return replace(self, languages=release.languages) if release else self

    @classmethod
    def parse(
        cls, compat: str | None = None, cut: str = "protocol", partial: bool = False
    ) -> ScoringRules:
        """The rules of the command line's values. Raises RulerError for an unknown one."""
        check_name("--cut", cut, CUTS, "ruler score --help")
        if compat not in (None, "authors"):
            raise RulerError(f"Unknown --compat '{compat}': it is authors, or left out.")
        return cls(cast(Compat | None, compat), cast(CutRule, cut), partial)


class RowScore(NamedTuple):
    """What became of one row: its score and strict score (0 … 1), and how its answer ended."""

    score: float
    strict: float
    state: State
    thinking: Reasoning = "none"
    cut_scored: bool = False
    found: int = 0


def row_score(
    row: Mapping[str, Any],
    prediction: Prediction | None,
    task: str,
    language: str | None,
    rules: ScoringRules,
) -> RowScore:
    """Score one row; `language` (of the instruction) marks a row of ONERULER."""
    if prediction is None:
        return RowScore(0.0, 0.0, "missing")
    if prediction.failed:
        return RowScore(0.0, 0.0, "failed")
    none_word, how = row.get("none_word") or None, (rules.compat, rules.model)
    spoken = rules.languages.rules(language) if language else None
    scored = rules_of.score_row(prediction.text, row["outputs"], task, spoken, none_word, *how)
    thinking = _thinking(prediction, scored.reasoning)
    if rules.compat == "authors":  # they leave an answer out, or read all of it
        if authors_leave_out(prediction.text, prediction.finish_reason, rules.model):
            return RowScore(0.0, 0.0, "cut", thinking)
        truncated = thinking == "cut" or prediction.finish_reason == "length"
        state: State = "cut" if truncated else "ok"
        return RowScore(scored.score, scored.strict, state, thinking, truncated, scored.found)
    if thinking != "cut" and prediction.finish_reason != "length":
        return RowScore(scored.score, scored.strict, "ok", thinking, found=scored.found)
    keep = rules.cut == "score" or (rules.cut == "protocol" and language is None)
    if keep and thinking != "cut":
        return RowScore(scored.score, scored.strict, "cut", thinking, True, scored.found)
    return RowScore(0.0, 0.0, "cut", thinking, found=scored.found)


def _thinking(prediction: Prediction, in_text: ReasoningState) -> Reasoning:
    if in_text == "truncated" or prediction.thinking_ended is False:
        return "cut"
    return "ended" if prediction.thinking else in_text


def score(
    predictions: Predictions,
    release: Release | None = None,
    rules: ScoringRules | None = None,
    baseline: Baseline = "chat",
    claimed: int | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Results:
    """Join, score and aggregate; ruler_eval/score/results_file.py has the form of the result.

    Without a release the references must be in the files. `baseline` sets the threshold of the
    effective length: `chat`, `base`, or a number; `claimed` is the model's window in tokens;
    `progress` hands on the configurations' names one by one.
    Raises RulerError if nothing can be joined, or if the run was made on other data.
    """
    rules = replace(rules or ScoringRules(), model=str(predictions.run.get("model") or ""))
    rules = rules.of(release)
    stopped = is_part(predictions.run, predictions.rows)
    if stopped:  # the rows after that were never to be asked
        rules = replace(rules, partial=True)
    notes = list(predictions.damaged)
    names = release.names if release else predictions.names
    if rules.compat is not None and names.dataset != "oneruler":
        raise RulerError("--compat authors is for ONERULER: RULER's rule is its authors' own.")
    groups = join.by_config(predictions, names)
    if release is not None:
        join.same_data(predictions.run, release)
        join.same_configurations(groups, release)
    configs = {name: read_name(names, name, release is not None) for name in groups}

    def place(name: str) -> tuple[str, str, int, int]:
        config = configs[name]
        order = names.tasks.index(config.task)
        return config.tokenizer or "", config.languages, config.max_length, order

    cells = {
        name: _cell(name, configs[name], groups[name], release, rules, notes, predictions.run)
        for name in progress(sorted(groups, key=place))
    }
    mark_relative(cells)
    if release is not None:
        mark_documents(cells, release)
    run = predictions.run
    standard = has_threshold(release.manifest) if release else None
    results: Results = {
        "format": FORMAT,
        "score_version": rules_of.SCORE_VERSION,
        "partial": rules.partial,
        "rules": {"compat": rules.compat, "cut": rules.cut},
        "dataset": _dataset(release, names, cells, run),
        "model": run.get("model"),
        "mode": run.get("mode"),
        "run": run,
        "predictions": predictions.files,
        "configurations": cells,
        "summary": summary(cells, names, standard is not False, baseline, claimed),
        "notes": notes,
    }
    if stopped:
        mark_stopped(results)
    return results


def _dataset(
    release: Release | None, names: Names, cells: Mapping[str, Any], run: Mapping[str, Any]
) -> ScoredDataset:
    if release is None:
        return {
            "name": names.dataset,
            "source": None,
            "revision": None,
            "data_version": run.get("data_version"),
            "tasks": list(names.tasks),
            "standard": None,
            "rows": run.get("rows", {}),
            "own_because": None,
        }
    manifest = release.manifest
    found: ScoredDataset = {
        "name": release.dataset,
        "source": place_of(release.source),
        "data_version": release.manifest["data_version"],
        "builder_version": release.manifest.get("builder_version"),
        "revision": release.revision,
        "seed": release.manifest.get("seed"),
        "tasks": list(names.tasks),
        "standard": has_threshold(release.manifest),
        "parameters": {task: dict(release.manifest["tasks"][task]) for task in names.tasks},
        "rows": {name: release.rows_sha256(name) for name in cells},
        "own_because": own_because(release.manifest, cells),
    }
    if release.languages.own:
        found["languages"] = {code: dict(own) for code, own in release.languages.own.items()}
    if manifest.get("mini"):
        entries = {file["config"]: file for file in manifest["files"].values()}
        found["mini"] = {n: full_rows(release.dataset, entries[n]["most_rows"]) for n in cells}
    return found


def _cell(
    name: str,
    config: ScoredConfig,
    predictions: Sequence[Prediction],
    release: Release | None,
    rules: ScoringRules,
    notes: list[str],
    run: RunFacts,
) -> Cell:
    found, duplicated = join.by_index(name, predictions, release is None, notes)
    rows = list(join.rows(name, release, found))
    if release is not None:
        join.same_rows(name, found, (row["index"] for row in rows), release)
    task = rule_task(config.task, config.dataset, release)
    language = config.instruction_language if config.dataset == "oneruler" else None
    spoken = rules.languages.rules(language) if language else None
    counted, results, credits = list[PartialRow](), list[RowScore](), list[tuple[float, float]]()
    for row in rows:
        prediction = found.get(row["index"])
        join.same_references(row, prediction)
        result = row_score(row, prediction, task, language, rules)
        if result.state == "missing" and rules.partial:
            continue
        counted.append(row)
        results.append(result)
        hits = [False] * len(row["outputs"])
        if row["marks"] and prediction is not None and _counts(result):
            hits = rules_of.references_found(prediction.text, row["outputs"], task, spoken)
        credits += depth.credits(row["marks"], result.score, hits)
    if missing := [row["index"] for row in rows if row["index"] not in found]:
        notes.append(f"{name}: {len(missing)} rows are missing, the first is row {missing[0]}")
    kept = results
    if rules.compat == "authors":  # their script leaves out what was never answered
        chosen = [_counts(result) for result in results]
        counted, kept = list(compress(counted, chosen)), list(compress(results, chosen))
    answered = [
        AnsweredRow(row["outputs"], prediction.text, result.score)
        for row, result in zip(counted, kept, strict=True)
        if (prediction := found.get(row["index"])) is not None and not prediction.failed
    ]
    odd = doubts(answered, task in rules_of.QA_TASKS)
    notes += sentences(name, odd, len(answered))
    cell: Cell = {
        "task": config.task,
        "length": config.length,
        "max_length": config.max_length,
        "tokenizer": config.tokenizer,
        "language": config.language,
        "instruction_language": config.instruction_language,
        "score": _percent([row.score for row in kept]),
        "strict": _percent([row.strict for row in kept]),
        "n": len(kept),
        "interval": intervals.percent([np.array([row.score for row in kept], dtype=float)]),
        "failed": sum(row.state == "failed" for row in results),
        "cut": sum(row.state == "cut" for row in results),
        "cut_scored": sum(row.cut_scored for row in results),
        "thinking": sum(row.thinking != "none" for row in results),
        "thinking_cut": sum(row.thinking == "cut" for row in results),
        "missing": len(missing),
        "duplicated": duplicated,
        "proof": proof_of(name, found, run, release),
        "doubts": odd,
        "does_not_fit": sum(p.finish_reason == "does_not_fit" for p in found.values()),
        "depth": depth.by_depth(credits) if config.max_length else None,  # 0k has no depths
        "rows": _rows(counted, kept, found),
    }
    if rules.compat == "authors":
        cell["dropped"] = len(results) - len(kept)
    if task in rules_of.QA_TASKS:
        cell["whole_word"] = cell["strict"]
    if task.startswith("cwe_"):
        cell["words_right"] = _mean([float(row.found) * _counts(row) for row in kept])
    return cell


def _rows(
    rows: Sequence[PartialRow], results: Sequence[RowScore], found: Mapping[int, Prediction]
) -> RowScores:
    """What later commands need of every row: its score and digests of what it asks."""
    indices = [int(row["index"]) for row in rows]
    answers = [found.get(index, _NOTHING) for index in indices]
    questions = [row.get("question") for row in rows]
    prompts = [answer.asked for answer in answers]
    known: RowScores = {
        "index": indices,
        "score": [result.score for result in results],
        "found": [result.found for result in results],
        "truncated": [i for i, r in zip(indices, results, strict=True) if r.state == "cut"],
        "references": [digest("\n".join(row["outputs"])) for row in rows],
        "question": [digest(text) for text in questions if text] if all(questions) else None,
        "prompt": [text for text in prompts if text] if all(prompts) else None,
    }
    if any(tokens := [answer.thinking_tokens for answer in answers]):
        known["thinking_tokens"] = tokens
    if any(tokens := [answer.prompt_tokens for answer in answers]):
        known["prompt_tokens"] = tokens
    return known


def _counts(row: RowScore) -> bool:
    """Whether a row's answer counts, as one that was not truncated does."""
    return row.state == "ok" or row.cut_scored


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _percent(values: Sequence[float]) -> float | None:
    mean = _mean(values)
    return None if mean is None else 100 * mean
