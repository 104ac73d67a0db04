"""The reference code's layout (NVIDIA/RULER), so that its own scripts run on the frozen rows.

    TO/4096/data/vt/validation.jsonl     {"index": 0, "input": "…", "outputs": ["…"],
                                          "length": 4066, "answer_prefix": " Answer: …"}

`TO/4096` is its results folder: pred/call_api.py reads `data` and writes `pred`, eval/evaluate.py
and `ruler score` read `pred`. As in its current main (July 2026 on), the answer prefix stands
beside the input and call_api joins them; its versions from January 2025 until then drop the prefix,
of their own data too. The prompt is the bare one (its template type `base`): no chat template.
"""

from __future__ import annotations

from ruler_common.errors import RulerError
from ruler_eval.export.export_release import ExportJob

COLUMNS = ("index", "input", "outputs", "length", "answer_prefix")
SUBSET = "validation"
"""The name its scripts take where `--subset` is not given."""


def write(job: ExportJob) -> str:
    """Write a file for each length and task; return the command that answers one of them."""
    if job.release.dataset != "ruler":
        raise RulerError(
            f"The reference code has no tasks of {job.release.dataset}: use --format lm-eval."
        )
    for config in job.each():
        data = job.folder / str(config.max_length) / "data"
        job.write_rows(config, COLUMNS, data / config.task / f"{SUBSET}.jsonl")
    first = job.configs[0]
    place = job.to / str(first.max_length)
    return (
        f"python pred/call_api.py --data_dir {place}/data --save_dir {place}/pred "
        f"--task {first.task} …   (in the reference code's scripts/)"
    )
