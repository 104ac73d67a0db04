"""What the command line names: prediction files, and where their references come from.

    predictions, release = PredictionSource(dataset="ruler").open([Path("runs/qwen")])

References come from a release, from the files themselves, or from the reference code's data files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.names import Names, parse_length
from ruler_common.work import no_search_for_circles
from ruler_eval.frozen_release import Release
from ruler_eval.score.config_naming import Naming, dataset_of
from ruler_eval.score.formats.form_table import form_of_path, own_form
from ruler_eval.score.formats.prompt_check import PromptCheck
from ruler_eval.score.formats.run_facts import RunFacts
from ruler_eval.score.prediction_files import Predictions, files_of, read, run_settings
from ruler_eval.score.reference_answers import add_references


@dataclass(frozen=True, kw_only=True)
class PredictionSource:
    """Where the references come from, and what the prediction files lack.

    `name` is the model's; `columns` says where files of no known form hold what.
    """

    dataset: str | None = None
    revision: str | None = None
    length: str | None = None
    tokenizer: str | None = None
    config: str | None = None
    references: Path | None = None
    name: str | None = None
    columns: str | None = None

    def open(
        self, files: Sequence[Path], keep_prompts: bool = False
    ) -> tuple[Predictions, Release | None]:
        """Read predictions and open the release named, or the one the run was made on.

        Raises RulerError for what cannot be read, and for references named twice.
        """
        if self.references is not None and self.dataset is not None:
            raise RulerError("--references and --dataset both name references: give one of them.")
        form = own_form(self.columns) if self.columns is not None else None
        runs = [] if self.dataset else [r for f in files for r in run_settings(f, files_of(f))]
        release = None if self.references else self._release(runs)
        names = release.names if release else self._names(runs, files)
        if self.config is not None:
            names.parse(self.config)
        if self.length is not None:
            parse_length(self.length, names.dataset)
        naming = Naming(
            names=names,
            length=self.length,
            tokenizer=self.tokenizer,
            config=self.config,
            held=[release.parse(name) for name in release.configs] if release else (),
        )
        prompts = PromptCheck(release=release) if release else None
        with no_search_for_circles():
            predictions = read(files, naming, keep_prompts, prompts, form)
            if self.references is not None:
                add_references(predictions, self.references, keep_prompts)
        if release is None and self.config is None and "dataset" not in predictions.run:
            predictions.names = _names_of(predictions)
        if self.name is not None:
            predictions.run = {**predictions.run, "model": self.name}
        return predictions, release

    def _release(self, runs: Sequence[RunFacts]) -> Release | None:
        if self.dataset is not None:
            return Release.open(self.dataset, self.revision)
        sessions = [session for run in runs for session in run.get("sessions", [])]
        sources = [session["source"] for session in sessions if "source" in session]
        if not sources:
            return None
        source, revision = sources[-1], runs[-1].get("data_revision")
        if not Path(source).is_dir() and revision is None:
            raise RulerError(f"The run was made on '{source}', which is not here: add --dataset.")
        return Release.open(source, revision)

    def _names(self, runs: Sequence[RunFacts], files: Sequence[Path]) -> Names:
        """The task names of the files' data set: of their run, of --config, of their own names."""
        for run in runs:
            if "dataset" in run:
                return Names.of(run["dataset"])
        if self.config:
            return Names.of(dataset_of(self.config))
        found = [file for path in files for file in files_of(path)]
        return Names.of("oneruler" if any(map(_is_oneruler, found)) else "ruler")


def _names_of(predictions: Predictions) -> Names:
    """Return the task names of the data set whose configurations the answers name.

    Raises RulerError for answers to rows of both data sets.
    """
    found = {dataset_of(row.config): row for row in predictions.rows}
    if len(found) > 1:
        first, second = found.values()
        raise RulerError(
            f"'{first.where}' answers '{first.config}' of {dataset_of(first.config)} and "
            f"'{second.where}' '{second.config}' of {dataset_of(second.config)}: score one data "
            "set at a time."
        )
    return Names.of(next(iter(found)))


def _is_oneruler(file: Path) -> bool:
    """Whether a file lies and is named as those of ONERULER's authors, its runs or its exports."""
    form = form_of_path(file)
    told = (form.dataset or form.of_path(file).get("dataset")) if form else None
    return told == "oneruler" or dataset_of(file.stem) == "oneruler"
