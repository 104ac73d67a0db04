"""`ruler verify` proves the rows of a release and names every fault, and no other difference."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.release.card import card_files
from ruler_builder.release.facts import collect_facts
from ruler_builder.release.worker import FileRows
from ruler_builder.verify.audits.file import check_paired
from ruler_builder.verify.verify import audit_release
from ruler_common.manifest import MANIFEST, read_manifest
from ruler_release.api import verify
from tests.builder.verify import planting
from tests.builder.verify.planting import Row, manifest_of
from tests.builder.verify.test_planted_faults import sentences
from tests.embedded_release import audit_problems, build_embedded, contents
from tests.in_process import ruler, ruler_command

VT, CWE = "data/tekken/4k/vt.parquet", "data/tekken/4k/cwe.parquet"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build three rows of two tasks from embedded texts. Tests must not change it."""
    root = tmp_path_factory.mktemp("small") / "ruler"
    build_embedded(root, lengths=("4k",), tasks=("vt", "niah_single_2"), rows=3)
    return root


@pytest.fixture
def root(small: Path, tmp_path: Path) -> Path:
    """Return a copy of the small release, which a test may change."""
    return Path(shutil.copytree(small, tmp_path / "ruler"))


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the frozen rows of vt at 4k, which need no source. Tests must not change it."""
    root = tmp_path_factory.mktemp("frozen") / "ruler"
    build(BuildOptions(root, lengths=("4k",), tasks=("vt",)))
    return root


# ---- Rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["release", "oneruler"])
def test_a_valid_release_is_rebuilt_and_audited_without_a_problem(name, request):
    """The other suites are in tests/test_suites.py."""
    root = request.getfixturevalue(name)
    assert audit_problems(root) == {}
    assert {file.proved_by for file in verify(root).files.values()} == {"rebuilt"}


def test_several_processes_prove_the_same(small):
    report = verify(small, workers=2, audit=True)
    assert (report.proved, report.sentence) == (True, "Files: 2 rebuilt and equal.")


def test_frozen_rows_are_proved_by_their_digest_without_a_rebuild(frozen, monkeypatch):
    monkeypatch.setattr(FileRows, "__iter__", None)
    report = verify(frozen)
    assert report.proved
    assert report.sentence == "Files: 1 with frozen rows."


def test_frozen_rows_are_rebuilt_if_that_is_asked_for(frozen):
    assert "Files: 1 rebuilt and equal." in ruler("verify", frozen, "--rebuild").stdout


def test_a_killed_verification_changes_nothing_and_a_finished_one_leaves_nothing(
    release, tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    before = contents(release)
    process = subprocess.Popen(ruler_command("verify", release), stderr=subprocess.DEVNULL)
    # os.walk passes over folders that the process has just removed
    while not any(".parquet" in str(names) for _, _, names in os.walk(tmp_path / "scratch")):
        assert process.poll() is None
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert contents(release) == before
    shutil.rmtree(tmp_path / "scratch")
    (tmp_path / "scratch").mkdir()
    subprocess.run(ruler_command("verify", release), check=True, stdout=subprocess.DEVNULL)
    assert contents(release) == before
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_changed_frozen_row_is_named_after_a_rebuild(frozen, tmp_path):
    root = Path(shutil.copytree(frozen, tmp_path / "ruler"))

    def change(rows: list[Row]) -> None:
        planting.in_context(rows[17], "grass", "glass")

    digest = manifest_of(root)["files"][VT]["rows_sha256"]
    planting.plant(root, VT, change)
    manifest = manifest_of(root)
    assert any("not the rows of data version 1.0.0" in line for line in sentences(verify(root)))
    manifest["files"][VT]["rows_sha256"] = digest
    planting.write_manifest(root, manifest)
    problems = sentences(verify(root))
    assert any(line.startswith(f"{VT} 17: input differs at character ") for line in problems)
    assert any("which are not the frozen ones" in line for line in problems)


def test_only_the_first_ten_problems_of_a_file_are_kept(root):
    def change(rows: list[Row]) -> None:
        rows[:] = [{**rows[0], "index": place, "canary": ""} for place in range(20)]

    planting.plant(root, VT, change)
    file = audit_release(root).files[VT]
    # 20 wrong canaries, 19 repeated rows, and positions that are all the same
    assert (len(file.problems), file.count) == (10, 40)


def test_a_file_with_other_bytes_and_the_same_rows_is_proved(root):
    planting.plant(root, VT, lambda rows: None)  # the same rows with another compression
    assert verify(root).proved


def test_a_changed_an_empty_and_a_missing_file_are_named(root):
    data = bytearray((root / VT).read_bytes())
    data[len(data) // 2] ^= 1
    (root / VT).write_bytes(data)
    assert any("sha256 is " in line for line in sentences(verify(root)))
    (root / VT).write_bytes(b"")
    assert any("the file cannot be read" in line for line in sentences(verify(root)))
    (root / VT).unlink()
    assert any("but it is missing" in line for line in sentences(verify(root)))


def test_a_row_with_another_question_at_another_length_is_named():
    questions = {("vt", "en", "en"): {"a": {0: "x", 7: "y"}, "b": {0: "x", 7: "z"}}}
    assert [*check_paired(questions)] == [
        ("b", "the row's question is not that of the same row in a", 7)
    ]


# ---- Missing sources and tokenizers --------------------------------------------------------------


@pytest.mark.mirror
def test_a_missing_source_is_listed_with_the_command_that_fetches_it(mirror, tmp_path, monkeypatch):
    build(BuildOptions(tmp_path / "r", lengths=("4k",), tasks=("qa_1", "vt"), rows=3))
    broken = tmp_path / "broken"
    shutil.copytree(mirror, broken, copy_function=lambda a, b: Path(b).symlink_to(a))
    monkeypatch.delenv("RULER_MIRROR")
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "empty"))
    done = ruler("verify", tmp_path / "r")
    message = "Not checked fully: 1 file, because squad is missing: run ruler sources fetch squad"
    assert " ".join(done.stderr.split()).startswith(message)
    verdict = " ".join(done.stdout.split())
    assert "Files: 1 rebuilt and equal, 1 not checked fully." in verdict
    assert done.code == 3
    report = json.loads(ruler("verify", tmp_path / "r", "--json").stdout)
    assert (report["ok"], report["proved"]) == (True, False)
    (squad,) = broken.rglob("squad.json")
    squad.unlink()
    squad.write_text("{}")
    done = ruler("verify", tmp_path / "r", "--mirror", broken)
    assert "Replace it, or delete it to download it again." in " ".join(done.stderr.split())
    assert "sources fetch" not in done.stderr
    assert done.code == 3


@pytest.mark.mirror
def test_a_missing_tokenizer_is_listed(mirror, tmp_path, monkeypatch):
    root, path = tmp_path / "ruler", "data/cl100k_base/4k/vt.parquet"
    options = {"lengths": ("4k",), "tasks": ("vt", "qa_1"), "rows": 3}
    build_embedded(root, tokenizers=("cl100k_base",), **options)
    monkeypatch.delenv("RULER_MIRROR")
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "empty"))
    for flags in ((), ("--audit",)):
        done = ruler("verify", root, *flags)
        message = " ".join(done.stderr.split())
        assert "2 files, because the file of cl100k_base is missing: run ruler sources" in message
        assert done.code == 3
    planting.plant(root, path, lambda rows: rows.pop())
    manifest = manifest_of(root)
    manifest["files"][path]["tokens"]["max"] += 1
    planting.write_manifest(root, manifest)
    assert ruler("verify", root).code == 1


def test_rows_of_another_data_version_cannot_be_rebuilt_here(root):
    planting.write_manifest(root, {**manifest_of(root), "data_version": "0.9.0"})
    report = verify(root)
    ((reason, paths),) = report.not_rebuilt.items()
    assert reason == "this version builds data version 1.0.0, not 0.9.0: install one that does"
    assert (len(paths), report.ok, report.proved) == (2, True, False)


# ---- The folder ----------------------------------------------------------------------------------


def test_a_folder_of_links_to_blobs_is_valid(root, tmp_path):
    """`snapshot_download` makes such folders."""
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    for number, path in enumerate(path for path in root.rglob("*") if path.is_file()):
        path.rename(blobs / str(number))
        path.symlink_to(blobs / str(number))
    assert sentences(verify(root)) == []


def test_windows_line_ends_and_files_of_macos_are_ignored(root):
    for name in ("README.md", "eval.yaml", "croissant.json", MANIFEST):
        data = (root / name).read_bytes().replace(b"\n", b"\r\n")
        (root / name).write_bytes(data)
    for folder in (root, root / "data", root / "data/tekken/4k"):
        (folder / ".DS_Store").write_bytes(b"\0")
        (folder / "._vt.parquet").write_bytes(b"\0")
    report = verify(root)
    assert (sentences(report), report.notes) == ([], [])


def test_a_data_file_that_is_not_in_the_manifest_is_named(root):
    shutil.copy(root / VT, root / "data/tekken/4k/more.parquet")
    (root / "data/.notes").write_text("42")
    problem = "the file is not in the manifest: move it out of the folder"
    paths = ("data/.notes", "data/tekken/4k/more.parquet")
    assert sentences(verify(root)) == [f"{path} -1: {problem}" for path in paths]


def test_a_link_to_a_folder_of_other_files_is_named(root, tmp_path):
    (root / "data").rename(tmp_path / "moved")  # the data may be on another disk
    (root / "data").symlink_to(tmp_path / "moved")
    (root / "data/tekken/4k").rename(tmp_path / "4k")
    (root / "data/tekken/4k").symlink_to(tmp_path / "4k")
    assert sentences(verify(root)) == []
    (tmp_path / "others").mkdir()
    (root / "data/others").symlink_to(tmp_path / "others")
    (root / "data/tekken/4k/loop").symlink_to(tmp_path)
    shutil.copy(root / VT, tmp_path / "4k/more.parquet")
    assert sorted(sentences(verify(root))) == [
        "data/others -1: it is a link to a folder of other files: remove it",
        "data/tekken/4k/loop -1: it is a link to a folder of other files: remove it",
        "data/tekken/4k/more.parquet -1: "
        "the file is not in the manifest: move it out of the folder",
    ]


@pytest.mark.parametrize(
    "name", ["ruler.py", "train.csv", "dataset_infos.json", "x.parquet", ".huggingface.yaml"]
)
def test_a_file_that_changes_how_the_folder_is_loaded_is_named(root, name):
    (root / name).write_text("{}")
    (line,) = sentences(verify(root))
    assert line == f"{name} -1: it changes how `datasets` loads the folder: move it out"


def test_other_files_are_named_in_a_note(root):
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


def test_the_card_of_a_repository_is_checked(root):
    facts = collect_facts(read_manifest(root))
    for name, text in card_files(facts, True, "org/ruler").items():
        (root / name).write_text(text, encoding="utf-8")
    assert verify(root).ok
    text = (root / "README.md").read_text(encoding="utf-8")
    (root / "README.md").write_text(text.replace("org/ruler", "org/rule", 1), encoding="utf-8")
    (line,) = sentences(verify(root))
    assert "README.md -1: line " in line


def test_only_the_configurations_of_a_card_of_another_version_are_checked(root):
    text = json.dumps({**manifest_of(root), "builder_version": "0.1.9"})
    (root / MANIFEST).write_text(text, encoding="utf-8")
    report = verify(root)
    assert report.proved
    assert report.notes[0].startswith("The card was written by ruler-release 0.1.9, this is ")
    text = (root / "README.md").read_text(encoding="utf-8")
    (root / "README.md").write_text(text.replace("vt.parquet", "x.parquet"), encoding="utf-8")
    (line,) = sentences(verify(root))
    assert "its configurations are not those of the manifest" in line


def test_a_manifest_that_no_card_can_describe_is_named(root):
    manifest = manifest_of(root)
    for entry in manifest["files"].values():
        entry["rows"] = 0
    (root / MANIFEST).write_text(json.dumps(manifest))
    assert any("No card can be made from" in line for line in sentences(verify(root)))


# ---- The manifest ------------------------------------------------------------------------------


def test_versions_of_builder_and_libraries_may_differ(root):
    manifest = manifest_of(root)
    manifest["builder_version"] = "0.1.0"
    manifest["tokenizers"]["tekken"]["version"] = "0.0.1"
    manifest["files"][VT]["counted_by"] = "another library 1.0"
    planting.write_manifest(root, manifest)
    assert verify(root).proved


def test_parameters_that_no_row_can_have_are_named(tmp_path):
    suite = tmp_path / "suite.toml"
    suite.write_text('[tasks.deep]\nfamily = "variable_tracking"\nhops = 6\n')
    root = tmp_path / "ruler"
    build_embedded(root, lengths=("2k",), suite=suite, rows=3)
    assert verify(root, audit=True).proved
    manifest = manifest_of(root)
    manifest["tasks"]["deep"] |= {"hops": 100, "chains": 100}
    planting.write_manifest(root, manifest)
    assert any(" 0: it cannot be built" in line for line in sentences(verify(root)))


def test_more_rows_than_the_corpus_has_are_named(tmp_path):
    root, path = tmp_path / "ruler", "data/tekken/2k/qa_1.parquet"
    build_embedded(root, lengths=("2k",), tasks=("qa_1",), rows=1000)
    count = read_manifest(root)["files"][path]["rows"]
    planting.plant(root, path, lambda rows: rows.append({**rows[0], "index": count}))
    problems = sentences(verify(root))
    assert any(f"{path} {count}: the row does not belong there" in line for line in problems)


def test_a_release_with_another_seed_than_its_manifest_is_named(tmp_path):
    root = tmp_path / "ruler"
    build_embedded(root, lengths=("4k",), tasks=("vt", "fwe"), rows=3, seed=7)
    assert verify(root).proved
    planting.write_manifest(root, {**manifest_of(root), "seed": 0})
    problems = sentences(verify(root))
    assert sum(" 0: input differs at character " in line for line in problems) == 2


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
def test_an_unknown_task_is_refused_in_one_sentence(root, change):
    manifest = {**manifest_of(root), "suite": "custom"}
    change(manifest)
    (root / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    for flags in ((), ("--audit",)):
        done = ruler("verify", root, *flags)
        assert done.code in (1, 2)
        assert "Traceback" not in done.stderr
