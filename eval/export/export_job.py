"""What every format of `ruler export` is asked to do, and the files that more than one writes.

    job = ExportJob(release=release, configs=configs, folder=folder, to=Path("tasks"))
    for config in job.each():
        job.write_rows(config, COLUMNS, folder / f"{config.name}.jsonl")

export_release.py makes the job and hands it to the format's module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.frozen_release import Release
from eval.step_bar import steps
from ruler_dataset import Config


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
    quiet: bool = False

    def each(self) -> Iterator[Config]:
        """The configurations one by one, with a progress bar on a terminal."""
        return steps(self.configs, "Exporting", quiet=self.quiet)

    def write_rows(self, config: Config, columns: Sequence[str], path: Path) -> None:
        """Write these columns of a configuration's rows as JSON lines."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for row in self.release.rows(config.name, columns):
                file.write(json.dumps(row) + "\n")

    def write_readme(self, template: str, **facts: Any) -> None:
        """Write README.md: the template with its {title}, {provenance}, {folder} and `facts`."""
        text = template.format(
            title=self.release.dataset.upper(), provenance=self.provenance, folder=self.to, **facts
        )
        (self.folder / "README.md").write_text(text, encoding="utf-8")

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
