"""Predictions and a frozen split in, one result anybody can reproduce out: results.json.

    results = score(read([Path("RUN")]), Release.open("ruler"), Rules())
    results["configurations"]["vt_4k"]["score"]                        # 0 … 100, unrounded

The schema (FORMAT 1; scores and intervals 0 … 100, lengths in tokens, null where unknown):

    format, score_version     numbers of this schema and of the rules (ruler_score.SCORE_VERSION)
    partial                   true: only rows with a prediction count
    rules                     {"compat": null | "authors", "cut": "protocol" | "wrong" | "score"}
    dataset                   name, source, data_version, builder_version, revision, seed,
                              files {configuration: sha256}
    model, mode, run          the model's name, the prompt mode, and all that run.json says
    predictions               {file: sha256} of what was scored
    configurations            {name: cell}
      task, length, max_length, tokenizer, language, instruction_language
      score, strict, n        the benchmark's rule, the strict variant, rows counted
      interval                95 % interval of the score, [low, high] (eval/score/intervals.py)
      missing, failed, cut    rows without a prediction; with an error or a prompt that did not fit;
                              that ended at the token limit or within a thought
      does_not_fit            those of the failed whose prompt did not fit
      cut_scored              those of the cut that were scored on what they say (see Rules)
      thinking, thinking_cut  rows with a thought; rows that ended within it
      duplicated, foreign     predictions for a row that had one; for a row that does not exist
      dropped                 compat "authors": rows left out of n
      whole_word              qa: the score by whole words; words_right: oneruler's cwe, 0 … 10
      depth                   ten bins (eval/score/depth.py), or null
      rows                    {"index": […], "score": […]}: every row's score, 0 … 1
    summary                   the tables' aggregates (eval/score/aggregates.py)
    notes                     what was missing, duplicated, foreign or damaged, in sentences
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eval.frozen_release import Release, Row
from eval.ruler_score import ruler_score as rules_of
from eval.score import depth, intervals, join
from eval.score.aggregates import summary
from eval.score.prediction_files import Prediction, Predictions
from ruler_dataset import Config, Names, RulerError, check_name, write_whole

FORMAT = 1
CUTS = ("protocol", "wrong", "score")


@dataclass(frozen=True)
class Rules:
    """How rows are counted.

    `cut` says what becomes of an answer that ended at the token limit. Missing, failed and cut
    rows are wrong; but in RULER `max_new_tokens` is part of the protocol and not a limit on it: a
    base model always runs to it, its answer is complete long before, and the published scores were
    made that way. So `protocol` (the default) scores an answer that used up RULER's fixed budget on
    what it says, as the reference code does, and counts it beside the score; an answer cut within
    its thought is wrong, and in ONERULER, whose models end by themselves, every cut answer is.
    `wrong` makes every cut answer wrong, `score` reads every one.
    """

    compat: str | None = None
    cut: str = "protocol"
    partial: bool = False

    def __post_init__(self) -> None:
        check_name("--cut", self.cut, CUTS, "ruler score --help")
        if self.compat not in (None, "authors"):
            raise RulerError(f"Unknown --compat '{self.compat}': it is authors, or left out.")


class Outcome(NamedTuple):
    """What became of one row; `state` is ok, missing, failed or cut."""

    score: float
    strict: float
    state: str
    thinking: str = "none"
    cut_scored: bool = False
    found: int = 0


def outcome(
    row: Row, prediction: Prediction | None, task: str, language: str | None, rules: Rules
) -> Outcome:
    """Score one row; `language` (of the instruction) marks a row of ONERULER."""
    if prediction is None:
        return Outcome(0.0, 0.0, "missing")
    if prediction.failed:
        return Outcome(0.0, 0.0, "failed")
    scored = rules_of.score_row(
        prediction.text, row["outputs"], task, language, row.get("none_word") or None, rules.compat
    )
    thinking = _thinking(prediction, scored.thinking)
    if thinking != "cut" and prediction.finish_reason != "length":
        return Outcome(scored.score, scored.strict, "ok", thinking, found=scored.found)
    keep = rules.cut == "score" or (rules.cut == "protocol" and language is None)
    if keep and thinking != "cut":
        return Outcome(scored.score, scored.strict, "cut", thinking, True, scored.found)
    return Outcome(0.0, 0.0, "cut", thinking)


def _thinking(prediction: Prediction, in_text: str) -> str:
    if in_text == "cut" or prediction.thinking_ended is False:
        return "cut"
    return "ended" if prediction.thinking else in_text


def score(
    predictions: Predictions,
    release: Release | None = None,
    rules: Rules | None = None,
    baseline: str | float = "chat",
    claimed: int | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> dict[str, Any]:
    """Join, score and aggregate; see the module's docstring for the result.

    Without a release the references must be in the files. `baseline` sets the threshold of the
    effective length: `chat`, `base`, or a number; `claimed` is the model's window in tokens;
    `progress` hands on the configurations' names one by one.
    Raises RulerError if nothing can be joined, or if the run was made on other data.
    """
    rules = rules or Rules()
    notes = list(predictions.damaged)
    names = release.names if release else predictions.names
    if rules.compat is not None and names.dataset != "oneruler":
        raise RulerError("--compat authors is for ONERULER: RULER's rule is its authors' own.")
    groups = join.by_config(predictions, names, notes)
    if release is not None:
        join.same_data(predictions.run, release)
    cells = {}
    for name in progress(sorted(groups, key=lambda name: _order(names, name))):
        rows = groups[name]
        if release is not None and name not in release.configs:
            notes.append(f"{name}: {len(rows)} foreign predictions; the release has no such file")
            continue
        cells[name] = _cell(name, names.parse(name), rows, release, rules, notes)
    if not cells:
        raise RulerError("None of the predictions is for this release: is --dataset right?")
    run = predictions.run
    return {
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
        "summary": summary(cells, names, baseline, claimed),
        "notes": notes,
    }


def _dataset(
    release: Release | None, names: Names, cells: Mapping[str, Any], run: Mapping[str, Any]
) -> dict[str, Any]:
    if release is None:
        known = {"data_version": run.get("data_version"), "files": run.get("files", {})}
        return {"name": names.dataset, "source": None, "revision": None, **known}
    return {
        "name": release.dataset,
        "source": release.source,
        "data_version": release.manifest["data_version"],
        "builder_version": release.manifest.get("builder_version"),
        "revision": release.revision,
        "seed": release.manifest.get("seed"),
        "files": {name: release.sha256(name) for name in cells},
    }


def _order(names: Names, name: str) -> tuple[Any, ...]:
    config = names.parse(name)
    return (config.tokenizer, config.languages, config.max_length, names.tasks.index(config.task))


def _cell(
    name: str,
    config: Config,
    predictions: Sequence[Prediction],
    release: Release | None,
    rules: Rules,
    notes: list[str],
) -> dict[str, Any]:
    found, duplicated = join.by_index(name, predictions, release is None, notes)
    rows = list(join.rows(name, release, found))
    foreign = sorted(set(found) - {int(row["index"]) for row in rows})
    if foreign:
        notes.append(f"{name}: {len(foreign)} foreign predictions, the first for row {foreign[0]}")
    task = join.rule_task(config.task, release)
    language = config.instruction_language if config.dataset == "oneruler" else None
    outcomes: dict[int, Outcome] = {}
    credits: list[tuple[float, float]] = []
    for row in rows:
        index = int(row["index"])
        prediction = found.get(index)
        join.same_references(row, prediction)
        result = outcome(row, prediction, task, language, rules)
        if result.state == "missing" and rules.partial:
            continue
        outcomes[index] = result
        counted = result.state == "ok" or result.cut_scored
        hits = [False] * len(row["outputs"])
        if prediction is not None and counted:
            hits = rules_of.references_found(prediction.text, row["outputs"], task, language)
        credits.extend(depth.credits(row["marks"], result.score, hits))
    missing = [row["index"] for row in rows if found.get(int(row["index"])) is None]
    if missing:
        notes.append(f"{name}: {len(missing)} rows are missing, the first is row {missing[0]}")
    cell = _counts(config, task, outcomes, rules)
    cell["missing"], cell["duplicated"], cell["foreign"] = len(missing), duplicated, len(foreign)
    cell["does_not_fit"] = sum(p.finish_reason == "does_not_fit" for p in found.values())
    if release is None and config.tokenizer == "tekken":
        cell["tokenizer"] = None
    cell["depth"] = depth.by_depth(credits)
    cell["rows"] = {"index": list(outcomes), "score": [row.score for row in outcomes.values()]}
    return cell


def _counts(
    config: Config, task: str, outcomes: Mapping[int, Outcome], rules: Rules
) -> dict[str, Any]:
    results = list(outcomes.values())
    kept = results
    if rules.compat == "authors":  # their script leaves out what was cut or never answered
        kept = [row for row in results if row.state == "ok" or row.cut_scored]
    bounds = intervals.interval([np.array([row.score for row in kept], dtype=float)])
    cell: dict[str, Any] = {
        "task": config.task,
        "length": config.length,
        "max_length": config.max_length,
        "tokenizer": config.tokenizer,
        "language": config.language,
        "instruction_language": config.instruction_language,
        "score": _percent([row.score for row in kept]),
        "strict": _percent([row.strict for row in kept]),
        "n": len(kept),
        "interval": [100 * bound for bound in bounds] if bounds else None,
        "failed": sum(row.state == "failed" for row in results),
        "cut": sum(row.state == "cut" for row in results),
        "cut_scored": sum(row.cut_scored for row in results),
        "thinking": sum(row.thinking != "none" for row in results),
        "thinking_cut": sum(row.thinking == "cut" for row in results),
    }
    if rules.compat == "authors":
        cell["dropped"] = len(results) - len(kept)
    if task in rules_of.QA_TASKS:
        cell["whole_word"] = cell["strict"]
    if task.startswith("cwe_"):
        cell["words_right"] = _mean([float(row.found) for row in kept])
    return cell


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _percent(values: Sequence[float]) -> float | None:
    mean = _mean(values)
    return None if mean is None else 100 * mean


def write(results: Mapping[str, Any], path: Path) -> None:
    """Write results.json, whole or not at all."""
    text = json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False, default=asdict)
    write_whole(path, text + "\n")


def load(path: Path) -> dict[str, Any]:
    """Read a results.json; a RulerError if it is none, or of a newer format."""
    try:
        results = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RulerError(f"'{path}' is no results.json: {error}") from error
    if not isinstance(results, dict) or "configurations" not in results:
        raise RulerError(f"'{path}' is no results.json of `ruler score`.")
    if results["format"] > FORMAT:
        raise RulerError(f"'{path}' has format {results['format']}: update this package.")
    return results
