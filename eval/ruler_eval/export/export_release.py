"""A frozen release in the forms that other tools read: `ruler export`.

    export("ruler", "lm-eval", Path("tasks"), ["niah_mk_4k"])

    upstream   the reference code's JSON lines, for its own scripts (reference_files.py)
    kvpress    context and question apart, for kvpress's evaluate.py (kvpress.py)
    lm-eval    a task folder for lm-evaluation-harness (lm_eval_tasks.py)
    lighteval  a file of custom tasks for lighteval (lighteval_tasks.py)
    nemo       a benchmark file (BYOB) for NeMo Evaluator (nemo_benchmarks.py)

The rows are the frozen ones, character for character, and their files' digests are checked first.
A folder appears under its name only when it is complete. Every format's module is handed an
ExportJob:

    for config in job.each():
        job.write_rows(config, COLUMNS, folder / f"{config.name}.jsonl")
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import DEFAULT_TOKENIZER, Config, check_name
from ruler_common.terminal import steps
from ruler_eval.frozen_release import Release, chosen_files

FORMATS = {
    "upstream": "reference_files",
    "kvpress": "kvpress",
    "lm-eval": "lm_eval_tasks",
    "lighteval": "lighteval_tasks",
    "nemo": "nemo_benchmarks",
}
"""The formats and their modules.

Each has `write(job)`: it fills the job's folder and gives the command that uses it.
"""
RELEASE_BESIDE = """
The release is looked for in `{place}`, seen from this folder: move the two together, or name it
with `export RULER_RELEASE=FOLDER`.
"""


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """Configurations of a release, and the folder to fill with them.

    `configs` are single tasks of one tokenizer, those of a length together. Files are written into
    `folder`, which takes the name `to` when all are there.
    """

    release: Release
    configs: Sequence[Config]
    folder: Path
    to: Path

    def each(self) -> Iterator[Config]:
        """The configurations one by one, with a progress bar on a terminal."""
        return steps(self.configs, "Exporting")

    def write_rows(self, config: Config, columns: Sequence[str], path: Path) -> None:
        """Write these columns of a configuration's rows as JSON lines."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for row in self.release.rows(config.name, columns):
                file.write(json.dumps(row) + "\n")

    def write_readme(self, template: str, needs_release: bool = False, **facts: Any) -> None:
        """Write README.md: a template of `readme/` with its {title}, {provenance} and `facts`.

        With `needs_release` it says where a local release is looked for.
        """
        text = (files("ruler_eval.export") / "readme" / template).read_text(encoding="utf-8")
        title = self.release.dataset.upper()
        text = text.format(title=title, provenance=self.provenance, **facts)
        if needs_release and self.release_beside is not None:
            text += RELEASE_BESIDE.format(place=self.release_beside)
        (self.folder / "README.md").write_text(text, encoding="utf-8")

    @property
    def release_beside(self) -> str | None:
        """A local release's folder as seen from the exported one; None for a Hub repository."""
        if self.release.revision is not None:
            return None
        root, to = self.release.root.resolve(), self.to.resolve()
        if root.drive != to.drive:  # on Windows
            return root.as_posix()
        return Path(os.path.relpath(root, to)).as_posix()

    @property
    def provenance(self) -> str:
        """Where the rows are from, for a README: `ORG/ruler at 0123456 (ruler 1.0.0)`."""
        release = self.release
        revision = f" at {release.revision}" if release.revision else ""
        return f"{release.source}{revision} ({release.dataset} {release.manifest['data_version']})"


def write_yaml(path: Path, settings: Mapping[str, Any], more: str = "") -> None:
    """Write settings as YAML, then `more` as it stands."""
    from huggingface_hub.utils import yaml_dump

    path.write_text(yaml_dump(settings, sort_keys=False) + more, encoding="utf-8")


@dataclass(frozen=True)
class Exported:
    """What was written: single-task configurations, rows, and the command that uses them."""

    configs: int
    rows: int
    next: str


def export(
    source: str,
    form: str,
    to: Path,
    configs: Sequence[str] = (),
    tokenizer: str | None = None,
    revision: str | None = None,
) -> Exported:
    """Write configurations (default: all tasks) of a release into the new folder `to`.

    A terminal shows a progress bar. Raises RulerError for an unknown format or
    configuration, a wrong digest, a folder that is not empty.
    """
    check_name("format", form, FORMATS, "ruler export --help")
    release = Release.open(source, revision)
    if revision is not None and release.revision is None:
        raise RulerError(f"'{source}' is a folder: --revision is for a Hub repository.")
    chosen = choose(release, configs, tokenizer)
    writer = importlib.import_module(f"ruler_eval.export.{FORMATS[form]}")
    with new_folder(to) as folder:
        job = ExportJob(release=release, configs=chosen, folder=folder, to=to)
        command = writer.write(job)
    rows = sum(release.size(config.name) for config in chosen)
    return Exported(len(chosen), rows, command)


def choose(release: Release, configs: Sequence[str], tokenizer: str | None) -> list[Config]:
    """The single-task configurations that are meant, each once, all of one tokenizer.

    Other tools' folders have no place for a second tokenizer: its files would hide the first's.
    """
    held = release.manifest["files"]
    there = list(dict.fromkeys(file["tokenizer"] for file in held.values()))
    if not there:
        raise RulerError(f"'{release.source}' holds no files: there is nothing to export.")
    if tokenizer is not None:
        check_name("tokenizer", tokenizer, there, f"ruler list {release.source}")
    found = chosen_files(configs, release.manifest, tokenizer)
    if not configs:
        if tokenizer is None and DEFAULT_TOKENIZER not in there and len(there) > 1:
            raise RulerError(f"The release has {', '.join(there)}: name one with --tokenizer.")
        wanted = tokenizer or (DEFAULT_TOKENIZER if DEFAULT_TOKENIZER in there else there[0])
        found = [path for path, file in held.items() if file["tokenizer"] == wanted]
    chosen = [release.parse(held[path]["config"]) for path in dict.fromkeys(found)]
    if len({config.tokenizer for config in chosen}) > 1:
        raise RulerError("These are of several tokenizers: export each into a folder of its own.")
    tasks = list(release.names.tasks)
    return sorted(chosen, key=lambda c: (c.max_length, c.languages, tasks.index(c.task)))


@contextmanager
def new_folder(to: Path) -> Iterator[Path]:
    """A folder beside `to` that takes its name when all went well, and is gone otherwise."""
    to = to.resolve()
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise RulerError(f"'{to}' is not empty: name a new folder with --to.")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as beside:
        folder = Path(beside, to.name)
        folder.mkdir()
        yield folder
        if to.exists():
            to.rmdir()
        folder.rename(to)
