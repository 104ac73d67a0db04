"""croissant.json: a release described for machines, by the Croissant vocabulary (version 1.0).

    croissant(manifest)                 # of a folder: files by their paths beside croissant.json
    croissant(manifest, "ORG/ruler")    # of a Hub repository: files contained in its git clone

Search engines and mlcroissant read it. It lists every Parquet file with its sha256 and one record
set for the columns that all share; the Hub's own description stops at 100 configurations and has no
digests. Vocabulary and prose stand in dataset_cards/croissant.toml, the rest is the manifest's.
`ruler push` sends that of the repository, in the Hub's own form: `url`, and the files in a clone,
which `mlcroissant.Dataset(…, mapping={"repo": FOLDER})` replaces by a download.
Specification: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ruler_builder.card.provenance import citation_file, languages, licences
from ruler_builder.card.render import citations, column_meanings
from ruler_builder.common.project_files import project_file
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.manifest_form import Manifest
from ruler_common.parsing import json_value, read_toml
from ruler_common.rows import COLUMNS

FILE = "croissant.json"
ROWS = "rows"
"""The record set's id."""
REPOSITORY = "repo"
"""The id of a Hub repository's clone, as in the Hub's own descriptions."""
_HUB = "https://huggingface.co/datasets/"
_FILES = "parquet-files"
# The one field that is no column: a row's file, which names tokenizer, length and task.
_PATH = "file"
_TYPES = {"int32": "cr:Int32", "float32": "cr:Float32", "string": "sc:Text", "bool": "sc:Boolean"}
# A licence as sources.toml calls it -> its identifier in SPDX's list of licences.
_SPDX = {name: name for name in ("CC0-1.0", "MIT")} | {"CC BY-SA 4.0": "CC-BY-SA-4.0"}


def croissant(manifest: Manifest, repo: str | None = None) -> str:
    """The text of a release's croissant.json: a line for each property, file and field.

    Of the folder that holds it, or of the Hub's dataset `repo`, ORG/NAME.
    """
    prose = _prose()
    about = {**prose["both"], **prose[manifest["dataset"]]}
    title, description = about.pop("title"), about.pop("description")
    canary = about.pop("canary").format(canary=manifest["canary"])
    cff = citation_file()
    found: dict[str, Any] = {
        "@context": prose["context"],
        "@type": "sc:Dataset",
        "conformsTo": prose["conformsTo"],
        "name": title,
        "description": f"{description} {canary}",
        "identifier": f"urn:uuid:{manifest['canary']}",
        **({"url": _HUB + repo} if repo else {}),
        "version": manifest["data_version"],
        "datePublished": str(cff["date-released"]),
        "creator": [{"@type": "sc:Organization", "name": one["name"]} for one in cff["authors"]],
        "license": [*map(_licence, licences(manifest))],
        "citeAs": citations(manifest),
        "inLanguage": languages(manifest),
        "keywords": ["long context", "benchmark", "needle in a haystack", manifest["dataset"]],
        "isLiveDataset": False,
        **{f"rai:{name}": text for name, text in sorted(about.items())},
        "distribution": [*_repository(repo), *_files(manifest, repo), _file_set(repo)],
        "recordSet": [_record_set()],
    }
    return _text(found)


@cache
def _prose() -> dict[str, Any]:
    """What stands in it whatever the release; not to be changed."""
    return read_toml(project_file("dataset_cards") / "croissant.toml")


def _licence(name: str) -> str:
    """The address of a licence, as Croissant recommends; what is said of rights where none is."""
    return f"https://spdx.org/licenses/{_SPDX[name]}.html" if name in _SPDX else name


def described_repository(root: Path) -> str | None:
    """The Hub repository, ORG/NAME, that the croissant.json of a folder describes; None if none."""
    if not (root / FILE).is_file():  # a pipe would never end
        return None
    try:
        url = json_value(read_bytes(root / FILE))["url"]
    except (RulerError, OSError, ValueError, LookupError, TypeError):
        return None
    return url.removeprefix(_HUB) if isinstance(url, str) and url.startswith(_HUB) else None


def _repository(repo: str | None) -> Iterator[dict[str, str]]:
    if repo is not None:
        yield {
            **_node("FileObject", REPOSITORY, "The Hugging Face git repository."),
            "contentUrl": _HUB + repo,
            "encodingFormat": "git+https",
            # a repository has no digest: the Hub's descriptions name the open question instead
            "sha256": "https://github.com/mlcommons/croissant/issues/80",
        }


def _contained(repo: str | None) -> dict[str, Any]:
    """Where a file is: in the repository, or beside croissant.json."""
    return {"containedIn": {"@id": REPOSITORY}} if repo else {}


def _files(manifest: Manifest, repo: str | None) -> Iterator[dict[str, Any]]:
    for path, entry in manifest["files"].items():
        yield {
            **_node("FileObject", path, f"{entry['config']}, {entry['rows']} rows"),
            **_contained(repo),
            "contentUrl": path,
            "contentSize": f"{entry['bytes']} B",
            "encodingFormat": "application/x-parquet",
            "sha256": entry["sha256"],
        }


def _file_set(repo: str | None) -> dict[str, Any]:
    what = "All rows, a file for each tokenizer, length, language and task."
    return {
        **_node("FileSet", _FILES, what),
        **_contained(repo),
        "encodingFormat": "application/x-parquet",
        "includes": "data/**/*.parquet",
    }


def _record_set() -> dict[str, Any]:
    """The columns, and each row's file."""
    return {
        **_node("RecordSet", ROWS, "The columns that all files share."),
        "key": [{"@id": f"{ROWS}/{_PATH}"}, {"@id": f"{ROWS}/index"}],
        "field": [_path_field(), *map(_field, COLUMNS)],
    }


def _path_field() -> dict[str, Any]:
    meaning = "the row's file: data/<tokenizer>/<length>/…/<task>.parquet"
    return _described(_PATH, meaning) | _read("sc:Text", {"fileProperty": "fullpath"})


def _field(name: str) -> dict[str, Any]:
    kind, field = COLUMNS[name], _described(name, column_meanings()[name])
    if name == "evidence":
        parts = [
            _described(f"{name}/{part}", _prose()["evidence"][part])
            | _read(_TYPES[of], {"column": name}, transform={"jsonPath": part})
            for part, of in re.findall(r"(\w+): (\w+)", kind)
        ]
        return field | {"repeated": True, "subField": parts}
    repeated = {"repeated": True} if kind.startswith("list<") else {}
    of = kind.removeprefix("list<").removesuffix(">")
    return field | _read(_TYPES[of], {"column": name}) | repeated


def _described(name: str, meaning: str) -> dict[str, str]:
    return _node("Field", f"{ROWS}/{name}", meaning)


def _node(kind: str, identity: str, description: str) -> dict[str, str]:
    """What every part has: its type, its id, which is its name too, and what it is."""
    return {"@type": f"cr:{kind}", "@id": identity, "name": identity, "description": description}


def _read(kind: str, extract: dict[str, str], **more: dict[str, str]) -> dict[str, Any]:
    """A field's type, and where its values are read."""
    return {"dataType": kind, "source": {"fileSet": {"@id": _FILES}, "extract": extract, **more}}


def _text(document: dict[str, Any]) -> str:
    """JSON with a line for each property, and for each object of a list: short and readable."""

    def lines(value: Any) -> str:
        if isinstance(value, list) and any(isinstance(part, dict) for part in value):
            parts = ",\n  ".join(json.dumps(part, ensure_ascii=False) for part in value)
            return f"[\n  {parts}\n ]"
        return json.dumps(value, ensure_ascii=False)

    body = ",\n ".join(f"{json.dumps(key)}: {lines(value)}" for key, value in document.items())
    return f"{{\n {body}\n}}\n"
