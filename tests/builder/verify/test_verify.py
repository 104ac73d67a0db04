"""`ruler verify`: what proves the rows of a release, what is listed, and what is not a fault."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.release.card import card_files
from ruler_builder.release.metadata import collect_facts
from ruler_builder.release.worker import FileRows
from ruler_builder.verify import audit
from ruler_builder.verify.verify import MAY_DIFFER, audit_release
from ruler_common.manifest import MANIFEST, read_manifest
from ruler_release.api import verify
from tests import in_process
from tests.builder.verify import planting
from tests.builder.verify.planting import Row, manifest_of
from tests.builder.verify.test_planted_faults import sentences

VT, CWE = "data/tekken/4k/vt.parquet", "data/tekken/4k/cwe.parquet"


def built(root: Path, **order: Any) -> Path:
    """A release from the project's own texts."""
    build(BuildOptions(root, **{"samples": 3, "sources": ("embedded",), **order}))
    return root


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rows of two tasks, of embedded texts; not to be changed."""
    root = tmp_path_factory.mktemp("small") / "ruler"
    return built(root, lengths=("4k",), tasks=("vt", "niah_single_2"))


@pytest.fixture
def root(small: Path, tmp_path: Path) -> Path:
    """A copy, which may be changed."""
    return Path(shutil.copytree(small, tmp_path / "ruler"))


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The frozen rows of vt at 4k, which read no source; not to be changed."""
    root = tmp_path_factory.mktemp("frozen") / "ruler"
    build(BuildOptions(root, lengths=("4k",), tasks=("vt",)))
    return root


# ---- What proves the rows ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["release", "oneruler"])
def test_a_sound_release_is_rebuilt_and_audited_without_a_problem(name, request):
    """Every other suite: tests/test_suites.py."""
    report = verify(request.getfixturevalue(name), audit=True)
    assert sentences(report) == []
    assert report.proved
    assert {file.proved_by for file in report.files.values()} == {"rebuilt"}
    assert report.notes == []


def test_several_processes_find_the_same(small):
    report = verify(small, workers=2, audit=True)
    assert (report.proved, report.sentence) == (True, "Files: 2 rebuilt and equal.")


def test_rows_in_the_lock_are_proved_by_it_and_not_built_again(frozen, monkeypatch):
    monkeypatch.setattr(FileRows, "__iter__", None)
    report = verify(frozen)
    assert report.proved
    assert report.sentence == "Files: 1 with frozen rows."


def test_a_changed_frozen_row_is_named_by_building_it_again(frozen, tmp_path):
    root = Path(shutil.copytree(frozen, tmp_path / "ruler"))

    def change(rows: list[Row]) -> None:
        planting.in_context(rows[17], "grass", "glass")

    digest = manifest_of(root)["files"][VT]["rows_sha256"]
    planting.plant(root, VT, change)
    claimed = manifest_of(root)
    assert any("not the rows of data version 1.0.0" in line for line in sentences(verify(root)))
    claimed["files"][VT]["rows_sha256"] = digest
    planting.write_manifest(root, claimed)
    result = sentences(verify(root))
    assert any(line.startswith(f"{VT} 17: input differs at character ") for line in result)
    assert any("which are not the frozen ones" in line for line in result)


def test_only_the_first_ten_problems_of_a_file_are_kept(root):
    def change(rows: list[Row]) -> None:
        rows[:] = [{**rows[0], "index": place, "canary": ""} for place in range(20)]

    planting.plant(root, VT, change)
    file = audit_release(root).files[VT]
    assert (len(file.problems), file.count) == (10, 39)


def test_what_another_pyarrow_wrote_is_read_by_its_rows(root):
    planting.plant(root, VT, lambda rows: None)  # equal rows, compressed otherwise
    assert verify(root).proved


def test_a_changed_byte_is_named(root):
    data = bytearray((root / VT).read_bytes())
    data[len(data) // 2] ^= 1
    (root / VT).write_bytes(data)
    assert any("sha256 is " in line for line in sentences(verify(root)))
    (root / VT).write_bytes(b"")
    assert any("the file cannot be read" in line for line in sentences(verify(root)))
    (root / VT).unlink()
    assert any("but it is missing" in line for line in sentences(verify(root)))


def test_a_row_that_asks_something_else_at_another_length_is_named():
    asked = {("vt", "en", "en"): {"a": {0: "x", 7: "y"}, "b": {0: "x", 7: "z"}}}
    assert [*audit.check_paired(asked)] == [
        ("b", "the row's question is not that of the same row in a", 7)
    ]


# ---- What cannot be checked here ---------------------------------------------------------------


@pytest.mark.mirror
def test_a_missing_source_is_listed_with_the_command_that_gets_it(mirror, tmp_path, monkeypatch):
    order = BuildOptions(tmp_path / "r", lengths=("4k",), tasks=("qa_1", "vt"), samples=3)
    build(order)
    broken = tmp_path / "broken"
    shutil.copytree(mirror, broken, copy_function=lambda a, b: Path(b).symlink_to(a))
    monkeypatch.delenv("RULER_MIRROR")
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "empty"))
    done = in_process.ruler("verify", tmp_path / "r")
    first = "Not checked fully: 1 file, because squad is missing: run ruler sources fetch squad"
    assert " ".join(done.stderr.split()).startswith(first)
    shown = " ".join(done.stdout.split())
    assert "Files: 1 rebuilt and equal, 1 not checked fully." in shown
    assert done.code == 3
    result = json.loads(in_process.ruler("verify", tmp_path / "r", "--json").stdout)
    assert (result["ok"], result["proved"]) == (True, False)
    (squad,) = broken.rglob("squad.json")
    squad.unlink()
    squad.write_text("{}")
    done = in_process.ruler("verify", tmp_path / "r", "--mirror", broken)
    assert "Replace it with an undamaged copy" in " ".join(done.stderr.split())
    assert "sources fetch" not in done.stderr
    assert done.code == 3


@pytest.mark.mirror
def test_a_missing_tokenizer_is_listed_too(mirror, tmp_path, monkeypatch):
    asked: dict[str, Any] = {"lengths": ("4k",), "tasks": ("vt", "qa_1")}
    root = built(tmp_path / "r", tokenizers=("cl100k_base",), **asked)
    monkeypatch.delenv("RULER_MIRROR")
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "empty"))
    for flags in ((), ("--audit",)):
        done = in_process.ruler("verify", root, *flags)
        shown = " ".join(done.stderr.split())
        assert "2 files, because the file of cl100k_base is missing: run ruler sources" in shown
        assert done.code == 3
    planting.plant(root, "data/cl100k_base/4k/vt.parquet", lambda rows: rows.pop())
    manifest = manifest_of(root)
    manifest["files"]["data/cl100k_base/4k/vt.parquet"]["tokens"]["max"] += 1
    planting.write_manifest(root, manifest)
    assert in_process.ruler("verify", root).code == 1


def test_rows_of_another_data_version_cannot_be_rebuilt_here(root):
    planting.write_manifest(root, {**manifest_of(root), "data_version": "0.9.0"})
    report = verify(root)
    ((why, paths),) = report.not_rebuilt.items()
    assert why == "this version builds data version 1.0.0, not 0.9.0: install one that does"
    assert (len(paths), report.ok, report.proved) == (2, True, False)


# ---- What is a fault of the folder, and what is not ----------------------------------------------


def test_a_folder_of_links_to_blobs_is_sound(root, tmp_path):
    """So `snapshot_download` makes it."""
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    for number, path in enumerate(path for path in root.rglob("*") if path.is_file()):
        path.rename(blobs / str(number))
        path.symlink_to(blobs / str(number))
    assert sentences(verify(root)) == []


def test_windows_line_ends_and_files_of_macos_are_not_a_fault(root):
    for name in ("README.md", "eval.yaml", "croissant.json", MANIFEST):
        data = (root / name).read_bytes().replace(b"\n", b"\r\n")
        (root / name).write_bytes(data)
    for folder in (root, root / "data", root / "data/tekken/4k"):
        (folder / ".DS_Store").write_bytes(b"\0")
        (folder / "._vt.parquet").write_bytes(b"\0")
    report = verify(root)
    assert (sentences(report), report.notes) == ([], [])


def test_a_file_that_the_manifest_does_not_list_is_named(root):
    shutil.copy(root / VT, root / "data/tekken/4k/more.parquet")
    (root / "data/.notes").write_text("42")
    what = "the file is not in the manifest: move it out of the folder"
    paths = ("data/.notes", "data/tekken/4k/more.parquet")
    assert sentences(verify(root)) == [f"{path} -1: {what}" for path in paths]


@pytest.mark.parametrize(
    "name", ["ruler.py", "train.csv", "dataset_infos.json", "x.parquet", ".huggingface.yaml"]
)
def test_a_file_that_changes_how_the_folder_is_loaded_is_named(root, name):
    (root / name).write_text("{}")
    (line,) = sentences(verify(root))
    assert line == f"{name} -1: it changes how `datasets` loads the folder: move it out"


def test_any_other_file_is_named_in_a_note(root):
    for name in (".gitattributes", ".fetch"):
        (root / name).mkdir()
    (root / ".git").mkdir()
    (root / "notes\x1b[31m.txt").write_text("")
    report = verify(root)
    assert report.ok
    assert report.notes == ["Not part of the release, and not checked: .git/, notes\\x1b[31m.txt."]


def test_a_missing_card_is_named_and_a_missing_registration_is_allowed(root):
    (root / "eval.yaml").unlink()
    assert verify(root).ok
    (root / "README.md").unlink()
    (line,) = sentences(verify(root))
    assert line == "README.md -1: the file is missing: run the same `ruler build` again"


def test_the_card_of_a_repository_is_compared_as_one(root):
    facts = collect_facts(read_manifest(root), root)
    for name, text in card_files(facts, True, "org/ruler").items():
        (root / name).write_text(text, encoding="utf-8")
    assert verify(root).ok
    text = (root / "README.md").read_text(encoding="utf-8")
    (root / "README.md").write_text(text.replace("org/ruler", "org/rule", 1), encoding="utf-8")
    (line,) = sentences(verify(root))
    assert "README.md -1: line " in line


def test_of_the_card_of_another_version_the_configurations_are_compared(root):
    text = json.dumps({**manifest_of(root), "builder_version": "0.1.9"})
    (root / MANIFEST).write_text(text, encoding="utf-8")
    report = verify(root)
    assert report.proved
    assert report.notes[0].startswith("The card was written by ruler-release 0.1.9, this is ")
    text = (root / "README.md").read_text(encoding="utf-8")
    (root / "README.md").write_text(text.replace("vt.parquet", "x.parquet"), encoding="utf-8")
    (line,) = sentences(verify(root))
    assert "its configurations are not those of the manifest" in line


def test_a_manifest_that_no_card_can_be_made_from_is_named(root):
    manifest = manifest_of(root)
    for entry in manifest["files"].values():
        entry["rows"] = 0
    (root / MANIFEST).write_text(json.dumps(manifest))
    assert any("No card can be made from" in line for line in sentences(verify(root)))


# ---- The manifest ------------------------------------------------------------------------------


def test_what_may_differ_is_one_list(root):
    manifest = manifest_of(root)
    manifest["builder_version"] = "0.1.0"
    manifest["tokenizers"]["tekken"]["version"] = "0.0.1"
    manifest["files"][VT]["counted_by"] = "another engine 1.0"
    planting.write_manifest(root, manifest)
    assert len(MAY_DIFFER) == 4
    assert verify(root).proved


def test_parameters_that_no_row_can_have_are_no_traceback(tmp_path):
    suite = tmp_path / "suite.toml"
    suite.write_text('[tasks.deep]\nfamily = "variable_tracking"\nhops = 6\n')
    root = built(tmp_path / "r", lengths=("2k",), suite=suite)
    assert verify(root, audit=True).proved
    manifest = manifest_of(root)
    manifest["tasks"]["deep"] |= {"hops": 100, "chains": 100}
    planting.write_manifest(root, manifest)
    assert any(" 0: it cannot be built" in line for line in sentences(verify(root)))


def test_more_rows_than_the_corpus_has_are_named(tmp_path):
    root = built(tmp_path / "r", lengths=("2k",), tasks=("qa_1",), samples=1000)
    path = "data/tekken/2k/qa_1.parquet"
    most = read_manifest(root)["files"][path]["rows"]
    planting.plant(root, path, lambda rows: rows.append({**rows[0], "index": most}))
    result = sentences(verify(root))
    assert any(f"{path} {most}: the row does not belong there" in line for line in result)


def test_a_whole_release_of_another_seed_is_named(tmp_path):
    root = built(tmp_path / "r", lengths=("4k",), tasks=("vt", "fwe"), seed=7)
    assert verify(root).proved
    planting.write_manifest(root, {**manifest_of(root), "seed": 0})
    result = sentences(verify(root))
    assert sum(" 0: input differs at character " in line for line in result) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["tasks"]["vt"].update(family="unknown"),
        lambda m: m["families"].update(unknown={}) or m["tasks"]["vt"].update(family="unknown"),
        lambda m: m["families"]["variable_tracking"].clear(),
        lambda m: m["tasks"]["vt"].update(hops="many"),
        lambda m: m["tasks"]["vt"].pop("chains"),
    ],
)
def test_a_task_that_no_builder_knows_is_a_sentence_and_no_traceback(root, change):
    manifest = {**manifest_of(root), "suite": "own"}
    change(manifest)
    (root / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    for flags in ((), ("--audit",)):
        done = in_process.ruler("verify", root, *flags)
        assert done.code in (1, 2)
        assert "Traceback" not in done.stderr
