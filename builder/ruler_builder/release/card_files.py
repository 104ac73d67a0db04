"""Write the files that describe a release: the card README.md, eval.yaml and croissant.json.

    facts = collect_facts(manifest, root)
    card_files(facts)               # {"README.md": "…", "eval.yaml": "…", "croissant.json": "…"}
    eval_yaml(facts)                # name, description and tasks of the Hub's benchmark
    croissant(facts, "org/ruler")   # Croissant 1.1: files with digests, columns, sources

All are generated from the manifest: `ruler build` and `ruler fetch` write them, `ruler verify`
generates them again and compares them. Croissant is a vocabulary for search engines and loaders:
https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ruler_builder.release.card import (
    ReleaseFacts,
    collect_facts,
    descriptions,
    project_file,
    render,
)
from ruler_common.errors import RulerError
from ruler_common.files import json_value, read_bytes, read_toml, write_whole
from ruler_common.hub import is_repository
from ruler_common.manifest import Manifest, is_standard
from ruler_common.names import DEFAULT_TOKENIZER, EVIDENCE_ALONE, LANGUAGES, SPLIT
from ruler_common.rows import COLUMNS
from ruler_common.text import printable

CARD = "README.md"
CROISSANT = "croissant.json"
EVAL_YAML = "eval.yaml"
FRAMEWORK = "ruler-release"
"""The id of this project's harness, as dataset_cards/benchmark_registration.md asks for it."""
_HUB = "https://huggingface.co/datasets/"
_TYPES = {"int32": "cr:Int32", "float32": "cr:Float32", "string": "sc:Text", "bool": "sc:Boolean"}
# A licence as sources.toml names it, and its identifier in SPDX's list of licences.
_SPDX = {"CC0-1.0": "CC0-1.0", "MIT": "MIT", "CC BY-SA 4.0": "CC-BY-SA-4.0"}
_SHORTEST = "8k"  # the length for which ONERULER's tasks are listed by language


def card_files(
    facts: ReleaseFacts, benchmark: bool = True, repo: str | None = None
) -> dict[str, str]:
    """Return the text of each file that describes a release, by file name.

    Args:
        facts: The facts of the release, with the row that its card shows.
        benchmark: Whether to add eval.yaml.
        repo: The Hub's dataset ORG/NAME that the files describe; None: the folder.

    Raises RulerError if `repo` has another form, or the manifest lacks something that they show.
    """
    if repo is not None and not is_repository(repo):
        raise RulerError(
            f"'{printable(repo)}' is not the name of a Hub repository, ORG/NAME: run the same "
            "`ruler build` again."
        )
    try:
        files = {CARD: render(facts, repo)}
        if benchmark:
            files[EVAL_YAML] = eval_yaml(facts)
        files[CROISSANT] = croissant(facts, repo)
    except Exception as error:
        # anything may be missing in a manifest: a wording, a parameter, rows
        raise RulerError(
            f"No card can be made from the manifest ({type(error).__name__}: {error}): "
            "build or download the release again."
        ) from error
    return files


def write_card_files(root: Path, manifest: Manifest) -> None:
    """Write the card, eval.yaml and croissant.json if they are missing or out of date."""
    for name, text in card_files(collect_facts(manifest, root)).items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            write_whole(path, text)


# ---- eval.yaml -----------------------------------------------------------------------------------


def eval_yaml(facts: ReleaseFacts) -> str:
    """Return the text of eval.yaml, which makes the data set a benchmark of the Hub.

    It lists only the headline, since the benchmark's page shows the first task. The id of a task
    is the name of its configuration, by which `ruler results` publishes scores. A suite with other
    parameters than the benchmark's does not get the benchmark's name. `evaluation_framework` must
    be on the Hub's own list, which is checked at the push: until this project's id is on it
    (dataset_cards/benchmark_registration.md), the field is a comment.
    """
    from huggingface_hub.utils import yaml_dump  # reads the environment when it is imported

    manifest = facts.manifest
    about = descriptions()["eval"][manifest["dataset"]]
    if not is_standard(manifest):
        name = f"Tasks of a changed {about['title']} suite"
    elif facts.why_custom:
        name = f"{about['title']}, custom rows"
    else:
        name = about["title"]
    rows = f"Custom rows ({facts.why_custom})" if facts.why_custom else "Frozen rows"
    tasks = []
    for config in headline(facts):
        tasks.append({"id": config, "config": config, "split": SPLIT})
    benchmark = {
        "name": name,
        "description": (
            f"{about['what']}, 0 to 100; a group's score is the plain mean of its tasks' scores. "
            f"{rows}, data version {manifest['data_version']}, fitted under "
            f"{', '.join(facts.tokenizers)}."
        ),
        "tasks": tasks,
    }
    comment = f"# evaluation_framework: {FRAMEWORK}, once the Hub lists it\n"
    return comment + yaml_dump(benchmark, sort_keys=False)


def headline(facts: ReleaseFacts) -> list[str]:
    """Return the headline configurations of the benchmark, the most important first.

    ruler: all tasks at each length, the longest first, then niah, vt, ag and qa at the longest.
    oneruler: all languages at each length, then each language at 8k. All are for the default
    tokenizer, without the control 0k. A part of a release that has none of them lists all
    configurations of its longest length.
    """
    manifest = facts.manifest
    tokenizer = facts.tokenizers[0]
    if DEFAULT_TOKENIZER in facts.tokenizers:
        tokenizer = DEFAULT_TOKENIZER
    suffix = "" if tokenizer == DEFAULT_TOKENIZER else f"_{tokenizer}"
    windows: dict[str, int] = {}
    for entry in manifest["files"].values():
        if entry["tokenizer"] == tokenizer and entry["max_length"]:
            windows[entry["length"]] = entry["max_length"]
    lengths = sorted(windows, key=windows.__getitem__, reverse=True) or [EVIDENCE_ALONE]
    wanted = []
    for length in lengths:
        wanted.append(f"all_{length}{suffix}")
    if manifest["dataset"] == "ruler":
        for task in ("niah", "vt", "ag", "qa"):
            wanted.append(f"{task}_{lengths[0]}{suffix}")
    else:
        for code in dict.fromkeys((*LANGUAGES, *manifest["languages"])):
            wanted.append(f"all_{_SHORTEST}_{code}{suffix}")
    names = set()
    longest = []  # every configuration of the longest length
    for config in facts.configs:
        names.add(config.name)
        if config.paths[0].startswith(f"data/{tokenizer}/{lengths[0]}/"):
            longest.append(config.name)
    return [name for name in wanted if name in names] or longest


# ---- croissant.json ------------------------------------------------------------------------------


def croissant(facts: ReleaseFacts, repo: str | None = None) -> str:
    """Return the text of croissant.json: each file with its sha256, the columns, the sources.

    The Hub's own description stops at 100 configurations and has no digests. It describes the
    folder that holds it, or the Hub's dataset `repo`, ORG/NAME: then the files are in a clone,
    which `mlcroissant.Dataset(…, mapping={"repo": FOLDER})` replaces by a download.
    """
    manifest = facts.manifest
    prose = read_toml(project_file("dataset_cards") / "croissant.toml")
    about, both = prose[manifest["dataset"]], prose["both"]
    use = both["usage"].format(canary=manifest["canary"])
    creators = []
    for author in facts.citation_file["authors"]:
        creators.append({"@type": "sc:Organization", "name": author["name"]})
    title, rows = "frozen", "Frozen test sets"
    if facts.why_custom:
        title, rows = "custom rows", "Custom rows"
    description = {
        "@context": prose["context"],
        "@type": "sc:Dataset",
        "conformsTo": prose["conformsTo"],
        "name": f"{about['title']}, {title}",
        "description": f"{rows} {about['what']} {use}",
        "identifier": f"urn:uuid:{manifest['canary']}",
        **({"url": f"{_HUB}{repo}"} if repo else {}),
        "version": manifest["data_version"],
        "datePublished": str(facts.citation_file["date-released"]),
        "creator": creators,
        "license": [_licence(name) for name in facts.licences],
        "usageInfo": {"@type": "CreativeWork", "name": "For evaluation only", "text": use},
        "citeAs": facts.citations,
        "inLanguage": facts.languages,
        "keywords": ["long context", "benchmark", "needle in a haystack", manifest["dataset"]],
        "isLiveDataset": False,
        **dict(sorted({**both["rai"], **about["rai"]}.items())),
        "prov:wasDerivedFrom": _derived_from(facts),
        "distribution": _distribution(manifest, repo),
        "recordSet": [_record_set()],
    }
    return json.dumps(description, ensure_ascii=False, indent=1) + "\n"


def _licence(name: str) -> str:
    """Return the address of a licence, as Croissant recommends, or its name if it has none."""
    return f"https://spdx.org/licenses/{_SPDX[name]}.html" if name in _SPDX else name


def _derived_from(facts: ReleaseFacts) -> list[dict[str, Any]]:
    """Return the sources and word lists that the rows are made of, each with its digest."""
    entities = []
    for name, source in facts.sources.items():
        entities.append(
            {
                "@type": "prov:Entity",
                "@id": f"urn:sha256:{source['sha256']}",
                "name": name,
                "description": source["title"],
                "license": _licence(source["licence"]),
                "sha256": source["sha256"],
                **({"url": source["urls"]} if source["urls"] else {}),
            }
        )
    for name, digest in facts.manifest["words"].items():
        entities.append(
            {
                "@type": "prov:Entity",
                "@id": f"urn:sha256:{digest}",
                "name": name,
                "description": "A word list inside a package.",
                "sha256": digest,
            }
        )
    return entities


def _distribution(manifest: Manifest, repo: str | None) -> list[dict[str, Any]]:
    """Return the entries of the Parquet files, and of the Hub repository if there is one."""
    resources: list[dict[str, Any]] = []
    inside: dict[str, Any] = {}
    if repo:
        inside = {"containedIn": {"@id": "repo"}}
        resources.append(
            {
                "@type": "cr:FileObject",
                "@id": "repo",
                "name": "repo",
                "description": "The Hugging Face git repository.",
                "contentUrl": f"{_HUB}{repo}",
                "encodingFormat": "git+https",
                # a repository has no digest: the Hub's own files name the open question instead
                "sha256": "https://github.com/mlcommons/croissant/issues/80",
            }
        )
    for path, entry in manifest["files"].items():
        resources.append(
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "description": f"{entry['config']}, {entry['rows']} rows",
                **inside,
                "contentUrl": path,
                "contentSize": f"{entry['bytes']} B",
                "encodingFormat": "application/x-parquet",
                "sha256": entry["sha256"],
            }
        )
    resources.append(
        {
            "@type": "cr:FileSet",
            "@id": "parquet-files",
            "name": "parquet-files",
            "description": "All rows: a file for each tokenizer, length, language and task.",
            **inside,
            "encodingFormat": "application/x-parquet",
            "includes": "data/**/*.parquet",
        }
    )
    return resources


def _record_set() -> dict[str, Any]:
    """Return the columns that all files share."""
    meanings = descriptions()
    about_file = "the row's file: data/<tokenizer>/<length>/…/<task>.parquet"
    fields = [_field("file", about_file, "sc:Text", {"fileProperty": "fullpath"})]
    for name, kind in COLUMNS.items():
        meaning, column = meanings["columns"][name], {"column": name}
        if name == "evidence":
            parts = []
            for part, part_kind in re.findall(r"(\w+): (\w+)", kind):
                field = _field(
                    f"{name}/{part}", meanings["evidence"][part], _TYPES[part_kind], column
                )
                field["source"]["transform"] = {"jsonPath": part}
                parts.append(field)
            fields.append({**_field(name, meaning), "repeated": True, "subField": parts})
        elif kind.startswith("list<"):
            item = kind.removeprefix("list<").removesuffix(">")
            fields.append({**_field(name, meaning, _TYPES[item], column), "repeated": True})
        else:
            fields.append(_field(name, meaning, _TYPES[kind], column))
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
        field |= {"dataType": kind, "source": source}
    return field


def described_repository(root: Path) -> str | None:
    """Return the Hub's dataset that the croissant.json of a folder describes; None if none."""
    if not (root / CROISSANT).is_file():
        return None
    try:
        url = json_value(read_bytes(root / CROISSANT))["url"]
    except (RulerError, OSError, ValueError, LookupError, TypeError):
        return None
    if isinstance(url, str) and url.startswith(_HUB):
        return url.removeprefix(_HUB)
    return None
