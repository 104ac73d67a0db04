"""What `--configs` takes: names, groups, everything, patterns, every language."""

from __future__ import annotations

import json

import pytest

from ruler_common.errors import RulerError
from ruler_common.names import TASKS
from ruler_eval.frozen_release import chosen_files
from tests.eval.scoring_helpers import ruler


def manifest(dataset, *configs):
    """A manifest of empty files: (task, length, languages, tokenizer) each."""
    files = {}
    for task, length, languages, tokenizer in configs:
        name = "_".join(filter(None, (task, length, languages)))
        name += f"_{tokenizer}" * (tokenizer != "tekken")
        pair = (languages.split("-") * 2)[:2] if languages else ("en", "en")
        files[name] = {"config": name, "task": task, "length": length, "tokenizer": tokenizer}
        files[name] |= {"language": pair[0], "instruction_language": pair[1]}
    groups = {"all": list(TASKS[dataset])}
    return {"dataset": dataset, "tasks": TASKS[dataset], "groups": groups, "files": files}


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
    ("names", "chosen"),
    [
        (["all"], "vt_4k vt_8k cwe_4k cwe_8k vt_4k_qwen2.5"),
        (["*_4k"], "vt_4k cwe_4k"),
        (["vt_*", "*_8k"], "vt_4k vt_8k vt_4k_qwen2.5 cwe_8k"),
    ],
)
def test_everything_and_patterns(names, chosen):
    assert chosen_files(names, RULER) == chosen.split()


def test_a_tokenizer_narrows_everything():
    assert chosen_files(["all"], RULER, "qwen2.5") == ["vt_4k_qwen2.5"]


def test_oneruler_takes_a_length_for_every_language():
    assert chosen_files(["all_8k"], ONERULER) == [
        *("niah_none_8k_pl_cl100k", "niah_none_8k_ko_cl100k", "niah_none_8k_en-ko_cl100k"),
        *("cwe_easy_8k_pl_cl100k", "cwe_easy_8k_ko_cl100k"),
    ]
    assert chosen_files(["niah_none_32k"], ONERULER)[-1] == "niah_none_32k_en-ko_cl100k"
    assert chosen_files(["*_8k"], ONERULER) == chosen_files(["all_8k"], ONERULER)
    assert chosen_files(["niah_*k"], ONERULER) == [
        f"niah_none_{length}_{pair}_cl100k"
        for length in ("8k", "32k")
        for pair in ("pl", "ko", "en-ko")
    ]
    assert chosen_files(["*_pl_*"], ONERULER) == [
        f"{task}_{length}_pl_cl100k"
        for task in ("niah_none", "cwe_easy")
        for length in ("8k", "32k")
    ]


@pytest.mark.parametrize("name", ["*_64k", "niah_none_128k"])
def test_what_stands_for_nothing_is_refused(name):
    dataset = ONERULER if name.startswith("niah_none") else RULER
    with pytest.raises(RulerError, match="What there is: ruler list"):
        chosen_files([name], dataset)


def test_a_group_that_lacks_a_task_names_it_and_offers_the_rest(built, tmp_path):
    held = json.loads((built / "manifest.json").read_text())
    held["files"] = {p: file for p, file in held["files"].items() if file["config"] != "vt_4k"}
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "data").symlink_to(built.absolute() / "data")
    (lacking / "manifest.json").write_text(json.dumps(held))
    arguments = ["--dataset", lacking, "--backend", "oracle", "--configs", "all_4k"]
    _, error, code = ruler("run", *arguments, "--out", tmp_path / "none")
    assert code == 2
    assert "holds no 'all_4k': it lacks vt_4k." in error
    assert "--skip-missing runs the tasks that are there" in error
    _, error, code = ruler("run", *arguments, "--out", tmp_path / "run", "--skip-missing")
    assert code == 0, error
    files = json.loads((tmp_path / "run/run.json").read_text())["rows"]
    assert len(files) == len([f for f in held["files"].values() if f["length"] == "4k"]) > 0


@pytest.mark.parametrize("name", ["niah_single_1_4k", "all_16k"])
def test_skip_missing_needs_something_that_is_there(name):
    with pytest.raises(RulerError, match=f"holds no '{name}'. What it holds"):
        chosen_files([name], RULER, skip_missing=True)


def test_the_commands_take_patterns(built, tmp_path):
    run = tmp_path / "run"
    arguments = ["--dataset", built, "--backend", "oracle", "--out", run]
    _, error, code = ruler("run", *arguments, "--configs", "fwe_*,vt_4k")
    assert code == 0, error
    files = json.loads((run / "run.json").read_text())["rows"]
    assert sorted(files) == ["fwe_4k", "fwe_8k", "vt_4k"]
    to = tmp_path / "there"
    exported = ["--format", "upstream", "--to", to, "--configs", "vt_*"]
    assert ruler("export", built, *exported)[2] == 0
    assert sorted(path.name for path in to.iterdir()) == ["4096", "8192"]
