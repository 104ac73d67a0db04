"""The metric: an `evaluate` module (`evaluate.load(ruler_score_path())`) and a Python package.

from ruler_score import compute
compute(["It is 1234567."], [["1234567"]], tasks="niah_single_1")["score"]      # 100.0
"""

from pathlib import Path

from ruler_score.ruler_score import ANSWER_TAGS, ONERULER_TASKS, RULER_TASKS, SCORE_VERSION, compute

__all__ = [
    "ANSWER_TAGS",
    "ONERULER_TASKS",
    "RULER_TASKS",
    "SCORE_VERSION",
    "compute",
    "metric_files",
    "ruler_score_path",
]


def ruler_score_path() -> str:
    """Return the folder of the metric, for `evaluate.load`."""
    return str(Path(__file__).parent)


def metric_files() -> list[Path]:
    """Return the modules that score; exports and the metric's Space have copies of them."""
    excluded = {"__init__.py", "app.py", "tests.py"}  # the package, and the Space's page
    return sorted(file for file in Path(__file__).parent.glob("*.py") if file.name not in excluded)
