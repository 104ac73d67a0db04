"""Collect the facts of a release, and write eval.yaml and croissant.json from them.

    facts = collect_facts(manifest, root)
    eval_yaml(facts)                # name, description and tasks of the Hub's benchmark
    croissant(facts, "org/ruler")   # Croissant 1.1: files with digests, columns, sources

Everything comes from the manifest and the files in dataset_cards. Croissant is a vocabulary for
search engines and loaders: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ruler_builder.tasks.registry import sources_of
from ruler_common.errors import RulerError
from ruler_common.files import open_parquet, read_toml
from ruler_common.frozen import why_custom
from ruler_common.manifest import Manifest, SourceEntry, is_standard
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    EVIDENCE_ALONE,
    LANGUAGES,
    SPLIT,
    Config,
    Names,
)
from ruler_common.rows import COLUMNS, EVIDENCE

DISTRIBUTION = "ruler-release"
CARD = "README.md"
CROISSANT = "croissant.json"
EVAL_YAML = "eval.yaml"
FRAMEWORK = "ruler-release"
"""The id of this project's harness, as dataset_cards/benchmark_registration.md asks for it."""

# ---- The facts -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReleaseFacts:
    """The facts of a release that the card, eval.yaml and croissant.json share."""

    manifest: Manifest
    # The files of each configuration: of tasks, then of groups, then of all languages together
    configs: dict[str, list[str]]
    groups: dict[str, str]  # the first configuration of each group that is complete
    example: str  # a configuration of one task: the first in English, else the first of all
    row: dict[str, Any] | None  # the first row of the example; None if it cannot be read
    tasks: set[str]  # the tasks that have files
    tokenizers: list[str]
    languages: list[str]  # of the texts and of the instructions
    sources: dict[str, SourceEntry]  # the sources that the files were built from
    why_custom: str  # why the rows are not the frozen ones; "" if they are
    citation_file: dict[str, Any]  # CITATION.cff: the project's authors, version, date; the papers
    citations: str  # the papers and this release, in BibTeX


def collect_facts(manifest: Manifest, root: Path | None = None) -> ReleaseFacts:
    """Return the facts of a release, read from the entries of its files.

    Args:
        manifest: The release's manifest.
        root: The release's folder, if its card is to show a row.
    """
    names = Names.from_manifest(manifest)
    order = [*names.tasks, *names.groups]
    configs: list[Config] = []
    tasks: set[str] = set()
    languages: set[str] = set()
    sources: dict[str, SourceEntry] = {}
    for entry in manifest["files"].values():
        config = Config.from_entry(manifest["dataset"], entry)
        configs.append(config)
        tasks.add(config.task)
        languages |= {config.language, config.instruction_language}
        for name in sources_of(manifest, config):
            if name in manifest["sources"]:
                sources[name] = manifest["sources"][name]
    configs.sort(key=lambda c: (c.tokenizer, c.max_length, c.languages, order.index(c.task)))
    example = configs[0]
    paths: dict[str, list[str]] = {}
    tokenizers: dict[str, None] = {}
    for config in configs:
        paths[config.name] = [config.path]
        tokenizers[config.tokenizer] = None
        if config.languages == "en" != example.languages:
            example = config
    groups = names.whole_groups(configs)
    first: dict[str, str] = {}
    for group, members in sorted(groups, key=lambda group: order.index(group[0].task)):
        first.setdefault(group.task, group.name)
        paths[group.name] = [member.path for member in members]
    for name, members in names.whole_languages(groups):
        paths[name] = [member.path for member in members]
    citation_file = yaml.safe_load(project_file("CITATION.cff").read_text(encoding="utf-8"))
    return ReleaseFacts(
        manifest=manifest,
        configs=paths,
        groups=first,
        example=example.name,
        row=_first_row(root / example.path) if root else None,
        tasks=tasks,
        tokenizers=[*tokenizers],
        languages=sorted(languages),
        sources=dict(sorted(sources.items())),
        why_custom=why_custom(manifest),
        citation_file=citation_file,
        citations=_bibtex(citation_file, manifest),
    )


def _first_row(path: Path) -> dict[str, Any] | None:
    """Return the first row of a file; None if the file cannot be read."""
    import pyarrow as pa

    if not path.is_file():
        return None
    try:
        with open_parquet(path) as file:
            row: dict[str, Any] = next(file.iter_batches(batch_size=1)).to_pylist()[0]
    except (RulerError, OSError, StopIteration, pa.ArrowException):
        return None
    return row


def _bibtex(citation_file: dict[str, Any], manifest: Manifest) -> str:
    """Return the papers and the release in BibTeX."""
    entries = []
    for paper in citation_file["references"]:
        key = f"{paper['authors'][0]['family-names'].lower()}{paper['year']}"
        first_word = paper["title"].lower().split()[0].rstrip(":")
        authors = []
        for person in paper["authors"]:
            authors.append(f"{person['family-names']}, {person['given-names']}")
        entries.append(
            f"@article{{{key}{first_word},\n"
            f"  title = {{{paper['title']}}},\n"
            f"  author = {{{' and '.join(authors)}}},\n"
            f"  journal = {{arXiv preprint arXiv:{paper['url'].rpartition('/')[2]}}},\n"
            f"  year = {{{paper['year']}}},\n"
            f"  url = {{{paper['url']}}},\n"
            "}"
        )
    authors = []
    for author in citation_file["authors"]:
        authors.append(f"{{{author['name']}}}")
    version = manifest["data_version"]
    entries.append(
        f"@misc{{frozen_{manifest['dataset']}_{version.replace('.', '_')},\n"
        f"  title = {{{citation_file['title']}}},\n"
        f"  author = {{{' and '.join(authors)}}},\n"
        f"  note = {{{manifest['dataset']}, data version {version}, seed {manifest['seed']}, "
        f"built by ruler-release {manifest['builder_version']}}},\n"
        "}"
    )
    return "\n".join(entries)


# ---- eval.yaml -----------------------------------------------------------------------------------

_SHORTEST = "8k"  # the length for which ONERULER's tasks are listed by language


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
    has_default = DEFAULT_TOKENIZER in facts.tokenizers
    tokenizer = DEFAULT_TOKENIZER if has_default else facts.tokenizers[0]
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
    complete = [name for name in wanted if name in facts.configs]
    if complete:
        return complete
    longest = []
    for name, paths in facts.configs.items():
        if paths[0].startswith(f"data/{tokenizer}/{lengths[0]}/"):
            longest.append(name)
    return longest


# ---- croissant.json ------------------------------------------------------------------------------

_HUB = "https://huggingface.co/datasets/"
_TYPES = {"int32": "cr:Int32", "float32": "cr:Float32", "string": "sc:Text", "bool": "sc:Boolean"}
# A licence as sources.toml names it, and its identifier in SPDX's list of licences.
_SPDX = {"CC0-1.0": "CC0-1.0", "MIT": "MIT", "CC BY-SA 4.0": "CC-BY-SA-4.0"}


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
    licences = []
    for licence in sorted({source["licence"] for source in facts.sources.values()}):
        licences.append(_licence(licence))
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
        "license": licences,
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
    """Return the entries of the Parquet files, and that of the Hub repository `repo`."""
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
            for part, part_kind in EVIDENCE.items():
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
        url = json.loads((root / CROISSANT).read_bytes())["url"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    if isinstance(url, str) and url.startswith(_HUB):
        return url.removeprefix(_HUB)
    return None


# ---- The project's files -------------------------------------------------------------------------

# In a checkout they are at its top; a wheel installs them under share/ruler-release.
_SHARE = f"share/{DISTRIBUTION}"
# builder/ in a checkout, else the folder of the installed packages.
_ROOT = Path(__file__).resolve().parents[2]


def project_file(name: str) -> Path:
    """Return the path of a file or folder of the project, named as in a checkout.

    Raises RulerError if it is not installed.
    """
    if (_ROOT.parent / "pyproject.toml").is_file() and _ROOT.name == "builder":
        return _ROOT.parent / name
    for share in _shares():
        if (share / name).exists():
            return share / name
    raise RulerError(
        f"The installed {DISTRIBUTION} has no {name}: install it again, as you installed it, with "
        "`pip install --force-reinstall`."
    )


def _shares() -> list[Path]:
    """Return where an installer may have put the folder: as recorded, or next to the packages."""
    try:
        recorded = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        recorded = []
    changelogs = (path for path in recorded if path.as_posix().endswith(f"{_SHARE}/CHANGELOG.md"))
    folders = [Path(str(path.locate())).parent for path in changelogs]
    return [*folders, _ROOT / _SHARE]  # `pip install --target` moves it unrecorded


@cache
def descriptions() -> dict[str, Any]:
    """Return the meaning of every column and optional parameter, and texts of eval.yaml."""
    return read_toml(project_file("dataset_cards") / "descriptions.toml")
