"""Open what was scored: the results of a run, and its answers with their scores.

    results = open_results(Path("runs/qwen"))                     # scored again if answers changed
    scores = open_scores(PredictionOptions("runs/qwen"))
    scores.configs["vt_4k"].by_index[7].score                     # 0 … 1

The page, `ruler errors`, `show`, `compare` and `decide` read results here. A run whose answers are
newer than its results is scored in this one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, cast

from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.options import Place, paths
from ruler_common.text import note
from ruler_eval.frozen_release import Release
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.own_run import open_again, run_folders
from ruler_eval.score.predictions import answer_files, open_predictions
from ruler_eval.score.results import Results, TruncationRule, load, read_lines, write
from ruler_eval.score.rows import (
    ConfigScores,
    ScoringRules,
    rules_of_results,
    score_rows,
    scores_of_lines,
)
from ruler_eval.score.scoring import Scored, score

RESULTS_FILE = "results.json"
_BEGINNING = 400  # bytes of a results.json that have its format and the version of its scores


def is_results(path: Path) -> bool:
    """Return whether a file looks like a results.json of `ruler score`."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    return b'"format"' in beginning and b'"score_version"' in beginning


def check_different_places(places: Sequence[Path]) -> None:
    """Raise RulerError if two are the same run, which always passes a gate against itself."""
    folders: dict[Path, Path] = {}
    for place in places:
        folder = place.resolve()
        if folder.name == RESULTS_FILE:
            folder = folder.parent
        if folder in folders:
            raise RulerError(f"'{folders[folder]}' and '{place}' are the same run: name two runs.")
        folders[folder] = place


class RowSource(NamedTuple):
    """Where the references of a run are; by default where the run says."""

    dataset: Place | None = None
    revision: str | None = None
    references: Path | None = None


def open_different_results(places: Sequence[Path], rows: RowSource | None = None) -> list[Results]:
    """Return the results of several runs. Raises RulerError if two are one run, or a copy of it."""
    check_different_places(places)
    all_results = [open_results(place, rows) for place in places]
    check_different_runs(all_results, [str(place) for place in places])
    return all_results


def check_different_runs(all_results: Sequence[Results], names: Sequence[str]) -> None:
    """Raise RulerError if two results are of the same answers of a run, by the same rules.

    Equal files of another tool may come from two models, and are noted on stderr.
    """
    for (name_a, a), (name_b, b) in combinations(zip(names, all_results, strict=True), 2):
        has_same_answers = {*a["predictions"].values()} == {*b["predictions"].values()}
        if not has_same_answers or a["rules"] != b["rules"]:
            continue
        if not a["run"].get("sessions") and not b["run"].get("sessions"):
            note(
                f"'{name_a}' and '{name_b}' are scores of equal files of predictions: make sure "
                "that they are not two copies of one model's."
            )
        elif a["run"] == b["run"]:
            raise RulerError(
                f"'{name_a}' and '{name_b}' are copies of the same run: name two runs."
            )


def open_results(path: Path, rows: RowSource | None = None) -> Results:
    """Return the results in a file, or those of the present answers in a RUN folder.

    If the answers changed after they were scored, or were never scored, the run is scored with the
    rules and release of the last time, or with `rows`; its results are replaced, and a line on
    stderr says so. Raises RulerError if that fails.
    """
    folders = run_folders(path)
    if not folders:
        return load(path)
    place = path / RESULTS_FILE
    stored = load(place) if place.exists() else None
    digests = {sha256_of(file) for folder in folders for file in answer_files(folder)}
    if stored is not None:
        scored = set(stored["predictions"].values())
        if not digests or digests == scored:
            return stored
        scored_folders = {str(Path(name).parent) for name in stored["predictions"]}
        if len(scored_folders) > len(folders):
            if digests <= scored:
                return stored
            raise RulerError(
                f"The answers in '{path}' changed after they were scored together with those of "
                f"other folders. Score them again: ruler score {' '.join(sorted(scored_folders))}"
            )
    why = "it had no results.json" if stored is None else "its answers changed after the last time"
    try:
        scored_again = _score(path, stored, rows or RowSource())
    except RulerError as error:
        raise RulerError(
            f"'{path}' has to be scored ({why}), which failed: {error} Name its release: "
            f"ruler score {path} --dataset RELEASE"
        ) from error
    with suppress(OSError):  # the folder is read-only
        write(*scored_again, place)
    note(f"Scored '{path}': {why}.")
    return scored_again.results


def _score(folder: Path, stored: Results | None, rows: RowSource) -> Scored:
    """Score a run, with the options of its stored results if it has any."""
    if stored is None:
        return score(*open_predictions(PredictionOptions(folder, **rows._asdict())))
    dataset, rules, options = stored["dataset"], stored["rules"], stored["options"]
    if rows == RowSource():
        rows = RowSource(dataset["source"], dataset["revision"])
    as_stored = PredictionOptions(folder, name=stored["model"], **rows._asdict())
    predictions, release = open_predictions(as_stored)
    return score(
        predictions,
        release,
        ScoringRules(
            compat=rules["compat"], truncated=rules["truncated"], partial=options["partial"]
        ),
        options["threshold"],
        options["claimed"],
    )


@dataclass(frozen=True, kw_only=True)
class RunScores:
    """The scored answers of a run by configuration, and the release whose rows they answer."""

    model: str | None
    configs: Mapping[str, ConfigScores] = field(default_factory=dict)
    release: Release | None = None


def open_scores(options: PredictionOptions, truncated: str | None = None) -> RunScores:
    """Return the scored answers in files: those of a scored RUN folder as they were scored.

    Other files are scored, but not written; then the answers have the prompts in the files, if
    there is no release that has them.

    Args:
        options: The files, and what they do not say.
        truncated: The rule for truncated answers of files that were not scored.

    Raises:
        RulerError: as open_predictions and score_rows do, and if `truncated` is not the rule by
            which a run was scored.
    """
    files = paths(options.files)
    rules = _rules_of_run(files, truncated)
    if len(files) == 1 and rules is not None and options.references is None:
        results = open_results(files[0], RowSource(options.dataset, options.revision))
        release = release_of(results, options.dataset, options.revision)
        if release is not None and differing_config(results, release) is None:
            configs = stored_scores(results, files[0], release)
            return RunScores(model=results["model"], configs=configs, release=release)
    predictions, release = open_predictions(options, keep_prompts=True)
    rules = rules or ScoringRules(truncated=cast(TruncationRule, truncated or "protocol"))
    scores = {scores.name: scores for scores in score_rows(predictions, release, rules)}
    return RunScores(model=predictions.run.get("model"), configs=scores, release=release)


def release_of(
    results: Results, dataset: Place | None = None, revision: str | None = None
) -> Release | None:
    """Return the release that results were scored on, or the same one at another place (`dataset`).

    None for results that were scored without a release. Raises RulerError if it is not found.
    """
    source = results["dataset"]["source"]
    if source is None:
        return None
    if dataset is not None:
        return Release.open(dataset, revision)
    return open_again(source, results["dataset"]["revision"])


def differing_config(results: Results, release: Release) -> str | None:
    """Return the first scored configuration that has other rows in a release, or is not in it."""
    for name, digest in results["dataset"]["rows"].items():
        is_scored = name in results["configurations"]
        if is_scored and (name not in release.configs or release.rows_sha256(name) != digest):
            return name
    return None


def stored_scores(results: Results, path: Path, release: Release) -> dict[str, ConfigScores]:
    """Return the scored answers of results in a file or RUN folder, by configuration.

    Raises RulerError if the file of rows is missing or belongs to other results.
    """
    place = path / RESULTS_FILE if path.is_dir() else path
    return scores_of_lines(results, read_lines(place), release)


def _rules_of_run(files: Sequence[Path], truncated: str | None) -> ScoringRules | None:
    """Return the rules by which a RUN folder among the files was scored; None if none was scored.

    Raises RulerError if `truncated` (--truncated) is another rule.
    """
    for folder in files:
        if run_folders(folder) and (folder / RESULTS_FILE).is_file():
            results = load(folder)
            rules = rules_of_results(results)
            if truncated not in (None, rules.truncated):
                raise RulerError(
                    f"'{folder}' was scored with --truncated {rules.truncated}: leave "
                    f"--truncated out, or score the run again with --truncated {truncated}."
                )
            return rules
    return None
