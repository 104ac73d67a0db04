"""Join predictions to rows by configuration and index, reject those of other rows, score each.

    for config in join_predictions(predictions, release, rules).values():
        for joined in config.rows():
            joined.row["index"], joined.prediction, joined.results[0].score

    row_score(row, prediction, "vt", None, ScoringRules()).score                   # 0 … 1

Scoring, the kinds of errors, the page and `ruler show` all read answers through this join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import PartialRow, Release, ReleaseLanguages
from ruler_eval.prediction import Prediction, ScoredConfig, read_name
from ruler_eval.score.own_run import RunFacts
from ruler_eval.score.predictions import Predictions
from ruler_eval.score.results import Compat, Proof, RowState, TruncationRule, load
from ruler_eval.tasks import scoring_task
from ruler_score import ruler_score as rules_of
from ruler_score.oneruler_rules import authors_leave_out
from ruler_score.split_reasoning import ReasoningState

COLUMNS = ("index", "outputs", "none_word", "evidence", "question")
"""The columns that scoring needs."""
_MAX_NAMES = 4  # of configurations in a message


# ---- Scoring a row ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ScoringRules:
    """Which rows count as wrong regardless of their text.

    `truncated` is the rule for answers that end at the token limit. Missing and failed rows are
    wrong. In RULER `max_new_tokens` is part of the protocol: a base model always uses all of
    it, its answer is complete long before, and the published scores were computed that way. So
    `protocol` (the default) scores an answer that used up RULER's fixed budget by its text, as the
    reference code does, and reports the count. An answer truncated within its reasoning is wrong,
    and so is every truncated answer in ONERULER, whose models stop by themselves. `wrong` counts
    every truncated answer as wrong, `score` scores every one by its text.
    """

    compat: Compat | None = None
    truncated: TruncationRule = "protocol"
    partial: bool = False
    model: str = ""
    """The model's name: ONERULER's authors treat some models specially (`compat`)."""
    languages: ReleaseLanguages = field(default_factory=ReleaseLanguages)
    """The 26, and the custom ones of the release (`for_release`)."""

    def for_release(self, release: Release | None) -> ScoringRules:
        """Return the same rules for the rows of a release."""
        return replace(self, languages=release.languages) if release else self


def rules_of_run(files: Sequence[Path], truncated: str | None = None) -> ScoringRules:
    """Return the rules by which a RUN folder among the files was scored.

    If none was scored, `truncated` (--truncated) gives them. Raises RulerError if the two differ.
    """
    for folder in files:
        if (folder / "run.json").is_file() and (folder / "results.json").is_file():
            results = load(folder)
            used = results["rules"]
            if truncated not in (None, used["truncated"]):
                raise RulerError(
                    f"'{folder}' was scored with --truncated {used['truncated']}: leave "
                    f"--truncated out, or score the run again with --truncated {truncated}."
                )
            return ScoringRules(
                compat=used["compat"], truncated=used["truncated"], model=results["model"] or ""
            )
    return ScoringRules(truncated=cast(TruncationRule, truncated or "protocol"))


class RowScore(NamedTuple):
    """The score and strict score of one row (0 … 1), and how its answer ended."""

    score: float
    strict: float
    state: RowState
    thinking: ReasoningState = "none"
    truncated_scored: bool = False
    found: float = 0

    @property
    def counts(self) -> bool:
        """Whether the answer was scored by its text."""
        return self.state == "ok" or self.truncated_scored


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
        does_not_fit = prediction.finish_reason == "does_not_fit"
        return RowScore(0.0, 0.0, "does_not_fit" if does_not_fit else "failed")
    scored = rules_of.score_row(
        prediction.text,
        row["outputs"],
        task,
        rules.languages.rules(language) if language else None,
        row.get("none_word") or None,
        rules.compat,
        rules.model,
    )
    thinking: ReasoningState = "ended" if prediction.thinking else scored.reasoning
    if scored.reasoning == "truncated" or prediction.thinking_ended is False:
        thinking = "truncated"
    in_reasoning = thinking == "truncated"
    if rules.compat == "authors" and authors_leave_out(
        prediction.text, prediction.finish_reason, rules.model
    ):
        return RowScore(0.0, 0.0, "truncated", thinking)
    if not in_reasoning and prediction.finish_reason != "length":
        return RowScore(scored.score, scored.strict, "ok", thinking, found=scored.found)
    by_text = rules.truncated == "score" or (rules.truncated == "protocol" and language is None)
    if rules.compat == "authors" or (by_text and not in_reasoning):
        return RowScore(scored.score, scored.strict, "truncated", thinking, True, scored.found)
    return RowScore(0.0, 0.0, "truncated", thinking, found=scored.found)


# ---- The join -------------------------------------------------------------------------------


class JoinedRow(NamedTuple):
    """A row, the answers of a run to it, and their scores."""

    row: PartialRow
    samples: Sequence[Prediction]
    """The answers; empty if the row is missing."""
    results: Sequence[RowScore]
    """The score of each answer, or that of a missing row."""
    task: str
    """The task whose scoring rule applies."""
    language: str | None
    """The language of the instruction, for ONERULER's rules; None in RULER."""
    rules: ScoringRules

    @property
    def prediction(self) -> Prediction | None:
        """The first answer."""
        return self.samples[0] if self.samples else None


def join_row(
    row: PartialRow,
    samples: Sequence[Prediction],
    task: str,
    language: str | None,
    rules: ScoringRules,
) -> JoinedRow:
    """Score the answers to a row. Raises RulerError for an answer that belongs to another row."""
    results = []
    for sample in samples:
        same_outputs = sample.outputs is None or sample.outputs == tuple(row["outputs"])
        same_question = not sample.question or row.get("question") in (None, sample.question)
        if not same_outputs or not same_question:
            what = "question differs" if same_outputs else "references differ"
            raise RulerError(
                f"'{sample.where}' answers a row {row['index']} that is not the release's (its "
                f"{what}): leave --dataset out to score it by its own references."
            )
        results.append(row_score(row, sample, task, language, rules))
    if not results:
        results.append(row_score(row, None, task, language, rules))
    return JoinedRow(row, samples, results, task, language, rules)


@dataclass(frozen=True, kw_only=True)
class JoinedConfig:
    """The answers to one configuration, matched to its rows."""

    name: str
    config: ScoredConfig
    task: str
    """The task whose scoring rule applies."""
    language: str | None
    """The language of the instruction, for ONERULER's rules; None in RULER."""
    rules: ScoringRules
    release: Release | None
    samples: Mapping[int, Sequence[Prediction]]
    """The samples of each row that has any, by row index. If a row has several answers that are not
    samples (`ruler run --repeats`), the first one that did not fail counts."""
    repeats: int
    """The number of samples requested for each row."""
    duplicated: int
    """The number of repeated answers to the same rows and samples, which are not scored."""
    asked: frozenset[int] | None
    """The indices of the rows that the run was asked to answer; None for all rows."""
    proof: Proof
    """The evidence that these answers belong to these rows, by the answer with the weakest."""
    notes: Sequence[str]

    @property
    def answers(self) -> dict[int, Prediction]:
        """The first sample of each row that has any, by row index."""
        return {index: samples[0] for index, samples in self.samples.items()}

    def join(self, row: PartialRow) -> JoinedRow:
        """Score the answers to a row. Raises RulerError for an answer to another row."""
        samples = self.samples.get(int(row["index"]), ())
        return join_row(row, samples, self.task, self.language, self.rules)

    def rows(self, columns: Sequence[str] = COLUMNS) -> Iterator[JoinedRow]:
        """Yield the rows that the run was asked to answer, with their answers, in file order.

        Without a release, a row has only the columns that the prediction files have.

        Raises:
            RulerError: for an answer that belongs to another row.
        """
        if self.release is None:
            for index, samples in sorted(self.samples.items()):
                answer = samples[0]
                if not answer.outputs:
                    raise RulerError(
                        f"'{answer.where}' has no references: name the release with --dataset, "
                        "or the folder of the reference code's data with --references."
                    )
                question = answer.question
                yield self.join({"index": index, "outputs": answer.outputs, "question": question})
            return
        for row in self.release.rows(self.name, columns):
            if self.asked is None or row["index"] in self.asked or row["index"] in self.samples:
                yield self.join(row)


def join_predictions(
    predictions: Predictions, release: Release | None, rules: ScoringRules | None = None
) -> dict[str, JoinedConfig]:
    """Match predictions to the rows of their configurations.

    Configurations that the run was asked to answer are included even without predictions.

    Args:
        predictions: the predictions.
        release: the release whose rows they answer; None if the files have references.
        rules: the rules by which rows are scored.

    Returns:
        The joined configurations by name, in the order of tokenizer, languages, length and task.

    Raises:
        RulerError: for predictions on other data, configurations or rows than the release has.
    """
    names = release.names if release else predictions.names
    rules = (rules or ScoringRules()).for_release(release)
    run = predictions.run
    groups: dict[str, list[Prediction]] = {}
    for prediction in predictions.rows:
        groups.setdefault(prediction.config, []).append(prediction)
    for session in run.get("sessions", []):  # configurations without any predictions yet
        for name in session.get("configs", []):
            groups.setdefault(name, [])
    configs: dict[str, ScoredConfig] = {}
    for name, answers in groups.items():
        config = read_name(names, name, release is not None)
        if config.task not in names.tasks:
            where = f"'{answers[0].where}'" if answers else "The run"
            raise RulerError(f"{where} names '{name}', which is a group: name a single task.")
        configs[name] = config
    if release is not None:
        _check_release(run, groups, release)

    def place(name: str) -> tuple[str, str, int, int]:
        """Return the place of a configuration in the results."""
        config = configs[name]
        task = names.tasks.index(config.task)
        return config.tokenizer or "", config.languages, config.max_length, task

    joined = {}
    for name in sorted(configs, key=place):
        config = configs[name]
        samples, duplicated, notes = _by_index(name, groups[name], release is None)
        asked = None
        if release is not None:
            order = release.order(name)
            _check_rows(name, samples, order, release)
            asked = _rows_asked(name, run, order)
        joined[name] = JoinedConfig(
            name=name,
            config=config,
            task=scoring_task(config.task, config.dataset, release),
            language=config.instruction_language if config.dataset == "oneruler" else None,
            rules=rules,
            release=release,
            samples=samples,
            repeats=max(run.get("repeats", 1), max(map(len, samples.values()), default=1)),
            duplicated=duplicated,
            asked=asked,
            proof=_proof(name, samples, predictions, release),
            notes=notes,
        )
    return joined


def _by_index(
    name: str, predictions: Sequence[Prediction], self_contained: bool
) -> tuple[dict[int, list[Prediction]], int, list[str]]:
    """Return the samples to score by row index, the number of duplicates, and notes on them.

    Args:
        name: the configuration.
        predictions: all its predictions, in the order in which they were read.
        self_contained: whether the files have the references. Then rows with the same index may
            be different, as when a file numbers each of its parts from 0.
    """
    scored: dict[tuple[int, int], Prediction] = {}  # by index and sample
    duplicates = []
    for prediction in predictions:
        key = prediction.index, prediction.sample
        earlier = scored.get(key)
        if earlier is not None:
            duplicates.append(prediction)
        if earlier is None or (earlier.failed and not prediction.failed):
            scored[key] = prediction
    samples: dict[int, list[Prediction]] = {}
    for index, sample in sorted(scored):
        samples.setdefault(index, []).append(scored[index, sample])
    if not duplicates:
        return samples, 0, []
    if self_contained and any(p.outputs != samples[p.index][0].outputs for p in predictions):
        note = f"{name}: different rows have the same index; lines are numbered instead"
        return {number: [answer] for number, answer in enumerate(predictions)}, 0, [note]
    files = dict.fromkeys(prediction.where.rpartition(":")[0] for prediction in predictions)
    order = f"; read in this order: {', '.join(files)}" if len(files) > 1 else ""
    note = (
        f"{name}: {len(duplicates)} duplicated predictions, the first at {duplicates[0].where}; "
        f"for each row the first that did not fail counts{order}"
    )
    return samples, len(duplicates), [note]


def _check_release(run: RunFacts, configs: Iterable[str], release: Release) -> None:
    """Raise RulerError for a run on other data, rows or configurations than the release's."""
    dataset = run.get("dataset", release.dataset)
    if dataset != release.dataset:
        raise RulerError(f"The run is on '{dataset}', the release is '{release.dataset}'.")
    for name, run_digest in run.get("rows", {}).items():
        if name in release.configs and release.rows_sha256(name) != run_digest:
            raise RulerError(
                f"'{name}' was run on rows with the digest {run_digest[:12]}…, this release's is "
                f"{release.rows_sha256(name)[:12]}…: name the release that was run with --dataset."
            )
    unknown = [name for name in configs if name not in release.configs]
    if unknown:
        raise RulerError(
            f"There are predictions for {_list(unknown)}, which '{release.source}' does not have; "
            f"it has {_list(release.configs)}. Name the release they were made on with --dataset, "
            "or leave --dataset out to score files by their own references."
        )


def _check_rows(
    name: str,
    samples: Mapping[int, Sequence[Prediction]],
    order: Sequence[int],
    release: Release,
) -> None:
    """Raise RulerError for predictions for row indices that the configuration does not have."""
    indices = set(order)
    unknown = [answers[0] for index, answers in samples.items() if index not in indices]
    if unknown:
        raise RulerError(
            f"{len(unknown)} of {len(samples)} predictions for '{name}' are for rows that "
            f"'{release.source}' does not have (its '{name}' has {len(indices)} rows, "
            f"{min(indices)} to {max(indices)}; '{unknown[0].where}' is for row "
            f"{unknown[0].index}): they were made on other rows. Name their release with "
            "--dataset, or their references with --references FOLDER."
        )


def _list(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _rows_asked(name: str, run: RunFacts, order: Sequence[int]) -> frozenset[int] | None:
    """Return the indices of the rows that a run was asked to answer; None for all of them.

    `ruler run --limit N` runs the first N rows of the frozen order. A run may have several
    sessions with different limits; the largest counts.
    """
    largest = None
    for session in run.get("sessions", []):
        if name in session.get("configs", []):
            limit = session.get("limit")
            if limit is None:
                return None
            largest = max(limit, largest or 0)
    return None if largest is None else frozenset(order[:largest])


def _proof(
    name: str,
    samples: Mapping[int, Sequence[Prediction]],
    predictions: Predictions,
    release: Release | None,
) -> Proof:
    """Return the evidence that a configuration's answers belong to its rows."""
    has_digest = name in predictions.run.get("rows", {})
    if has_digest and (release is not None or name in predictions.reference_rows):
        return "rows"  # the digests were compared
    are_by_line, are_asked, are_compared = False, True, True
    for answers in samples.values():
        answer = answers[0]
        are_by_line = are_by_line or answer.by_line
        are_asked = are_asked and answer.asked_row
        are_compared = are_compared and bool(answer.outputs or answer.question)
    if release is None and not are_by_line:
        return "own"
    if are_asked:
        return "prompt"
    return "references" if are_compared and release is not None else "none"
