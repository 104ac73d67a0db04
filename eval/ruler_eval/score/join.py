"""Joins predictions to rows on (configuration, index), and refuses what does not belong together.

groups = by_config(predictions, names)               # {"vt_4k": [Prediction, …]}
found, twice = by_index("vt_4k", groups["vt_4k"], False, notes)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import Names
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.score import depth
from ruler_eval.score.config_naming import read_name
from ruler_eval.score.predictions import Predictions
from ruler_eval.score.results_file import Proof
from ruler_eval.score.run_facts import RunFacts
from ruler_eval.tasks import scoring_task
from ruler_score import ruler_score as rules_of

COLUMNS = ("index", "outputs", "none_word", "evidence", "question")
_SHOWN = 4  # configurations named in a message


def by_config(predictions: Predictions, names: Names) -> dict[str, list[Prediction]]:
    """The predictions by configuration, with those that were asked for and never begun.

    Raises RulerError for a name that is no configuration's, or a group's.
    """
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


def same_configurations(groups: Collection[str], release: Release) -> None:
    """Refuse predictions for configurations that the release does not hold."""
    if foreign := [name for name in groups if name not in release.configs]:
        raise RulerError(
            f"There are predictions for {_list(foreign)}, which '{release.source}' does not hold; "
            f"it has {_list(release.configs)}. Name the release they were made on with --dataset, "
            "or leave --dataset out to score files by their own references."
        )


def same_rows(
    name: str, found: Mapping[int, Prediction], indices: Iterable[int], release: Release
) -> None:
    """Refuse predictions for rows that a configuration of the release does not have."""
    known = set(indices)
    if foreign := [prediction for index, prediction in found.items() if index not in known]:
        raise RulerError(
            f"{len(foreign)} of {len(found)} predictions for '{name}' are for rows that "
            f"'{release.source}' does not have (its '{name}' has {len(known)} rows, "
            f"{min(known)} to {max(known)}; '{foreign[0].where}' is for row {foreign[0].index}): "
            "they were made on other rows. Name their release with --dataset, or their "
            "references with --references FOLDER."
        )


def _list(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def same_data(run: Mapping[str, Any], release: Release) -> None:
    """Refuse a run that was made on another data set or on other rows, by their digests."""
    if run.get("dataset", release.dataset) != release.dataset:
        raise RulerError(f"The run is on '{run['dataset']}', the release is '{release.dataset}'.")
    for name, digest in run.get("rows", {}).items():
        if name in release.configs and (ours := release.rows_sha256(name)) != digest:
            raise RulerError(
                f"'{name}' was run on rows with the digest {digest[:12]}…, this release's is "
                f"{ours[:12]}…: name the release that was run with --dataset."
            )


def by_index(
    name: str, predictions: Sequence[Prediction], self_contained: bool, notes: list[str]
) -> tuple[dict[int, Prediction], int]:
    """The prediction that counts for each row, the first that did not fail; and how many more."""
    found: dict[int, Prediction] = {}
    twice = []
    for prediction in predictions:
        before = found.get(prediction.index)
        if before is not None:
            twice.append(prediction)
        if before is None or (before.failed and not prediction.failed):
            found[prediction.index] = prediction
    if twice and self_contained and any(p.outputs != found[p.index].outputs for p in predictions):
        notes.append(f"{name}: its indices repeat for different rows; lines are numbered instead")
        return dict(enumerate(predictions)), 0
    if twice:
        files = dict.fromkeys(prediction.where.rpartition(":")[0] for prediction in predictions)
        order = f"; read in this order: {', '.join(files)}" if len(files) > 1 else ""
        notes.append(
            f"{name}: {len(twice)} duplicated predictions, the first at {twice[0].where}; of each "
            f"row's the first that did not fail counts{order}"
        )
    return found, len(twice)


def rows(
    name: str, release: Release | None, found: Mapping[int, Prediction]
) -> Iterator[PartialRow]:
    """The rows of a configuration with their depth `marks`; without a release, the files' own."""
    if release is None:
        for index, prediction in sorted(found.items()):
            if not prediction.outputs:
                raise RulerError(
                    f"'{prediction.where}' holds no references: name the release with --dataset, "
                    "or the folder of the reference code's data with --references."
                )
            yield {
                "index": index,
                "marks": [],
                "outputs": list(prediction.outputs),
                "question": prediction.question,
            }
        return
    task = scoring_task(release.parse(name).task, release.dataset, release)
    alternatives = task in rules_of.QA_TASKS
    listed = list(release.rows(name, COLUMNS))
    texts: Iterator[PartialRow] = iter(())
    if any(depth.is_spread(row, alternatives) for row in listed):
        texts = release.rows(name, ("index", "input"))
    for row in listed:
        if depth.is_spread(row, alternatives):
            row["input"] = next(text["input"] for text in texts if text["index"] == row["index"])
        row["marks"] = depth.marks(row, alternatives)
        row.pop("input", None)
        yield row


def rows_asked(name: str, run: RunFacts, release: Release | None) -> set[int] | None:
    """Return the indices of a configuration that a run was asked to answer; None for all of them.

    `ruler run --limit N` asks the first N rows of the frozen order. A run may have several
    sessions: a later one can ask more rows.
    """
    sessions = run.get("sessions", [])
    limits = [one.get("limit") for one in sessions if name in one.get("configs", [])]
    numbers = [limit for limit in limits if limit is not None]
    if release is None or not numbers or len(numbers) < len(limits):
        return None
    return set(release.order(name)[: max(numbers)])


def same_references(row: PartialRow, prediction: Prediction | None) -> None:
    """Refuse a file whose own references or question are not the release's for the same row."""
    if prediction is None:
        return
    other_question = prediction.question and row.get("question") not in (None, prediction.question)
    other_outputs = prediction.outputs not in (None, tuple(row["outputs"]))
    if other_outputs or other_question:
        what = "references differ" if other_outputs else "question differs"
        raise RulerError(
            f"'{prediction.where}' answers another row {row['index']} than the release holds (its "
            f"{what}): leave --dataset out to score it by its own references."
        )


def proof_of(
    config: str, found: Mapping[int, Prediction], run: RunFacts, release: Release | None
) -> Proof:
    """What ties the answers of a configuration to its rows, the least that any of them has."""
    answers = found.values()
    if release is not None and config in run.get("rows", {}):
        return "rows"  # join.same_data compared the digests
    if release is None and not any(answer.by_line for answer in answers):
        return "own"
    if all(answer.asked_row for answer in answers):
        return "prompt"
    compared = release is not None and all(a.outputs or a.question for a in answers)
    return "references" if compared else "none"
