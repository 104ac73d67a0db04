"""A release built from the project's own texts, and runs on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ruler_common.frozen import FrozenRows
from ruler_eval.frozen_release import Release
from tests.conftest import Once
from tests.eval.scoring_helpers import right, write_run_folder
from tests.in_process import ruler_output


@pytest.fixture(scope="session")
def built(once: Once) -> Path:
    """Thirteen tasks at 4k and 8k, five rows each, as `ruler build` makes them."""

    def make(root: Path) -> None:
        arguments = ["--sources", "embedded", "--lengths", "4k,8k", "--rows", "5"]
        ruler_output("build", root, *arguments)

    return once("built/ruler", make)


@pytest.fixture(scope="session")
def frozen(built) -> Release:
    return Release.open(str(built))


@pytest.fixture
def lock(monkeypatch):
    """Freeze rows of ruler for a test: `lock({"vt_4k": rows_sha256})`."""

    def freeze(digests) -> None:
        frozen = FrozenRows(
            data_version="1.0.0",
            builder_version="0.2.0",
            published=False,
            seed=0,
            reserve=128,
            rows_per_file={"ruler": 5, "oneruler": 5},
            rows={"ruler": dict(digests)},
        )
        monkeypatch.setattr("ruler_common.frozen.read_frozen", lambda _: frozen)

    return freeze


@pytest.fixture
def write_run(tmp_path, built):
    """Write a RUN folder that answers rows: `write_run(answer, name="a", configs=None)`."""
    return lambda answer, name="run", configs=None: write_run_folder(
        tmp_path / name, built, answer, configs
    )


@pytest.fixture
def run(write_run, built, frozen):
    """A scored RUN folder: all of 4k and qa_1_8k right but for one task."""

    def make(name="run", **settings):
        configs = [c for c in frozen.configs if c.endswith("_4k")]
        folder = write_run(
            lambda config, row: "" if config == "vt_4k" else right(config, row),
            name,
            [*configs, "qa_1_8k"],
        )
        path = folder / "run.json"
        run_json = json.loads(path.read_text(encoding="utf-8"))
        run_json["mode"] = "prefill"
        run_json["sessions"][0] |= {"started": "2026-11-01T10:00:00+00:00", "ended": None}
        path.write_text(json.dumps({**run_json, **settings}), encoding="utf-8")
        ruler_output("score", folder, "--dataset", built)
        return folder

    return make
