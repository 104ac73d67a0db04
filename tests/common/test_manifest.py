"""An untrusted manifest is checked, and a fault is one sentence that names the field."""

from __future__ import annotations

import json

import pytest

from ruler_common.errors import RulerError
from ruler_common.manifest import MANIFEST, parse_manifest, read_manifest

SOURCE = {
    "variant": "embedded",
    "title": "",
    "sha256": "",
    "bytes": 0,
    "licence": "",
    "citation": "",
    "urls": [],
}

TOKENIZER = {"spec": "x", "title": "", "library": "x", "version": "1"}
VT = "data/tekken/4k/vt.parquet"

# No task, group or tokenizer may have such a name
INVALID_NAMES = ("../x", "/x", "a/b", "a\\b", "C:x", "x\x00", "x\n", "", "..", "vt_4k", "x" * 200)


def test_a_newer_format_is_refused(tmp_path):
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 99}))
    with pytest.raises(RulerError, match="update this package"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"files": None}, "files"),
        ({"format": "1"}, "format"),
        ({"data_version": "1.0"}, "data_version"),
        ({"canary": "8FD5E18A"}, "canary is not a GUID"),
        ({"canary": "00000000-0000-0000-0000-000000000000"}, "canary is not that of ruler 1.0.0"),
        ({"tasks": "vt"}, "tasks"),
        ({"groups": [], "dataset": 3}, "dataset"),
        ({"dataset": "../x"}, "dataset"),
        ({"reserve": -1}, "reserve"),
        ({"groups": {"all": ["x"]}}, "The group 'all' has 'x', which is not a task"),
        ({"groups": {"all": ["vt", "vt"]}}, "The group 'all' has 'vt' more than once"),
        ({"groups": {"all": []}}, "The group 'all' has no task"),
        ({"groups": {"vt": ["vt"]}}, "'vt' names both a task and a group"),
        ({"languages": {"xx": {}}}, r"languages\.xx"),
        *(
            ({"tasks": {name: {"family": "niah"}}}, ".* cannot name a task: begin")
            for name in INVALID_NAMES
        ),
        *(({"groups": {name: ["vt"]}}, ".* cannot name a group: begin") for name in INVALID_NAMES),
        *(
            ({"sources": {name: SOURCE}}, ".* cannot name a source: use")
            for name in INVALID_NAMES[:8]
        ),
        *(
            ({"tokenizers": {name: TOKENIZER}}, ".* cannot name a tokenizer: begin")
            for name in INVALID_NAMES
        ),
        ({"groups": {"VT": ["vt"]}}, "'vt' and 'VT' differ only in case"),
    ],
)
def test_a_damaged_manifest_is_refused_with_the_field_or_name(release, change, field):
    text = json.dumps(read_manifest(release) | change)
    with pytest.raises(
        RulerError, match=rf"^'here' is damaged: {field}.*\. Download it again, or build"
    ):
        parse_manifest(text, "here")


@pytest.mark.parametrize(
    "change",
    [
        {"config": "/somewhere/file"},
        {"config": "vt_8k"},
        {"task": "../../../x"},
        {"tokenizer": "other"},
        {"length": "8k"},
        {"length": "04k"},
        {"max_length": 4095},
        {"language": "pl"},
        {"instruction_language": "../x"},
        {"rows": -1},
        {"rows": None},
        {"rows": True},
        {"bytes": "1"},
        {"fill": "full"},
        {"tokens": {"min": 1}},
    ],
    ids=str,
)
def test_an_entry_that_disagrees_with_its_path_is_refused(release, change):
    manifest = json.loads((release / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][VT] |= change
    with pytest.raises(RulerError, match=rf"^'here' is damaged: files.{VT}"):
        parse_manifest(json.dumps(manifest), "here")


@pytest.mark.parametrize(
    "path",
    ["/etc/x", "data/../x", "data/tekken/4k/VT.parquet", "data\\tekken\\4k\\vt.parquet", "x\x00"],
)
def test_a_file_must_be_at_the_path_of_its_configuration(release, path):
    manifest = json.loads((release / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][path] = manifest["files"][VT]
    with pytest.raises(RulerError, match=r"^'here' is damaged: files"):
        parse_manifest(json.dumps(manifest), "here")


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"3", b"\xff", b"[" * 100_000])
def test_a_manifest_that_is_not_an_object_is_refused(tmp_path, text):
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(RulerError, match=r"manifest\.json' is damaged: "):
        read_manifest(tmp_path)


def test_a_folder_inside_of_a_release_is_refused_with_the_name_of_the_release(tmp_path):
    folder = tmp_path / "ruler" / "data" / "tekken"
    folder.mkdir(parents=True)
    with pytest.raises(RulerError, match="Build one: ruler build"):
        read_manifest(folder)
    (tmp_path / "ruler" / "manifest.json").write_text("{}")
    with pytest.raises(RulerError, match=f"inside the release '{tmp_path}/ruler': name that"):
        read_manifest(folder)
