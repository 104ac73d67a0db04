"""A release is the same bytes however it is made, and can be stopped, resumed and extended."""

from __future__ import annotations

import json
import os
import re
import resource
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

ORDER = BuildOptions(
    Path(), lengths=("4k",), tasks=("niah_s", "vt", "qa_1"), samples=6, sources=("embedded",)
)
ARGUMENTS = ["--lengths", "4k", "--samples", "20", "--sources", "embedded"]
"""Of the release that the fixture `release` is."""


def files(root: Path) -> dict[str, str]:
    """The digest of every file of a release, by path."""
    return {
        path.relative_to(root).as_posix(): sha256_of(path)
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.nightly
def test_workers_and_order_change_no_byte(release, tmp_path):
    order = BuildOptions(
        tmp_path / "two", lengths=("4k",), samples=20, sources=("embedded",), workers=2
    )
    build(order)
    assert files(tmp_path / "two") == files(release)


def test_workers_are_processes_or_actors_of_ray(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    order = replace(ORDER, root=tmp_path / "ruler")
    for given, text in (
        ({"engine": "rayy"}, "Did you mean 'ray'"),
        ({"address": "auto"}, "add --engine ray"),
        ({"engine": "ray"}, r"pip install 'ray>="),
    ):
        with pytest.raises(RulerError, match=text):
            build(replace(order, **given))
    assert not order.root.exists()


def test_built_in_parts_a_release_has_the_bytes_of_one_build(release, tmp_path):
    root = tmp_path / "parts"
    order = BuildOptions(root, lengths=("4k",), samples=20, sources=("embedded",))
    for tasks in (("qa", "fwe"), ("niah",), ("all",)):
        build(replace(order, tasks=tasks))
    assert files(root) == files(release)


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
    done = ruler("build", str(root), *ARGUMENTS)
    assert "files made" in done.stdout
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


@pytest.mark.nightly
def test_a_full_disk_is_one_sentence_and_resumed(release, tmp_path):
    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    root = tmp_path / "full"
    command = ruler_command("build", str(root), *ARGUMENTS, "--workers", "1")
    failed = subprocess.run(
        command, preexec_fn=small_files, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr
    assert "too large" in failed.stderr
    assert not (root / MANIFEST).exists()
    assert ruler("build", str(root), *ARGUMENTS).code == 0
    assert files(root) == files(release)


def test_asking_again_does_nothing_and_says_so(release):
    before = {path: path.stat().st_mtime_ns for path in release.rglob("*")}
    again = ruler("build", str(release), *ARGUMENTS)
    assert "nothing to do" in again.stdout
    assert again.code == 0
    assert {path: path.stat().st_mtime_ns for path in release.rglob("*")} == before


def test_a_length_extends_a_release_and_touches_no_file_of_it(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "more"))
    built = build(
        BuildOptions(root, lengths=("8k",), tasks=("vt",), samples=20, sources=("embedded",))
    )
    assert built.new == ["data/tekken/8k/vt.parquet"]
    assert len(built.manifest["files"]) == 14
    data = {path: digest for path, digest in files(release).items() if path.startswith("data/")}
    assert data.items() <= files(root).items()
    assert verify(root).ok


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "another seed: 0, not 1"),
        ({"reserve": 64}, "another reserve: 128, not 64"),
        ({"samples": 7, "lengths": ("4k", "8k")}, "ask for --samples 6"),
    ],
)
def test_another_setting_is_refused_not_mixed(tmp_path, change, said):
    order = replace(ORDER, root=tmp_path / "one")
    build(order)
    before = files(order.root)
    with pytest.raises(RulerError, match=said):
        build(replace(order, **change))
    assert files(order.root) == before


def test_an_incompatible_data_version_is_refused(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "old"))
    manifest = json.loads((root / MANIFEST).read_text())
    manifest["data_version"] = "0.9.0"
    (root / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(RulerError, match=r"another data_version: '0\.9\.0'"):
        build(BuildOptions(root, lengths=("8k",), samples=20, sources=("embedded",)))


def test_other_sources_are_refused_not_mixed(release, tmp_path, mirror):
    root = Path(shutil.copytree(release, tmp_path / "mixed"))
    order = BuildOptions(root, lengths=("8k",), tasks=("niah_single_2",), samples=20, mirror=mirror)
    before = files(root)
    with pytest.raises(RulerError, match="another 'essays' among its sources"):
        build(order)
    assert files(root) == before


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_changed_source_is_refused_in_one_sentence_and_nothing_is_left(tmp_path, workers):
    squad = registry()["squad"].canonical.file
    changed = tmp_path / "mirror" / squad.path
    changed.parent.mkdir(parents=True)
    changed.write_bytes(b'{"data": []}')
    root = tmp_path / "ruler"
    command = ("build", root, "--tasks", "qa_1,niah_single_1", "--lengths", "4k", "--samples", 1)
    done = ruler(*command, "--mirror", tmp_path / "mirror", "--workers", workers)
    assert (done.code, done.stdout) == (2, "")
    sentence = " ".join(done.stderr.split())
    assert f"is damaged: its sha256 is {sha256_of(changed)}, expected {squad.sha256}" in sentence
    assert "Replace it with an undamaged copy" in sentence
    assert "Traceback" not in sentence
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mirror"]


@pytest.mark.nightly
def test_an_unfinished_build_with_other_settings_is_refused(tmp_path):
    root = tmp_path / "begun"
    command = ruler_command("build", str(root), *ARGUMENTS, "--workers", "1")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not list(root.glob(f"{BUILD_FOLDER}/data/**/*.json")):
        time.sleep(0.005)
    process.kill()
    process.wait()
    with pytest.raises(RulerError, match="another seed"):
        build(BuildOptions(root, lengths=("4k",), samples=20, seed=5, sources=("embedded",)))


def test_a_disk_that_is_too_small_is_said_before_any_work(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(RulerError, match="has 0 MB free: make room, or give a folder on another"):
        build(replace(ORDER, root=tmp_path / "full"))
    assert not (tmp_path / "full").exists()


def test_a_folder_that_cannot_be_written_is_said_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(RulerError, match="cannot be written: choose another folder"):
        build(replace(ORDER, root=tmp_path / "out"))
    assert not any(tmp_path.iterdir())


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RulerError, match=r"holds other files \(letter.txt\)"):
        build(replace(ORDER, root=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_window_that_cannot_hold_a_task_is_refused_before_any_work(tmp_path):
    order = BuildOptions(
        tmp_path / "small", lengths=("1k", "4k"), samples=4, sources=("embedded",), reserve=500
    )
    with pytest.raises(RulerError, match=r"_1k cannot be built.*take a longer length"):
        build(order)
    assert not (tmp_path / "small").exists()


def test_what_a_window_cannot_hold_can_be_left_out_with_the_reason(tmp_path):
    root = tmp_path / "small"
    order = replace(ORDER, root=root, lengths=("1k",), tasks=("niah_s", "vt"), reserve=400)
    with pytest.raises(RulerError, match=r"vt_1k cannot be built.* --skip-impossible build"):
        build(order)
    assert not (root / MANIFEST).exists()
    order = replace(order, skip_impossible=True)
    made = build(order)
    assert (len(made.new), [*made.left_out]) == (3, ["vt_1k"])
    why = made.left_out["vt_1k"]
    assert re.search(r"needs at least \d+ tokens, and the window has 594 for it", why)
    assert verify(root).ok
    before = files(root)
    build(order)
    assert files(root) == before
    assert build(replace(order, lengths=("4k",))).left_out == {}
    with pytest.raises(RulerError, match=r"Nothing can be built\. The task needs"):
        build(replace(order, root=tmp_path / "none", tasks=("vt",)))


def test_a_corpus_with_fewer_questions_gives_fewer_rows_and_the_manifest_says_so(tmp_path):
    order = BuildOptions(
        tmp_path / "many", lengths=("2k",), tasks=("qa_2",), samples=500, sources=("embedded",)
    )
    entry = build(order).manifest["files"]["data/tekken/2k/qa_2.parquet"]
    assert entry["rows"] == entry["most_rows"] == 114
    assert build(order).new == []


def test_the_rows_of_a_smaller_release_are_the_first_of_a_larger_one(release, tmp_path):
    import pyarrow.parquet as pq

    order = replace(ORDER, root=tmp_path / "six")
    for path in build(order).manifest["files"]:
        large = pq.read_table(release / path).to_pylist()
        assert pq.read_table(order.root / path).to_pylist() == large[:6]


def test_haystacks_that_run_out_are_in_the_manifest(tmp_path):
    order = replace(ORDER, root=tmp_path / "long", lengths=("32k",), samples=1)
    made = build(order).manifest["files"]
    assert made["data/tekken/32k/niah_single_2.parquet"]["repeats"] == 1
    assert made["data/tekken/32k/qa_1.parquet"]["repeats"] == 2
    assert made["data/tekken/32k/niah_single_1.parquet"]["repeats"] == 0


@pytest.mark.nightly
@pytest.mark.mirror
@pytest.mark.parametrize("tokenizer", mostly_nightly(3, ["cl100k_base", "qwen2.5", "gemma3"]))
def test_real_sources_and_tokenizers_make_a_release_without_a_breach(
    mirror, counter_of, tmp_path, tokenizer
):
    assert counter_of(tokenizer).split_points.proved  # held: build and verify do not load it again
    root = tmp_path / "real"
    order = BuildOptions(
        root, tokenizers=(tokenizer,), lengths=("4k", "16k"), samples=2, mirror=mirror
    )
    manifest = build(order).manifest
    assert set(manifest["sources"]) == {"essays", "squad", "hotpotqa"}
    assert {source["variant"] for source in manifest["sources"].values()} == {"canonical"}
    report = verify(root, mirror=mirror)
    assert report.ok, [f.problems for f in report.files.values() if f.count]


def test_a_tokenizer_of_a_folder_is_built_verified_and_found_again(made, tmp_path):
    folder = Path(shutil.copytree(made("gpt2"), tmp_path / "mine"))
    root = tmp_path / "ruler"
    order = BuildOptions(
        root,
        tokenizers=(f"mine={folder}",),
        lengths=("2k",),
        tasks=("niah", "vt", "fwe", "cwe", "qa_1"),
        samples=2,
        sources=("embedded",),
    )
    build(order)
    about = json.loads((root / MANIFEST).read_text(encoding="utf-8"))["tokenizers"]["mine"]
    assert (about["spec"], about["title"]) == ("mine=mine", "mine")  # nothing of where it lies
    assert str(tmp_path) not in (root / "README.md").read_text(encoding="utf-8")
    assert len(load(root, "niah_mk_2k_mine")) == 6
    moved = folder.rename(tmp_path / "moved")
    remedy = f"ruler verify {root} --tokenizer mine=FOLDER"
    (why,) = verify(root).not_rebuilt
    assert remedy in why
    assert verify(root, tokenizers=[f"mine={moved}"]).ok
    other = Path(shutil.copytree(made("unigram"), tmp_path / "other"))
    with pytest.raises(RulerError, match="differs from the release's"):
        verify(root, tokenizers=[f"mine={other}"])
