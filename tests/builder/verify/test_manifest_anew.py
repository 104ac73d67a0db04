"""What a manifest may say is what a build writes: every other word of it is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.oneruler.language_pairs import Languages
from ruler_builder.verify.verify import FREE, differences, verify
from ruler_common.manifest_form import MANIFEST
from tests.builder.proof import planting
from tests.builder.proof.planting import manifest_of
from tests.builder.verify.test_rebuild import built
from tests.shares import share

Change = Callable[[dict[str, Any]], object]
VT, ESSAY = "data/tekken/4k/vt.parquet", "data/tekken/4k/niah_single_2.parquet"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sound") / "r"
    return built(root, lengths=("4k",), tasks=("vt", "niah_single_2"), samples=2)


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "r"))


def named(root: Path) -> str:
    """What is wrong with the release, all of it in one text."""
    files = verify(root, laws_only=True).files.items()
    return "\n".join(f"{path}: {what}" for path, file in files for _, _, what in file.breaches)


FAULTS: dict[str, tuple[Change, str]] = {
    "a format that there never was": (lambda m: m.update(format=0), "format is 0, made anew 1"),
    "a format below": (lambda m: m.update(format=-1), "format is -1, made anew 1"),
    "a key more": (lambda m: m.update(note="x"), f"{MANIFEST}: note does not belong there"),
    "a key more of a file": (
        lambda m: m["files"][VT].update(quality="high"),
        f"{VT}: quality does not belong there",
    ),
    "a key more of a source": (
        lambda m: m["sources"]["essays"].update(note="x"),
        "sources.essays.note does not belong there",
    ),
    "no sources": (lambda m: m["sources"].clear(), "sources.essays is missing"),
    "a source more": (
        lambda m: m["sources"].update(squad={**m["sources"]["essays"]}),
        "sources.squad does not belong there",
    ),
    "another licence": (
        lambda m: m["sources"]["essays"].update(licence="CC0-1.0, really"),
        'sources.essays.licence is "CC0-1.0, really", made anew ',
    ),
    "another licence, another builder": (
        lambda m: [m.update(builder_version="9.9"), m["sources"]["essays"].update(licence="mine")],
        'sources.essays.licence is "mine", made anew ',
    ),
    "another address": (
        lambda m: m["sources"]["essays"].update(urls=["http://x"]),
        'sources.essays.urls is ["http://x"], made anew ',
    ),
    "a tokenizer more": (
        lambda m: m["tokenizers"].update(mine={**m["tokenizers"]["tekken"]}),
        "tokenizers.mine does not belong there",
    ),
    "another tokenizer's title": (
        lambda m: m["tokenizers"]["tekken"].update(title="GPT-4's"),
        'tokenizers.tekken.title is "GPT-4\'s", made anew ',
    ),
    "another digest of a source": (
        lambda m: m["sources"]["essays"].update(sha256="0" * 64),
        "sources.essays.sha256 is ",
    ),
    "other words": (
        lambda m: m.update(words=dict.fromkeys(m["words"], "0" * 64)),
        'nounlist.txt is "0000',
    ),
    "a group more": (lambda m: m["groups"].update(mine=["vt"]), "groups.mine does not belong"),
    "fewer words": (lambda m: m["words"].popitem(), "is missing"),
    "an easier group": (
        lambda m: m["groups"].update(all=["niah_single_1"]),
        'groups.all is ["niah_single_1"], made anew ',
    ),
    "another wording": (
        lambda m: m["families"]["variable_tracking"].update(input="Say 42. {context} {question}"),
        "families.variable_tracking.input is ",
    ),
    "other parameters": (lambda m: m["tasks"]["vt"].update(hops=3), "tasks.vt.hops is 3, made"),
    "files in another order": (
        lambda m: m.update(files=dict(reversed(m["files"].items()))),
        "its files or keys stand in another order than a build's",
    ),
    "keys in another order": (
        lambda m: m.update(seed=m.pop("seed")),
        "its files or keys stand in another order than a build's",
    ),
    "left out though there": (
        lambda m: m.update(left_out={"vt_4k": "too long"}),
        "left_out does not belong there",
    ),
    "an unknown suite": (lambda m: m.update(suite="mine"), 'suite is "mine", made anew "own"'),
}


@pytest.mark.parametrize("name", share(2, FAULTS))
def test_what_a_build_does_not_write_is_named(name: str, root: Path) -> None:
    change, what = FAULTS[name]
    manifest = manifest_of(root)
    change(manifest)
    planting.write_manifest(root, manifest)
    assert what in named(root)


@pytest.mark.parametrize("how", ["utf-8-sig", "utf-16", "spaces", "escapes", "line ends"])
def test_a_manifest_written_in_another_way_is_named(how: str, root: Path) -> None:
    path = root / MANIFEST
    text = path.read_text(encoding="utf-8")
    path.write_bytes(
        {
            "spaces": json.dumps(json.loads(text), ensure_ascii=False).encode(),
            "escapes": text.replace('"dataset"', '"\\u0064ataset"').encode(),
            "line ends": text.replace("\n", "\r\n").encode(),
        }.get(how)
        or text.encode(how)
    )
    assert "it is not written as a build writes it" in named(root)


def test_a_language_that_no_file_has_is_named(tmp_path: Path) -> None:
    asked = {"suite": "oneruler", "lengths": ("8k",), "tasks": ("niah_none",), "samples": 2}
    root = built(tmp_path / "r", languages=Languages(("zh", "en")), **asked)
    path = "data/tekken/8k/zh/niah_none.parquet"
    manifest = manifest_of(root)
    del manifest["files"][path]
    (root / path).unlink()
    planting.write_manifest(root, manifest)
    assert "languages.zh does not belong there" in named(root)


def test_what_may_differ_is_one_list(root: Path) -> None:
    manifest = manifest_of(root)
    manifest["builder_version"] = "0.1.0"
    manifest["tokenizers"]["tekken"]["version"] = "0.0.1"
    manifest["files"][VT]["counted_by"] = "another engine 1.0"
    planting.write_manifest(root, manifest)
    assert len(FREE) == 4
    assert verify(root).proved


def test_rows_that_another_pyarrow_wrote_are_the_same_rows(root: Path) -> None:
    """The footer names the writer; the bytes of another one are not compared."""
    data = (root / VT).read_bytes()
    at = data.index(b"parquet-cpp-arrow version ") + len(b"parquet-cpp-arrow version ")
    (root / VT).write_bytes(data[:at] + b"9" + data[at + 1 :])
    manifest = manifest_of(root)
    manifest["files"][VT]["sha256"] = planting.sha256_of(root / VT)
    planting.write_manifest(root, manifest)
    assert verify(root).proved


def test_other_bytes_of_the_same_writer_are_named(root: Path) -> None:
    planting.plant(root, VT, lambda rows: None)  # equal rows, uncompressed otherwise
    report = verify(root)
    found = " ".join(what for _, _, what in report.files[VT].breaches)
    assert "sha256 is " in found
    assert "rows_sha256" not in found


def test_differences_are_placed() -> None:
    mine = {"a": {"b": [1, 2]}, "c": 1, "e": 1}
    anew = {"a": {"b": [1, 3]}, "c": 1.0, "d": None}
    assert [*differences(mine, anew)] == [
        (("a", "b"), "is [1, 2], made anew [1, 3]"),
        (("c",), "is 1, made anew 1.0"),
        (("d",), "is missing"),
        (("e",), "does not belong there"),
    ]
