"""A file of custom tasks for lighteval that evaluates the frozen rows.

    lighteval accelerate "model_name=MODEL" ruler_direct_4k --custom-tasks TO/ruler_frozen.py

    TO/ruler_frozen.py                               the tasks, and the metric (lighteval_file.py)
    TO/scoring.json  TO/utils.py  …                  what they read, and the rule (scorer_files.py)

A task is `ruler_frozen_4k:vt` for base models, `ruler_direct_4k:vt` for chat models; without the
part behind the colon, all tasks of that length, and their plain mean. The rows stay where they are:
a release's folder is found from this one (utils.py), a Hub repository by its commit. Run with
lighteval 0.13.0.
It calls HfApi.list_models as huggingface_hub 1 has it when it starts, and hands text to xxhash,
which takes only bytes from 4 on, when it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ruler_common.names import Config
from ruler_eval.export.export_release import ExportJob
from ruler_eval.export.scorer_files import FILE, write_tasks


def write(job: ExportJob) -> str:
    """Write the tasks and their metric; return the command that evaluates them."""
    release = job.release
    rows_are: dict[str, Any] = {
        "release": job.release_beside,
        "source": release.source if release.revision else None,
        "revision": release.revision,
        "data_version": release.manifest["data_version"],
    }
    write_tasks(job, "lighteval_file.py", task_name, **rows_are)
    example, base = (_example(kind, job.configs) for kind in ("direct", "frozen"))
    job.write_readme("lighteval.md", needs_release=True, example=example, base=base, file=FILE)
    return f'lighteval accelerate "model_name=MODEL" {example} --custom-tasks {job.to / FILE}'


def _example(kind: str, configs: Sequence[Config]) -> str:
    """The last task, or its length where there are several: lighteval has no group of one."""
    names = [task_name(kind, config) for config in configs]
    group = names[-1].partition(":")[0]
    return group if sum(name.startswith(f"{group}:") for name in names) > 1 else names[-1]


def task_name(kind: str, config: Config) -> str:
    """`ruler_frozen_4k:vt`: lighteval runs, and averages, all that share what stands before `:`."""
    group = config.name.removeprefix(f"{config.task}_")
    return f"{config.dataset}_{kind}_{group}:{config.task}"
