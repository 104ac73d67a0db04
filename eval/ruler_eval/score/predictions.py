"""Prediction files and folders, and where their references come from.

    predictions, release = PredictionSource(dataset="ruler").open([Path("runs/qwen")])
    predictions.rows[0].text, predictions.run["model"], predictions.files

References come from a release, from the files themselves, or from the reference code's data files.
One call reads one run: a folder that holds several is refused, naming them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.names import Names, parse_length
from ruler_common.work import no_search_for_circles
from ruler_eval.frozen_release import Release
from ruler_eval.prediction import Prediction
from ruler_eval.score import inspect_log
from ruler_eval.score.config_naming import Naming, dataset_of
from ruler_eval.score.forms import Form, form_of_columns, form_of_path, forms
from ruler_eval.score.prediction_file import PredictionFile, PromptCheck, run_of_path
from ruler_eval.score.references import add_references
from ruler_eval.score.run_facts import RUN_FILE, RunFacts, run_facts

_SHOWN = 4  # names of runs in a message
_SETTINGS = (
    *("model", "revision", "mode", "direct", "chat_template", "thinking", "sampling"),
    *("dataset", "data_version"),
)
"""What may not differ in the folders of one run."""


@dataclass(kw_only=True)
class Predictions:
    """All that was read: the answers in file order, the run's settings, digests of the files.

    `names` are the tasks the configurations are of; a release brings its own.
    """

    rows: list[Prediction] = field(default_factory=list)
    run: RunFacts = field(default_factory=RunFacts)
    files: dict[str, str] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    names: Names = field(default_factory=lambda: Names.of("ruler"))


def read(
    paths: Iterable[Path],
    naming: Naming | None = None,
    keep_prompts: bool = False,
    prompts: PromptCheck | None = None,
    form: Form | None = None,
) -> Predictions:
    """Read folders and files of any known form, those of one run.

    `keep_prompts` keeps the prompts that files hold, for sorting errors; `prompts` compares them
    with a release's; `form` is that of files of no known one. Raises RulerError for what cannot be
    read, and for several runs at once.
    """
    naming = naming or Naming()
    found = Predictions(names=naming.names)
    runs: dict[str, str] = {}
    for path in map(Path, paths):
        files = files_of(path)
        _refuse_several(path, list(dict.fromkeys(map(run_of, files))))
        models = list[str]()
        for file in files:
            if file.suffix == inspect_log.SUFFIX:
                new, run = list(inspect_log.predictions(file, keep_prompts)), str(file)
            else:
                opened = PredictionFile(
                    file,
                    naming,
                    form=form,
                    keep_prompts=keep_prompts,
                    prompts=prompts,
                )
                new, run = list(opened.read(found.damaged)), opened.run
                models += [opened.model] if opened.model else []
            found.rows += new
            found.files[str(file)] = sha256_of(file)
            if not new:
                found.damaged.append(f"{file} holds no predictions")
            _no_second_run(new, run, runs)
        # what o3 and deepseek scored by ONERULER's authors depends on the name
        named = [RunFacts(model=model) for model in dict.fromkeys(models)]
        for settings in run_settings(path, files) or named:
            found.run = _joined(found.run, settings, path)
    if not found.rows:
        why = f" ({found.damaged[0]})" if found.damaged else ""
        raise RulerError(
            f"There are no predictions in what was given{why}: name a RUN folder or files."
        )
    return found


def results_place(paths: Iterable[Path]) -> Path | None:
    """Where the results of these files go: into the RUN folder among them, None without one."""
    folders = [path for path in paths if (path / RUN_FILE).is_file()]
    return folders[-1] / "results.json" if folders else None


def files_of(path: Path) -> list[Path]:
    """The prediction files of a folder (of any format, links followed), or the file itself."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RulerError(f"There is no file or folder '{path}'.")
    for pattern in ("*.jsonl", f"*{inspect_log.SUFFIX}"):
        direct = [file for file in path.glob(pattern) if not file.name.startswith("tmp_")]
        if direct:
            return sorted(direct)
    files = sorted(_walk(path))
    runs = sorted({file.parent for file in files if file.name == RUN_FILE})
    if len(runs) == 1 and runs[0] != path:
        return files_of(runs[0])
    _refuse_several(path, [str(folder) for folder in runs])
    for form in forms():
        if found := [file for file in files if form.is_of(file)]:
            return found
    raise RulerError(
        f"'{path}' holds no prediction files (*.jsonl or *.eval in it, or below it those "
        "of other tools, as docs/formats.md has them): give the files themselves."
    )


def _walk(path: Path) -> Iterator[Path]:
    """All files below a folder; a linked folder is entered once."""
    seen = set()
    for folder, below, names in os.walk(path, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        yield from (Path(folder, name) for name in names)


def run_of(file: Path) -> str:
    """What the files of one run have in common, by their paths."""
    form = form_of_path(file)
    return run_of_path(form, file) if form else str(file.parent)


def _refuse_several(path: Path, runs: list[str]) -> None:
    if len(runs) > 1:
        more = f" and {len(runs) - _SHOWN} more" if len(runs) > _SHOWN else ""
        raise RulerError(
            f"'{path}' holds several runs ({', '.join(runs[:_SHOWN])}{more}): give the files of "
            "one at a time."
        )


def _no_second_run(rows: list[Prediction], run: str, runs: dict[str, str]) -> None:
    """Refuse a configuration that two runs answer; shards and chunks of one run share a folder."""
    for config in {row.config for row in rows}:
        if runs.setdefault(config, run) != run:
            raise RulerError(
                f"Two runs answer '{config}' ({runs[config]} and {run}): give the files of one at "
                "a time."
            )


def run_settings(path: Path, files: Sequence[Path]) -> list[RunFacts]:
    """The settings of the run that a path's files are of: its run.json's, or each Inspect log's.

    None where neither is there.
    """
    folders = {file.parent for file in files}
    folder = path if path.is_dir() and len(folders) > 1 else files[0].parent
    if (found := run_facts(folder)) is not None:
        return [found]
    return [inspect_log.settings(file) for file in files if file.suffix == inspect_log.SUFFIX]


def _joined(before: RunFacts, new: RunFacts, path: Path) -> RunFacts:
    """The settings of several folders of one run; those of two models or ways are refused."""
    one, other = cast(Mapping[str, object], before), cast(Mapping[str, object], new)
    for name in _SETTINGS:
        if name in one and name in other and one[name] != other[name]:
            raise RulerError(
                f"'{path}' is another run ({name} {other[name]}, before it {one[name]}): give the "
                "files of one at a time."
            )
    joined: RunFacts = {**before, **new}
    if rows := {**before.get("rows", {}), **new.get("rows", {})}:
        joined["rows"] = rows
    if sessions := [*before.get("sessions", []), *new.get("sessions", [])]:
        joined["sessions"] = sessions
    return joined


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
        form = form_of_columns(self.columns) if self.columns is not None else None
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
