"""Write tasks for other evaluation harnesses: the frozen rows, scored by this project's metric.

lm-evaluation-harness:

    lm_eval --include_path TO --tasks ruler_frozen_niah_mk_4k --model hf --model_args pretrained=…

    TO/ruler_frozen_vt_4k.yaml       a task for each configuration: its file, its max_gen_toks
    TO/ruler_frozen_all_4k.yaml      a group: the plain mean of its tasks, as in RULER's tables
    TO/_frozen                       the settings that all tasks share

The prompt is the row's `input` (with its one-shot example), then `answer_prefix`, as raw text or,
with `--apply_chat_template`, at the beginning of the assistant's turn. The harness joins the two
with `target_delimiter`, so the space at the beginning of a prefix is the delimiter, and a template
gets no space. A local release is found by its path relative to this folder (utils.py), a Hub
repository by its commit.

lighteval:

    lighteval accelerate "model_name=MODEL" ruler_direct_4k --custom-tasks TO/ruler_frozen.py

A task is `ruler_frozen_4k:vt` for base models, `ruler_direct_4k:vt` for chat models; without the
part after the colon, all tasks of that length and their plain mean. Tested with lighteval 0.13.0,
which needs huggingface_hub 1 (it calls HfApi.list_models) and xxhash below 4 (it passes text to
it).

NeMo Evaluator (a benchmark file, BYOB):

    export NEMO_MODEL_URL=http://localhost:8000/v1 NEMO_MODEL_ID=MODEL
    cd TO && nel eval run chat.yaml

    TO/ruler_frozen.py                               benchmarks and scorer
    TO/chat.yaml  TO/completions.yaml                each benchmark with its budget of answer tokens
    TO/data/vt_4k.jsonl                              the rows

`ruler_direct_vt_4k` is for the chat endpoint, which cannot begin the assistant's turn: the user's
turn ends with the line from Table 6 of RULER's paper and the answer prefix. `ruler_frozen_vt_4k`
sends the raw text to the completions endpoint. Tested with nemo-evaluator 0.3.0 and 0.2.8: the
scores are those of `ruler score`. The folder contains all files it needs; paths in its settings are
relative to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ruler_common.names import SPLIT, Config
from ruler_eval.export.job import ExportJob, write_yaml
from ruler_eval.frozen_release import Release
from ruler_eval.run.prompts import DIRECT
from ruler_score.ruler_score import SCORE_VERSION

FILE = "ruler_frozen.py"
"""The file that lists the tasks, for lighteval and NeMo Evaluator."""


def write_tasks(
    job: ExportJob,
    module: str,
    name: Callable[[str, Config], str],
    columns: Sequence[str] = (),
    **more: Any,
) -> list[dict[str, Any]]:
    """Copy a module of copied/ as FILE, and write the scorer and the table of tasks for it.

    Args:
        job: The export.
        module: The name of the module.
        name: Returns the name of a task from its kind, `frozen` (raw text) or `direct` (chat), and
            its configuration.
        columns: Columns of the rows to write, for a harness that does not read the release.
        more: Further fields of scoring.json.

    Returns:
        The configuration, names and `max_new_tokens` of each task.
    """
    tasks = []
    for config in job.each():
        names = {kind: name(kind, config) for kind in ("frozen", "direct")}
        tokens, _ = job.budget(config)
        tasks.append({"config": config.name, **names, "max_new_tokens": tokens})
        if columns:
            job.write_rows(config, columns, job.folder / "data" / f"{config.name}.jsonl")
    direct = DIRECT if job.release.dataset == "ruler" else ""
    job.write_scorer(**more, direct=direct, tasks=tasks)
    job.copy(module, FILE)
    return tasks


# ---- lm-evaluation-harness -------------------------------------------------------------------

METRICS = ("score", "strict")
GREEDY = {"do_sample": False, "temperature": 0.0}


def write_lm_eval(job: ExportJob) -> str:
    """Write tasks, groups and their metric; return the command that evaluates one."""
    release, folder, last = job.release, job.folder, job.configs[-1]
    for config in job.each():
        write_yaml(folder / f"{task_name(release, config.name)}.yaml", task(job, config))
    whole_groups = groups(release, job.configs)
    for name, members in whole_groups:
        write_yaml(folder / f"{task_name(release, name)}.yaml", group(release, name, members))
    functions = "process_results: !function utils.process_results\n"
    if release.revision is None:
        functions += "custom_dataset: !function utils.rows\n"
    write_yaml(folder / "_frozen", shared(release), functions)
    job.write_scorer(release=job.relative_release)
    example = task_name(release, whole_groups[-1][0] if whole_groups else last.name)
    job.write_readme(
        "lm_eval.md",
        needs_release=True,
        score_version=SCORE_VERSION,
        example=example,
        length=last.max_length,
    )
    model = "--model hf --model_args pretrained=MODEL"
    return f"lm_eval --include_path {job.to} --tasks {example} {model}"


def task_name(release: Release, config: str) -> str:
    """Return a task's name, which differs from those of the harness's `ruler` tasks."""
    return f"{release.dataset}_frozen_{config}"


def shared(release: Release) -> dict[str, Any]:
    """Return the settings that all tasks share, without their functions."""
    metrics = [{"metric": m, "aggregation": "mean", "higher_is_better": True} for m in METRICS]
    return {
        "test_split": SPLIT,
        "output_type": "generate_until",
        "num_fewshot": 0,
        "doc_to_text": "input",
        "doc_to_target": "outputs",
        "gen_prefix": "{{answer_prefix.removeprefix(' ')}}",
        "metric_list": metrics,
        "metadata": {"version": release.manifest["data_version"]},
    }


def task(job: ExportJob, config: Config) -> dict[str, Any]:
    """Return the task of a configuration.

    Raises RulerError if rows differ in settings that a harness has once per task.
    """
    release = job.release
    tokens, space = job.budget(config)
    if release.revision is None:
        data = {}
        arguments = {"file": release.configs[config.name]}
    else:
        data = {"dataset_path": release.source, "dataset_name": config.name}
        arguments = {"revision": release.revision}
    return {
        "include": "_frozen",
        "task": task_name(release, config.name),
        **data,
        "dataset_kwargs": arguments,
        "target_delimiter": " " if space else "",
        "generation_kwargs": {"max_gen_toks": tokens, "until": [], **GREEDY},
    }


def groups(release: Release, configs: Sequence[Config]) -> list[tuple[str, list[str]]]:
    """Return the groups whose tasks are all exported: their names, and those of their tasks."""
    whole = release.names.whole_groups(configs)
    return [(group.name, [member.name for member in members]) for group, members in whole]


def group(release: Release, name: str, members: Sequence[str]) -> dict[str, Any]:
    """Return a group's configuration."""
    means = [{"metric": m, "aggregation": "mean", "weight_by_size": False} for m in METRICS]
    return {
        "group": task_name(release, name),
        "task": [task_name(release, member) for member in members],
        "aggregate_metric_list": means,
        "metadata": {"version": release.manifest["data_version"]},
    }


# ---- lighteval -------------------------------------------------------------------------------


def write_lighteval(job: ExportJob) -> str:
    """Write the tasks and their metric; return the command that evaluates them."""
    release = job.release
    data: dict[str, Any] = {
        "release": job.relative_release,
        "source": release.source if release.revision else None,
        "revision": release.revision,
        "data_version": release.manifest["data_version"],
    }
    write_tasks(job, "lighteval_tasks.py", lighteval_name, **data)
    example, base = (_example(kind, job.configs) for kind in ("direct", "frozen"))
    job.write_readme("lighteval.md", needs_release=True, example=example, base=base, file=FILE)
    return f'lighteval accelerate "model_name=MODEL" {example} --custom-tasks {job.to / FILE}'


def _example(kind: str, configs: Sequence[Config]) -> str:
    """Return the name of the last group, or of its task if it has only one."""
    names = [lighteval_name(kind, config) for config in configs]
    group = names[-1].partition(":")[0]
    return group if sum(name.startswith(f"{group}:") for name in names) > 1 else names[-1]


def lighteval_name(kind: str, config: Config) -> str:
    """Return `ruler_frozen_4k:vt`; lighteval averages all tasks with the same part before `:`."""
    group = config.name.removeprefix(f"{config.task}_")
    return f"{config.dataset}_{kind}_{group}:{config.task}"


# ---- NeMo Evaluator --------------------------------------------------------------------------

NEMO_COLUMNS = (
    "index",
    "task",
    "input",
    "answer_prefix",
    "outputs",
    "max_new_tokens",
    "instruction_language",
    "none_word",
)
ENDPOINTS = {"direct": "chat", "frozen": "completions"}


def write_nemo(job: ExportJob) -> str:
    """Write benchmarks, rows, budgets and scorer; return the command that evaluates them."""
    tasks = write_tasks(job, "nemo_benchmarks.py", nemo_name, NEMO_COLUMNS)
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


def nemo_name(kind: str, config: Config) -> str:
    """Return `ruler_direct_vt_4k`."""
    return f"{config.dataset}_{kind}_{config.name}"


def normalized(name: str) -> str:
    """Return the name by which NeMo Evaluator 0.2 runs a benchmark."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())[:50]


def run_settings(tasks: Sequence[dict[str, Any]], kind: str, endpoint: str) -> dict[str, Any]:
    """Return the settings for NeMo Evaluator 0.3: a server, and each benchmark with its budget."""
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
