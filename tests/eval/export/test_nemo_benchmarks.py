"""NeMo Evaluator's benchmark file: its interface, its budgets, its scores.

The package is not part of the test environment: the file is imported with the published names of
its interface (`benchmark`, `scorer`, `ScorerInput`).
"""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from ruler_common.names import TASKS
from ruler_eval.run.prompts import DIRECT
from tests.eval.export.export_helpers import answer, answers_of, scored
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler_output


def export(release, to, *more):
    ruler_output("export", release, "--format", "nemo", "--to", to, *more)
    return to


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    return export(built, tmp_path_factory.mktemp("nemo") / "nemo", "--configs", "all_4k")


@dataclass
class ScorerInput:
    """What NeMo Evaluator hands to a scorer: the answer, and the row as metadata."""

    response: str
    metadata: dict


def registered(folder, monkeypatch, package):
    """Import the file as NeMo Evaluator does; by name what `benchmark` got, and the scorer."""
    result = {}

    def benchmark(**settings):
        return lambda function: result.setdefault(settings["name"], (settings, function))

    module = ModuleType(package)
    module.benchmark, module.scorer = benchmark, lambda function: function
    module.ScorerInput = ScorerInput
    for end in range(1, len(parts := package.split(".")) + 1):
        name = ".".join(parts[:end])
        monkeypatch.setitem(sys.modules, name, module if name == package else ModuleType(name))
    runpy.run_path(str(folder / "ruler_frozen.py"))
    return result


@pytest.fixture(params=["nemo_evaluator", "nemo_evaluator.contrib.byob"])
def benchmarks(request, exported, monkeypatch):
    """The benchmarks by name, as 0.3 and as 0.2 registers them."""
    return registered(exported, monkeypatch, request.param)


def test_there_is_a_benchmark_for_each_endpoint_and_configuration(benchmarks):
    assert {name: settings["endpoint_type"] for name, (settings, _) in benchmarks.items()} == {
        f"ruler_{kind}_{task}_4k": endpoint
        for task in TASKS["ruler"]
        for kind, endpoint in (("direct", "chat"), ("frozen", "completions"))
    }


def test_the_prompt_is_the_row_to_the_character(benchmarks, frozen):
    for config in ("vt_4k", "qa_2_4k"):
        rows = list(frozen.rows(config, ("input", "answer_prefix")))
        for kind, between in (("frozen", ""), ("direct", DIRECT)):
            settings, _ = benchmarks[f"ruler_{kind}_{config}"]
            with open(settings["dataset"], encoding="utf-8") as file:
                asked = [settings["prompt"].format(**json.loads(line)) for line in file]
            assert asked == [row["input"] + between + row["answer_prefix"] for row in rows]


def test_a_row_is_scored_as_ruler_score_does(benchmarks, frozen, built, write_run, tmp_path):
    configs = [f"{task}_4k" for task in TASKS["ruler"]]
    run = write_run(lambda config, row: {"prediction": answer(row)}, configs=configs)
    scores = scored(run, built, tmp_path / "results.json")
    for config in configs:
        _, score = benchmarks[f"ruler_frozen_{config}"]
        result = [
            score(ScorerInput(text, row))["correct"] for row, text in answers_of(config, frozen)
        ]
        assert 100 * sum(result) / len(result) == pytest.approx(scores[config])


def test_oneruler_is_asked_without_more_words_and_scored_by_its_language(tmp_path, monkeypatch):
    folder = export(write_oneruler(tmp_path / "oneruler", ["pl"]), tmp_path / "nemo")
    result = registered(folder, monkeypatch, "nemo_evaluator")
    settings, score = result["oneruler_direct_niah_none_8k_pl_cl100k"]
    assert settings["prompt"] == "{input}{answer_prefix}"
    with open(settings["dataset"], encoding="utf-8") as file:
        row = json.loads(file.readline())
    assert score(ScorerInput("<odpowiedź>brak</odpowiedź>", row)) == {"correct": 1, "strict": 1}
    assert score(ScorerInput("none at all", row))["correct"] == 0


def test_the_folder_works_after_it_is_moved(exported, built, tmp_path, monkeypatch):
    compiled = shutil.ignore_patterns("__pycache__")  # where another test has imported the folder
    moved = shutil.copytree(exported, tmp_path / "elsewhere", ignore=compiled)
    for file in moved.rglob("*"):
        if file.suffix != ".jsonl" and file.name != "README.md" and file.is_file():
            assert str(exported.parent) not in file.read_text(encoding="utf-8")
    monkeypatch.chdir(moved)  # where NeMo Evaluator looks for a file of benchmarks by its path
    settings = yaml.safe_load(Path("chat.yaml").read_text(encoding="utf-8"))
    file, _, name = settings["benchmarks"][0]["name"].partition(":")
    result, _ = registered(Path(file).parent, monkeypatch, "nemo_evaluator")[name]
    assert Path(result["dataset"]).is_relative_to(moved)
    assert Path(result["dataset"]).is_file()
