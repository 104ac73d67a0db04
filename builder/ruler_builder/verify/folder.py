"""Check what a release's folder holds besides its rows: unlisted files, and the card's files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ruler_builder.common.build_folder import BUILD_FOLDER
from ruler_builder.common.project_files import DISTRIBUTION
from ruler_builder.release.card import first_row
from ruler_builder.release.card_files import (
    CARD,
    CROISSANT,
    EVAL_YAML,
    card_files,
    described_repository,
)
from ruler_builder.verify.report import common_length
from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.manifest_form import MANIFEST, Manifest
from ruler_common.text import printable

_DATA = "data"
_OF_THE_RELEASE = {_DATA, CARD, MANIFEST, EVAL_YAML, CROISSANT, BUILD_FOLDER, ".fetch"}
_OF_THE_HUB = {".gitattributes", ".cache"}
# At the top these change how `datasets` loads the folder, whatever the card says.
_LOADED_SUFFIXES = {".py", ".csv", ".tsv", ".jsonl", ".parquet", ".arrow"}
_LOADED_NAMES = {"dataset_infos.json", "dataset_info.json", "state.json"}
_NAMED = 20  # files named in a note
_REMEDY = "run the same `ruler build` again"


def is_ignored(name: str) -> bool:
    """Whether a file is one that macOS writes into any folder."""
    return name == ".DS_Store" or name.startswith("._")


def unlisted_files(root: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The files that should not be in the folder: unlisted below data/, or read by `datasets`."""
    for folder, _, names in os.walk(root / _DATA):
        for name in sorted(names):
            path = (Path(folder) / name).relative_to(root).as_posix()
            if path not in manifest["files"] and not is_ignored(name):
                yield path, "the file is not in the manifest: move it out of the folder"
    for place in sorted(root.iterdir()):
        if place.name in _OF_THE_RELEASE or is_ignored(place.name):
            continue
        if place.suffix.lower() in _LOADED_SUFFIXES or place.name in _LOADED_NAMES:
            what = "it changes how `datasets` loads the folder: move it out"
            yield place.name, what


def other_files(root: Path) -> str:
    """Return a sentence that names the files at the top that are not checked; "" if none."""
    known = _OF_THE_RELEASE | _OF_THE_HUB
    found = [place for place in root.iterdir() if place.name not in known]
    names = sorted(
        f"{place.name}/" if place.is_dir() else place.name
        for place in found
        if not is_ignored(place.name) and place.suffix.lower() not in _LOADED_SUFFIXES
    )
    if not names:
        return ""
    shown = ", ".join(printable(name) for name in names[:_NAMED])
    more = ", …" if len(names) > _NAMED else ""
    return f"Not part of the release, and not checked: {shown}{more}."


def check_card_files(root: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with README.md, eval.yaml and croissant.json: file name, sentence.

    They are rendered again from the manifest and compared, line ends aside. eval.yaml may be
    missing. croissant.json may describe the folder or a repository of the Hub. Of a card that
    another version of the builder wrote, only the metadata's configurations are compared.
    """
    try:
        benchmark, repo = (root / EVAL_YAML).exists(), described_repository(root)
        rendered = card_files(root, manifest, benchmark, repo)
    except RulerError as error:
        yield CARD, str(error)
        return
    same_builder = version(DISTRIBUTION) == manifest["builder_version"]
    for name, text in rendered.items():
        if not (root / name).is_file():
            yield name, f"the file is missing: {_REMEDY}"
            continue
        try:
            found = read_text(root / name).replace("\r\n", "\n")
        except RulerError as error:
            yield name, str(error)
            continue
        if not same_builder:
            if name == CARD and _configs(found) != _configs(text):
                yield name, f"its configurations are not those of the manifest: {_REMEDY}"
        elif found != text:
            yield name, f"{_first_difference(found, text)}: {_REMEDY}"


def card_note(root: Path, manifest: Manifest) -> str:
    """Return a sentence that says why the card is not compared whole; "" if it is."""
    mine, theirs = version(DISTRIBUTION), manifest["builder_version"]
    if mine != theirs:
        return (
            f"The card was written by {DISTRIBUTION} {theirs}, this is {mine}: of {CARD} only the "
            "configurations are compared. `ruler build` writes it again."
        )
    if first_row(root, manifest) is None:
        return f"{CARD} cannot be compared: the row that it shows cannot be read."
    return ""


def _configs(card: str) -> Any:
    """Return the configurations in a card's metadata; None if they cannot be read."""
    match = re.match(r"---\n(.*?\n)---\n", card, re.DOTALL)
    try:
        return yaml.safe_load(match[1])["configs"] if match else None
    except (yaml.YAMLError, LookupError, TypeError):
        return None


def _first_difference(found: str, right: str) -> str:
    """Say which line of a text is the first that differs, and how."""
    lines, right_lines = found.split("\n"), right.split("\n")
    for number, (line, right_line) in enumerate(zip(lines, right_lines, strict=False), 1):
        if line != right_line:
            column = common_length(line, right_line)
            shown, expected = line[column : column + 40], right_line[column : column + 40]
            return (
                f"line {number} differs from the manifest's at character {column}: "
                f"{shown!r}, should be {expected!r}"
            )
    return f"it has {len(lines)} lines, should have {len(right_lines)}"
