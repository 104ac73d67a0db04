"""Write croissant.json, the description of a release for search engines and loaders.

    croissant(facts, "org/ruler")   # Croissant 1.1: files with digests, columns, sources

The Hub's own description stops at 100 configurations and has no digests. What every release says
is written in dataset_cards/croissant.toml, the rest comes from the manifest.
https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ruler_builder.release.facts import CROISSANT, ReleaseFacts, descriptions, project_file
from ruler_builder.release.templates import citations
from ruler_common.files import parse_yaml, read_text, read_toml
from ruler_common.rows import COLUMN_TYPES, EVIDENCE
from ruler_common.text import number_of

_HUB = "https://huggingface.co/datasets/"
_TYPES = {"int32": "cr:Int32", "float32": "cr:Float32", "string": "sc:Text", "bool": "sc:Boolean"}
# A licence as sources.toml names it, and its identifier in SPDX's list of licences.
_SPDX = {"CC0-1.0": "CC0-1.0", "MIT": "MIT", "CC BY-SA 4.0": "CC-BY-SA-4.0"}


def croissant(facts: ReleaseFacts, repo: str | None = None) -> str:
    """Return the text of croissant.json: each file with its sha256, the columns, the sources.

    It describes the folder that holds it, or the Hub's dataset `repo`, ORG/NAME: then the files are
    in a clone, which `mlcroissant.Dataset(…, mapping={"repo": FOLDER})` replaces by a download.
    """
    manifest = facts.manifest
    prose = read_toml(project_file("dataset_cards") / "croissant.toml")
    about, both = prose[manifest["dataset"]], prose["both"]
    use = both["usage"].format(canary=manifest["canary"])
    project = parse_yaml(read_text(project_file("CITATION.cff")))
    title, rows = "frozen", "Frozen test sets"
    if facts.why_custom:
        title, rows = "custom rows", "Custom rows"
    origins = []
    for name, source in facts.sources.items():
        origin = _origin(name, source["sha256"], source["title"])
        origin["license"] = _licence(source["licence"])
        if source["urls"]:
            origin["url"] = source["urls"]
        origins.append(origin)
    for name, sha256 in manifest["words"].items():
        origins.append(_origin(name, sha256, "A word list inside a package."))
    distribution, inside = [], {}
    if repo:
        distribution.append({**prose["repository"], "contentUrl": f"{_HUB}{repo}"})
        inside = {"containedIn": {"@id": "repo"}}
    for path, entry in manifest["files"].items():
        distribution.append(
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "description": f"{entry['config']}, {number_of(entry['rows'], 'row')}",
                **inside,
                "contentUrl": path,
                "contentSize": f"{entry['bytes']} B",
                "encodingFormat": "application/x-parquet",
                "sha256": entry["sha256"],
            }
        )
    distribution.append({**prose["files"], **inside})
    licences = {source["licence"] for source in facts.sources.values()}
    description = {
        "@context": prose["context"],
        "@type": "sc:Dataset",
        "conformsTo": prose["conformsTo"],
        "name": f"{about['title']}, {title}",
        "description": f"{rows} {about['what']} {use}",
        "identifier": f"urn:uuid:{manifest['canary']}",
        **({"url": f"{_HUB}{repo}"} if repo else {}),
        "version": manifest["data_version"],
        "datePublished": str(project["date-released"]),
        "creator": [{"@type": "sc:Organization", "name": a["name"]} for a in project["authors"]],
        "license": [_licence(name) for name in sorted(licences)],
        "usageInfo": {"@type": "CreativeWork", "name": "For evaluation only", "text": use},
        "citeAs": citations(manifest),
        "inLanguage": facts.languages,
        "keywords": ["long context", "benchmark", "needle in a haystack", manifest["dataset"]],
        "isLiveDataset": False,
        **dict(sorted({**both["rai"], **about["rai"]}.items())),
        "prov:wasDerivedFrom": origins,
        "distribution": distribution,
        "recordSet": [_record_set()],
    }
    return json.dumps(description, ensure_ascii=False, indent=1) + "\n"


def _licence(name: str) -> str:
    """Return the address of a licence, as Croissant recommends, or its name if it has none."""
    return f"https://spdx.org/licenses/{_SPDX[name]}.html" if name in _SPDX else name


def _origin(name: str, sha256: str, what: str) -> dict[str, Any]:
    """Return the entry of a source or word list that the rows are made of."""
    return {
        "@type": "prov:Entity",
        "@id": f"urn:sha256:{sha256}",
        "name": name,
        "description": what,
        "sha256": sha256,
    }


def _record_set() -> dict[str, Any]:
    """Return the columns that all files share."""
    meanings = descriptions()
    about_file = "the row's file: data/<tokenizer>/<length>/…/<task>.parquet"
    fields = [_field("file", about_file, "string", {"fileProperty": "fullpath"})]
    for name, kind in COLUMN_TYPES.items():
        meaning, column = meanings["columns"][name], {"column": name}
        if name == "evidence":
            parts = []
            for part, part_kind in EVIDENCE.items():
                field = _field(f"{name}/{part}", meanings["evidence"][part], part_kind, column)
                field["source"]["transform"] = {"jsonPath": part}
                parts.append(field)
            fields.append({**_field(name, meaning), "repeated": True, "subField": parts})
        elif kind == "list<string>":
            fields.append({**_field(name, meaning, "string", column), "repeated": True})
        else:
            fields.append(_field(name, meaning, kind, column))
    return {
        "@type": "cr:RecordSet",
        "@id": "rows",
        "name": "rows",
        "description": "The columns that all files share.",
        "key": [{"@id": "rows/file"}, {"@id": "rows/index"}],
        "field": fields,
    }


def _field(
    name: str, description: str, kind: str = "", extract: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return a column, the type of its values, and where they are in the files."""
    id_ = f"rows/{name}"
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": id_,
        "name": id_,
        "description": description,
    }
    if extract:
        source = {"fileSet": {"@id": "parquet-files"}, "extract": extract}
        field |= {"dataType": _TYPES[kind], "source": source}
    return field


def described_repository(root: Path) -> str | None:
    """Return the Hub's dataset that the croissant.json of a folder describes; None if none."""
    if not (root / CROISSANT).is_file():
        return None
    try:
        url = json.loads((root / CROISSANT).read_bytes())["url"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    if isinstance(url, str) and url.startswith(_HUB):
        return url.removeprefix(_HUB)
    return None
