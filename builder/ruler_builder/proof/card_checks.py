"""Check that the card and the other files rendered from a manifest are those of this manifest.

    notes = check_card_files(Path("ruler"), manifest, reports)

README.md, eval.yaml and croissant.json are rendered anew and compared byte for byte. Another
version of the builder may word them otherwise: of its releases what they state is compared. Of the
card: the metadata, the numbers of files, rows and bytes, licences, digests and every table of facts
that has the same head; of croissant.json all but descriptions; of eval.yaml the configurations.
Another version may say more or less around these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ruler_builder.card import croissant, eval_yaml
from ruler_builder.card.card_files import CARD, card_files
from ruler_builder.card.provenance import licences
from ruler_builder.card.render import configs_in_full, configurations, first_row
from ruler_builder.common.project_files import DISTRIBUTION
from ruler_builder.proof.folder_checks import no_plain_file
from ruler_builder.proof.verify_report import FileReport
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.manifest_form import Manifest
from ruler_common.names import SPLIT
from ruler_common.text import markdown_text

_TITLES = {
    CARD: "the card",
    eval_yaml.FILE: "the registration as a benchmark",
    croissant.FILE: "the description for machines",
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
        benchmark, repo = (root / eval_yaml.FILE).exists(), croissant.described_repository(root)
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


_FILES = {CARD: _card, croissant.FILE: _described, eval_yaml.FILE: _registered}
