"""Joins predictions to rows on (configuration, index), and refuses what does not belong together.

    for joined in join_predictions(predictions, release).values():
        for row, prediction in joined.rows():
            …

Scoring, the kinds of errors, the page and `ruler show` read answers through this join alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import Names
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.config_naming import ScoredConfig, read_name
from ruler_eval.score.predictions import Predictions
from ruler_eval.score.results import Proof
from ruler_eval.score.run_facts import RunFacts
from ruler_eval.tasks import scoring_task

COLUMNS = ("index", "outputs", "none_word", "evidence", "question")
"""The columns that scoring needs."""
_SHOWN = 4  # configurations named in a message


@dataclass(frozen=True, kw_only=True)
class JoinedConfig:
    """The answers to one configuration, matched to its rows."""

    name: str
    config: ScoredConfig
    task: str
    """The task whose scoring rule applies."""
    release: Release | None
    answers: Mapping[int, Prediction]
    """By index the answer that counts: of several the first that did not fail, and its first sample
    if rows have several (`ruler run --repeats`)."""
    samples: Mapping[int, Sequence[Prediction]]
    """By index all samples that were answered."""
    repeats: int
    """How many samples a row was to have."""
    duplicated: int
    """How many more answers there are."""
    asked: frozenset[int] | None
    """The rows that the run was asked to answer; None for all of them."""
    proof: Proof
    """What ties the answers to the rows, the weakest that any of them has."""
    notes: Sequence[str]

    @property
    def language(self) -> str | None:
        """The language of the instruction, which ONERULER's rules need; None in RULER."""
        return self.config.instruction_language if self.config.dataset == "oneruler" else None

    @property
    def rows_available(self) -> int:
        """How many rows the configuration has, asked for or not."""
        return self.release.size(self.name) if self.release else len(self.answers)

    def rows(
        self, columns: Sequence[str] = COLUMNS
    ) -> Iterator[tuple[PartialRow, Prediction | None]]:
        """Yield the rows that were asked for, each with its answer, in the file's order.

        Without a release the rows are what the files of answers hold of them. Raises RulerError for
        an answer to another row.
        """
        if self.release is None:
            for index, answer in sorted(self.answers.items()):
                if not answer.outputs:
                    raise RulerError(
                        f"'{answer.where}' holds no references: name the release with --dataset, "
                        "or the folder of the reference code's data with --references."
                    )
                outputs = list(answer.outputs)
                yield {"index": index, "outputs": outputs, "question": answer.question}, answer
            return
        for row in self.release.rows(self.name, columns):
            found = self.answers.get(int(row["index"]))
            for sample in self.samples.get(int(row["index"]), ()):
                check_references(row, sample)
            if found is not None or self.asked is None or row["index"] in self.asked:
                yield row, found


def check_references(row: PartialRow, answer: Prediction | None) -> None:
    """Raise RulerError for an answer whose own references or question are not the row's."""
    if answer is None:
        return
    same_outputs = answer.outputs in (None, tuple(row["outputs"]))
    same_question = not answer.question or row.get("question") in (None, answer.question)
    if not same_outputs or not same_question:
        what = "question differs" if same_outputs else "references differ"
        raise RulerError(
            f"'{answer.where}' answers another row {row['index']} than the release holds (its "
            f"{what}): leave --dataset out to score it by its own references."
        )


def join_predictions(predictions: Predictions, release: Release | None) -> dict[str, JoinedConfig]:
    """Match predictions to the rows of their configurations, those too that were never begun.

    They are in the order of tokenizers, languages, lengths and tasks. Raises RulerError for
    predictions on other data, configurations or rows than the release's.
    """
    names = release.names if release else predictions.names
    run = predictions.run
    groups = _by_config(predictions, names)
    if release is not None:
        _check_data(run, release)
        _check_configurations(groups, release)
    configs = {name: read_name(names, name, release is not None) for name in groups}

    def place(name: str) -> tuple[str, str, int, int]:
        config = configs[name]
        order = names.tasks.index(config.task)
        return config.tokenizer or "", config.languages, config.max_length, order

    joined = {}
    for name in sorted(groups, key=place):
        config = configs[name]
        samples, duplicated, notes = _by_index(name, groups[name], release is None)
        answers = {index: of_row[0] for index, of_row in samples.items()}
        if release is not None:
            _check_rows(name, answers, release)
        joined[name] = JoinedConfig(
            name=name,
            config=config,
            task=scoring_task(config.task, config.dataset, release),
            release=release,
            answers=answers,
            samples=samples,
            repeats=max(run.get("repeats", 1), *(len(of_row) for of_row in samples.values()), 1),
            duplicated=duplicated,
            asked=_rows_asked(name, run, release),
            proof=_proof(name, answers, run, release),
            notes=notes,
        )
    return joined


def _by_config(predictions: Predictions, names: Names) -> dict[str, list[Prediction]]:
    """Return the predictions by configuration; RulerError for a group's name."""
    groups: dict[str, list[Prediction]] = {}
    for prediction in predictions.rows:
        groups.setdefault(prediction.config, []).append(prediction)
    for session in predictions.run.get("sessions", []):  # what was asked for and never begun
        for name in session.get("configs", []):
            groups.setdefault(name, [])
    for name, rows in groups.items():
        if read_name(names, name).task not in names.tasks:
            where = f"'{rows[0].where}'" if rows else "The run"
            raise RulerError(f"{where} names '{name}', which is a group: rows are of single tasks.")
    return groups


def _by_index(
    name: str, predictions: Sequence[Prediction], self_contained: bool
) -> tuple[dict[int, list[Prediction]], int, list[str]]:
    """Return the samples that count for each row, how many more answers there are, and notes."""
    found: dict[tuple[int, int], Prediction] = {}
    duplicates = []
    for prediction in predictions:
        place = prediction.index, prediction.sample
        before = found.get(place)
        if before is not None:
            duplicates.append(prediction)
        if before is None or (before.failed and not prediction.failed):
            found[place] = prediction
    samples: dict[int, list[Prediction]] = {}
    for (index, _), prediction in sorted(found.items(), key=lambda item: item[0][1]):
        samples.setdefault(index, []).append(prediction)
    if not duplicates:
        return samples, 0, []
    if self_contained and any(p.outputs != samples[p.index][0].outputs for p in predictions):
        note = f"{name}: its indices repeat for different rows; lines are numbered instead"
        return {number: [answer] for number, answer in enumerate(predictions)}, 0, [note]
    files = dict.fromkeys(prediction.where.rpartition(":")[0] for prediction in predictions)
    order = f"; read in this order: {', '.join(files)}" if len(files) > 1 else ""
    note = (
        f"{name}: {len(duplicates)} duplicated predictions, the first at {duplicates[0].where}; of "
        f"each row's the first that did not fail counts{order}"
    )
    return samples, len(duplicates), [note]


def _check_data(run: Mapping[str, Any], release: Release) -> None:
    """Refuse a run that was made on another data set or on other rows, by their digests."""
    if run.get("dataset", release.dataset) != release.dataset:
        raise RulerError(f"The run is on '{run['dataset']}', the release is '{release.dataset}'.")
    for name, digest in run.get("rows", {}).items():
        if name in release.configs and (ours := release.rows_sha256(name)) != digest:
            raise RulerError(
                f"'{name}' was run on rows with the digest {digest[:12]}…, this release's is "
                f"{ours[:12]}…: name the release that was run with --dataset."
            )


def _check_configurations(names: Iterable[str], release: Release) -> None:
    """Refuse predictions for configurations that the release does not hold."""
    if foreign := [name for name in names if name not in release.configs]:
        raise RulerError(
            f"There are predictions for {_list(foreign)}, which '{release.source}' does not hold; "
            f"it has {_list(release.configs)}. Name the release they were made on with --dataset, "
            "or leave --dataset out to score files by their own references."
        )


def _check_rows(name: str, answers: Mapping[int, Prediction], release: Release) -> None:
    """Refuse predictions for rows that a configuration of the release does not have."""
    known = set(release.order(name))
    if foreign := [answer for index, answer in answers.items() if index not in known]:
        raise RulerError(
            f"{len(foreign)} of {len(answers)} predictions for '{name}' are for rows that "
            f"'{release.source}' does not have (its '{name}' has {len(known)} rows, "
            f"{min(known)} to {max(known)}; '{foreign[0].where}' is for row {foreign[0].index}): "
            "they were made on other rows. Name their release with --dataset, or their "
            "references with --references FOLDER."
        )


def _list(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _rows_asked(name: str, run: RunFacts, release: Release | None) -> frozenset[int] | None:
    """Return the indices of a configuration that a run was asked to answer; None for all of them.

    `ruler run --limit N` asks the first N rows of the frozen order. A run may have several
    sessions: a later one can ask more rows.
    """
    sessions = run.get("sessions", [])
    limits = [session.get("limit") for session in sessions if name in session.get("configs", [])]
    numbers = [limit for limit in limits if limit is not None]
    if release is None or not numbers or len(numbers) < len(limits):
        return None
    return frozenset(release.order(name)[: max(numbers)])


def _proof(
    name: str, answers: Mapping[int, Prediction], run: RunFacts, release: Release | None
) -> Proof:
    """Return what ties the answers of a configuration to its rows, the weakest of any of them."""
    if release is not None and name in run.get("rows", {}):
        return "rows"  # _check_data compared the digests
    if release is None and not any(answer.by_line for answer in answers.values()):
        return "own"
    if all(answer.asked_row for answer in answers.values()):
        return "prompt"
    compared = all(answer.outputs or answer.question for answer in answers.values())
    return "references" if compared and release is not None else "none"
