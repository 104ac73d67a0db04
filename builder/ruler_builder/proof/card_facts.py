"""Compare what the card files of another version of the builder state, whatever its wording.

    for what in other_facts("README.md", text, rendered): ...     # sentences
    tables_not_compared(text, rendered)                           # heads of tables that it lacks

Of the card: the metadata, the numbers of files, rows and bytes, licences, digests and every table
of facts that has the same head; of croissant.json all but descriptions; of eval.yaml the
configurations. Another version may say more or less around these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml  # type: ignore[import-untyped]

from ruler_builder.card import croissant, eval_yaml
from ruler_builder.card.card_files import CARD
from ruler_builder.card.provenance import licences
from ruler_builder.card.render import configs_in_full, configurations
from ruler_common.manifest_form import Manifest
from ruler_common.names import SPLIT
from ruler_common.text import markdown_text

_FREE_METADATA = {"pretty_name", "tags"}
_FREE_PROPERTIES = {"@context", "description", "keywords", "citeAs", "creator", "datePublished"}
# A table with such a column explains; the others state.
_EXPLAINING = {"what", "why", "take it to measure", "what must fit into it", "what changed"}
_EXPLAINING |= {"why it is mended"}
_COUNT = re.compile(r"(?<![\d,.])[\d,]+ (?:files|rows|bytes)\b")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
Tables = dict[tuple[str, ...], list[tuple[str, ...]]]


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
