"""A small release of each data set, a run over it and its scores, from which the cases are made."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ruler_common.manifest import MANIFEST
from tests.builder.verify import planting
from tests.fuzz.sandbox import Sandbox

KEPT = {
    "ruler": ("data/tekken/4k/vt.parquet", "data/tekken/4k/qa_1.parquet"),
    "oneruler": ("data/tekken/8k/en/niah_none.parquet", "data/tekken/8k/en-zh/niah_single.parquet"),
}
ROWS = 3
_MEMORY = "/dev/shm"
"""A folder in memory, where there is one: half of a case's time is files on a disk."""


def _small(release: Path, root: Path, name: str) -> None:
    """Two files of a release, a few rows each."""
    manifest = json.loads((release / MANIFEST).read_bytes())
    manifest["files"] = {path: manifest["files"][path] for path in KEPT[name]}
    for path in KEPT[name]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release / path, root / path)
    for file in ("README.md", "eval.yaml"):
        shutil.copy(release / file, root / file)
    (root / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    for path in KEPT[name]:
        planting.plant(root, path, lambda rows: rows.__delitem__(slice(ROWS, None)))


@pytest.fixture(scope="session")
def sandbox(release: Path, oneruler: Path) -> Iterator[Sandbox]:
    """Releases, and runs over them with their scores, in `base`; see Sandbox."""
    where = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ruler-fuzz-", dir=where) as folder:
        made = Sandbox(Path(folder))
        for name, root in {"ruler": release, "oneruler": oneruler}.items():
            _small(root, made.base / name, name)
            run, out = f"base/RUN-{name}", made.base / f"RUN-{name}"
            answering = ("--configs", "all", "--backend", "oracle", "--out", run)
            for command in (
                ("run", "--dataset", f"base/{name}", *answering),
                ("score", run),
                ("errors", run, "--out", f"{run}/errors.json"),
            ):
                assert made.run(*command).code == 0
            for lock in out.glob(".*.lock"):
                lock.unlink()
        gc.collect()
        gc.freeze()  # what is loaded by now stays: no case is to look through it
        yield Sandbox(made.folder)
        gc.unfreeze()
