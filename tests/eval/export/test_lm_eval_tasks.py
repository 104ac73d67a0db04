"""The task folder for lm-evaluation-harness: its files, and its own evaluator on them.

A model with a chat template and one without run in run/test_export_engines.py.
"""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path

import pytest
import yaml

from ruler_common.files import sha256_of
from ruler_common.names import GROUPS, TASKS, Config
from ruler_common.rows import features
from ruler_eval.export import harness_tasks as folder
from ruler_eval.frozen_release import Release
from ruler_score import ruler_score_path
from tests.eval.export.export_helpers import answer, in_hub_cache, scored
from tests.eval.scoring_helpers import write_lines, write_oneruler
from tests.in_process import ruler_output

COLUMNS = ("index", "input", "answer_prefix", "outputs", "max_new_tokens")
MISSING = "lm-evaluation-harness is not installed"
METRIC = {path.name for path in Path(ruler_score_path()).glob("*.py")}
METRIC -= {"__init__.py", "app.py", "tests.py"}


def export(release, to, *more):
    ruler_output("export", release, "--format", "lm-eval", "--to", to, *more)
    return to


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    return export(built, tmp_path_factory.mktemp("lm-eval") / "tasks")


def evaluate(tasks, names, releases):
    """Evaluate by the harness with a model that knows the answers; its report and requests."""
    lm_eval = pytest.importorskip("lm_eval", reason=MISSING)
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    row_of_prompt = {
        row["input"] + row["answer_prefix"]: row
        for release in releases
        for config in release.configs
        for row in release.rows(config, COLUMNS)
    }
    asked = []

    class Knowing(LM):
        def generate_until(self, requests, disable_tqdm=False):
            for request in requests:
                prompt, settings = request.args
                assert settings["max_gen_toks"] == row_of_prompt[prompt]["max_new_tokens"]
                asked.append((prompt, settings))
            return [answer(row_of_prompt[request.args[0]]) for request in requests]

        def loglikelihood(self, requests, disable_tqdm=False):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    report = lm_eval.simple_evaluate(
        model=Knowing(), tasks=names, task_manager=manager, bootstrap_iters=0
    )
    return report, asked


# ---- The files -------------------------------------------------------------------------------


def test_there_is_a_task_for_every_configuration_and_a_group_for_every_group(exported):
    names = {path.stem for path in exported.glob("*.yaml")}
    both = (*TASKS["ruler"], *GROUPS["ruler"])
    assert names == {f"ruler_frozen_{name}_{length}" for name in both for length in ("4k", "8k")}
    others = {path.name for path in exported.iterdir() if path.suffix != ".yaml"}
    assert others == {"README.md", "_frozen", "scoring.json", "utils.py", *METRIC}


def test_a_hub_repository_is_named_by_its_commit(built, tmp_path):
    commit = in_hub_cache(built, "org/frozen")
    result = export("org/frozen", tmp_path / "tasks", "--configs", "vt_4k")
    task = yaml.safe_load((result / "ruler_frozen_vt_4k.yaml").read_text())
    assert (task["dataset_path"], task["dataset_name"]) == ("org/frozen", "vt_4k")
    assert task["dataset_kwargs"] == {"revision": commit}


def test_a_custom_task_follows_the_rule_of_its_family(built, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    config = Config("ruler", "my_vt", "4k")
    path = tmp_path / "mine" / config.path
    path.parent.mkdir(parents=True)
    rows = pq.read_table(built / "data/tekken/4k/vt.parquet").to_pylist()
    rows = [{**row, "task": "my_vt"} for row in rows]
    schema = features().arrow_schema
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    manifest = json.loads((built / "manifest.json").read_text(encoding="utf-8"))
    file = manifest["files"]["data/tekken/4k/vt.parquet"]
    file |= {"config": "my_vt_4k", "task": "my_vt", "sha256": sha256_of(path)}
    manifest |= {"tasks": {"my_vt": {"family": "variable_tracking"}}, "groups": {}}
    text = json.dumps(manifest | {"files": {config.path: file}})
    (tmp_path / "mine/manifest.json").write_text(text, encoding="utf-8")
    tasks = export(tmp_path / "mine", tmp_path / "tasks")
    process = runpy.run_path(str(tasks / "utils.py"))["process_results"]
    first = rows[0]["outputs"][0]
    assert process(rows[0], [f"<think>…</think> {first}"]) == {"score": 0.2, "strict": 0.0}
    assert process(rows[0], [" ".join(rows[0]["outputs"])]) == {"score": 1.0, "strict": 1.0}


# ---- The harness's own code ------------------------------------------------------------------


def test_the_harness_scores_as_ruler_score_does(exported, built, frozen, write_run, tmp_path):
    names = ["ruler_frozen_all_4k", "ruler_frozen_qa_8k"]
    result, asked = evaluate(exported, names, [frozen])
    run = write_run(lambda config, row: {"prediction": answer(row)})
    scores = scored(run, built, tmp_path / "results.json")
    configs = [f"{task}_4k" for task in TASKS["ruler"]] + ["qa_1_8k", "qa_2_8k"]
    results = result["results"]
    for config in configs:
        score = results[f"ruler_frozen_{config}"]["score,none"]
        assert 100 * score == pytest.approx(scores[config], abs=1e-9)
    mean = sum(scores[f"{task}_4k"] for task in TASKS["ruler"]) / 13
    assert 100 * results["ruler_frozen_all_4k"]["score,none"] == pytest.approx(mean, abs=1e-9)
    assert (
        results["ruler_frozen_qa_8k"]["strict,none"] <= results["ruler_frozen_qa_8k"]["score,none"]
    )
    assert len({scores[config] for config in configs}) > 3
    assert len(asked) == 15 * 5
    assert {(tuple(s["until"]), s["do_sample"], s["temperature"]) for _, s in asked} == {
        ((), False, 0.0)
    }


def test_oneruler_is_scored_by_the_language_of_the_instruction(tmp_path):
    root = write_oneruler(tmp_path / "oneruler")
    release = Release.open(str(root))
    tasks = export(root, tmp_path / "tasks")
    names = [folder.task_name(release, config) for config in release.configs]
    result = {}
    for name, config in zip(names, release.configs, strict=True):
        reduced = Release(str(root), root, one_file(release, config))
        result[config] = 100 * evaluate(tasks, [name], [reduced])[0]["results"][name]["score,none"]
    run = tmp_path / "run"
    run.mkdir()
    for config in release.configs:
        rows = list(release.rows(config, ("index", "input", "outputs")))
        row_of_prompt = {row["input"]: row for row in rows}  # hand-written: some rows ask the same
        lines = [
            {
                "config": config,
                "index": row["index"],
                "prediction": answer(row_of_prompt[row["input"]]),
            }
            for row in rows
        ]
        write_lines(run / f"{config}.jsonl", *lines)
    assert result == scored(run, root, tmp_path / "results.json")
    assert len(set(result.values())) > 1
    # the names of two tasks are RULER's too, whose rule would give the first of four its share
    assert result["niah_multivalue_8k_pl_cl100k"] == 50


def one_file(release, config):
    path = release.configs[config]
    return {**release.manifest, "files": {path: release.manifest["files"][path]}}


def test_the_harness_reads_the_rows_after_folder_and_release_are_moved(
    built, frozen, tmp_path, monkeypatch
):
    shutil.copytree(built, tmp_path / "here/ruler")
    export(tmp_path / "here/ruler", tmp_path / "here/tasks", "--configs", "vt_4k")
    (tmp_path / "here").rename(tmp_path / "there")
    tasks, name = tmp_path / "there/tasks", "ruler_frozen_vt_4k"
    for file in tasks.glob("[!R]*"):
        assert str(tmp_path) not in file.read_text(encoding="utf-8")
    result, asked = evaluate(tasks, [name], [frozen])
    assert (result["results"][name]["score,none"] > 0, len(asked)) == (True, 5)
    (tmp_path / "there/ruler").rename(tmp_path / "far")
    with pytest.raises(FileNotFoundError, match=r"export RULER_RELEASE=FOLDER"):
        evaluate(tasks, [name], [frozen])
    assert "in `../ruler`, relative to this folder" in (tasks / "README.md").read_text()
    monkeypatch.setenv("RULER_RELEASE", str(tmp_path / "far"))
    assert evaluate(tasks, [name], [frozen])[0]["results"] == result["results"]
