"""How far scores of a mini release lie from those of all rows: measured once, kept here alone.

    mini_errors(results, group)     # "4K 78.3 ± 1.8, 8K 74.0 ± 1.8"

Replayed on 17 published runs of all 13 tasks with 500 rows each (Qwen3-8B at 8k and Llama-3.1-8B
at 4k under KV-cache settings) in 200 random orders: 95 % of the scores of the first 40 rows lay
within these points of the score of all.
`python -m tests.bench.bench_mini ROWS.npz` measures it.
"""

from __future__ import annotations

from ruler_common.rows import MINI_ROWS
from ruler_eval.score.results_file import GroupSummary, Results

MINI_ERROR = {"mean": 1.8, "task": 8.1}
"""Points that 95 % of scores stayed within: of the mean over all tasks at one length, of a task."""
TASKS_MEASURED = 13


def mini_errors(results: Results, group: GroupSummary) -> str:
    """Each length's mean with its error, as far as one was measured for so many tasks."""
    kinds = {TASKS_MEASURED: "mean", 1: "task"} if results["dataset"]["name"] == "ruler" else {}
    shown = []
    for length, mean in group["lengths"].items():
        if mean["score"] is not None:
            error = MINI_ERROR.get(kinds.get(mean["tasks"], ""))
            said = f" ± {error:.1f}" if error else ", error not measured"
            shown.append(f"{length.upper()} {mean['score']:.1f}{said}")
    return ", ".join(shown)


def error_note(results: Results) -> str:
    """What to know of the scores of a mini release."""
    said = f"a mini release, the first {MINI_ROWS} rows of each task and length in the frozen order"
    if results["dataset"]["name"] != "ruler":
        return f"{said}: how far its scores lie from those of all rows was not measured"
    return (
        f"{said}: 95 % of replayed scores lay within {MINI_ERROR['mean']:.1f} points of that of "
        f"all rows (mean over {TASKS_MEASURED} tasks at one length), those of a single task within "
        f"{MINI_ERROR['task']:.1f}"
    )
