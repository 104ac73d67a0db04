"""A benchmark file (BYOB) for NeMo Evaluator that evaluates the frozen rows.

    export NEMO_MODEL_URL=http://localhost:8000/v1 NEMO_MODEL_ID=MODEL
    nel eval run TO/chat.yaml

    TO/ruler_frozen.py                               benchmarks and scorer (nemo_file.py)
    TO/chat.yaml  TO/completions.yaml                each benchmark with its budget of answer tokens
    TO/data/vt_4k.jsonl                              the rows
    TO/scoring.json  TO/utils.py  TO/ruler_score.py  what the scorer reads, and the rule

`ruler_direct_vt_4k` asks the chat endpoint, which cannot begin the assistant's turn: Table 6's line
of RULER's paper and the answer prefix end the user's. `ruler_frozen_vt_4k` asks the completions
endpoint the raw text. Run with nemo-evaluator 0.3.0 and 0.2.8: the scores are those of
`ruler score`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.export.export_job import ExportJob, write_yaml
from eval.export.scorer_files import budget, write_scorer
from eval.run.prompts import DIRECT

FILE = "ruler_frozen.py"
COLUMNS = (
    *("index", "task", "input", "answer_prefix", "outputs"),
    *("max_new_tokens", "instruction_language", "none_word"),
)
ENDPOINTS = {"direct": "chat", "frozen": "completions"}
_README = """\
# {title}, frozen, for NeMo Evaluator

Made by `ruler export --format nemo` from {provenance}.
`direct` benchmarks ask the chat endpoint, `frozen` ones the completions endpoint, for base models.
The metric is the benchmark's own rule, 0 … 1 for each row; `summary.mean` is the score. Where all
rows score 0 or 1 NeMo calls it pass@1, else mean_reward.

With the server's address and the model's name in the environment (from 0.3 on):

    export NEMO_MODEL_URL=http://localhost:8000/v1 NEMO_MODEL_ID=MODEL
    nel eval run {folder}/chat.yaml
    nel eval run {folder}/completions.yaml

0.2 takes one benchmark at a time, and its budget of answer tokens on the command line:

    python -m nemo_evaluator.contrib.byob.runner --benchmark-module {folder}/{file} \\
        --benchmark-name {example} --dataset {folder}/data/{config}.jsonl \\
        --model-url http://localhost:8000/v1 --model-id MODEL --model-type chat \\
        --max-tokens {tokens} --output-dir results

The budgets: {budgets}.
"""


def write(job: ExportJob) -> str:
    """Write benchmarks, rows, budgets and scorer; return the command that evaluates them."""
    tasks: list[dict[str, Any]] = []
    for config in job.each():
        tokens, _ = budget(job.release, config)
        job.write_rows(config, COLUMNS, job.folder / "data" / f"{config.name}.jsonl")
        names = {kind: f"{config.dataset}_{kind}_{config.name}" for kind in ENDPOINTS}
        tasks.append({"config": config.name, **names, "max_new_tokens": tokens})
    direct = DIRECT if job.release.dataset == "ruler" else ""
    write_scorer(job, direct=direct, tasks=tasks)
    for kind, endpoint in ENDPOINTS.items():
        write_yaml(job.folder / f"{endpoint}.yaml", run_settings(tasks, kind, endpoint, job.to))
    shutil.copyfile(Path(__file__).with_name("nemo_file.py"), job.folder / FILE)
    job.write_readme(
        _README,
        file=FILE,
        example=normalized(tasks[-1]["direct"]),
        config=tasks[-1]["config"],
        tokens=tasks[-1]["max_new_tokens"],
        budgets=", ".join(f"{task['config']} {task['max_new_tokens']}" for task in tasks),
    )
    return f"nel eval run {job.to / 'chat.yaml'}"


def normalized(name: str) -> str:
    """The name by which NeMo Evaluator 0.2 runs a benchmark."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())[:50]


def run_settings(
    tasks: Sequence[dict[str, Any]], kind: str, endpoint: str, to: Path
) -> dict[str, Any]:
    """NeMo Evaluator's settings (0.3): a server, and each benchmark with its budget of tokens."""
    path, protocol = {
        "chat": ("chat/completions", "chat_completions"),
        "completions": ("completions", "completions"),
    }[endpoint]
    service = {
        "type": "api",
        "url": f"${{NEMO_MODEL_URL}}/{path}",
        "protocol": protocol,
        "model": "${NEMO_MODEL_ID}",
        "api_key": "${NEMO_API_KEY:-none}",
    }
    benchmarks = [
        {
            "name": f"{to.resolve() / FILE}:{task[kind]}",
            "solver": {
                "type": "simple",
                "service": "model",
                "generation": {"temperature": 0.0, "max_tokens": task["max_new_tokens"]},
            },
        }
        for task in tasks
    ]
    return {
        "services": {"model": service},
        "benchmarks": benchmarks,
        "output": {"dir": f"{kind}_results"},
    }
