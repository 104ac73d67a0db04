"""Rows are frozen under rules, and releases are compared with the frozen rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from freeze import freeze, main
from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.release.card import render
from ruler_builder.release.facts import collect_facts
from ruler_common.errors import RulerError
from ruler_common.files import read_toml
from ruler_common.frozen import frozen_sentence, read_frozen, unexplained, why_custom
from ruler_common.manifest import MANIFEST, Manifest, read_manifest
from tests.builder.verify import planting
from tests.project import ROOT

Edit = Callable[[Manifest], object]


@pytest.fixture
def published(release: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the manifest of a release that may be frozen."""

    def make(name: str = "ruler", edit: Edit = lambda manifest: None) -> Path:
        """Pretend canonical sources and 500 rows per file, and apply `edit`."""
        manifest = read_manifest(release)
        for source in manifest["sources"].values():
            source["variant"] = "canonical"
        for entry in manifest["files"].values():
            entry["rows"] = min(500, entry["max_rows"] or 500)
        edit(manifest)
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text(json.dumps(manifest))
        return tmp_path / name

    return make


def keep_only(task: str) -> Edit:
    """Return an edit that keeps the files of one task."""

    def edit(manifest: Manifest) -> None:
        manifest["files"] = {p: f for p, f in manifest["files"].items() if f["task"] == task}

    return edit


def change_rows(manifest: Manifest) -> None:
    manifest["files"]["data/tekken/4k/vt.parquet"]["rows_sha256"] = "0" * 64


def test_releases_can_be_frozen_one_after_another(published, tmp_path):
    freeze([published("one", keep_only("vt"))], folder=tmp_path)
    freeze(
        [published("two", keep_only("cwe")), published("three", keep_only("qa_1"))], folder=tmp_path
    )
    frozen = read_frozen("1.0.0", tmp_path)
    manifest = read_manifest(published())
    assert frozen
    assert {*frozen.rows["ruler"]} == {"vt_4k", "cwe_4k", "qa_1_4k"}
    assert (frozen.published, frozen.seed, frozen.reserve) == (False, 0, 128)
    assert {*frozen.sources.items()} == {
        (name, source["sha256"]) for name, source in manifest["sources"].items()
    }
    assert read_toml(tmp_path / "1.0.0.toml")["samples"] == {"ruler": 500, "oneruler": 50}
    freeze([published("four", keep_only("vt"))], replace_all=True, folder=tmp_path)
    assert {*read_toml(tmp_path / "1.0.0.toml")["rows"]["ruler"]} == {"vt_4k"}


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (
            lambda m: m["sources"]["essays"].update(variant="embedded"),
            "not built from the published essays",
        ),
        (lambda m: m["tasks"]["vt"].update(hops=7), "another suite than ruler's own"),
        (lambda m: m["files"]["data/tekken/4k/vt.parquet"].update(rows=20), "has 20 rows of vt_4k"),
    ],
)
def test_only_releases_fit_for_publication_are_frozen(published, tmp_path, edit, text):
    with pytest.raises(RulerError, match=text):
        freeze([published("odd", edit)], folder=tmp_path)
    assert not (tmp_path / "1.0.0.toml").exists()


def test_changed_rows_are_refused_unless_all_are_replaced(published, tmp_path):
    freeze([published()], folder=tmp_path)
    changed = published("changed", change_rows)
    with pytest.raises(RulerError, match=r"1 configurations .* first vt_4k: say why .* --replace"):
        freeze([changed], folder=tmp_path)
    assert freeze([changed], replace_all=True, folder=tmp_path).rows["ruler"]["vt_4k"] == "0" * 64


def test_a_published_version_never_changes(published, tmp_path):
    freeze([published()], published=True, folder=tmp_path)
    before = (tmp_path / "1.0.0.toml").read_bytes()
    assert b"published = true" in before
    freeze([published("same")], folder=tmp_path)
    assert (tmp_path / "1.0.0.toml").read_bytes() == before
    for edit in (change_rows, keep_only("vt")):
        with pytest.raises(RulerError, match=r"is published, and its rows never change"):
            freeze([published(edit.__qualname__, edit)], replace_all=True, folder=tmp_path)
    assert (tmp_path / "1.0.0.toml").read_bytes() == before
    later = published("later", lambda m: (m.update(data_version="1.0.1"), change_rows(m)))
    assert freeze([later], folder=tmp_path).data_version == "1.0.1"


def test_a_release_is_compared_configuration_by_configuration(published, tmp_path, release):
    frozen = freeze([published("part", keep_only("vt"))], folder=tmp_path)
    manifest = read_manifest(published())
    assert frozen_sentence(manifest, frozen) == (
        "These are the frozen rows of data version 1.0.0, except for cwe_4k and 11 more."
    )
    keep_only("vt")(manifest)
    assert frozen_sentence(manifest, frozen) == "These are the frozen rows of data version 1.0.0."
    change_rows(manifest)
    first = "Custom rows, not the frozen ones of data version 1.0.0: vt_4k differ"
    assert frozen_sentence(manifest, frozen) == f"{first}s: a change of the builder."
    manifest["seed"], manifest["reserve"] = 3, 0
    manifest["files"]["data/tekken/4k/vt.parquet"]["rows"] = 20
    manifest["sources"]["essays"]["sha256"] = "1" * 64
    assert frozen_sentence(manifest, frozen) == (
        f"{first}s: other sources (essays), seed 3, not 0, reserve 0, not 128, "
        "20 rows per file, not 500."
    )
    both = read_manifest(published("both"))
    change_rows(both)
    assert frozen_sentence(both, frozen) == (
        f"{first}s: a change of the builder; cwe_4k and 11 more are not among them."
    )
    assert frozen_sentence(read_manifest(published("cwe", keep_only("cwe"))), frozen) == (
        "Custom rows: no configuration here is among the frozen ones of data version 1.0.0."
    )


def test_rows_of_another_suite_or_seed_are_custom_even_with_the_digests_of_the_lock(
    published, tmp_path, monkeypatch
):
    root = published()
    frozen, frozen_manifest = freeze([root], folder=tmp_path), read_manifest(root)
    monkeypatch.setattr("ruler_common.frozen.read_frozen", lambda _: frozen)
    for change, why in (
        (lambda m: m["tasks"]["vt"].update(hops=7), "a custom suite"),
        (lambda m: m.update(seed=3), "seed 3, not 0"),
    ):
        manifest = json.loads(json.dumps(frozen_manifest))
        assert why_custom(manifest) == ""
        change(manifest)
        assert why_custom(manifest) == why
        assert frozen_sentence(manifest) == (
            "Custom rows, not the frozen ones of data version 1.0.0: "
            f"cwe_4k and 12 more differ: {why}."
        )


def test_rows_of_ruler_at_a_length_that_is_not_its_own_are_not_called_a_custom_suite(release):
    manifest = read_manifest(release)
    for entry in manifest["files"].values():
        entry |= {"length": "4000", "config": f"{entry['task']}_4000"}
    assert why_custom(manifest) == (
        "a length that is not in thousands of 1,024 tokens, "
        "embedded texts (essays, hotpotqa, squad), 20 rows per file, not 500"
    )


def test_only_a_difference_without_a_reason_is_unexplained(published, tmp_path):
    frozen = freeze([published()], folder=tmp_path)
    manifest = read_manifest(published("again"))
    assert unexplained(manifest, frozen) == []
    change_rows(manifest)
    assert unexplained(manifest, frozen) == ["data/tekken/4k/vt.parquet"]
    for change in (
        lambda m: m.update(seed=1),
        lambda m: m.update(reserve=0),
        lambda m: m["sources"]["essays"].update(variant="embedded"),
        lambda m: m["files"]["data/tekken/4k/vt.parquet"].update(rows=20),
        lambda m: m["tasks"]["vt"].update(hops=7),
    ):
        legitimate = json.loads(json.dumps(manifest))
        change(legitimate)
        assert unexplained(legitimate, frozen) == []


@pytest.mark.parametrize("script", ["builder/release.py x --dry-run", "builder/freeze.py --help"])
def test_a_script_is_silent_if_the_reader_of_its_output_ends(script):
    reader, writer = os.pipe()
    os.close(reader)  # as `| head -1` does after a line
    command = [sys.executable, *script.split()]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.stderr == ""


def test_the_script_audits_before_it_freezes(tmp_path, monkeypatch, capsys):
    root = tmp_path / "ruler"
    build(BuildOptions(root, lengths=("4k",), tasks=("vt",)))
    script = [sys.executable, str(ROOT / "builder/freeze.py"), str(root), "--to", str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True)
    assert "Data version 1.0.0: 1 configurations are frozen in" in done.stdout
    monkeypatch.setattr("ruler_common.frozen.FROZEN", tmp_path)
    assert "These are the frozen rows of data version 1.0.0." in render(
        collect_facts(read_manifest(root))
    )
    planting.plant(root, "data/tekken/4k/vt.parquet", lambda rows: rows[3].update(length=7))
    monkeypatch.setattr(sys, "argv", [*script[1:], "--replace"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "is not frozen: see `ruler verify --audit" in capsys.readouterr().err
