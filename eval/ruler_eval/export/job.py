"""An export: its configurations and folder, and the files that several formats write.

    for config in job.each():
        job.write_rows(config, COLUMNS, folder / f"{config.name}.jsonl")

The folders for lm-evaluation-harness, lighteval and NeMo Evaluator share the scorer:

    TO/utils.py                                the scoring of one row
    TO/ruler_score.py, and what it imports     a copy of this project's metric
    TO/scoring.json                            the dataset, the scoring rule of each task, and the
                                               languages that the metric does not have
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import Config
from ruler_common.text import steps
from ruler_eval.frozen_release import Release
from ruler_eval.tasks import scoring_task
from ruler_score import metric_files

RELEASE_PLACE = """
The release is expected in `{place}`, relative to this folder: move both together, or set its folder
with `export RULER_RELEASE=FOLDER`.
"""


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """Configurations of a release, and the folder to write them to."""

    release: Release
    configs: Sequence[Config]
    """Single tasks with the same tokenizer, ordered by length."""
    folder: Path
    """The temporary folder that is written."""
    to: Path
    """The final name of the folder."""

    def each(self) -> Iterator[Config]:
        """Yield the configurations one by one, with a progress bar on a terminal."""
        return steps(self.configs, "Exporting")

    def write_rows(self, config: Config, columns: Sequence[str], path: Path) -> None:
        """Write these columns of a configuration's rows as JSON lines."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for row in self.release.rows(config.name, columns):
                file.write(json.dumps(row) + "\n")

    def write_readme(self, template: str, needs_release: bool = False, **facts: Any) -> None:
        """Write README.md from a template of `readme/`, its {title}, {provenance} and `facts`.

        With `needs_release` it says where a local release is expected.
        """
        text = (files("ruler_eval.export") / "readme" / template).read_text(encoding="utf-8")
        title = self.release.dataset.upper()
        text = text.format(title=title, provenance=self.provenance, **facts)
        if needs_release and self.relative_release is not None:
            text += RELEASE_PLACE.format(place=self.relative_release)
        (self.folder / "README.md").write_text(text, encoding="utf-8")

    def write_scorer(self, **more: Any) -> None:
        """Write the scorer's files; `more` are further fields of scoring.json."""
        release = self.release
        scoring = {
            "dataset": release.dataset,
            "rules": {
                config.task: scoring_task(config.task, release.dataset, release)
                for config in self.configs
            },
            "languages": dict(release.languages.custom),
            **more,
        }
        text = json.dumps(scoring, indent=1) + "\n"
        (self.folder / "scoring.json").write_text(text, encoding="utf-8")
        self.copy("utils.py", "utils.py")
        for file in metric_files():
            shutil.copyfile(file, self.folder / file.name)

    def copy(self, module: str, name: str) -> None:
        """Copy a module of `copied/` into the folder."""
        shutil.copyfile(Path(__file__).parent / "copied" / module, self.folder / name)

    def budget(self, config: Config) -> tuple[int, bool]:
        """Return the rows' `max_new_tokens`, and whether their answer prefix begins with a space.

        Raises RulerError if rows of a configuration differ, because harnesses have one setting for
        a task.
        """
        rows = list(self.release.rows(config.name, ("max_new_tokens", "answer_prefix")))
        settings = {(row["max_new_tokens"], row["answer_prefix"].startswith(" ")) for row in rows}
        if len(settings) != 1:
            raise RulerError(
                f"The rows of '{config.name}' differ in max_new_tokens or in how their answer "
                "prefix begins, but the harness has one setting per task: leave "
                "it out of --configs."
            )
        return settings.pop()

    @property
    def relative_release(self) -> str | None:
        """The path of a local release relative to the exported folder; None for the Hub."""
        if self.release.revision is not None:
            return None
        return os.path.relpath(self.release.root.resolve(), self.to.resolve())

    @property
    def provenance(self) -> str:
        """The source of the rows, for a README: `ORG/ruler at 0123456 (ruler 1.0.0)`."""
        release = self.release
        revision = f" at {release.revision}" if release.revision else ""
        return f"{release.source}{revision} ({release.dataset} {release.manifest['data_version']})"


def write_yaml(path: Path, settings: Mapping[str, Any], more: str = "") -> None:
    """Write settings as YAML, then the text `more`."""
    from huggingface_hub.utils import yaml_dump

    path.write_text(yaml_dump(settings, sort_keys=False) + more, encoding="utf-8")
