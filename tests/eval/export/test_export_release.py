"""`ruler export`: what is chosen, what is refused, and that a folder is whole or not there."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest

from ruler_common.errors import RulerError
from ruler_common.names import TASKS, Config
from ruler_eval.export import export_release
from ruler_eval.frozen_release import Release
from tests.in_process import ruler_error, ruler_output


def names(release, configs=(), tokenizer=None):
    return [config.name for config in export_release.choose(release, configs, tokenizer)]


@pytest.fixture
def two(tmp_path):
    """A manifest with two tokenizers; no row is read."""
    config = Config("ruler", "vt", "4k")
    files = {}
    for tokenizer in ("tekken", "qwen2.5"):
        item = dataclasses.replace(config, tokenizer=tokenizer)
        files[item.path] = {"config": item.name, "tokenizer": tokenizer, "rows": 1}
    manifest = {"format": 1, "dataset": "ruler", "tasks": ["vt"], "groups": {}, "files": files}
    manifest["tokenizers"] = {"tekken": {}, "qwen2.5": {}}
    return Release("x", tmp_path, manifest)


def test_all_tasks_are_chosen_by_length_and_in_the_papers_order(frozen):
    tasks = TASKS["ruler"]
    assert names(frozen) == [f"{task}_{length}" for length in ("4k", "8k") for task in tasks]


def test_groups_are_expanded_and_nothing_comes_twice(frozen):
    assert names(frozen, ["qa_1_8k", "qa_4k", "qa_1_4k"]) == ["qa_1_4k", "qa_2_4k", "qa_1_8k"]


def test_a_tokenizer_is_chosen_by_its_name_or_by_the_suffix(two):
    assert names(two) == ["vt_4k"]
    assert names(two, tokenizer="qwen2.5") == names(two, ["vt_4k_qwen2.5"]) == ["vt_4k_qwen2.5"]
    assert names(two, ["vt_4k"], "qwen2.5") == ["vt_4k_qwen2.5"]


def test_two_tokenizers_do_not_go_into_one_folder(two):
    with pytest.raises(RulerError, match="several tokenizers"):
        names(two, ["vt_4k", "vt_4k_qwen2.5"])
    with pytest.raises(RulerError, match=r"Unknown tokenizer 'qwen'\. Did you mean 'qwen2\.5'"):
        names(two, tokenizer="qwen")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--format", "kvpress", "--configs", "vt_16k"], "has no 'vt_16k'"),
        (["--format", "kvpress", "--revision", "v1"], "--revision is for a Hub repository"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(built, tmp_path, arguments, text):
    assert text in ruler_error("export", built, "--to", tmp_path / "out", *arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", export_release.FORMATS)
def test_a_changed_file_is_refused_and_no_half_folder_stays(built, tmp_path, form):
    copy = shutil.copytree(built, tmp_path / "copy")
    path = copy / "data/tekken/4k/vt.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    (tmp_path / "empty").mkdir()
    assert "expected sha256" in ruler_error(
        "export", copy, "--format", form, "--to", tmp_path / "empty"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy", "empty"]
    assert not list((tmp_path / "empty").iterdir())


def test_the_command_counts_and_says_what_is_next(built, tmp_path):
    out = ruler_output(
        "export", built, "--format", "upstream", "--to", tmp_path / "out", "--configs", "qa_4k"
    )
    assert "10 rows of 2 configurations" in out
    assert "call_api.py" in out
    lines = (tmp_path / "out/4096/data/qa_1/validation.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["index"] for line in lines] == [0, 1, 2, 3, 4]
