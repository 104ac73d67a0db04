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
from ruler_common.work import without_garbage_collection
from ruler_eval.frozen_release import Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.config_naming import Naming, dataset_of
from ruler_eval.score.prediction_file import (
    Form,
    PredictionFile,
    PromptCheck,
    form_of_columns,
    form_of_path,
    forms,
    run_of_path,
)
from ruler_eval.score.run_facts import RUN_FILE, RunFacts, run_facts

INSPECT_LOG = ".eval"
_SHOWN = 4  # names of runs in a message
_SETTINGS = (
    "model",
    "revision",
    "mode",
    "direct",
    "chat_template",
    "thinking",
    "sampling",
    "dataset",
    "data_version",
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
    names: Names = field(default_factory=lambda: Names.standard("ruler"))


@dataclass(frozen=True)
class FilesOfRun:
    """The prediction files of a path, and the settings of their run: of its run.json or logs.

    `settings` is empty if there is neither.
    """

    path: Path
    files: list[Path]
    settings: list[RunFacts]

    @classmethod
    def find(cls, path: Path) -> FilesOfRun:
        """Find the files of a path. Raises RulerError if there are none, and for several runs."""
        found = files_of(path)
        _refuse_several(path, [_run_of(file) for file in found])
        folders = {file.parent for file in found}
        folder = path if path.is_dir() and len(folders) > 1 else found[0].parent
        if (settings := run_facts(folder)) is not None:
            return cls(path, found, [settings])
        logs = [file for file in found if file.suffix == INSPECT_LOG]
        if not logs:
            return cls(path, found, [])
        from ruler_eval.score import inspect_log

        return cls(path, found, [inspect_log.settings(file) for file in logs])


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
    sources = [FilesOfRun.find(Path(path)) for path in paths]
    return _read(sources, naming or Naming(), keep_prompts, prompts, form)


def _read(
    sources: Sequence[FilesOfRun],
    naming: Naming,
    keep_prompts: bool,
    prompts: PromptCheck | None,
    form: Form | None,
) -> Predictions:
    found = Predictions(names=naming.names)
    run_of_config: dict[str, str] = {}
    for source in sources:
        models: dict[str, None] = {}
        for file in source.files:
            if file.suffix == INSPECT_LOG:
                from ruler_eval.score import inspect_log

                rows, run = list(inspect_log.predictions(file, keep_prompts)), str(file)
            else:
                opened = PredictionFile(
                    file, naming, form=form, keep_prompts=keep_prompts, prompts=prompts
                )
                rows, run = list(opened.read(found.damaged)), opened.run
                if opened.model:
                    models[opened.model] = None
            found.rows += rows
            found.files[str(file)] = sha256_of(file)
            if not rows:
                found.damaged.append(f"{file} holds no predictions")
            for config in {row.config for row in rows}:  # shards of one run share a folder
                if run_of_config.setdefault(config, run) != run:
                    raise RulerError(
                        f"Two runs answer '{config}' ({run_of_config[config]} and {run}): give the "
                        "files of one at a time."
                    )
        # what o3 and deepseek scored by ONERULER's authors depends on the name
        for settings in source.settings or [RunFacts(model=model) for model in models]:
            found.run = _joined(found.run, settings, source.path)
    if not found.rows:
        why = f" ({found.damaged[0]})" if found.damaged else ""
        raise RulerError(
            f"There are no predictions in what was given{why}: name a RUN folder or files."
        )
    return found


def results_place(paths: Iterable[Path]) -> Path | None:
    """Return where the results of files go: into the RUN folder among them; None without one."""
    folders = [path for path in paths if (path / RUN_FILE).is_file()]
    return folders[-1] / "results.json" if folders else None


def files_of(path: Path) -> list[Path]:
    """Return the prediction files of a folder (of any form, links followed), or the file itself."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RulerError(f"There is no file or folder '{path}'.")
    for pattern in ("*.jsonl", f"*{INSPECT_LOG}"):
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
    """Yield all files below a folder; a linked folder is entered once."""
    seen = set()
    for folder, below, names in os.walk(path, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        yield from (Path(folder, name) for name in names)


def _run_of(file: Path) -> str:
    """Return what the files of one run have in common, by their paths."""
    form = form_of_path(file)
    return run_of_path(form, file) if form else str(file.parent)


def _refuse_several(path: Path, runs: Iterable[str]) -> None:
    names = list(dict.fromkeys(runs))
    if len(names) > 1:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        raise RulerError(
            f"'{path}' holds several runs ({', '.join(names[:_SHOWN])}{more}): give the files of "
            "one at a time."
        )


def _joined(before: RunFacts, new: RunFacts, path: Path) -> RunFacts:
    """Return the settings of several folders of one run; refuse those of two models or modes."""
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
        sources = [FilesOfRun.find(path) for path in files]
        release = self._release(sources)
        names = release.names if release else self._names(sources)
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
        with without_garbage_collection():
            predictions = _read(sources, naming, keep_prompts, prompts, form)
            if self.references is not None:
                from ruler_eval.score.references import add_references

                add_references(predictions, self.references, keep_prompts)
        if release is None and self.config is None and "dataset" not in predictions.run:
            predictions.names = _names_of(predictions)
        if self.name is not None:
            predictions.run = {**predictions.run, "model": self.name}
        return predictions, release

    def _release(self, sources: Sequence[FilesOfRun]) -> Release | None:
        """Open the release that is named, or else the one that the last session read."""
        if self.dataset is not None:
            return Release.open(self.dataset, self.revision)
        source = revision = None
        for run in (run for found in sources for run in found.settings):
            revision = run.get("data_revision")
            for session in run.get("sessions", []):
                source = session.get("source", source)
        if self.references is not None or source is None:
            return None
        if not Path(source).is_dir() and revision is None:
            raise RulerError(f"The run was made on '{source}', which is not here: add --dataset.")
        return Release.open(source, revision)

    def _names(self, sources: Sequence[FilesOfRun]) -> Names:
        """Return the task names of the files' data set: of their run, --config, or file names."""
        for run in (run for found in sources for run in found.settings):
            if "dataset" in run:
                return Names.standard(run["dataset"])
        if self.config:
            return Names.standard(dataset_of(self.config))
        files = [file for found in sources for file in found.files]
        return Names.standard("oneruler" if any(map(_is_oneruler, files)) else "ruler")


def _names_of(predictions: Predictions) -> Names:
    """Return the task names of the data set whose configurations the answers name.

    Raises RulerError for answers to rows of both data sets.
    """
    first_of: dict[str, Prediction] = {}
    for row in predictions.rows:
        first_of.setdefault(row.config, row)
    found = {dataset_of(config): row for config, row in first_of.items()}
    if len(found) > 1:
        first, second = found.values()
        raise RulerError(
            f"'{first.where}' answers '{first.config}' of {dataset_of(first.config)} and "
            f"'{second.where}' '{second.config}' of {dataset_of(second.config)}: score one data "
            "set at a time."
        )
    return Names.standard(next(iter(found)))


def _is_oneruler(file: Path) -> bool:
    """Return whether a file has the place and name of those of ONERULER's authors or runs."""
    form = form_of_path(file)
    dataset = (form.dataset or form.of_path(file).get("dataset")) if form else None
    return dataset == "oneruler" or dataset_of(file.stem) == "oneruler"
