"""Write the dataset card of a release, README.md, from its manifest.

    render(collect_facts(manifest))             # the card
    render(collect_facts(manifest, root))       # with a row of the release in it

dataset_cards/_card.md is the text of both data sets' cards; ruler.md and oneruler.md fill in its
blocks. Each function below makes the variables of one part of that text, from the manifest,
text/errata.toml, CHANGELOG.md and CITATION.cff. A release of ONERULER has thousands of files, so
the card shows sums; manifest.json has every file.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import yaml  # type: ignore[import-untyped]

from ruler_builder.release.card_tables import figures, markdown_table
from ruler_builder.tasks.registry import read_suite, sources_of, usual_of
from ruler_builder.text import errata
from ruler_builder.text.sources import EMBEDDED
from ruler_common.errors import RulerError
from ruler_common.files import open_parquet, read_toml
from ruler_common.frozen import frozen_sentence, frozen_versions, read_frozen, why_custom
from ruler_common.languages import release_languages
from ruler_common.manifest import Manifest, SourceEntry, is_standard
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    LANGUAGES,
    SPLIT,
    Config,
    Names,
    languages_of,
)
from ruler_common.rows import COLUMNS
from ruler_common.text import markdown_text, plain

DISTRIBUTION = "ruler-release"
_SHARE = f"share/{DISTRIBUTION}"
# builder/ in a checkout, else the folder of the installed packages.
_ROOT = Path(__file__).resolve().parents[2]
KINDS = ("niah", "cwe", "book", "words")
"""The kinds of source that a language of ONERULER has: two prompts, a book, a dictionary."""
# The example row shows a text of more than _LONG characters shortened: its first _HEAD characters,
# the first needle with _NEAR characters on either side, and the last _TAIL characters.
_LONG, _HEAD, _TAIL, _NEAR = 480, 240, 200, 60


# ---- What the card, eval.yaml and croissant.json share -------------------------------------------


class ListedConfig(NamedTuple):
    """A configuration that the card lists: one of a task, or of a group of tasks."""

    task: str  # or the name of the group
    name: str
    paths: list[str]


@dataclass(frozen=True, kw_only=True)
class ReleaseFacts:
    """The facts of a release, collected from its manifest for the files that describe it."""

    manifest: Manifest
    configs: list[ListedConfig]  # of tasks, then of groups, then of ONERULER's languages together
    groups: dict[str, str]  # the first configuration of each group that is complete
    example: ListedConfig  # of one task: the first in English, else the first of all
    row: dict[str, Any] | None  # the first row of the example; None if it cannot be read
    tasks: set[str]  # the tasks that have files
    tokenizers: list[str]
    languages: list[str]  # of the texts and of the instructions
    sources: dict[str, SourceEntry]  # the sources that the files were built from
    why_custom: str  # why the rows are not the frozen ones; "" if they are
    licences: list[str]  # the licences of these sources
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
    tokenizers: set[str] = set()
    languages: set[str] = set()
    sources: dict[str, SourceEntry] = {}
    licences: set[str] = set()
    for entry in manifest["files"].values():
        config = Config.from_entry(manifest["dataset"], entry)
        configs.append(config)
        tasks.add(config.task)
        tokenizers.add(config.tokenizer)
        languages |= {config.language, config.instruction_language}
        for name in sources_of(manifest, config):
            if name in manifest["sources"]:
                sources[name] = manifest["sources"][name]
                licences.add(sources[name]["licence"])
    configs.sort(key=lambda c: (c.tokenizer, c.max_length, c.languages, order.index(c.task)))
    example = next((config for config in configs if config.languages == "en"), configs[0])
    listed = []
    for config in configs:
        listed.append(ListedConfig(config.task, config.name, [config.path]))
    citation_file = yaml.safe_load(project_file("CITATION.cff").read_text(encoding="utf-8"))
    bibtex = templates().get_template("citations.bib")
    groups = names.whole_groups(configs)
    first: dict[str, str] = {}
    for group, members in sorted(groups, key=lambda group: order.index(group[0].task)):
        first.setdefault(group.task, group.name)
        listed.append(ListedConfig(group.task, group.name, [member.path for member in members]))
    for name, members in names.whole_languages(groups):
        listed.append(ListedConfig("all", name, [member.path for member in members]))
    return ReleaseFacts(
        manifest=manifest,
        configs=listed,
        groups=first,
        example=listed[configs.index(example)],
        row=_first_row(root / example.path) if root else None,
        tasks=tasks,
        tokenizers=sorted(tokenizers),
        languages=sorted(languages),
        sources=dict(sorted(sources.items())),
        why_custom=why_custom(manifest),
        licences=sorted(licences),
        citation_file=citation_file,
        citations=bibtex.render(cff=citation_file, manifest=manifest).strip(),
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


# ---- The card ------------------------------------------------------------------------------------


def render(facts: ReleaseFacts, repo: str | None = None) -> str:
    """Return the text of a release's card.

    Args:
        facts: The facts of the release. A long text of its row is shortened.
        repo: The dataset on the Hub, ORG/NAME, that the examples load; by default the placeholder
            `ORG` and the name of the benchmark.
    """
    manifest = facts.manifest
    repo = repo or f"ORG/{manifest['dataset']}"
    variables = {
        "manifest": manifest,
        "benchmark": manifest["dataset"].upper(),
        "is_ruler": manifest["dataset"] == "ruler",
        "repo": repo,
        "metric": f"{repo.partition('/')[0]}/ruler_score",
        "title_of_rows": "custom rows" if facts.why_custom else "frozen",
        "default_tokenizer": DEFAULT_TOKENIZER,
        "columns": COLUMNS,
        "column_meanings": descriptions()["columns"],
        "tokenizers": facts.tokenizers,
        "languages": facts.languages,
        "sources": facts.sources,
        "row": _shortened(facts.row) if facts.row else None,
        "configs": facts.configs,
        "example": facts.example.name,
        "groups": facts.groups,
        **_tasks(facts),
        **figures(manifest),
        **_sources(facts),
        "citations": facts.citations,
        **versions(manifest),
    }
    if manifest["dataset"] == "oneruler":
        variables |= _languages(facts)
    return templates().get_template(f"{manifest['dataset']}.md").render(variables)


def _shortened(row: Mapping[str, Any]) -> str:
    """Return a row as JSON, a long text shortened to its beginning, first needle and end."""
    text = row["input"]
    if len(text) <= _LONG:
        return json.dumps(row, ensure_ascii=False, indent=1)
    spans = [(0, _HEAD), (len(text) - _TAIL, len(text))]
    if row["evidence"]:
        needle = row["evidence"][0]
        spans.insert(1, (max(0, needle["start"] - _NEAR), needle["end"] + _NEAR))
    parts = [spans[0]]
    for start, end in spans[1:]:
        if start <= parts[-1][1]:  # the parts overlap: merge them
            parts[-1] = (parts[-1][0], max(end, parts[-1][1]))
        else:
            parts.append((start, end))
    shown = " […] ".join([text[start:end] for start, end in parts])
    return json.dumps({**row, "input": shown}, ensure_ascii=False, indent=1)


def _tasks(facts: ReleaseFacts) -> dict[str, Any]:
    """Return the tables of tasks, and the tasks that differ from the benchmark's.

    They differ if their parameters or their wording do.
    """
    manifest = facts.manifest
    standard = None if is_standard(manifest) else read_suite(manifest["dataset"])
    usual = standard.described() if standard else manifest["tasks"]
    families: dict[str, dict[str, dict[str, Any]]] = {}
    changed = []
    for task, params in manifest["tasks"].items():
        if task in facts.tasks:
            family = params["family"]
            families.setdefault(family, {})[task] = params
            wording = manifest["families"][family]
            if standard and (usual.get(task), standard.families.get(family)) != (params, wording):
                changed.append(task)
    tables = {}
    for family, tasks in families.items():
        tables[family] = _task_table(family, tasks)
    texts = json.dumps(manifest["families"])
    return {
        "task_tables": tables,
        "changed_tasks": changed,
        "fence": "`" * max(3, _longest_backticks(texts) + 1),  # of a code block with any wording
    }


def _task_table(family: str, tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of a family's tasks, and a list of what the parameters beyond Table 5 mean."""
    usual, meanings = usual_of(family), descriptions()["parameters"]
    names: dict[str, None] = {}
    for params in tasks.values():
        names |= dict.fromkeys(params)
    del names["family"]
    rows = []
    for task, params in tasks.items():
        row = [task]
        for name in names:
            value = params.get(name, usual.get(name))
            if isinstance(value, bool):
                row.append("yes" if value else "no")
            else:
                row.append("–" if value == "" else markdown_text(value))
        rows.append(row)
    paragraphs = [markdown_table(["task", *map(markdown_text, names)], rows)]
    optional = []
    for name in usual:
        if name in names:
            optional.append(f"- `{name}`: {meanings[name]}")
    if optional:
        paragraphs.append(
            "These parameters are not in the paper's Table 5; if they differ from its setting, "
            "they override the text above:"
        )
        paragraphs.append("\n".join(optional))
    return "\n\n".join(paragraphs)


# ---- Sources and languages -----------------------------------------------------------------------


def _sources(facts: ReleaseFacts) -> dict[str, Any]:
    """Return this project's own texts among the sources, and the rights to all of them."""
    embedded, restricted = [], []
    licences: dict[str, list[str]] = {}  # sources, or kinds of sources of ONERULER, by licence
    books = {}  # by language
    for name, source in facts.sources.items():
        kind, _, code = name.partition("-")
        label = kind if kind in KINDS else name
        labels = licences.setdefault(source["licence"], [])
        if label not in labels:
            labels.append(label)
        if source["variant"] == EMBEDDED:
            embedded.append(name)
        if "book" in source:
            books[code] = source["book"]
            if source["book"]["restricted"]:
                restricted.append(code)
    return {
        "embedded": embedded,
        "licences": licences,
        "books": books,
        "restricted": restricted,
    }


def _languages(facts: ReleaseFacts) -> dict[str, Any]:
    """Return the card's facts about ONERULER's languages and their published files.

    An error in the noun list affects the rows of every language, because a noun is used only if it
    is unique in all of them: so all languages with the error are listed, built or not.
    """
    manifest, sources = facts.manifest, facts.sources
    pairs = set()
    for entry in manifest["files"].values():
        if entry["language"] != entry["instruction_language"]:
            pairs.add(languages_of(entry))
    corrected = []
    for erratum in errata.errata():
        with_error = LANGUAGES if erratum.languages == errata.ALL else erratum.languages
        built = []
        for code, language in manifest["languages"].items():
            if erratum.id in language["errata"] and _is_read(erratum.file, code, sources):
                built.append(code)
        if built and erratum.file == "nouns":
            corrected.append((erratum, list(with_error)))
        elif built:
            corrected.append((erratum, sorted(set(with_error) & set(built))))
    wording = []
    for error in errata.wording():
        if _is_read(error.file, error.language, sources):
            wording.append(error)
    about = release_languages(manifest)
    return {
        "kinds": KINDS,
        "pairs": sorted(pairs),
        "about_languages": about,
        "custom_languages": [code for code in about if about[code].is_custom],
        "corrected": corrected,
        "wording": wording,
    }


def _is_read(file: str, code: str, sources: Mapping[str, SourceEntry]) -> bool:
    """Return whether a published file of a language was read. The niah tasks read the nouns."""
    name = f"{file if file in KINDS else 'niah'}-{code}"
    return name in sources and sources[name]["variant"] != EMBEDDED


# ---- Versions and citations ----------------------------------------------------------------------


def versions(manifest: Manifest) -> dict[str, Any]:
    """Return the data versions with their changes, and what each release changed.

    The data versions are the frozen ones and the manifest's, the oldest first. An entry
    `Data 1.1.0: …` of the changelog belongs to that version.
    """
    changes = changelog()
    names = {manifest["data_version"], *frozen_versions()}
    ordered = sorted(names, key=lambda name: tuple(map(int, name.split("."))))
    data_versions = []
    for name, next_name in zip(ordered, [*ordered[1:], "–"], strict=True):
        lock = read_frozen(name)
        configs = lock.rows.get(manifest["dataset"], {}) if lock else {}
        frozen = "not yet"
        if lock and configs:
            frozen = f"{len(configs):,} configurations, seed {lock.seed}, reserve {lock.reserve}"
        changed = []
        for entries in changes.values():
            for entry in entries:
                if entry.startswith(f"Data {name}: "):
                    changed.append(entry.removeprefix(f"Data {name}: "))
        if not changed and name == ordered[0]:
            changed = ["the first version"]
        data_versions.append(
            {"name": name, "frozen": frozen, "superseded_by": next_name, "changes": changed}
        )
    released = {}
    for heading, entries in changes.items():
        if "data version" in heading:
            released[heading] = entries
    return {
        "frozen_sentence": frozen_sentence(manifest),
        "data_versions": data_versions,
        "changes": released,
    }


def changelog() -> dict[str, list[str]]:
    """Return the changes of data and scores in CHANGELOG.md, by the heading of their version.

    They are the entries that start with `- Data` or `- Score`.
    """
    text = project_file("CHANGELOG.md").read_text(encoding="utf-8")
    versions: dict[str, list[str]] = {}
    for section in re.split("^## ", text, flags=re.MULTILINE)[1:]:
        title, *entries = re.split("^- ", section, flags=re.MULTILINE)
        heading = re.sub(r"[\[\]]", "", title.partition("\n")[0])
        versions[heading] = []
        for entry in entries:
            if entry.startswith(("Data", "Score")):
                versions[heading].append(" ".join(entry.partition("\n\n")[0].split()))
    return versions


# ---- The project's files -------------------------------------------------------------------------

# In a checkout they are at its top; a wheel installs them under share/ruler-release.


def project_file(name: str) -> Path:
    """Return the path of a file or folder, named as in a checkout.

    RulerError if it is not installed.
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


# ---- Templates -----------------------------------------------------------------------------------


@cache
def templates() -> jinja2.Environment:
    """Return the templates in dataset_cards, with the filters that they use."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(project_file("dataset_cards")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "files_of_config": files_of_config,
        "count": "{:,}".format,
        "text": markdown_text,  # untrusted text: its markup is escaped
        "code": code,
        "cell": _cell,  # text of this project, which may contain markup
    }
    return environment


@cache
def descriptions() -> dict[str, Any]:
    """Return the meaning of every column and optional parameter, and texts of eval.yaml."""
    return read_toml(project_file("dataset_cards") / "descriptions.toml")


def files_of_config(paths: Sequence[str]) -> str:
    """Return the YAML that lists a configuration's files in the card's metadata.

    Every file is named, without globs. A group names the common folder of its files only once, as
    `data_dir`, which makes the metadata of a full release a seventh shorter.
    """
    if len(paths) == 1:
        return f"data_files: [{{split: {SPLIT}, path: {paths[0]}}}]"
    folder = posixpath.commonpath(paths)
    names = ", ".join(posixpath.relpath(path, folder) for path in paths)
    return f"data_dir: {folder}, data_files: [{{split: {SPLIT}, path: [{names}]}}]"


def code(text: object) -> str:
    """Return a text as a one-line code span of Markdown, which may be in a table."""
    line = plain(" ".join(str(text).split())).replace("|", "\\|")
    ticks = "`" * (_longest_backticks(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _longest_backticks(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max(map(len, re.findall("`+", text)), default=0)


def _cell(text: object) -> str:
    """Return a text as one line that can be a cell of a Markdown table."""
    return " ".join(str(text).replace("|", "\\|").split())
