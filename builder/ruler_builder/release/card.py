"""Write the dataset card of a release, README.md, from its manifest.

    render(manifest)                               # the card
    render(manifest, first_row(root, manifest))    # with a row of the release in it

The card's text is in dataset_cards/ruler.md and oneruler.md, and in _parts.md what both say. Its
facts come from the manifest, text/errata.toml, CHANGELOG.md and CITATION.cff; card_tables.py
adds up the figures.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import yaml  # type: ignore[import-untyped]

from ruler_builder.project_files import project_file
from ruler_builder.release import card_tables
from ruler_builder.suites.suite import read_suite
from ruler_builder.tasks.registry import sources_of, usual_of
from ruler_builder.text import errata
from ruler_builder.text.sources import EMBEDDED
from ruler_common import frozen as frozen_rows
from ruler_common.errors import RulerError
from ruler_common.files import open_parquet, read_toml
from ruler_common.languages import release_languages
from ruler_common.manifest import Manifest, SourceEntry
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    LANGUAGES,
    SPLIT,
    Config,
    Names,
    in_tokens,
    languages_of,
)
from ruler_common.rows import COLUMNS
from ruler_common.text import markdown_text, plain

KINDS = ("niah", "cwe", "book", "words")
"""ONERULER's sources of a language: two prompts, the book, the dictionary."""
_LONG, _HEAD, _TAIL, _NEAR = 480, 240, 200, 60  # characters of a text that is shown shortened
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")


# ---- The card ------------------------------------------------------------------------------------


def render(
    manifest: Manifest, row: Mapping[str, Any] | None = None, repo: str | None = None
) -> str:
    """Return the card of a release, or of a part of one.

    Args:
        manifest: The release's manifest.
        row: A row to show, its long text shortened.
        repo: The Hub's dataset ORG/NAME from which the examples load; None: `ORG` stands for it.
    """
    repo = repo or f"ORG/{manifest['dataset']}"
    configs = configurations(manifest)
    entries = list(manifest["files"].values())
    facts = release_languages(manifest)
    families = _tasks_by_family(manifest)
    sources = used_sources(manifest)
    books = {
        name.removeprefix("book-"): source["book"]
        for name, source in sources.items()
        if "book" in source
    }
    total = card_tables.add_up(entries, manifest["reserve"])
    length_sums = card_tables.lengths(manifest)
    changes = changelog()
    return (
        templates()
        .get_template(f"{manifest['dataset']}.md")
        .render(
            manifest=manifest,
            repo=repo,
            metric=f"{repo.partition('/')[0]}/ruler_score",
            title_of_rows="custom rows"
            if frozen_rows.why_release_is_custom(manifest)
            else "frozen",
            frozen_sentence=frozen_rows.sentence_of(manifest),
            total=total,
            size=_size_category(total.rows),
            # configurations
            configs=configs,
            example=_example(configs).name,
            row=json.dumps(_shortened(row), ensure_ascii=False, indent=1) if row else None,
            groups=_groups(manifest, configs),
            columns=COLUMNS,
            column_meanings=column_meanings(),
            default_tokenizer=DEFAULT_TOKENIZER,
            tokenizers=card_tables.tokenizers(manifest),
            lengths=list(dict.fromkeys(row.length for row in length_sums)),
            has_0k=any(entry["max_length"] == 0 for entry in entries),
            has_decimal_length=any(in_tokens(entry["length"]) for entry in entries),
            # tasks
            task_tables={
                family: card_tables.task_table(tasks, usual_of(family))
                for family, tasks in families.items()
            },
            families=families,
            optional={family: usual_of(family) for family in families},
            changed_tasks=_changed_tasks(manifest, families),
            fence=_fence(manifest["families"]),
            # tables
            length_table=card_tables.length_table(length_sums),
            fill_tables=card_tables.fill_tables(manifest, length_sums),
            repeat_tables=card_tables.repeat_tables(manifest, length_sums),
            exhausted_tables=card_tables.exhausted_tables(manifest, length_sums),
            # sources and languages
            sources=sources,
            embedded=[name for name, one in sources.items() if one["variant"] == EMBEDDED],
            licences=licences(manifest),
            kinds=KINDS,
            languages=languages(manifest),
            pairs=sorted({name for name in map(languages_of, entries) if "-" in name}),
            none_facts={code: about.none for code, about in facts.items()},
            custom_languages={code: about for code, about in facts.items() if about.is_custom},
            books=books,
            restricted=[code for code, book in books.items() if book["restricted"]],
            corrected=_corrected(manifest, sources),
            wording=[
                fault for fault in errata.wording() if _reads(fault.file, fault.language, sources)
            ],
            # versions
            data_versions=data_versions(manifest, changes),
            changes=changes,
            citations=citations(manifest),
        )
    )


@dataclass(frozen=True)
class ListedConfig:
    """A configuration that the card lists: a task's, or a group's."""

    task: str  # or group
    name: str
    paths: list[str]


def configurations(manifest: Manifest) -> list[ListedConfig]:
    """Return every configuration of a release.

    Tasks come first, then groups, then ONERULER's groups of all languages.
    """
    names = Names.in_manifest(manifest)
    order = {name: place for place, name in enumerate((*names.tasks, *names.groups))}
    configs = [Config.of(manifest["dataset"], entry) for entry in manifest["files"].values()]
    configs.sort(key=lambda c: (c.tokenizer, c.max_length, c.languages, order[c.task]))
    found = [ListedConfig(config.task, config.name, [config.path]) for config in configs]
    groups = [(group.task, group.name, members) for group, members in names.whole_groups(configs)]
    groups.sort(key=lambda group: order[group[0]])
    for name, members in names.whole_languages(configs):
        groups.append(("all", name, members))
    for task, name, members in groups:
        found.append(ListedConfig(task, name, [member.path for member in members]))
    return found


def files_of_config(paths: Sequence[str]) -> str:
    """Return a configuration's files as the card's metadata names them, in YAML.

    Every file is named, none by `*`. A group names the folder of its files once, as its
    `data_dir`, which makes the metadata of thousands of configurations a seventh shorter.
    """
    if len(paths) == 1:
        return f"data_files: [{{split: {SPLIT}, path: {paths[0]}}}]"
    folder = posixpath.commonpath(paths)
    names = ", ".join(posixpath.relpath(path, folder) for path in paths)
    return f"data_dir: {folder}, data_files: [{{split: {SPLIT}, path: [{names}]}}]"


def _example(configs: list[ListedConfig]) -> ListedConfig:
    """Return the configuration that the card shows: the first one, in English if there is one."""
    tasks = [config for config in configs if len(config.paths) == 1]
    return next((config for config in tasks if "/en/" in config.paths[0]), tasks[0])


def first_row(root: Path, manifest: Manifest) -> dict[str, Any] | None:
    """Return the row that the card shows; None if its file cannot be read."""
    import pyarrow as pa

    (path,) = _example(configurations(manifest)).paths
    if not (root / path).is_file():
        return None
    try:
        with open_parquet(root / path) as file:
            row: dict[str, Any] = next(file.iter_batches(batch_size=1)).to_pylist()[0]
    except (RulerError, OSError, StopIteration, pa.ArrowException):
        return None
    return row


def _shortened(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose text is shortened to its beginning, first needle and end."""
    text = row["input"]
    if len(text) <= _LONG:
        return dict(row)
    spans = [(0, _HEAD), (len(text) - _TAIL, len(text))]
    if row["evidence"]:
        needle = row["evidence"][0]
        spans.insert(1, (max(0, needle["start"] - _NEAR), needle["end"] + _NEAR))
    parts = [spans[0]]
    for start, end in spans[1:]:
        if start <= parts[-1][1]:  # they touch
            parts[-1] = (parts[-1][0], max(end, parts[-1][1]))
        else:
            parts.append((start, end))
    return {**row, "input": " […] ".join(text[start:end] for start, end in parts)}


def _groups(manifest: Manifest, configs: list[ListedConfig]) -> dict[str, tuple[list[str], str]]:
    """Return each group that has a configuration: its tasks, and the name of the first one."""
    first: dict[str, str] = {}
    for config in configs:
        first.setdefault(config.task, config.name)
    return {
        group: (tasks, first[group])
        for group, tasks in manifest["groups"].items()
        if group in first
    }


def _tasks_by_family(manifest: Manifest) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the parameters of each task that has files, by family."""
    tasks = {entry["task"] for entry in manifest["files"].values()}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task, described in manifest["tasks"].items():
        if task in tasks:
            found.setdefault(described["family"], {})[task] = described
    return found


def _changed_tasks(
    manifest: Manifest, families: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> list[str]:
    """Return the tasks whose parameters or wording are not the benchmark's own."""
    standard = read_suite(manifest["dataset"])
    tasks, changed = standard.described(), []
    for family, params in families.items():
        same_wording = manifest["families"][family] == standard.families.get(family)
        for task in params:
            if not same_wording or manifest["tasks"][task] != tasks.get(task):
                changed.append(task)
    return changed


def _size_category(rows: int) -> str:
    """Return the Hub's category for a number of rows."""
    digits = len(str(rows))
    return "n<1K" if digits <= 3 else f"{_SIZES[digits - 4]}<n<{_SIZES[digits - 3]}"


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
        "text": markdown_text,  # any text, which must not become markup
        "code": code,
        "cell": _cell,  # a text of the project's own, which may hold markup
    }
    return environment


def code(text: object) -> str:
    """Return a text as a span of Markdown code: one line between more backticks than it has."""
    line = plain(" ".join(str(text).split())).replace("|", "\\|")  # as tables need it
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _cell(text: object) -> str:
    return " ".join(str(text).replace("|", "\\|").split())


def _fence(texts: object) -> str:
    """Return the backticks around a block of code that holds these texts: more than they have."""
    ticks = re.findall("`+", json.dumps(texts))
    return "`" * max(3, 1 + max(map(len, ticks), default=0))


def column_meanings() -> dict[str, str]:
    """Return what each column of a row means."""
    return read_toml(project_file("dataset_cards") / "columns.toml")


# ---- Sources, languages and versions -------------------------------------------------------------


def used_sources(manifest: Manifest) -> dict[str, SourceEntry]:
    """Return the sources of which the files of a manifest are made."""
    used: set[str] = set()
    for entry in manifest["files"].values():
        used.update(sources_of(manifest, Config.of(manifest["dataset"], entry)))
    return {name: source for name, source in manifest["sources"].items() if name in used}


def languages(manifest: Manifest) -> list[str]:
    """Return the languages of the texts and of the instructions."""
    codes = set()
    for entry in manifest["files"].values():
        codes |= {entry["language"], entry["instruction_language"]}
    return sorted(codes)


def licences(manifest: Manifest) -> dict[str, list[str]]:
    """Return each licence with the sources (in oneruler: the kinds of source) under it."""
    found: dict[str, set[str]] = {}
    for name, source in used_sources(manifest).items():
        kind = name.partition("-")[0]
        found.setdefault(source["licence"], set()).add(kind if kind in KINDS else name)
    return {licence: sorted(found[licence]) for licence in sorted(found)}


def _corrected(
    manifest: Manifest, sources: Mapping[str, SourceEntry]
) -> list[tuple[errata.Erratum, list[str]]]:
    """Return the errata that were applied, and the languages whose published file has the error.

    An error of the noun list matters to every language: a noun is used if it is unique in all.
    """
    found = []
    for erratum in errata.errata():
        named = LANGUAGES if erratum.languages == errata.ALL else erratum.languages
        using = [
            code
            for code, language in manifest.get("languages", {}).items()
            if erratum.id in language["errata"] and _reads(erratum.file, code, sources)
        ]
        if using:
            listed = named if erratum.file == "nouns" else sorted({*named} & {*using})
            found.append((erratum, list(listed)))
    return found


def _reads(file: str, code: str, sources: Mapping[str, SourceEntry]) -> bool:
    """Return whether a published file of a language was read; every niah task reads the nouns."""
    name = f"{file if file in KINDS else 'niah'}-{code}"
    return name in sources and sources[name]["variant"] != EMBEDDED


class DataVersion(NamedTuple):
    """A data version: what is frozen of it, the version after it, and what changed."""

    version: str
    frozen: str
    superseded_by: str
    changes: list[str]


def changelog() -> dict[str, list[str]]:
    """Return the changes of the data and of the score in CHANGELOG.md, by the title of a version.

    They are the lines that start with `- Data` or `- Score`.
    """
    text = project_file("CHANGELOG.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for section in re.split("^## ", text, flags=re.MULTILINE)[1:]:
        title, *entries = re.split("^- ", section, flags=re.MULTILINE)
        changes = found.setdefault(re.sub(r"[\[\]]", "", title.partition("\n")[0]), [])
        for entry in entries:
            if entry.startswith(("Data", "Score")):
                changes.append(" ".join(entry.partition("\n\n")[0].split()))
    return found


def data_versions(manifest: Manifest, changes: Mapping[str, list[str]]) -> list[DataVersion]:
    """Return the frozen data versions and the manifest's own, the oldest first.

    Args:
        manifest: The release's manifest.
        changes: What `changelog` returns; `Data 1.1.0: …` is a change of that data version.
    """
    names = {path.stem for path in frozen_rows.FROZEN.glob("*.toml")} | {manifest["data_version"]}
    ordered = sorted(names, key=lambda name: [int(part) for part in name.split(".")])
    found = []
    for version, next_version in zip(ordered, [*ordered[1:], "–"], strict=True):
        lock = frozen_rows.read_frozen(version)
        configs = lock.rows.get(manifest["dataset"], {}) if lock else {}
        frozen = "not yet"
        if lock and configs:
            frozen = f"{len(configs):,} configurations, seed {lock.seed}, reserve {lock.reserve}"
        start = f"Data {version}: "
        lines = [line for several in changes.values() for line in several]
        what = [line.removeprefix(start) for line in lines if line.startswith(start)]
        if not what and version == ordered[0]:
            what = ["the first version"]
        found.append(DataVersion(version, frozen, next_version, what))
    return found


@cache
def citation_file() -> dict[str, Any]:
    """Return CITATION.cff: the project's authors, its version and its date, and the papers."""
    found: dict[str, Any] = yaml.safe_load(project_file("CITATION.cff").read_text(encoding="utf-8"))
    return found


def citations(manifest: Manifest) -> str:
    """Return the BibTeX of the two papers and of this release."""
    template = templates().get_template("citations.bib")
    return template.render(cff=citation_file(), manifest=manifest).rstrip()
