"""What the folders for lm-evaluation-harness, lighteval and NeMo Evaluator share: the scorer.

    TO/utils.py  TO/ruler_score.py     the scoring rule: this project's metric module, copied
    TO/scoring.json                    the data set, and whose rule each task follows

Each of these harnesses has one budget of answer tokens for a task: `budget` reads it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from eval.export import exported_scorer
from eval.export.export_job import ExportJob
from eval.frozen_release import Release
from eval.ruler_score import ruler_score
from eval.score.join import rule_task
from ruler_dataset import Config, RulerError


def write_scorer(job: ExportJob, **more: Any) -> None:
    """Write the scorer's three files into the folder; scoring.json takes `more` in."""
    rules = {config.task: rule_task(config.task, job.release) for config in job.configs}
    scoring = json.dumps({"dataset": job.release.dataset, "rules": rules, **more}, indent=1)
    (job.folder / "scoring.json").write_text(scoring + "\n", encoding="utf-8")
    shutil.copyfile(Path(str(exported_scorer.__file__)), job.folder / "utils.py")
    shutil.copyfile(Path(str(ruler_score.__file__)), job.folder / "ruler_score.py")


def budget(release: Release, config: Config) -> tuple[int, bool]:
    """The rows' `max_new_tokens`, and whether their answer prefix begins with a space.

    Raises RulerError if they differ within the configuration.
    """
    rows = list(release.rows(config.name, ("max_new_tokens", "answer_prefix")))
    found = {(row["max_new_tokens"], row["answer_prefix"].startswith(" ")) for row in rows}
    if len(found) != 1:
        raise RulerError(
            f"The rows of '{config.name}' differ in max_new_tokens or in how their answer prefix "
            "begins: the harness has one setting a task."
        )
    return found.pop()
