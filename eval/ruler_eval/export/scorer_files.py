"""What the folders for lm-evaluation-harness, lighteval and NeMo Evaluator share: the scorer.

    TO/utils.py                                the scoring of one row
    TO/ruler_score.py, and what it imports     its rule: this project's metric, copied
    TO/scoring.json                            the data set, whose rule each task follows, and the
                                               languages that the metric does not have

Each of these harnesses has one budget of answer tokens for a task: `budget` reads it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import Config
from ruler_eval.export import exported_scorer
from ruler_eval.export.export_release import ExportJob
from ruler_eval.frozen_release import Release
from ruler_eval.run.prompts import DIRECT
from ruler_eval.tasks import scoring_task
from ruler_score import ruler_score_path

FILE = "ruler_frozen.py"
"""The file of a harness's own that lists the tasks."""
_METRIC = (
    *("ruler_score.py", "ruler_rules.py", "oneruler_rules.py", "language_text.py"),
    *("language_rules.py", "split_reasoning.py", "task_rules.py"),
)


def write_scorer(job: ExportJob, **more: Any) -> None:
    """Write the scorer's files into the folder; scoring.json takes `more` in."""
    release = job.release
    rules = {
        config.task: scoring_task(config.task, release.dataset, release) for config in job.configs
    }
    languages = dict(release.languages.custom)
    facts = {"dataset": release.dataset, "rules": rules, "languages": languages, **more}
    scoring = json.dumps(facts, indent=1)
    (job.folder / "scoring.json").write_text(scoring + "\n", encoding="utf-8")
    shutil.copyfile(Path(str(exported_scorer.__file__)), job.folder / "utils.py")
    for name in _METRIC:
        shutil.copyfile(Path(ruler_score_path(), name), job.folder / name)


def write_tasks(
    job: ExportJob,
    module: str,
    name: Callable[[str, Config], str],
    columns: Sequence[str] = (),
    **more: Any,
) -> list[dict[str, Any]]:
    """Copy a harness's `module` as FILE, and write its scorer, with what FILE reads of each task.

    A task has two names: `frozen` (the raw text) and `direct` (a chat's turn). The rows'
    `columns` are written too, for a harness that reads no release.
    """
    tasks = []
    for config in job.each():
        names = {kind: name(kind, config) for kind in ("frozen", "direct")}
        tokens, _ = budget(job.release, config)
        tasks.append({"config": config.name, **names, "max_new_tokens": tokens})
        if columns:
            job.write_rows(config, columns, job.folder / "data" / f"{config.name}.jsonl")
    write_scorer(job, **more, direct=DIRECT if job.release.dataset == "ruler" else "", tasks=tasks)
    shutil.copyfile(Path(__file__).with_name(module), job.folder / FILE)
    return tasks


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
