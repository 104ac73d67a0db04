"""eval.yaml meets the Hub's specification."""

from __future__ import annotations

import json

import pytest
import yaml

from ruler_builder.release.card import eval_yaml, render
from ruler_builder.release.facts import collect_facts
from ruler_builder.tasks.registry import read_suite
from ruler_common.frozen import read_frozen
from ruler_common.manifest import is_standard, read_manifest
from ruler_common.names import LANGUAGES, Config
from ruler_dataset import files_of


@pytest.fixture
def manifest(release):
    return json.loads((release / "manifest.json").read_text(encoding="utf-8"))


def of_lengths(manifest, lengths, tokenizers=("tekken",), pairs=(("en", "en"),)):
    """Return the manifest as if the release had these lengths, tokenizers and languages."""
    files, dataset = {}, manifest["dataset"]
    entries = {entry["task"]: entry for entry in manifest["files"].values()}
    for tokenizer in tokenizers:
        for length in lengths:
            for task, entry in entries.items():
                for language, instruction in pairs:
                    both = {"language": language, "instruction_language": instruction}
                    config = Config(dataset, task, length, tokenizer=tokenizer, **both)
                    named = {"tokenizer": tokenizer, "length": length, "config": config.name}
                    more = {"max_length": config.max_length}
                    files[config.path] = {**entry, **both, **named, **more}
    return {**manifest, "files": files}


def ids(manifest):
    """Return the tasks' ids, which are the names of their configurations."""
    tasks = yaml.safe_load(eval_yaml(collect_facts(manifest)))["tasks"]
    assert tasks == [{"id": t["id"], "config": t["id"], "split": "test"} for t in tasks]
    return [task["id"] for task in tasks]


def test_the_headline_is_all_tasks_at_each_length_and_the_groups_at_the_longest(manifest):
    full = of_lengths(manifest, ("4k", "128k", "16k"), ("llama3", "tekken"))
    assert ids(full) == [
        *("all_128k", "all_16k", "all_4k"),
        *("niah_128k", "vt_128k", "ag_128k", "qa_128k"),
    ]
    assert ids(manifest) == ["all_4k", "niah_4k", "vt_4k", "ag_4k", "qa_4k"]


def test_without_the_default_tokenizer_the_headline_is_for_the_first_one(manifest):
    assert ids(of_lengths(manifest, ("4k",), ("llama3",)))[:2] == [
        "all_4k_llama3",
        "niah_4k_llama3",
    ]


def test_onerulers_headline_is_all_languages_at_each_length_and_each_language_at_8k(oneruler):
    manifest = read_manifest(oneruler)
    every = [*((code, code) for code in LANGUAGES), ("en", "ko")]
    full = of_lengths(manifest, ("8k", "32k", "128k"), pairs=every)
    assert ids(full) == ["all_128k", "all_32k", "all_8k", *(f"all_8k_{c}" for c in LANGUAGES)]
    assert len(files_of("all_8k", full)) == 26 * 7
    assert collect_facts(full).configs["all_8k"] == files_of("all_8k", full)
    assert ids(manifest) == ["all_8k_en", "all_8k_zh"]


def test_a_part_without_a_headline_lists_its_longest_length(manifest):
    two = of_lengths(manifest, ("4k", "8k"))
    files = {p: e for p, e in two["files"].items() if e["task"].startswith("niah_single")}
    assert ids({**two, "files": files}) == [
        *("niah_single_1_8k", "niah_single_2_8k", "niah_single_3_8k"),
        "niah_s_8k",
    ]


def test_the_description_names_data_version_and_tokenizer(manifest):
    registration = yaml.safe_load(eval_yaml(collect_facts(manifest)))
    assert set(registration) == {"name", "description", "tasks"}
    assert registration["name"] == "RULER, custom rows"
    assert "data version 1.0.0, fitted under tekken." in registration["description"]


def test_rows_are_called_frozen_only_if_the_lock_has_them(manifest):
    assert " Custom rows (embedded texts (essays, hotpotqa, squad)" in description_of(manifest)
    lock = read_frozen(manifest["data_version"])
    sources = {
        name: {**source, "variant": "canonical", "sha256": lock.sources[name]}
        for name, source in manifest["sources"].items()
    }
    rows = lock.rows["ruler"]
    files = {
        path: {**entry, "rows": 500, "max_rows": None, "rows_sha256": rows[entry["config"]]}
        for path, entry in manifest["files"].items()
    }
    frozen = {**manifest, "sources": sources, "files": files}
    assert " Frozen rows, data version 1.0.0" in description_of(frozen)
    assert yaml.safe_load(eval_yaml(collect_facts(frozen)))["name"] == "RULER"
    assert render(collect_facts(frozen)).count("RULER, frozen\n") == 2
    assert render(collect_facts(manifest)).count("RULER, custom rows\n") == 2


def description_of(manifest):
    """Return the description in eval.yaml."""
    return yaml.safe_load(eval_yaml(collect_facts(manifest)))["description"]


def test_a_changed_oneruler_suite_has_another_name(oneruler):
    manifest = read_manifest(oneruler)
    file = next(iter(manifest["files"].values()))
    files = {}
    for language, instruction in (("pl", "pl"), ("en", "ko")):
        entry = {**file, "task": "niah_none", "length": "8k", "language": language}
        files[language] = entry | {"instruction_language": instruction, "tokenizer": "cl100k"}
    tasks = {"niah_none": manifest["tasks"]["niah_none"]}
    changed = {**manifest, "tasks": tasks, "groups": {}, "files": files}
    registration = yaml.safe_load(eval_yaml(collect_facts(changed)))
    assert registration["name"] == "Tasks of a changed ONERULER suite"
    listed = {task["id"] for task in registration["tasks"]}
    assert listed == {"niah_none_8k_pl_cl100k", "niah_none_8k_en-ko_cl100k"}


def test_a_changed_suite_with_the_standard_names_is_not_called_ruler(manifest):
    tasks = {**manifest["tasks"], "vt": {**manifest["tasks"]["vt"], "hops": 1}}
    assert yaml.safe_load(eval_yaml(collect_facts({**manifest, "tasks": tasks})))["name"] != "RULER"
    families = json.loads(json.dumps(manifest["families"]).replace("Memorize", "Read"))
    assert (
        yaml.safe_load(eval_yaml(collect_facts({**manifest, "families": families})))["name"]
        != "RULER"
    )


@pytest.mark.parametrize("dataset", ["ruler", "oneruler"])
def test_the_standard_suites_are_recognised_by_their_parameters_and_wording(dataset):
    suite = read_suite(dataset)
    described = {"dataset": dataset, "tasks": suite.described(), "families": suite.families}
    described["files"] = {}
    assert is_standard(json.loads(json.dumps(described)))
