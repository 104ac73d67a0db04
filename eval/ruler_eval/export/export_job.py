"""What every format of `ruler export` is asked to do, and the files that more than one writes.

    job = ExportJob(release=release, configs=configs, folder=folder, to=Path("tasks"))
    for config in job.each():
        job.write_rows(config, COLUMNS, folder / f"{config.name}.jsonl")

export_release.py makes the job and hands it to the format's module.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruler_common.names import Config
from ruler_common.terminal import steps
from ruler_eval.frozen_release import Release

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
