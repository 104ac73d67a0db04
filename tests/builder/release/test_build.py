"""A release has the same bytes however it is built, and can be stopped, resumed and extended."""

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
from tests.embedded_release import contents
from tests.in_process import ruler, ruler_command, ruler_error, ruler_output
from tests.nightly import mostly_nightly

# Both make the release of the fixture `release`
SAME = BuildOptions(Path(), lengths=("4k",), rows=20, sources=("embedded",))
ARGUMENTS = ("--lengths", "4k", "--rows", "20", "--sources", "embedded")
LONGER = {"lengths": ("8k",)}


# ---- The same bytes ------------------------------------------------------------------------------


@pytest.mark.nightly
def test_the_number_of_workers_changes_no_byte(release, tmp_path):
    build(replace(SAME, root=tmp_path / "two", workers=2))
    assert contents(tmp_path / "two") == contents(release)


def test_a_release_built_in_parts_has_the_bytes_of_one_build(release, tmp_path):
    for tasks in (("qa", "fwe"), ("niah",), ("all",)):
        build(replace(SAME, root=tmp_path / "parts", tasks=tasks))
    assert contents(tmp_path / "parts") == contents(release)


def finished_files(root: Path) -> int:
    """Return how many files have their entry too, which is written after the file."""
    return len(list(root.glob(f"{BUILD_FOLDER}/data/**/[!.]*.json")))


def stop_after_next_file(root: Path, workers: int, *signals: signal.Signals) -> str:
    """Start a build, stop it by signals after it finished another file; return its errors."""
    count = finished_files(root)
    command = ruler_command("build", root, *ARGUMENTS, "--workers", workers)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and finished_files(root) == count:
        time.sleep(0.005)
    for number in signals:
        os.killpg(process.pid, number)
        time.sleep(0.003)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGKILL, -signal.SIGINT, 130)
    return errors


def test_a_build_that_is_killed_and_stopped_by_ctrl_c_resumes_to_the_same_bytes(release, tmp_path):
    root = tmp_path / "ruler"
    for workers, signals in ((1, [signal.SIGKILL]), (2, [signal.SIGINT, signal.SIGINT])):
        assert "Traceback" not in stop_after_next_file(root, workers, *signals)
        report = verify(root)
        assert report.unfinished
        assert not report.ok
        assert not any(file.count for file in report.files.values())
    with pytest.raises(RulerError, match="another seed"):
        build(replace(SAME, root=root, seed=5))
    assert "files built" in ruler_output("build", root, *ARGUMENTS)
    assert contents(root) == contents(release)
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
    done = ruler("verify", root)
    assert done.code == 1
    assert "Incomplete" in done.stdout
    assert "problem" not in done.stdout


def test_the_same_build_again_does_nothing(release):
    before = {path: path.stat().st_mtime_ns for path in release.rglob("*")}
    assert "nothing to do" in ruler_output("build", release, *ARGUMENTS)
    assert {path: path.stat().st_mtime_ns for path in release.rglob("*")} == before


def test_a_lost_and_a_changed_file_are_built_again(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "damaged"))
    lost, changed = root / "data/tekken/4k/vt.parquet", root / "data/tekken/4k/cwe.parquet"
    lost.unlink()
    data = bytearray(changed.read_bytes())
    data[len(data) // 2] ^= 1
    changed.write_bytes(data)
    done = ruler("build", root, *ARGUMENTS)
    assert "Lost or changed since it was built, and built again: data/" in done.stderr
    assert "2 files built in" in done.stdout
    assert contents(root) == contents(release)


def test_a_build_of_other_files_names_a_lost_one(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "lost"))
    (root / "data/tekken/4k/vt.parquet").unlink()
    for tasks in ("cwe", "vt"):
        done = ruler("build", root, *ARGUMENTS, "--tasks", tasks)
        says = "Lost, and not built again because this command does not ask for it: data/"
        assert (says in " ".join(done.stderr.split())) == (tasks == "cwe")
    assert "Lost" not in ruler("build", root, *ARGUMENTS).stderr


def test_another_length_extends_a_release_and_changes_none_of_its_files(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "more"))
    built = build(replace(SAME, root=root, lengths=("8k",), tasks=("vt",)))
    assert built.new == ["data/tekken/8k/vt.parquet"]
    assert len(built.manifest["files"]) == 14
    data = {path: file for path, file in contents(release).items() if path.startswith("data/")}
    assert data.items() <= contents(root).items()
    assert verify(root).ok


# ---- Refused before any work ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "another seed: 0, not 1"),
        ({"reserve": 64}, "another reserve: 128, not 64"),
        ({"sources": ()}, r"another '\w+' among its sources \(embedded, not canonical\)"),
        ({"sources": ("qa_1=embedded",)}, "Unknown source 'qa_1'"),
        ({"mirror": "no-such-mirror"}, "'no-such-mirror' is not a folder"),
        ({"rows": 7, "lengths": ("4k", "8k")}, "ask for --rows 20"),
        (LONGER | {"sources": (), "tasks": ("niah_single_2",)}, "another 'essays' among its sou"),
        ({"pool": "rayy"}, "Did you mean 'ray'"),
        ({"address": "auto"}, "add --pool ray"),
        ({"lengths": ()}, "lengths names nothing: give at least one name"),
        (LONGER | {"pool": "ray"}, r"pip install 'ray>="),
    ],
)
def test_different_settings_are_not_mixed_in_one_release(
    release, mirror, tmp_path, monkeypatch, change, message
):
    monkeypatch.setitem(sys.modules, "ray", None)
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    before = contents(root)
    with pytest.raises(RulerError, match=message):
        build(replace(SAME, root=root, **change))
    assert contents(root) == before


def test_finished_files_of_another_tokenizer_or_of_none_are_not_taken_for_those_asked_for(
    trained_tokenizer, tmp_path
):
    same = replace(SAME, root=tmp_path / "ruler", lengths=("2k",), rows=2, tasks=("vt",))
    asked = f"mine={trained_tokenizer('gpt2')}"
    build(replace(same, tokenizers=(asked,)))
    assert build(replace(same, tokenizers=(asked,))).new == []
    for folder, message in (
        (trained_tokenizer("unigram"), "was made with another tokenizer 'mine'"),
        (tmp_path / "nowhere", "nowhere' is not a folder"),
        (tmp_path, "has no tokenizer: give the folder of a model"),
    ):
        with pytest.raises(RulerError, match=message):
            build(replace(same, tokenizers=(f"mine={folder}",)))


def test_files_of_file_managers_and_of_git_are_not_other_files(tmp_path):
    for name in (".DS_Store", "._x", "Thumbs.db", "desktop.ini", ".directory", ".gitattributes"):
        (tmp_path / name).write_text("")
    options = replace(SAME, root=tmp_path, rows=1, tasks=("vt",))
    assert build(options).new == ["data/tekken/4k/vt.parquet"]
    report = verify(tmp_path)
    assert (report.ok, report.notes) == (True, [])


def test_a_file_beside_a_stopped_build_is_not_taken_for_a_part_of_it(tmp_path):
    for folder in (BUILD_FOLDER, "data"):
        (tmp_path / folder).mkdir()
    (tmp_path / "letter.txt").write_text("dear")
    options = replace(SAME, root=tmp_path, rows=1, tasks=("vt",))
    with pytest.raises(RulerError, match=r"holds other files \(letter.txt\)"):
        build(options)
    (tmp_path / "letter.txt").unlink()
    build(options)


def test_another_data_version_is_refused(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "old"))
    manifest = json.loads((root / MANIFEST).read_text())
    (root / MANIFEST).write_text(json.dumps(manifest | {"data_version": "0.9.0"}))
    with pytest.raises(RulerError, match=r"another data_version: '0\.9\.0'"):
        build(replace(SAME, root=root, lengths=("8k",)))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_changed_source_is_refused_and_leaves_no_file(tmp_path, workers):
    squad = registry()["squad"].canonical.file
    changed = tmp_path / "mirror" / squad.path
    changed.parent.mkdir(parents=True)
    changed.write_bytes(b'{"data": []}')
    flags = ("--tasks", "qa_1,niah_single_1", "--lengths", "4k", "--rows", 1)
    flags += ("--mirror", tmp_path / "mirror", "--workers", workers)
    sentence = " ".join(ruler_error("build", tmp_path / "ruler", *flags).split())
    assert f"is damaged: its sha256 is {sha256_of(changed)}, expected {squad.sha256}" in sentence
    assert "Replace it, or delete it to download it again." in sentence
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mirror"]


def test_a_folder_that_is_full_or_read_only_or_in_use_is_refused(tmp_path, monkeypatch):
    options = replace(SAME, root=tmp_path / "new")
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage)
        with pytest.raises(RulerError, match="has 0 MB free: make room, or give a folder on anot"):
            build(options)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(RulerError, match="cannot be written: choose another folder"):
            build(options)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RulerError, match=r"holds other files \(letter.txt\)"):
        build(replace(SAME, root=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_task_that_does_not_fit_is_refused_or_left_out_with_the_reason(tmp_path):
    root = tmp_path / "small"
    options = replace(SAME, root=root, lengths=("1k",), tasks=("niah_s", "vt"), reserve=400)
    with pytest.raises(RulerError, match=r"vt_1k cannot be built.* --skip-impossible build"):
        build(options)
    assert not root.exists()
    options = replace(options, skip_impossible=True)
    built = build(options)
    assert (len(built.new), [*built.left_out]) == (3, ["vt_1k"])
    reason = built.left_out["vt_1k"]
    assert re.search(r"needs at least \d+ tokens, and the window has 594 for it", reason)
    assert verify(root).ok
    assert build(options).new == []
    with pytest.raises(RulerError, match=r"Nothing can be built\. The task needs"):
        build(replace(options, root=tmp_path / "none", tasks=("vt",)))


def test_a_file_that_is_left_out_is_not_said_to_be_there(tmp_path):
    flags = ("build", tmp_path / "small", "--lengths", "1k", "--reserve", 400, "--rows", 1)
    flags += ("--sources", "embedded", "--skip-impossible", "--tasks")
    ruler_output(*flags, "niah_single_1")
    assert "already has all of these files" in ruler_output(*flags, "niah_single_1")
    lines = ruler_output(*flags, "vt").splitlines()
    assert lines[0].startswith("Left out vt_1k: The task needs at least")
    assert lines[1:] == [f"Nothing else is to be built in '{tmp_path}/small'."]


# ---- What is built -------------------------------------------------------------------------------


def test_a_corpus_with_fewer_questions_gives_fewer_rows(tmp_path):
    root = tmp_path / "many"
    options = replace(SAME, root=root, lengths=("2k",), tasks=("qa_2",), rows=500)
    entry = build(options).manifest["files"]["data/tekken/2k/qa_2.parquet"]
    assert entry["rows"] == entry["max_rows"] == 114
    assert build(options).new == []


def test_the_rows_of_a_smaller_release_are_the_first_of_a_larger_one(release, tmp_path):
    import pyarrow.parquet as pq

    options = replace(SAME, root=tmp_path / "six", rows=6, tasks=("niah_s", "vt", "qa_1"))
    for path in build(options).manifest["files"]:
        large = pq.read_table(release / path).to_pylist()
        assert pq.read_table(options.root / path).to_pylist() == large[:6]


def test_the_manifest_counts_repeats_of_haystacks(tmp_path):
    tasks = ("niah_single_1", "niah_single_2", "qa_1")
    options = replace(SAME, root=tmp_path / "long", lengths=("32k",), rows=1, tasks=tasks)
    entries = build(options).manifest["files"]
    assert entries["data/tekken/32k/niah_single_2.parquet"]["repeats"] == 1
    assert entries["data/tekken/32k/qa_1.parquet"]["repeats"] == 2
    assert entries["data/tekken/32k/niah_single_1.parquet"]["repeats"] == 0


@pytest.mark.nightly
@pytest.mark.mirror
@pytest.mark.parametrize("tokenizer", mostly_nightly(3, ["cl100k_base", "qwen2.5", "gemma3"]))
def test_real_sources_and_tokenizers_make_a_valid_release(
    mirror, named_counter, tmp_path, tokenizer
):
    assert named_counter(tokenizer).split_points.proved  # loaded for build and verify too
    root = tmp_path / "real"
    options = BuildOptions(
        root, tokenizers=(tokenizer,), lengths=("4k", "16k"), rows=2, mirror=mirror
    )
    manifest = build(options).manifest
    assert set(manifest["sources"]) == {"essays", "squad", "hotpotqa"}
    assert {source["variant"] for source in manifest["sources"].values()} == {"canonical"}
    report = verify(root, mirror=mirror)
    assert report.ok, [f.problems for f in report.files.values() if f.count]


def test_a_release_with_a_custom_tokenizer_is_verified_after_its_folder_moved(
    trained_tokenizer, tmp_path
):
    folder = Path(shutil.copytree(trained_tokenizer("gpt2"), tmp_path / "mine"))
    root = tmp_path / "ruler"
    tasks = ("niah", "vt", "fwe", "cwe", "qa_1")
    options = replace(SAME, root=root, lengths=("2k",), rows=2, tasks=tasks)
    build(replace(options, tokenizers=(f"mine={folder}",)))
    about = json.loads((root / MANIFEST).read_text(encoding="utf-8"))["tokenizers"]["mine"]
    assert (about["spec"], about["title"]) == ("mine=mine", "mine")  # not the path
    assert str(tmp_path) not in (root / "README.md").read_text(encoding="utf-8")
    assert len(load(root, "niah_mk_2k_mine")) == 6
    moved = folder.rename(tmp_path / "moved")
    remedy = f"ruler verify {root} --tokenizer mine=FOLDER"
    (reason,) = verify(root).not_rebuilt
    assert remedy in reason
    assert verify(root, tokenizers=[f"mine={moved}"]).ok
    config = moved / "tokenizer_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "chat_template": "{{ x }}"}))
    assert verify(root, tokenizers=[f"mine={moved}"]).proved
    with pytest.raises(RulerError, match="differs from the release's"):
        verify(root, tokenizers=[f"mine={trained_tokenizer('unigram')}"])


def test_another_tokenizer_in_a_folder_of_the_same_name_is_no_fault_of_the_release(
    trained_tokenizer, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(trained_tokenizer("gpt2"), "mine"))
    options = replace(SAME, root=tmp_path / "ruler", lengths=("2k",), rows=2, tasks=("vt",))
    build(replace(options, tokenizers=("mine=mine",)))
    shutil.rmtree(folder)
    shutil.copytree(trained_tokenizer("unigram"), folder)
    report = verify("ruler")
    assert (report.ok, report.proved) == (True, False)
    (reason,) = report.not_rebuilt
    assert reason.endswith("Say where the release's is: ruler verify ruler --tokenizer mine=FOLDER")
