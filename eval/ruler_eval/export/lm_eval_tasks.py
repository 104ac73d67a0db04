"""A task folder for lm-evaluation-harness that evaluates the frozen rows.

    lm_eval --include_path TO --tasks ruler_frozen_niah_mk_4k --model hf --model_args pretrained=…

    TO/ruler_frozen_vt_4k.yaml       a task a configuration: its file, its max_gen_toks
    TO/ruler_frozen_all_4k.yaml      a group: the plain mean of its tasks, as in RULER's tables
    TO/_frozen                       what all tasks share
    TO/utils.py  …                   the scorer and its rule (scorer_files.py)
    TO/scoring.json                  the data set, and whose rule each task follows

The prompt is the row's: `input` (with its one-shot example), then `answer_prefix`, raw or, with
`--apply_chat_template`, at the head of the assistant's turn. The harness joins the two with
`target_delimiter`, so the space that begins a prefix is the delimiter, and a template gets none.
A release's folder is found from this one (utils.py), a Hub repository by its commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ruler_common.names import SPLIT, Config
from ruler_eval.export.export_release import ExportJob, write_yaml
from ruler_eval.export.scorer_files import budget, write_scorer
from ruler_eval.frozen_release import Release
from ruler_score import ruler_score

METRICS = ("score", "strict")
GREEDY = {"do_sample": False, "temperature": 0.0}


def write(job: ExportJob) -> str:
    """Write tasks, groups and their metric; return the command that evaluates one."""
    release, folder, last = job.release, job.folder, job.configs[-1]
    for config in job.each():
        write_yaml(folder / f"{task_name(release, config.name)}.yaml", task(release, config))
    found = groups(release, job.configs)
    for name, members in found:
        write_yaml(folder / f"{task_name(release, name)}.yaml", group(release, name, members))
    functions = "process_results: !function utils.process_results\n"
    if release.revision is None:
        functions += "custom_dataset: !function utils.rows\n"
    write_yaml(folder / "_frozen", shared(release), functions)
    write_scorer(job, release=job.release_beside)
    example = task_name(release, found[-1][0] if found else last.name)
    job.write_readme(
        "lm_eval.md",
        needs_release=True,
        score_version=ruler_score.SCORE_VERSION,
        example=example,
        length=last.max_length,
    )
    model = "--model hf --model_args pretrained=MODEL"
    return f"lm_eval --include_path {job.to} --tasks {example} {model}"


def task_name(release: Release, config: str) -> str:
    """The harness's own `ruler` tasks are other data: these say that they are frozen."""
    return f"{release.dataset}_frozen_{config}"


def shared(release: Release) -> dict[str, Any]:
    """What all tasks share, without their functions."""
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


def task(release: Release, config: Config) -> dict[str, Any]:
    """One configuration's task; raises RulerError if its rows differ where the harness has one."""
    tokens, space = budget(release, config)
    data, where = {}, {"file": release.configs[config.name]}
    if release.revision is not None:
        data = {"dataset_path": release.source, "dataset_name": config.name}
        where = {"revision": release.revision}
    return {
        "include": "_frozen",
        "task": task_name(release, config.name),
        **data,
        "dataset_kwargs": where,
        "target_delimiter": " " if space else "",
        "generation_kwargs": {"max_gen_toks": tokens, "until": [], **GREEDY},
    }


def groups(release: Release, configs: Sequence[Config]) -> list[tuple[str, list[str]]]:
    """The groups whose tasks are all chosen: their names, and their tasks'."""
    whole = release.names.whole_groups(configs)
    return [(group.name, [member.name for member in members]) for group, members in whole]


def group(release: Release, name: str, members: Sequence[str]) -> dict[str, Any]:
    """A group's configuration."""
    means = [{"metric": m, "aggregation": "mean", "weight_by_size": False} for m in METRICS]
    return {
        "group": task_name(release, name),
        "task": [task_name(release, member) for member in members],
        "aggregate_metric_list": means,
        "metadata": {"version": release.manifest["data_version"]},
    }
