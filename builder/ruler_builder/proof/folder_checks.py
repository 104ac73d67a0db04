"""Check what stands in a release's folder beside its rows: plain files, and the card's.

    no_plain_file(root, "data/tekken/4k/vt.parquet")     # "a link", "a named pipe", …; "" if it is
    for name, what in strangers(root, manifest): ...     # under data/, where nothing else may be
    beside(root)                                         # what else is there, which no law is about
    notes = check_card_files(root, manifest, reports)    # whether they are those of this manifest

What is no plain file is named and never opened: a link leads out of the folder, and whoever opens a
named pipe waits for ever.

README.md, eval.yaml and croissant.json are rendered anew and compared byte for byte. Another
version of the builder may word them otherwise: of its releases what they state is compared. Of the
card: the metadata, the numbers of files, rows and bytes, licences, digests and every table of facts
that has the same head; of croissant.json all but descriptions; of eval.yaml the configurations.
Another version may say more or less around these.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ruler_builder.card.card_files import (
    CARD,
    CROISSANT,
    EVAL_YAML,
    card_files,
    described_repository,
)
from ruler_builder.card.provenance import licences
from ruler_builder.card.render import configs_in_full, configurations, first_row
from ruler_builder.common.build_folder import BUILD_FOLDER
from ruler_builder.common.project_files import DISTRIBUTION
from ruler_builder.proof.verify_report import FileReport
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.manifest_form import MANIFEST, Manifest
from ruler_common.names import SPLIT
from ruler_common.text import markdown_text

_DATA = "data"
_OWN = {_DATA, CARD, MANIFEST, EVAL_YAML, CROISSANT, BUILD_FOLDER, ".fetch"}
_OF_THE_HUB = {".gitattributes"}
_TITLES = {
    CARD: "the card",
    EVAL_YAML: "the registration as a benchmark",
    CROISSANT: "the description for machines",
}
_FREE_METADATA = {"pretty_name", "tags"}
_FREE_PROPERTIES = {"@context", "description", "keywords", "citeAs", "creator", "datePublished"}
# A table with such a column explains; the others state.
_EXPLAINING = {"what", "why", "take it to measure", "what must fit into it", "what changed"}
_EXPLAINING |= {"why it is mended"}
_COUNT = re.compile(r"(?<![\d,.])[\d,]+ (?:files|rows|bytes)\b")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
Tables = dict[tuple[str, ...], list[tuple[str, ...]]]
_REMEDY = "run the same `ruler build` again"


def no_plain_file(root: Path, name: str) -> str:
    """What a path of a release is instead of a plain file in it; "" if it is one, or not there.

    So is a path on which a folder is a link.
    """
    path = root
    for part in Path(name).parts:
        path /= part
        try:
            mode = path.lstat().st_mode
        except OSError:
            return ""
        if stat.S_ISLNK(mode):
            return "a link"
    return "" if stat.S_ISREG(mode) else "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"


def strangers(root: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """What else than folders and listed files stands under data/, hidden or not, and why not."""
    if no_plain_file(root, _DATA) == "a link":
        yield _DATA, "it is a link: put the files themselves into the release"
        return
    unread: list[OSError] = []
    for folder, folders, names in os.walk(root / _DATA, onerror=unread.append):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for found in sorted(Path(folder, name) for name in [*links, *names]):
            name = found.relative_to(root).as_posix()
            if name not in manifest["files"]:
                kind = no_plain_file(root, name)
                yield name, f"{kind or 'the file'} is not in the manifest"
    for error in unread:
        name = Path(error.filename).relative_to(root).as_posix()
        if (root / name).exists():
            yield name, "the folder cannot be read"


def beside(root: Path) -> list[str]:
    """What stands beside a release's own files and folders, in order; folders end with a slash."""
    found = (path for path in root.iterdir() if path.name not in _OWN | _OF_THE_HUB)
    return sorted(f"{path.name}/" if path.is_dir() else path.name for path in found)


def check_card_files(
    root: Path, manifest: Manifest, reports: dict[str, FileReport]
) -> Iterator[str]:
    """Report each file that is missing or another; yield what could not be checked, and why.

    eval.yaml may be left out: a data set need not be a benchmark of the Hub. croissant.json may
    describe the folder or, as in a download, a repository of the Hub.
    """
    if not manifest["files"]:  # a shard that was left nothing to build
        return
    mine, theirs = version(DISTRIBUTION), manifest["builder_version"]
    try:
        benchmark, repo = (root / EVAL_YAML).exists(), described_repository(root)
        files = card_files(root, manifest, benchmark, repo)
    except RulerError as error:
        _report(reports, CARD, str(error))
        return
    if mine != theirs:
        yield (
            f"The card was made by {DISTRIBUTION} {theirs}, this is {mine}: its metadata, figures, "
            "licences and files are compared, its wording is not."
        )
    elif first_row(root, manifest) is None:
        del files[CARD]
        yield f"{CARD}: not checked, because the row that it shows cannot be read."
    for name, text in files.items():
        path, title = root / name, _TITLES[name]
        if odd := no_plain_file(root, name):
            _report(reports, name, f"it is {odd}, no file: {_REMEDY}")
        elif not path.is_file():
            _report(reports, name, f"the file is missing: {_REMEDY}")
        elif mine == theirs:
            if read_bytes(path) != text.encode():
                _report(reports, name, f"{title} is not the one of this manifest: {_REMEDY}")
        else:
            found = read_bytes(path).decode("utf-8", errors="replace")
            for what in other_facts(name, found, text, manifest):
                _report(reports, name, f"{title}: {what}")
            if name == CARD and (lacking := tables_not_compared(found, text)):
                yield f"{CARD} has no tables headed {'; '.join(lacking)}: these are not compared."


def _report(reports: dict[str, FileReport], name: str, what: str) -> None:
    reports.setdefault(name, FileReport(name)).add(what)


def other_facts(name: str, found: str, right: str, manifest: Manifest) -> Iterator[str]:
    """What a card file states otherwise than the one that is rendered from its manifest."""
    try:
        yield from _FILES[name](found, right, manifest)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        yield "it cannot be read"


def tables_not_compared(found: str, right: str) -> list[str]:
    """The heads of the tables of facts that a card has not, or has otherwise."""
    there = _tables(found)
    return [" | ".join(head) for head in _tables(right) if head not in there]


def _card(found: str, right: str, manifest: Manifest) -> Iterator[str]:
    (metadata, body), (mine, own) = _parts(found), _parts(right)
    if configs_in_full(metadata) != configs_in_full(mine):  # which have had several forms
        yield "configs in its metadata is not that of this manifest"
    for key in sorted({*metadata, *mine} - _FREE_METADATA - {"configs"}):
        if metadata.get(key) != mine.get(key):
            yield f"{key} in its metadata is not that of this manifest"
    said = " ".join(body.split())
    if manifest["canary"] not in said:
        yield f"it does not name the canary {manifest['canary']}"
    for count in _COUNT.findall(own.partition("This release holds")[2].partition("\n\n")[0]):
        if not re.search(rf"(?<![\d,.]){re.escape(count)}\b", said):
            yield f"it does not say that the release holds {count}"
    for licence in licences(manifest):
        if markdown_text(licence) not in said:
            yield f"it does not name the licence '{licence}'"
    if strange := {*_DIGEST.findall(body)} - {*_DIGEST.findall(json.dumps(manifest))}:
        yield f"the digest {min(strange)} in it is none of the manifest's"
    there = _tables(body)
    for head, rows in _tables(own).items():
        if there.get(head, rows) != rows:
            yield f"its table '{' | '.join(head)}' is not that of this manifest"


def _parts(text: str) -> tuple[dict[str, Any], str]:
    """A card's metadata, and what follows them."""
    match = re.match(r"---\n(.*?\n)---\n", text, re.DOTALL)
    if match is None:
        raise ValueError("no metadata")
    return dict(yaml.safe_load(match[1])), text[match.end() :]


def _tables(text: str) -> Tables:
    """Head -> rows, in order, of the tables that state facts."""
    found: Tables = {}
    for table in re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE):
        head, *rows = [
            tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            for line in table.splitlines()
        ]
        if not _EXPLAINING & {*head}:
            found.setdefault(head, []).extend(rows[1:])
    return found


def _described(found: str, right: str, manifest: Manifest) -> Iterator[str]:
    theirs, mine = (_stated(json.loads(text)) for text in (found, right))
    for key in sorted({*theirs, *mine} - {"name"}):
        if theirs.get(key) != mine.get(key):
            yield f"{key} in it is not that of this manifest"


def _stated(value: Any) -> Any:
    """A description without its wording."""
    if isinstance(value, list):
        return [_stated(part) for part in value]
    if not isinstance(value, dict):
        return value
    kept = (key for key in value if key not in _FREE_PROPERTIES and not key.startswith("rai:"))
    return {key: _stated(value[key]) for key in kept}


def _registered(found: str, right: str, manifest: Manifest) -> Iterator[str]:
    known = {config["name"] for config in configurations(manifest)}
    for task in yaml.safe_load(found)["tasks"]:
        if task["config"] not in known or (task["id"], task["split"]) != (task["config"], SPLIT):
            yield f"its task '{task['id']}' is no configuration of this release"


_FILES = {CARD: _card, CROISSANT: _described, EVAL_YAML: _registered}
