"""A benchmark file (BYOB) for NeMo Evaluator that evaluates the frozen rows.

    export NEMO_MODEL_URL=http://localhost:8000/v1 NEMO_MODEL_ID=MODEL
    cd TO && nel eval run chat.yaml

    TO/ruler_frozen.py                               benchmarks and scorer (nemo_file.py)
    TO/chat.yaml  TO/completions.yaml                each benchmark with its budget of answer tokens
    TO/data/vt_4k.jsonl                              the rows
    TO/scoring.json  TO/utils.py  …                  the scorer and its rule (scorer_files.py)

`ruler_direct_vt_4k` asks the chat endpoint, which cannot begin the assistant's turn: Table 6's line
of RULER's paper and the answer prefix end the user's. `ruler_frozen_vt_4k` asks the completions
endpoint the raw text. Run with nemo-evaluator 0.3.0 and 0.2.8: the scores are those of
`ruler score`. The folder holds all it needs; its settings name its files as seen from within it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ruler_common.names import Config
from ruler_eval.export.export_release import ExportJob, write_yaml
from ruler_eval.export.scorer_files import FILE, write_tasks

COLUMNS = (
    *("index", "task", "input", "answer_prefix", "outputs"),
    *("max_new_tokens", "instruction_language", "none_word"),
)
ENDPOINTS = {"direct": "chat", "frozen": "completions"}


def write(job: ExportJob) -> str:
    """Write benchmarks, rows, budgets and scorer; return the command that evaluates them."""
    tasks = write_tasks(job, "nemo_file.py", task_name, COLUMNS)
    for kind, endpoint in ENDPOINTS.items():
        write_yaml(job.folder / f"{endpoint}.yaml", run_settings(tasks, kind, endpoint))
    job.write_readme(
        "nemo.md",
        file=FILE,
        example=normalized(tasks[-1]["direct"]),
        config=tasks[-1]["config"],
        tokens=tasks[-1]["max_new_tokens"],
        budgets=", ".join(f"{task['config']} {task['max_new_tokens']}" for task in tasks),
    )
    return f"cd {job.to} && nel eval run chat.yaml"


def task_name(kind: str, config: Config) -> str:
    """`ruler_direct_vt_4k`."""
    return f"{config.dataset}_{kind}_{config.name}"


def normalized(name: str) -> str:
    """The name by which NeMo Evaluator 0.2 runs a benchmark."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())[:50]


def run_settings(tasks: Sequence[dict[str, Any]], kind: str, endpoint: str) -> dict[str, Any]:
    """NeMo Evaluator's settings (0.3): a server, and each benchmark with its budget of tokens."""
    path = "chat/completions" if endpoint == "chat" else "completions"
    service = {
        "type": "api",
        "url": f"${{NEMO_MODEL_URL}}/{path}",
        "protocol": path.replace("/", "_"),
        "model": "${NEMO_MODEL_ID}",
        "api_key": "${NEMO_API_KEY:-none}",
    }
    benchmarks: list[dict[str, Any]] = []
    for task in tasks:
        generation = {"temperature": 0.0, "max_tokens": task["max_new_tokens"]}
        solver = {"type": "simple", "service": "model", "generation": generation}
        benchmarks.append({"name": f"{FILE}:{task[kind]}", "solver": solver})
    output = {"dir": f"{kind}_results"}
    return {"services": {"model": service}, "benchmarks": benchmarks, "output": output}
