"""A small release of each data set, a run over it and its scores, from which the cases are made."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ruler_dataset import MANIFEST
from tests.builder.checks import planting
from tests.fuzz.watching import Watch

KEPT = {
    "ruler": ("data/tekken/4k/vt.parquet", "data/tekken/4k/qa_1.parquet"),
    "oneruler": ("data/tekken/8k/en/niah_none.parquet", "data/tekken/8k/en-zh/niah_single.parquet"),
}
ROWS = 3


class Workshop(Watch):
    """The folder of the cases, and the sound files in it that a case copies and damages."""

    def __init__(self, folder: Path, releases: dict[str, Path]) -> None:
        super().__init__(folder)
        self.base = folder / "base"
        self.json: dict[str, Any] = {}
        for name, root in releases.items():
            _small(root, self.base / name, name)
            out = self.base / f"RUN-{name}"
            answered = self.run(
                *("run", "--dataset", f"base/{name}", "--configs", "all"),
                *("--backend", "oracle", "--out", out),
            )
            assert answered.code == 0, answered
            assert self.run("score", out).code == 0
            assert self.run("errors", out, "--out", out / "errors.json").code == 0
            for file in ("run.json", "results.json"):
                self.json[f"{name}/{file}"] = json.loads((out / file).read_bytes())
            manifest = (self.base / name / MANIFEST).read_bytes()
            self.json[f"{name}/{MANIFEST}"] = json.loads(manifest)
            for lock in out.glob(".*.lock"):
                lock.unlink()

    def new(self, *folders: str) -> None:
        """An empty case that holds links to sound folders, whose files are to be replaced."""
        shutil.rmtree(self.case, ignore_errors=True)
        self.case.mkdir()
        for name in folders:
            _link(self.base / name, self.case / name)

    def options(self, command: str) -> list[tuple[str, bool]]:
        """The options of a command, each with whether it takes a value."""
        found = getattr(self.command, "commands", {}).get(command)
        return [
            (parameter.opts[0], not parameter.is_flag)
            for parameter in (found.params if found else ())
            if parameter.opts[0].startswith("--")
        ]

    def write(self, path: str, data: str | bytes) -> None:
        """Put a file into the case, in place of the one that is there."""
        file = self.case / path
        file.unlink(missing_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)


def _link(source: Path, target: Path) -> None:
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir():
                _link(Path(entry.path), target / entry.name)
            else:
                os.link(entry.path, target / entry.name)


def _small(release: Path, root: Path, name: str) -> None:
    """Two files of a release, a few rows each."""
    manifest = json.loads((release / MANIFEST).read_bytes())
    manifest["files"] = {path: manifest["files"][path] for path in KEPT[name]}
    for path in KEPT[name]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release / path, root / path)
    for file in ("README.md", "eval.yaml"):
        shutil.copy(release / file, root / file)
    planting.write_manifest(root, manifest)
    for path in KEPT[name]:
        planting.plant(root, path, lambda rows: rows.__delitem__(slice(ROWS, None)))


@pytest.fixture(scope="session")
def workshop(release: Path, oneruler: Path, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("fuzz"), {"ruler": release, "oneruler": oneruler})
