"""Reads prediction files and folders of any known format (ruler_eval/score/formats/).

    found = read([Path("runs/qwen")], Naming(names=release.names))
    found.rows[0].text, found.run["model"], found.files

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
from ruler_common.names import Names
from ruler_eval.prediction import Prediction
from ruler_eval.score.config_naming import Naming
from ruler_eval.score.formats import inspect_log
from ruler_eval.score.formats.form_table import Form, form_of_path, forms
from ruler_eval.score.formats.prediction_formats import PredictionFile, run_id
from ruler_eval.score.formats.prompt_check import PromptCheck
from ruler_eval.score.formats.run_facts import RUN_FILE, RunFacts, run_facts

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
    parts: dict[str, list[int]] = {}
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
                    parts=parts,
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
            return _sorted(direct)
    files = _sorted(_walk(path))
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


def _sorted(files: Iterable[Path]) -> list[Path]:
    """In the order of their names, but `vt_4k_10.json`, a part, after `vt_4k_9.json`."""

    def key(file: Path) -> tuple[str, int]:
        name, _, number = file.stem.rpartition("_")
        last = number.isascii() and number.isdecimal()
        return (str(file.with_name(name)), int(number)) if last and name else (str(file), 0)

    return sorted(files, key=key)


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
    return run_id(form, file) if form else str(file.parent)


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
