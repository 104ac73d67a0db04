"""A release is the same bytes however it is made, and can be stopped, resumed and extended."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.release.folder import BUILD_FOLDER
from ruler_builder.text.sources import registry
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST
from ruler_dataset import load
from ruler_release.api import verify
from tests.in_process import ruler, ruler_command
from tests.nightly import mostly_nightly

SAME = BuildOptions(Path(), lengths=("4k",), samples=20, sources=("embedded",))
LONGER = {"lengths": ("8k",)}
ARGUMENTS = ["--lengths", "4k", "--samples", "20", "--sources", "embedded"]
"""Both make the release that the fixture `release` is."""


def files(root: Path) -> dict[str, str]:
    """The digest of every file of a release, by path."""
    return {
        path.relative_to(root).as_posix(): sha256_of(path)
        for path in root.rglob("*")
        if path.is_file()
    }


# ---- The same bytes ------------------------------------------------------------------------------


@pytest.mark.nightly
def test_workers_and_order_change_no_byte(release, tmp_path):
    build(replace(SAME, root=tmp_path / "two", workers=2))
    assert files(tmp_path / "two") == files(release)


def test_built_in_parts_a_release_has_the_bytes_of_one_build(release, tmp_path):
    for tasks in (("qa", "fwe"), ("niah",), ("all",)):
        build(replace(SAME, root=tmp_path / "parts", tasks=tasks))
    assert files(tmp_path / "parts") == files(release)


def test_killed_anywhere_a_build_is_incomplete_and_then_resumed(release, tmp_path):
    root = tmp_path / "killed"
    kept = 0
    for workers in ("1", "2"):
        command = ruler_command("build", str(root), *ARGUMENTS, "--workers", workers)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if len(list(root.glob("data/**/[!.]*.parquet"))) > kept:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        report = verify(root)
        assert report.unfinished
        assert not report.ok
        assert not any(file.count for file in report.files.values())
        kept = len(list(root.glob("data/**/[!.]*.parquet")))
    assert kept > 0
    with pytest.raises(RulerError, match="another seed"):
        build(replace(SAME, root=root, seed=5))
    assert "files built" in ruler("build", str(root), *ARGUMENTS).stdout
    assert files(root) == files(release)
    assert verify(root).ok


@pytest.mark.nightly
def test_an_interrupted_extension_leaves_the_release_valid_and_incomplete(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "extended"))
    command = ruler_command("build", str(root), *ARGUMENTS, "--lengths", "64k")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not list(root.glob(f"{BUILD_FOLDER}/data/**/*.json")):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130
    assert "Stopped" in error
    assert "Traceback" not in error
    shown = ruler("verify", str(root))
    assert shown.code == 1
    assert "Incomplete" in shown.stdout
    assert "problem" not in shown.stdout


def test_asking_again_does_nothing_and_says_so(release):
    before = {path: path.stat().st_mtime_ns for path in release.rglob("*")}
    again = ruler("build", str(release), *ARGUMENTS)
    assert "nothing to do" in again.stdout
    assert again.code == 0
    assert {path: path.stat().st_mtime_ns for path in release.rglob("*")} == before


def test_a_length_extends_a_release_and_touches_no_file_of_it(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "more"))
    built = build(replace(SAME, root=root, lengths=("8k",), tasks=("vt",)))
    assert built.new == ["data/tekken/8k/vt.parquet"]
    assert len(built.manifest["files"]) == 14
    data = {path: digest for path, digest in files(release).items() if path.startswith("data/")}
    assert data.items() <= files(root).items()
    assert verify(root).ok


# ---- Refused before any work ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "another seed: 0, not 1"),
        ({"reserve": 64}, "another reserve: 128, not 64"),
        ({"samples": 7, "lengths": ("4k", "8k")}, "ask for --samples 20"),
        (LONGER | {"sources": (), "tasks": ("niah_single_2",)}, "another 'essays' among its sou"),
        ({"engine": "rayy"}, "Did you mean 'ray'"),
        ({"address": "auto"}, "add --engine ray"),
        (LONGER | {"engine": "ray"}, r"pip install 'ray>="),
    ],
)
def test_another_setting_is_refused_not_mixed(
    release, mirror, tmp_path, monkeypatch, change, message
):
    monkeypatch.setitem(sys.modules, "ray", None)
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    before = files(root)
    with pytest.raises(RulerError, match=message):
        build(replace(SAME, root=root, **change))
    assert files(root) == before


def test_another_data_version_is_refused(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "old"))
    manifest = json.loads((root / MANIFEST).read_text())
    (root / MANIFEST).write_text(json.dumps(manifest | {"data_version": "0.9.0"}))
    with pytest.raises(RulerError, match=r"another data_version: '0\.9\.0'"):
        build(replace(SAME, root=root, lengths=("8k",)))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_changed_source_is_refused_in_one_sentence_and_nothing_is_left(tmp_path, workers):
    squad = registry()["squad"].canonical.file
    changed = tmp_path / "mirror" / squad.path
    changed.parent.mkdir(parents=True)
    changed.write_bytes(b'{"data": []}')
    command = ("build", tmp_path / "ruler", "--tasks", "qa_1,niah_single_1", "--lengths", "4k")
    flags = ("--samples", 1, "--mirror", tmp_path / "mirror", "--workers", workers)
    done = ruler(*command, *flags)
    assert (done.code, done.stdout) == (2, "")
    sentence = " ".join(done.stderr.split())
    assert f"is damaged: its sha256 is {sha256_of(changed)}, expected {squad.sha256}" in sentence
    assert "Replace it with an undamaged copy" in sentence
    assert "Traceback" not in sentence
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mirror"]


def test_a_folder_that_is_full_or_closed_or_in_use_is_refused(tmp_path, monkeypatch):
    order = replace(SAME, root=tmp_path / "new")
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage)
        with pytest.raises(RulerError, match="has 0 MB free: make room, or give a folder on anot"):
            build(order)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(RulerError, match="cannot be written: choose another folder"):
            build(order)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RulerError, match=r"holds other files \(letter.txt\)"):
        build(replace(SAME, root=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_what_a_window_cannot_hold_is_refused_or_left_out_with_the_reason(tmp_path):
    root = tmp_path / "small"
    order = replace(SAME, root=root, lengths=("1k",), tasks=("niah_s", "vt"), reserve=400)
    with pytest.raises(RulerError, match=r"vt_1k cannot be built.* --skip-impossible build"):
        build(order)
    assert not root.exists()
    order = replace(order, skip_impossible=True)
    made = build(order)
    assert (len(made.new), [*made.left_out]) == (3, ["vt_1k"])
    why = made.left_out["vt_1k"]
    assert re.search(r"needs at least \d+ tokens, and the window has 594 for it", why)
    assert verify(root).ok
    assert build(order).new == []
    with pytest.raises(RulerError, match=r"Nothing can be built\. The task needs"):
        build(replace(order, root=tmp_path / "none", tasks=("vt",)))


# ---- What is built -------------------------------------------------------------------------------


def test_a_corpus_with_fewer_questions_gives_fewer_rows_and_the_manifest_says_so(tmp_path):
    root = tmp_path / "many"
    order = replace(SAME, root=root, lengths=("2k",), tasks=("qa_2",), samples=500)
    entry = build(order).manifest["files"]["data/tekken/2k/qa_2.parquet"]
    assert entry["rows"] == entry["most_rows"] == 114
    assert build(order).new == []


def test_the_rows_of_a_smaller_release_are_the_first_of_a_larger_one(release, tmp_path):
    import pyarrow.parquet as pq

    order = replace(SAME, root=tmp_path / "six", samples=6, tasks=("niah_s", "vt", "qa_1"))
    for path in build(order).manifest["files"]:
        large = pq.read_table(release / path).to_pylist()
        assert pq.read_table(order.root / path).to_pylist() == large[:6]


def test_haystacks_that_run_out_are_in_the_manifest(tmp_path):
    tasks = ("niah_single_1", "niah_single_2", "qa_1")
    order = replace(SAME, root=tmp_path / "long", lengths=("32k",), samples=1, tasks=tasks)
    made = build(order).manifest["files"]
    assert made["data/tekken/32k/niah_single_2.parquet"]["repeats"] == 1
    assert made["data/tekken/32k/qa_1.parquet"]["repeats"] == 2
    assert made["data/tekken/32k/niah_single_1.parquet"]["repeats"] == 0


@pytest.mark.nightly
@pytest.mark.mirror
@pytest.mark.parametrize("tokenizer", mostly_nightly(3, ["cl100k_base", "qwen2.5", "gemma3"]))
def test_real_sources_and_tokenizers_make_a_release_without_a_breach(
    mirror, named_counter, tmp_path, tokenizer
):
    assert named_counter(
        tokenizer
    ).split_points.proved  # held: build and verify do not load it again
    root = tmp_path / "real"
    order = BuildOptions(
        root, tokenizers=(tokenizer,), lengths=("4k", "16k"), samples=2, mirror=mirror
    )
    manifest = build(order).manifest
    assert set(manifest["sources"]) == {"essays", "squad", "hotpotqa"}
    assert {source["variant"] for source in manifest["sources"].values()} == {"canonical"}
    report = verify(root, mirror=mirror)
    assert report.ok, [f.problems for f in report.files.values() if f.count]


def test_a_tokenizer_of_a_folder_is_built_verified_and_found_again(trained_tokenizer, tmp_path):
    folder = Path(shutil.copytree(trained_tokenizer("gpt2"), tmp_path / "mine"))
    root = tmp_path / "ruler"
    tasks = ("niah", "vt", "fwe", "cwe", "qa_1")
    order = replace(SAME, root=root, lengths=("2k",), samples=2, tasks=tasks)
    build(replace(order, tokenizers=(f"mine={folder}",)))
    about = json.loads((root / MANIFEST).read_text(encoding="utf-8"))["tokenizers"]["mine"]
    assert (about["spec"], about["title"]) == ("mine=mine", "mine")  # nothing of where it lies
    assert str(tmp_path) not in (root / "README.md").read_text(encoding="utf-8")
    assert len(load(root, "niah_mk_2k_mine")) == 6
    moved = folder.rename(tmp_path / "moved")
    remedy = f"ruler verify {root} --tokenizer mine=FOLDER"
    (why,) = verify(root).not_rebuilt
    assert remedy in why
    assert verify(root, tokenizers=[f"mine={moved}"]).ok
    other = Path(shutil.copytree(trained_tokenizer("unigram"), tmp_path / "other"))
    with pytest.raises(RulerError, match="differs from the release's"):
        verify(root, tokenizers=[f"mine={other}"])
