"""What `--configs` takes: names, groups, everything, patterns, every language."""

from __future__ import annotations

import json

import pytest

from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_common.names import GROUPS, LANGUAGES, TASKS, Config, Names
from ruler_dataset import load
from ruler_eval.frozen_release import chosen_files
from ruler_eval.run.plan import chosen_configs
from ruler_eval.run.records import Records
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler_error, ruler_output


def manifest(dataset, *configs):
    """A manifest of empty files: (task, length, languages, tokenizer) each."""
    files = {}
    for task, length, languages, tokenizer in configs:
        name = "_".join(filter(None, (task, length, languages)))
        name += f"_{tokenizer}" * (tokenizer != "tekken")
        pair = (languages.split("-") * 2)[:2] if languages else ("en", "en")
        file = {"config": name, "task": task, "length": length, "tokenizer": tokenizer}
        file |= {"language": pair[0], "instruction_language": pair[1]}
        files[Config.from_entry(dataset, file).path] = file
    return {
        **{"dataset": dataset, "tasks": TASKS[dataset], "groups": GROUPS[dataset], "files": files},
        "tokenizers": {file["tokenizer"]: {} for file in files.values()},
    }


def chosen(names, manifest, *arguments, **more):
    """The names of the chosen files."""
    return [
        manifest["files"][p]["config"] for p in chosen_files(names, manifest, *arguments, **more)
    ]


RULER = manifest(
    "ruler",
    *((task, length, "", "tekken") for task in ("vt", "cwe") for length in ("4k", "8k")),
    ("vt", "4k", "", "qwen2.5"),
)
ONERULER = manifest(
    "oneruler",
    *(
        (task, length, pair, "cl100k")
        for task in ("niah_none", "cwe_easy")
        for length in ("8k", "32k")
        for pair in ("pl", "ko", "en-ko")
        if not (task == "cwe_easy" and "-" in pair)
    ),
)


@pytest.mark.parametrize(
    ("names", "result"),
    [
        (["all"], "vt_4k vt_8k cwe_4k cwe_8k vt_4k_qwen2.5"),
        (["*_4k"], "vt_4k cwe_4k"),
        (["vt_*", "*_8k"], "vt_4k vt_8k vt_4k_qwen2.5 cwe_8k"),
    ],
)
def test_everything_and_patterns(names, result):
    assert chosen(names, RULER) == result.split()


def test_oneruler_takes_a_length_for_all_26_languages_and_no_pair():
    assert chosen(["all_8k_cl100k"], ONERULER, skip_missing=True) == [
        *("niah_none_8k_ko_cl100k", "cwe_easy_8k_ko_cl100k"),
        *("niah_none_8k_pl_cl100k", "cwe_easy_8k_pl_cl100k"),
    ]
    names = ["niah_none_32k_ko_cl100k", "niah_none_32k_pl_cl100k"]
    assert chosen(["niah_none_32k"], ONERULER, "cl100k", skip_missing=True) == names
    for name in ("all_8k_cl100k", "niah_none_8k_cl100k"):
        with pytest.raises(
            RulerError, match=rf"no '{name}': it lacks niah_.*_cs_.* more\. To list"
        ):
            chosen_files([name], ONERULER)
    with pytest.raises(RulerError, match=r"has no 'all_8k'\. To list"):  # under tekken
        chosen_files(["all_8k"], ONERULER, skip_missing=True)


def test_a_pattern_without_a_language_includes_pairs_of_languages():
    assert chosen(["*_8k"], ONERULER) == [
        *("niah_none_8k_pl_cl100k", "niah_none_8k_ko_cl100k", "niah_none_8k_en-ko_cl100k"),
        *("cwe_easy_8k_pl_cl100k", "cwe_easy_8k_ko_cl100k"),
    ]
    assert chosen(["niah_*k"], ONERULER) == [
        f"niah_none_{length}_{pair}_cl100k"
        for length in ("8k", "32k")
        for pair in ("pl", "ko", "en-ko")
    ]
    assert chosen(["*_pl_*"], ONERULER) == [
        f"{task}_{length}_pl_cl100k"
        for task in ("niah_none", "cwe_easy")
        for length in ("8k", "32k")
    ]


@pytest.mark.parametrize("name", ["*_64k", "niah_none_128k"])
def test_a_pattern_without_a_match_is_refused(name):
    dataset = ONERULER if name.startswith("niah_none") else RULER
    with pytest.raises(RulerError, match=r"To list (them|what it has): ruler list"):
        chosen_files([name], dataset)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A release of ONERULER in all 26 languages and a pair, one Polish row per file."""
    places = [*LANGUAGES, "en-pl"]
    root = tmp_path_factory.mktemp("many") / "oneruler"
    return write_oneruler(root, places, rows=1, tasks=TASKS["oneruler"])


@pytest.mark.parametrize("name", ["all_8k", "niah_8k", "niah_none_8k", "all_8k_pl", "cwe_8k_ko"])
def test_a_name_is_the_same_rows_in_load_and_in_a_run(name, many):
    loaded = load(many, name, "cl100k")
    there = {(row["task"], row["language"], row["instruction_language"]) for row in loaded}
    manifest = read_manifest(many)
    run = [
        Names.standard("oneruler").parse(config)
        for config in chosen_configs([f"{name}_cl100k"], manifest)
    ]
    assert {(item.task, item.language, item.instruction_language) for item in run} == there
    assert len(run) == len(there) == loaded.num_rows


def test_a_group_with_a_missing_task_names_it_and_offers_the_rest(built, tmp_path):
    records = json.loads((built / "manifest.json").read_text())
    records["files"] = {
        p: file for p, file in records["files"].items() if file["config"] != "vt_4k"
    }
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "data").symlink_to(built.absolute() / "data")
    (lacking / "manifest.json").write_text(json.dumps(records))
    arguments = ["--dataset", lacking, "--backend", "oracle", "--configs", "all_4k"]
    error = ruler_error("run", *arguments, "--out", tmp_path / "none")
    assert "has no 'all_4k': it lacks vt_4k." in error
    assert f"ruler list {lacking}; --skip-missing runs the tasks that it has" in error
    ruler_output("run", *arguments, "--out", tmp_path / "run", "--skip-missing")
    files = Records(tmp_path / "run").digests()
    assert len(files) == len([f for f in records["files"].values() if f["length"] == "4k"]) > 0


def test_the_commands_take_patterns(built, tmp_path):
    run = tmp_path / "run"
    arguments = ["--dataset", built, "--backend", "oracle", "--out", run]
    ruler_output("run", *arguments, "--configs", "fwe_*,vt_4k")
    files = Records(run).digests()
    assert sorted(files) == ["fwe_4k", "fwe_8k", "vt_4k"]
    to = tmp_path / "there"
    exported = ["--format", "upstream", "--to", to, "--configs", "vt_*"]
    ruler_output("export", built, *exported)
    assert sorted(path.name for path in to.iterdir()) == ["4096", "8192"]
