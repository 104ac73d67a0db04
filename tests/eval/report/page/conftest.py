"""Scored runs on the built release, and pages of them, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Once
from tests.eval.report.page.page_helpers import hostile, worse, write_run
from tests.eval.scoring_helpers import right, ruler


@pytest.fixture(scope="session")
def three_runs(once: Once, built: Path) -> list[Path]:
    """A run that is all right, one that is wrong now and then, and one with hostile answers."""

    def make(root: Path) -> None:
        write_run(root / "right", built, right, "Right-70B")
        write_run(root / "worse", built, worse(2), "Worse-8B")
        configs = [f"{task}_4k" for task in ("niah_single_1", "niah_multivalue", "vt", "qa_1")]
        write_run(root / "hostile", built, hostile, "<b>\u202e</script>[red]\x1b[1m", configs)

    root = once("page/runs", make)
    return [root / name for name in ("right", "worse", "hostile")]


@pytest.fixture(scope="session")
def page_file(once: Once, three_runs: list[Path]) -> Path:
    """The page of the three runs."""

    def make(path: Path) -> None:
        arguments = ["--out", path, "--json", path.with_suffix(".json")]
        _, error, code = ruler("report", *three_runs, *arguments)
        assert code == 0, error

    return once("page/report.html", make)
