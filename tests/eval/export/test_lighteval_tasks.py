"""lighteval's custom tasks: their interface, their budgets, their scores.

The package needs torch and is not part of the test environment: the file is imported with the
published names of its interface.
"""

from __future__ import annotations

import runpy
import shutil
import sys
from types import ModuleType, SimpleNamespace

import pytest

from ruler_common.names import TASKS
from ruler_eval.run.prompts import DIRECT
from tests.eval.export.export_helpers import answer, answers_of, in_hub_cache, scored
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler_output

NAMES = {
    "lighteval.metrics.metrics_sample": ("SampleLevelComputation",),
    "lighteval.metrics.utils.metric_utils": ("SampleLevelMetricGrouping",),
    "lighteval.tasks.lighteval_task": ("LightevalTaskConfig",),
    "lighteval.tasks.requests": ("Doc", "SamplingMethod"),
}
"""What the file imports of lighteval 0.13."""


def export(release, to, *more):
    out = ruler_output("export", release, "--format", "lighteval", "--to", to, *more)
    return to, out


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    to = tmp_path_factory.mktemp("lighteval") / "lighteval"
    return export(built, to, "--configs", "all_4k,vt_8k")


class Anything(SimpleNamespace):
    """A class of lighteval's: it keeps what it is given."""

    GENERATIVE = "GENERATIVE"


def imported(folder, monkeypatch):
    """The file's tasks by name, imported as lighteval imports it."""
    for module, names in NAMES.items():
        made = ModuleType(module)
        for name in names:
            setattr(made, name, Anything)
        parts = module.split(".")
        for end in range(1, len(parts)):
            package = ".".join(parts[:end])
            monkeypatch.setitem(sys.modules, package, ModuleType(package))
        monkeypatch.setitem(sys.modules, module, made)
    return {
        task.name: task for task in runpy.run_path(str(folder / "ruler_frozen.py"))["TASKS_TABLE"]
    }


@pytest.fixture
def tasks(exported, monkeypatch):
    return imported(exported[0], monkeypatch)


def test_a_task_names_its_rows_their_split_and_their_budget(tasks, built):
    task = tasks["ruler_frozen_4k:vt"]
    assert (task.hf_repo, task.hf_subset, task.hf_revision) == (str(built), "vt_4k", None)
    assert task.evaluation_splits == task.hf_avail_splits == ["test"]
    assert (task.generation_size, task.version) == (30, "1.0.0")


def test_a_hub_repository_is_named_by_its_commit(built, tmp_path, monkeypatch):
    commit = in_hub_cache(built, "org/lighteval")
    folder, _ = export("org/lighteval", tmp_path / "out", "--configs", "vt_4k")
    task = imported(folder, monkeypatch)["ruler_frozen_4k:vt"]
    assert (task.hf_repo, task.hf_subset, task.hf_revision) == ("org/lighteval", "vt_4k", commit)


def test_a_moved_folder_finds_the_release_moved_with_it(built, tmp_path, monkeypatch):
    shutil.copytree(built, tmp_path / "here/ruler")
    export(tmp_path / "here/ruler", tmp_path / "here/tasks", "--configs", "vt_4k")
    (tmp_path / "here").rename(tmp_path / "there")
    task = imported(tmp_path / "there/tasks", monkeypatch)["ruler_frozen_4k:vt"]
    assert task.hf_repo == str(tmp_path / "there/ruler")


def test_lighteval_loads_the_rows_by_these_names(tasks):
    from datasets import load_dataset

    task = tasks["ruler_direct_4k:qa_1"]
    rows = load_dataset(task.hf_repo, task.hf_subset, revision=task.hf_revision)
    assert list(rows) == ["test"]
    row = rows["test"][0]
    asked = task.prompt_function(row, task.name)
    assert asked.query == row["input"] + DIRECT + row["answer_prefix"]
    raw = tasks["ruler_frozen_4k:qa_1"].prompt_function(row, "")
    assert raw.query == row["input"] + row["answer_prefix"]
    assert [raw.choices[i] for i in raw.gold_index] == row["outputs"]


def test_a_row_is_scored_as_ruler_score_does(tasks, frozen, built, write_run, tmp_path):
    configs = [f"{task}_4k" for task in TASKS["ruler"]]
    run = write_run(lambda config, row: {"prediction": answer(row)}, configs=configs)
    scores = scored(run, built, tmp_path / "results.json")
    for task in TASKS["ruler"]:
        (metric,) = tasks[f"ruler_frozen_4k:{task}"].metrics
        result = [
            metric.sample_level_fn.compute(Anything(specific=row), Anything(text=[text]))
            for row, text in answers_of(f"{task}_4k", frozen)
        ]
        mean = metric.corpus_level_fn["score"]([item["score"] for item in result])
        assert 100 * mean == pytest.approx(scores[f"{task}_4k"])
        assert metric.metric_name == list(result[0])


def test_oneruler_has_no_more_words_and_names_its_language(tmp_path, monkeypatch):
    root = write_oneruler(tmp_path / "oneruler", ["en-ko"])
    result = imported(export(root, tmp_path / "out")[0], monkeypatch)
    task = result["oneruler_direct_8k_en-ko_cl100k:niah_none"]
    row = {"input": "Text", "answer_prefix": "", "task": "niah_none", "outputs": ["없음"]}
    doc = task.prompt_function({**row, "instruction_language": "ko", "none_word": "없음"}, "")
    assert doc.query == "Text"
    compute = task.metrics[0].sample_level_fn.compute
    assert compute(doc, Anything(text=["없음"])) == {"score": 1, "strict": 1}
    assert compute(doc, Anything(text=["none"]))["score"] == 0
