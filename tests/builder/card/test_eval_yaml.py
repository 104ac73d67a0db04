"""eval.yaml: what the Hub's specification asks of it, generated from a real manifest."""

from __future__ import annotations

import json

import pytest
import yaml

from builder.card.eval_yaml import eval_yaml
from builder.card.render import configurations
from builder.tasks.suite import read_suite
from ruler_dataset import is_standard


@pytest.fixture
def manifest(release):
    return json.loads((release / "manifest.json").read_text(encoding="utf-8"))


def test_every_configuration_is_a_task_of_its_own_name(manifest):
    found = yaml.safe_load(eval_yaml(manifest))
    names = [config["name"] for config in configurations(manifest)]
    assert found["tasks"] == [{"id": n, "config": n, "split": "test"} for n in names]
    assert {"niah_single_1_4k", "niah_mk_4k", "all_4k"} <= set(names)
    assert len(set(names)) == len(names) == 13 + 6


def test_a_task_loads_by_its_config_and_split(manifest, release):
    from datasets import load_dataset

    for task in yaml.safe_load(eval_yaml(manifest))["tasks"][-2:]:
        rows = load_dataset(str(release), task["config"], split=task["split"])
        assert len(rows) in (2 * 20, 13 * 20)


def test_it_says_what_is_measured_and_under_which_tokenizer(manifest):
    found = yaml.safe_load(eval_yaml(manifest))
    assert set(found) == {"name", "description", "tasks"}
    assert found["name"] == "RULER"
    assert "data version 1.0.0, fitted under tekken." in found["description"]


def test_oneruler_has_its_own_name_and_languages(manifest):
    file = next(iter(manifest["files"].values()))
    files = {}
    for language, instruction in (("pl", "pl"), ("en", "ko")):
        entry = {**file, "task": "niah_none", "length": "8k", "language": language}
        files[language] = entry | {"instruction_language": instruction, "tokenizer": "cl100k"}
    tasks = {"niah_none": {}, "cwe_easy": {}}
    other = {**manifest, "dataset": "oneruler", "tasks": tasks, "groups": {}, "files": files}
    found = yaml.safe_load(eval_yaml(other))
    assert found["name"] == "Tasks of a changed ONERULER suite"
    ids = {task["id"] for task in found["tasks"]}
    assert ids == {"niah_none_8k_pl_cl100k", "niah_none_8k_en-ko_cl100k"}


def test_a_changed_suite_with_the_standard_names_is_not_called_ruler(manifest):
    tasks = {**manifest["tasks"], "vt": {**manifest["tasks"]["vt"], "hops": 1}}
    assert yaml.safe_load(eval_yaml({**manifest, "tasks": tasks}))["name"] != "RULER"
    families = json.loads(json.dumps(manifest["families"]).replace("Memorize", "Read"))
    assert yaml.safe_load(eval_yaml({**manifest, "families": families}))["name"] != "RULER"


@pytest.mark.parametrize("dataset", ["ruler", "oneruler"])
def test_the_standard_suites_are_known_by_their_parameters_and_wording(dataset):
    suite = read_suite(dataset=dataset)
    described = {"dataset": dataset, "tasks": suite.described(), "families": suite.families}
    assert is_standard(json.loads(json.dumps(described)))
