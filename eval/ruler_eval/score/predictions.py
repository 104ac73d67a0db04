"""Open the predictions that are scored, and the release whose rows they answer.

    predictions, release = open_predictions(PredictionOptions("runs/qwen"))
    predictions.rows[0].text, predictions.run["model"], predictions.files

Predictions are in the files of `ruler run` or another tool (read.py), or in an Inspect log
(inspect_log.py). References come from a release, from the files themselves, or from the reference
code's data files (references.py). One call reads one run; a folder with several runs is an error
that names them.
"""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, cast

from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST
from ruler_common.names import Names, parse_length
from ruler_common.options import paths
from ruler_common.text import number_of, some_of
from ruler_eval.file_records import COMPRESSED_SUFFIXES
from ruler_eval.frozen_release import Release
from ruler_eval.prediction import Prediction, dataset_of
from ruler_eval.run.records import ANSWERS, RUN_FILE, Records, check_settings, shard_folders
from ruler_eval.score import inspect_log
from ruler_eval.score.columns import Columns
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.own_run import (
    RunFacts,
    is_of_run,
    release_of_runs,
    run_facts,
    run_folders,
)
from ruler_eval.score.paths import is_oneruler
from ruler_eval.score.read import ReadFile, dataset_of_path, files_of_a_tool, read_file
from ruler_eval.score.references import add_references
from ruler_eval.score.source import Source

_LINES = (".jsonl", *(f".jsonl{suffix}" for suffix in COMPRESSED_SUFFIXES))
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
"""Settings that must be equal in the folders of one run."""
SPREADSHEET = 32_767
"""Characters that a cell of a spreadsheet holds; the rest is lost."""
MIN_LIMIT, MIN_CUT = 200, 3
"""The smallest length at which answers may have been cut, and how many different ones have it."""


@dataclass(kw_only=True)
class Predictions:
    """The predictions of a run."""

    rows: list[Prediction] = field(default_factory=list)  # in the order of the files
    run: RunFacts = field(default_factory=RunFacts)
    files: dict[str, str] = field(default_factory=dict)  # sha256 by file
    damaged: list[str] = field(default_factory=list)  # notes on lines and files
    reference_rows: dict[str, str] = field(default_factory=dict)
    """The digests of the rows of --references by configuration, if the folder has them."""
    names: Names
    """The names of tasks and lengths; those of a release are used if one is named."""

    def of_rows(self, rows: Mapping[str, Iterable[int]]) -> Predictions:
        """Return the predictions of some rows of each configuration."""
        chosen = {name: {*indices} for name, indices in rows.items()}
        kept = [row for row in self.rows if row.index in chosen.get(row.config, ())]
        return replace(self, rows=kept)


class RunFiles(NamedTuple):
    """The prediction files at a path, and the settings of their run: of its run.json or logs."""

    path: Path
    files: Sequence[Path]
    settings: Sequence[RunFacts]
    """Empty if there is neither a run.json nor a log."""


def open_predictions(
    options: PredictionOptions, keep_prompts: bool = False
) -> tuple[Predictions, Release | None]:
    """Read predictions, and open the named release or the one the run was made on.

    Args:
        options: the files, and what they do not say.
        keep_prompts: whether prompts in the files are kept, for sorting errors.

    Raises:
        RulerError: for files that cannot be read, several runs, and two sources of references.
    """
    if options.references is not None and options.dataset is not None:
        raise RulerError("--references and --dataset both name references: give only one of them.")
    if options.columns is not None:
        Columns(options.columns)  # refused before a file is read
    sources: list[RunFiles] = []
    settings: list[RunFacts] = []
    for path in paths(options.files):
        for folder in _shards_of(path) or [path]:
            sources.append(find_files(folder))
            settings += sources[-1].settings
    release = _open_release(options, settings)
    names = release.names if release else _names_of_files(options, sources, settings)
    if options.config is not None:
        names.parse(options.config)
    if options.length is not None:
        parse_length(options.length, names.dataset)
    predictions = Predictions(names=names)
    with without_garbage_collection():
        _read(predictions, sources, options, release, keep_prompts)
        if options.references is not None:
            found = add_references(
                predictions.rows,
                Path(options.references),
                names,
                predictions.run.get("rows", {}),
                keep_prompts,
            )
            predictions.rows, predictions.reference_rows = found.rows, found.digests
            predictions.damaged += found.notes
    if release is None and options.config is None and "dataset" not in predictions.run:
        predictions.names = _names_of_answers(predictions)
    if options.name is not None:
        predictions.run = {**predictions.run, "model": options.name}
    return predictions, release


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause Python's search for reference cycles; predictions have none.

    The search takes a third of the time of reading predictions, and a tenth of a large page's.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# ---- Finding files ---------------------------------------------------------------------------


def find_files(path: Path) -> RunFiles:
    """Find the prediction files of a folder (links followed), or take the file itself.

    Raises RulerError if no files are found, and for several runs of this project or of Inspect.
    """
    if path.is_file():
        folder, files = path.parent, [path]
    elif path.is_dir():
        folder, files = path, answer_files(path)
    else:
        raise RulerError(f"There is no file or folder '{path}'.")
    if files and (facts := run_facts(folder)) is not None:
        return RunFiles(path, files, [facts])
    files = files or _saved_dataset(path) or _direct_files(path, (inspect_log.SUFFIX,))
    if not files:
        below = sorted(_files_below(path))
        runs = sorted({file.parent for file in below if file.name == RUN_FILE})
        if len(runs) == 1 and runs[0] != path:
            return find_files(runs[0])
        _refuse_several(path, [str(run) for run in runs])
        files = _files_of_a_tool(path, below)
    logs = [file for file in files if inspect_log.is_log(file)]
    if logs:
        _refuse_several(path, [str(file.parent) for file in files])
        return RunFiles(path, files, [inspect_log.settings(log) for log in logs])
    facts = run_facts(files[0].parent)
    return RunFiles(path, files, [] if facts is None else [facts])


def answer_files(folder: Path) -> list[Path]:
    """Return the files of answers in a folder: its JSON lines, but of a run only answers.jsonl.

    `ruler errors --out` may have put another file there. Older runs have a file for each
    configuration.
    """
    answers = folder / ANSWERS
    if is_of_run(answers) and answers.is_file():
        return [answers]
    return _direct_files(folder, _LINES)


def _shards_of(path: Path) -> list[Path]:
    """Return the folders of a run's shards. Raises RulerError for those of different runs."""
    folders = shard_folders(path)
    for folder in folders[1:]:
        try:
            check_settings(Records(folders[0]).settings(), Records(folder).settings(), folder)
        except RulerError as error:
            raise RulerError(
                f"'{folder}' is a shard of another run than '{folders[0]}': score one of them."
            ) from error
    return folders


def _direct_files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder with a suffix, without those that a run is still writing."""
    files = []
    for file in sorted(folder.iterdir()):
        if file.name.endswith(suffixes) and not file.name.startswith(("tmp_", ".")):
            files.append(file)
    return files


def _saved_dataset(folder: Path) -> list[Path]:
    """Return the data files of a folder that `datasets` wrote by save_to_disk, in their order."""
    state = folder / "state.json"
    if state.is_file():
        try:
            names = [item["filename"] for item in json.loads(state.read_bytes())["_data_files"]]
        except (ValueError, LookupError, TypeError) as error:
            raise RulerError(f"'{state}' is damaged: save the data set again.") from error
        files = [folder / name for name in names]
        for file in files:
            if not file.is_file():
                raise RulerError(f"'{file}', which '{state}' names, does not exist: get it again.")
        return files
    splits = folder / "dataset_dict.json"
    if not splits.is_file():
        return []
    folders = [split.parent for split in sorted(folder.glob("*/state.json"))]
    if len(folders) != 1:
        splits_of = ", ".join(split.name for split in folders) or "none"
        raise RulerError(f"'{folder}' has the splits {splits_of}: name the folder of one of them.")
    return _saved_dataset(folders[0])


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder; a linked folder is entered once."""
    entered = set()
    for place, below, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in entered:
            below.clear()
            continue
        entered.add(real)
        yield from (Path(place, name) for name in names)


def _files_of_a_tool(path: Path, below: Sequence[Path]) -> list[Path]:
    """Return the files below a folder that a known tool wrote."""
    if files := files_of_a_tool(below):
        return files
    if (path / MANIFEST).is_file():
        raise RulerError(f"'{path}' is a release: name a RUN folder, or files of predictions.")
    if (path / RUN_FILE).is_file():
        raise RulerError(f"'{path}' is a run without an answer yet: continue it, then score it.")
    raise RulerError(
        f"'{path}' has no prediction files (*.jsonl or *.eval, or those of another tool in "
        "docs/formats.md): name a RUN folder, or the files themselves."
    )


def _refuse_several(path: Path, runs: Iterable[str]) -> None:
    names = list(dict.fromkeys(runs))
    if len(names) > 1:
        raise RulerError(
            f"'{path}' has several runs ({some_of(names)}): give the files of one run at a time."
        )


def are_one_run(folders: Sequence[Path]) -> bool:
    """Return whether RUN folders are parts of one run: equal settings, different configurations.

    The folders may also hold the shards of a run each.
    """
    settings: dict[str, object] = {}
    answered: set[str] = set()
    for folder in folders:
        for part in run_folders(folder):
            facts = cast(Mapping[str, object], run_facts(part))
            for name in _SETTINGS:
                if name in facts and settings.setdefault(name, facts[name]) != facts[name]:
                    return False
            names = set(cast(Mapping[str, str], facts.get("rows", {})))
            names = names or {file.name for file in answer_files(part)}
            sessions = cast(RunFacts, facts).get("sessions", [])
            is_shard = any(session.get("shard") for session in sessions)
            if is_shard or names == {ANSWERS}:  # of unknown rows
                names = {str(part.resolve())}
            if names & answered:
                return False
            answered |= names
    return True


# ---- Release and names -----------------------------------------------------------------------


def _open_release(options: PredictionOptions, settings: Sequence[RunFacts]) -> Release | None:
    """Open the named release, or else the one that the last session read."""
    if options.dataset is not None:
        return Release.open(options.dataset, options.revision)
    return None if options.references is not None else release_of_runs(settings)


def _names_of_files(
    options: PredictionOptions, sources: Sequence[RunFiles], settings: Sequence[RunFacts]
) -> Names:
    """Return the names of the files' data set, by their run, by --config, or by the file names."""
    for run in settings:
        if "dataset" in run:
            return Names.standard(run["dataset"])
    if options.config:
        return Names.standard(dataset_of(options.config))
    for source in sources:
        if any(dataset_of_path(file) == "oneruler" or is_oneruler(file) for file in source.files):
            return Names.standard("oneruler")
    return Names.standard("ruler")


def _names_of_answers(predictions: Predictions) -> Names:
    """Return the names of the data set of the answers' configurations.

    Raises RulerError for answers to rows of both data sets.
    """
    first_of: dict[str, Prediction] = {}
    for row in predictions.rows:
        first_of.setdefault(row.config, row)
    by_dataset = {dataset_of(config): row for config, row in first_of.items()}
    if len(by_dataset) > 1:
        first, second = by_dataset.values()
        raise RulerError(
            f"'{first.where}' answers '{first.config}' of {dataset_of(first.config)} and "
            f"'{second.where}' '{second.config}' of {dataset_of(second.config)}: score one data "
            "set at a time."
        )
    return Names.standard(next(iter(by_dataset)))


# ---- Reading ---------------------------------------------------------------------------------


def _read(
    predictions: Predictions,
    sources: Sequence[RunFiles],
    options: PredictionOptions,
    release: Release | None,
    keep_prompts: bool,
) -> None:
    """Add the answers in all files, their digests and the settings of their run."""
    run_of_answer: dict[tuple[str, int], str] = {}
    others: dict[Path, ReadFile] = {}  # files of other tools
    seeds: dict[int | None, None] = {}  # in the paths of files
    for source in sources:
        models: dict[str, None] = {}
        runs: dict[str, None] = {}
        for file in source.files:
            read = _read_file(file, source, predictions, options, release, keep_prompts)
            if read.model:
                models[read.model] = None
            predictions.rows += read.rows
            predictions.damaged += read.notes + _notes_on_ends(file, read.rows)
            predictions.damaged += _notes_on_cut_texts(file, read.rows)
            predictions.files[str(file)] = sha256_of(file)
            if not read.rows:
                predictions.damaged.append(f"{file} has no predictions")
            runs[read.run] = None
            seeds[read.sample] = None
            _refuse_several(source.path, runs)
            _refuse_two_runs(read, run_of_answer)
            if not source.settings:
                others[file] = read
        # the authors' script of ONERULER has special rules for o3 and deepseek, by this name
        for settings in source.settings or [RunFacts(model=model) for model in models]:
            predictions.run = _joined(predictions.run, settings, source.path)
    if options.name is None:
        predictions.damaged += _notes_on_names(others)
    if len(seeds) > 1:
        numbers = ", ".join("no number" if seed is None else str(seed) for seed in seeds)
        predictions.damaged.append(f"The files of {numbers} are read as samples of one run")
    if not predictions.rows:
        why = predictions.damaged[0] if predictions.damaged else "there are no predictions"
        raise RulerError(f"{why}: name a RUN folder, or files of predictions.")


def _notes_on_names(files: Mapping[Path, ReadFile]) -> list[str]:
    """Return a note on files of which nothing says that they are of one run.

    Raises RulerError for files whose names say that they are of two runs.
    """
    labels: dict[str, Path] = {}
    any_names: dict[str, Path] = {}
    folders: dict[str, None] = {}
    for file, read in files.items():
        if read.model is None:
            folders[read.run] = None
        if read.label is not None:
            labels.setdefault(read.label, file)
        elif read.may_have_any_name:
            any_names.setdefault(re.sub(r"\d+", "", file.name), file)
    if len(labels) > 1:
        first, second = [*labels.values()][:2]
        raise RulerError(
            f"By their names, '{first.name}' and '{second.name}' are of two runs: give the files "
            "of one run at a time, or add --name MODEL if one model wrote them."
        )
    notes = []
    for places, kind in ((folders, "folder"), (any_names.values(), "file")):
        if len(places) > 1:
            others = number_of(len(places) - 1, f"other {kind}")
            notes.append(
                f"{next(iter(places))} and {others} are read as one run: they do not name their "
                "models"
            )
    return notes


def _notes_on_ends(file: Path, rows: Iterable[Prediction]) -> list[str]:
    """Return a note on answers that neither ended nor reached their limit: a filter, an abort."""
    known = (None, "stop", "length")
    others = [row for row in rows if row.finish_reason not in known and not row.failed]
    if not others:
        return []
    answers = number_of(len(others), "answer")
    reasons = some_of(dict.fromkeys(f"'{row.finish_reason}'" for row in others))
    return [
        f"{file}: {answers} ended with {reasons} and may be incomplete: scored as they are (the "
        f"first at {others[0].where})"
    ]


def _notes_on_cut_texts(file: Path, rows: Sequence[Prediction]) -> list[str]:
    """Return a note on answers that a spreadsheet, a database or a log cut at its limit.

    Answers that ended at max_new_tokens may repeat a token up to a round number of characters.
    """
    limit = max((len(row.text) for row in rows), default=0)
    is_round = limit % 100 == 0 or limit & (limit + 1) == 0 or limit & (limit - 1) == 0
    ended = {row.text for row in rows if row.finish_reason != "length"}
    cut = sum(len(text) == limit for text in ended)
    min_cut = 1 if limit == SPREADSHEET else MIN_CUT
    if limit < MIN_LIMIT or not is_round or cut < min_cut:
        return []
    return [
        f"{file}: {number_of(cut, 'answer')} of exactly {limit:,} characters, and none is longer: "
        "were they cut there, such as by a spreadsheet?"
    ]


def _refuse_two_runs(read: ReadFile, run_of_answer: dict[tuple[str, int], str]) -> None:
    """Raise RulerError if another run answers a configuration, except as another sample.

    `run_of_answer` is the run by configuration and sample; those of the file are added.
    """
    for row in read.rows:  # shards of one run share a folder
        first_run = run_of_answer.setdefault((row.config, row.sample), read.session)
        if first_run != read.session:
            raise RulerError(
                f"Two runs answer '{row.config}' ({first_run} and {read.session}): give the "
                "files of one run at a time."
            )


def _read_file(
    file: Path,
    files: RunFiles,
    predictions: Predictions,
    options: PredictionOptions,
    release: Release | None,
    keep_prompts: bool,
) -> ReadFile:
    """Read a file of another tool, or of a run."""
    if inspect_log.is_log(file):
        rows = list(inspect_log.predictions(file, keep_prompts))
        return ReadFile(
            rows, run=str(file.parent), session=str(file), sample=None, model=None, notes=[]
        )
    source = Source(file, options, predictions.names, release, keep_prompts)
    if files.settings:  # a run of this project numbers its samples itself
        source.is_own_run, source.sample = True, None
        source.configs.checks_name = False
    return read_file(source)


def _joined(before: RunFacts, new: RunFacts, path: Path) -> RunFacts:
    """Return the settings of several folders of one run; refuse those of two models or modes."""
    old, added = cast(Mapping[str, object], before), cast(Mapping[str, object], new)
    for name in _SETTINGS:
        if name in old and name in added and old[name] != added[name]:
            raise RulerError(
                f"'{path}' is another run ({name} {added[name]}, before it {old[name]}): give the "
                "files of one run at a time."
            )
    for config, digest in new.get("rows", {}).items():
        if before.get("rows", {}).get(config, digest) != digest:
            raise RulerError(
                f"'{path}' is of another release (it has other rows of '{config}'): give the files "
                "of one run at a time."
            )
    joined: RunFacts = {**before, **new}
    if rows := {**before.get("rows", {}), **new.get("rows", {})}:
        joined["rows"] = rows
    if sessions := [*before.get("sessions", []), *new.get("sessions", [])]:
        joined["sessions"] = sessions
    return joined
