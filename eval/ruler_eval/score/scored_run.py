"""Opens the results of a run; a RUN folder whose answers changed after scoring is scored again.

    open_results(Path("runs/qwen"))                  # what its answers score now
    open_results(Path("runs/qwen/results.json"))     # what the file says

results.json names every file that was scored with its sha256. Times are not compared: a copy of a
folder has new ones.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.terminal import note
from ruler_eval.score import results_file
from ruler_eval.score.results_file import Results
from ruler_eval.score.run_facts import RUN_FILE


def open_results(path: Path) -> Results:
    """Return the results in a file, or those of the answers that a RUN folder holds now.

    If the answers are not those that the folder's results.json is of, or if it has none, the run
    is scored, by the rules and on the release of the last scoring, and results.json is replaced.
    One line on stderr then says so. Raises RulerError if that is not possible.
    """
    if not (path / RUN_FILE).is_file():
        return results_file.load(path)
    place = path / "results.json"
    stored = results_file.load(place) if place.exists() else None
    answers = [file for file in path.glob("*.jsonl") if not file.name.startswith("tmp_")]
    digests = {sha256_of(file) for file in answers}
    if stored is not None:
        if not digests or digests == {*stored["predictions"].values()}:
            return stored
        others = {str(Path(name).parent) for name in stored["predictions"]}
        if len(others) > 1:
            if digests <= {*stored["predictions"].values()}:
                return stored
            raise RulerError(
                f"The answers in '{path}' changed after they were scored together with those of "
                f"other folders. Score them again: ruler score {' '.join(sorted(others))}"
            )
    why = "it had no results.json" if stored is None else "its answers changed after the last time"
    try:
        results = _score(path, stored)
    except RulerError as error:
        raise RulerError(
            f"'{path}' has to be scored ({why}), which failed: {error} Name its release: "
            f"ruler score {path} --dataset RELEASE"
        ) from error
    with suppress(OSError):  # a folder that cannot be written
        results_file.write(results, place)
    note(f"Scored '{path}': {why}.")
    return results


def _score(folder: Path, stored: Results | None) -> Results:
    """Score a run, in the way its results were made if it has any."""
    # most results are not scored again, and need none of this
    from ruler_eval.score import scoring
    from ruler_eval.score.predictions import PredictionSource
    from ruler_eval.score.row_score import ScoringRules

    if stored is None:
        predictions, release = PredictionSource().open([folder])
        return scoring.score(predictions, release)
    dataset, rules = stored["dataset"], stored["rules"]
    options = stored["options"]
    source = PredictionSource(
        dataset=dataset["source"], revision=dataset["revision"], name=stored["model"]
    )
    predictions, release = source.open([folder])
    return scoring.score(
        predictions,
        release,
        ScoringRules(rules["compat"], rules["cut"], options["partial"]),
        options["threshold"],
        options["claimed"],
    )
