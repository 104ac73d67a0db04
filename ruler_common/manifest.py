"""The manifest of a release: a reader that checks every type and name of manifest_fields.py.

manifest = read_manifest(Path("ruler"))
manifest["files"]["data/tekken/4k/vt.parquet"]["rows_sha256"]
is_standard(manifest)               # whether its tasks are the benchmark's
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

from ruler_common.errors import RulerError
from ruler_common.files import parse_json
from ruler_common.languages import custom_facts
from ruler_common.manifest_fields import (
    CUSTOM_SUITE,
    FORMAT_VERSION,
    MANIFEST,
    BookRights,
    FileEntry,
    LanguageEntry,
    Manifest,
    SourceEntry,
    TokenFigures,
    TokenizerEntry,
    Variant,
)
from ruler_common.names import (
    LANGUAGES,
    TASKS,
    Config,
    check_new_name,
    check_release_names,
    length_name,
)
from ruler_common.rows import CANARIES
from ruler_common.text import printable

__all__ = [  # with the fields, so that users import one module
    "CUSTOM_SUITE",
    "FORMAT_VERSION",
    "MANIFEST",
    "SUITE_DIGESTS",
    "BookRights",
    "FileEntry",
    "LanguageEntry",
    "Manifest",
    "SourceEntry",
    "TokenFigures",
    "TokenizerEntry",
    "Variant",
    "benchmark_suite",
    "is_standard",
    "manifest_text",
    "parse_manifest",
    "read_manifest",
    "suite_digest",
    "version_numbers",
]

SUITE_DIGESTS = {
    "ruler": "dbed4f4c281db6bb",
    "oneruler": "e1ffd87e6b8b0c31",
    "ruler_2024": "f30773471de22410",
}
"""`suite_digest` of the benchmarks' suites, and of the suite with the layout of RULER's paper."""


def version_numbers(version: str) -> tuple[int, ...]:
    """Return a data version as numbers, to compare versions: (1, 10, 0) for `1.10.0`."""
    return tuple(int(part) for part in version.split("."))


def suite_digest(manifest: Manifest) -> str:
    """Return a digest of a suite: the names, parameters and wording of its tasks."""
    tasks, families = manifest["tasks"], manifest["families"]
    text = json.dumps([tasks, families], sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def benchmark_suite(manifest: Manifest) -> str | None:
    """Return the suite of SUITE_DIGESTS that a release was built with, or None.

    A release of ruler at decimal lengths (128000, not 128k) has none, because RULER's scores were
    measured at binary lengths.
    """
    for entry in manifest["files"].values():
        if entry["length"].isdigit():
            return None
    digest = suite_digest(manifest)
    for name, benchmark_digest in SUITE_DIGESTS.items():
        if digest == benchmark_digest:
            return name
    return None


def is_standard(manifest: Manifest) -> bool:
    """Return whether a release's tasks are those of its benchmark."""
    return benchmark_suite(manifest) == manifest["dataset"]


def read_manifest(root: Path) -> Manifest:
    """Return the manifest of a release folder. Raises RulerError, as parse_manifest does."""
    path = root / MANIFEST
    if root.is_file():
        raise RulerError(f"'{root}' is a file: name the folder of a release.")
    if not path.is_file():
        raise RulerError(f"No release in '{root}': no {MANIFEST}. {_remedy_for_missing(root)}")
    return parse_manifest(path.read_bytes(), path)


def _remedy_for_missing(root: Path) -> str:
    """Return the remedy for a missing release: another folder, or a build."""
    if (root / "run.json").is_file():
        return "It is the folder of a run: name the release that it was run on."
    if root.is_dir():
        for folder in root.resolve().parents:
            if (folder / MANIFEST).is_file():
                return f"It is inside the release '{folder}': name that folder."
    releases = [path.parent.name for path in root.parent.glob(f"*/{MANIFEST}")]
    near = difflib.get_close_matches(root.name, releases, n=1)
    if near:
        return f"Did you mean '{root.with_name(near[0])}'?"
    return f"Build one: ruler build {shlex.quote(str(root))}"


def parse_manifest(text: str | bytes, where: str | Path) -> Manifest:
    """Parse a manifest, and check the type of every field and every name.

    A release is untrusted input and its names become paths, so they must be those that names.py
    allows, and each file must have the path of its configuration. Raises RulerError that names the
    file, and the field or name; also for a newer format.
    """
    remedy = "Download it again, or build the release in a new folder."
    manifest = cast(Manifest, parse_json(text, Manifest, where, remedy, FORMAT_VERSION))
    try:
        _check_names(manifest)
    except _WrongField as error:
        raise RulerError(f"'{where}' is damaged: {error}. {remedy}") from error
    except RulerError as error:  # a name
        raise RulerError(f"'{where}' is damaged: {error} {remedy}") from error
    return manifest


def manifest_text(manifest: Manifest) -> str:
    """Return the text of manifest.json."""
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


class _WrongField(Exception):
    """A field of a manifest has an impossible value."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{printable(name)} {printable(what)}")


_PATTERNS = {  # of fields that are strings, and what they should be
    "data_version": (r"[0-9]+\.[0-9]+\.[0-9]+", "a version such as 1.0.0"),
    "canary": (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a GUID in lower case"),
    "builder_version": (r"[0-9A-Za-z.+!_-]{1,80}", "a version"),
}


def _check_names(manifest: Manifest) -> None:
    """Raise _WrongField or RulerError for the first wrong name or number."""
    fields: Mapping[str, Any] = manifest
    dataset = manifest["dataset"]
    if dataset not in TASKS:
        raise _WrongField("dataset", f"is '{dataset}', not one of {', '.join(TASKS)}")
    for name, (pattern, what) in _PATTERNS.items():
        if not re.fullmatch(pattern, fields[name]):
            raise _WrongField(name, f"is not {what}: '{fields[name]}'")
    known_canary = CANARIES.get(manifest["data_version"], {}).get(dataset)
    if known_canary is not None and manifest["canary"] != known_canary:
        raise _WrongField("canary", f"is not that of {dataset} {manifest['data_version']}")
    if manifest["reserve"] < 0:
        raise _WrongField("reserve", "is less than 0")
    for source in manifest["sources"]:
        check_new_name("source", source)
    _check_languages(manifest)
    check_release_names(
        manifest["tasks"],
        manifest["groups"],
        manifest["tokenizers"],
        {*LANGUAGES, *manifest["languages"]},
    )
    for task, described in manifest["tasks"].items():
        for name, value in described.items():
            if not isinstance(value, str | int | float):
                raise _WrongField(f"tasks.{task}.{name}", "must be a string, a number or a boolean")
        if described.get("family") not in manifest["families"]:
            raise _WrongField(f"tasks.{task}", "has a family that the release does not define")
    languages = {*LANGUAGES, *manifest["languages"]} if dataset == "oneruler" else {"en"}
    names: dict[str, Collection[str]] = {
        "task": manifest["tasks"],
        "tokenizer": manifest["tokenizers"],
        "language": languages,
        "instruction_language": languages,
    }
    for path, entry in manifest["files"].items():
        _check_entry(dataset, path, entry, names)


def _check_languages(manifest: Manifest) -> None:
    """Raise _WrongField for a custom language without facts, or one of the 26 with facts."""
    dataset = manifest["dataset"]
    for code, entry in manifest["languages"].items():
        facts = entry.get("facts")
        if code in LANGUAGES:
            if facts is not None:
                raise _WrongField(f"languages.{code}", "has facts, though it is one of the 26")
        elif facts is None or dataset != "oneruler":
            raise _WrongField("languages", f"has '{code}', which is not a language of {dataset}")
        else:
            check_new_name("language", code)
            try:
                custom_facts(facts, f"the release's language {code}")
            except RulerError as error:
                raise _WrongField(f"languages.{code}", f"cannot be read: {error}") from error


def _check_entry(
    dataset: str, path: str, entry: FileEntry, names: Mapping[str, Collection[str]]
) -> None:
    """Raise _WrongField for the first wrong name or number of a file's entry.

    `names` are those that the release has, by the fields that name one.
    """
    field = f"files.{path}"
    fields: Mapping[str, Any] = entry
    for name, available in names.items():
        if fields[name] not in available:
            raise _WrongField(field, f"has the {name} '{fields[name]}', which the release lacks")
    for name in ("rows", "bytes", "unit", "exhausted", "repeats"):
        if fields[name] < 0:
            raise _WrongField(field, f"has a negative '{name}'")
    config = Config.from_entry(dataset, entry)
    try:
        length = length_name(config.max_length, dataset)
    except RulerError as error:
        raise _WrongField(field, f"has a wrong length: {error}") from error
    expected = {
        "length": length,
        "max_length": config.max_length,
        "control": config.max_length == 0,
        "config": config.name,
    }
    for name, value in expected.items():
        stored = fields.get(name, False)
        if stored != value:
            raise _WrongField(field, f"has the {name} '{stored}', not '{value}'")
    if path != config.path:
        raise _WrongField(field, f"should be at '{config.path}', the path of its configuration")
