"""Export a frozen release in the formats of other tools: `ruler export`.

    export("ruler", "lm-eval", Path("tasks"), ["niah_mk_4k"])

    upstream   the reference code's JSON lines, for its scripts (row_files.py)
    kvpress    separate context and question, for kvpress's evaluate.py (row_files.py)
    lm-eval    a task folder for lm-evaluation-harness (harness_tasks.py)
    lighteval  a file of custom tasks for lighteval (harness_tasks.py)
    nemo       a benchmark file (BYOB) for NeMo Evaluator (harness_tasks.py)
    gym        rows and their verifier for NeMo Gym (gym_rows.py)

The rows are not changed, and the digests of their files are checked first. A folder appears under
its name only when it is complete.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import check_folder
from ruler_common.names import DEFAULT_TOKENIZER, Config, check_name
from ruler_eval.export.gym_rows import write_gym
from ruler_eval.export.harness_tasks import write_lighteval, write_lm_eval, write_nemo
from ruler_eval.export.job import ExportJob
from ruler_eval.export.row_files import write_kvpress, write_reference
from ruler_eval.frozen_release import Release, chosen_files

FORMATS: Mapping[str, Callable[[ExportJob], str]] = {
    "upstream": write_reference,
    "kvpress": write_kvpress,
    "lm-eval": write_lm_eval,
    "lighteval": write_lighteval,
    "nemo": write_nemo,
    "gym": write_gym,
}
"""For each format, the function that fills the folder of a job and returns a command to use it."""


@dataclass(frozen=True)
class Exported:
    """The result of an export."""

    configs: int
    """Single-task configurations that were written."""
    rows: int
    next: str
    """A command that uses the export."""


def export(
    source: str,
    format: str,
    to: Path,
    configs: Sequence[str] = (),
    tokenizer: str | None = None,
    revision: str | None = None,
) -> Exported:
    """Write configurations (default: all tasks) of a release into the new folder `to`.

    `format` is a name in FORMATS. Shows a progress bar on a terminal. Raises RulerError for an
    unknown configuration, a wrong digest, or a folder that is not empty.
    """
    release = Release.open(source, revision)
    if revision is not None and release.revision is None:
        raise RulerError(f"'{source}' is a folder: --revision is for a Hub repository.")
    chosen = choose(release, configs, tokenizer)
    with new_folder(to) as folder:
        command = FORMATS[format](ExportJob(release=release, configs=chosen, folder=folder, to=to))
    rows = sum(release.size(config.name) for config in chosen)
    return Exported(len(chosen), rows, command)


def choose(release: Release, configs: Sequence[str], tokenizer: str | None) -> list[Config]:
    """Return the chosen single-task configurations, each once and all of the same tokenizer.

    An export cannot have two tokenizers, because their files would have the same names.
    """
    files = release.manifest["files"]
    tokenizers = list(dict.fromkeys(file["tokenizer"] for file in files.values()))
    if not tokenizers:
        raise RulerError(f"'{release.source}' has no files: build or fetch some rows first.")
    if tokenizer is not None:
        check_name("tokenizer", tokenizer, tokenizers, f"ruler list {release.source}")
    paths = chosen_files(configs, release.manifest, tokenizer, where=release.source)
    if not configs:
        if tokenizer is None and DEFAULT_TOKENIZER not in tokenizers and len(tokenizers) > 1:
            raise RulerError(f"The release has {', '.join(tokenizers)}: name one with --tokenizer.")
        if tokenizer is None:
            tokenizer = DEFAULT_TOKENIZER if DEFAULT_TOKENIZER in tokenizers else tokenizers[0]
        paths = [path for path, file in files.items() if file["tokenizer"] == tokenizer]
    chosen = [release.parse(files[path]["config"]) for path in dict.fromkeys(paths)]
    if len({config.tokenizer for config in chosen}) > 1:
        raise RulerError(
            "These configurations have several tokenizers: export each into a separate folder."
        )
    tasks = list(release.names.tasks)
    return sorted(chosen, key=lambda c: (c.max_length, c.languages, tasks.index(c.task)))


@contextmanager
def new_folder(to: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `to` at the end, or deleted after an error."""
    check_folder(to)
    if to.exists() and any(to.iterdir()):
        raise RulerError(f"'{to}' is not empty: name a new folder with --to.")
    to = to.resolve()
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as temporary:
        folder = Path(temporary, to.name)
        folder.mkdir()
        yield folder
        if to.exists():
            to.rmdir()
        folder.rename(to)
