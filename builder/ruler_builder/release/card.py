"""Write the dataset card of a release, README.md, from its manifest.

    render(manifest)                               # the card
    render(manifest, first_row(root, manifest))    # with a row of the release in it

The templates are dataset_cards/ruler.md and oneruler.md, which share _parts.md. The facts come from
the manifest, text/errata.toml, CHANGELOG.md and CITATION.cff; card_tables.py makes the tables.
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
"""The kinds of source that a language of ONERULER has: two prompts, a book, a dictionary."""
# The example row shows a text of more than _LONG characters shortened: its first _HEAD characters,
# the first needle with _NEAR characters on either side, and the last _TAIL characters.
_LONG, _HEAD, _TAIL, _NEAR = 480, 240, 200, 60
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")


# ---- The card ------------------------------------------------------------------------------------


def render(
    manifest: Manifest, row: Mapping[str, Any] | None = None, repo: str | None = None
) -> str:
    """Return the text of a release's card.

    Args:
        manifest: The release's manifest.
        row: A row to show as an example; a long text is shortened.
        repo: The dataset on the Hub, ORG/NAME, that the examples load; by default the placeholder
            `ORG` and the name of the benchmark.
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
            embedded=[name for name, source in sources.items() if source["variant"] == EMBEDDED],
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
                error for error in errata.wording() if _reads(error.file, error.language, sources)
            ],
            # versions
            data_versions=data_versions(manifest, changes),
            changes=changes,
            citations=citations(manifest),
        )
    )


@dataclass(frozen=True)
class ListedConfig:
    """A configuration that the card lists: one of a task, or of a group of tasks."""

    task: str  # or the name of the group
    name: str
    paths: list[str]


def configurations(manifest: Manifest) -> list[ListedConfig]:
    """Return every configuration of a release.

    Tasks come first, then groups, then ONERULER's groups of all languages.
    """
    names = Names.from_manifest(manifest)
    order = {name: index for index, name in enumerate((*names.tasks, *names.groups))}
    configs = [
        Config.from_entry(manifest["dataset"], entry) for entry in manifest["files"].values()
    ]
    configs.sort(key=lambda c: (c.tokenizer, c.max_length, c.languages, order[c.task]))
    listed = [ListedConfig(config.task, config.name, [config.path]) for config in configs]
    groups = [(group.task, group.name, members) for group, members in names.whole_groups(configs)]
    groups.sort(key=lambda group: order[group[0]])
    for name, members in names.whole_languages(configs):
        groups.append(("all", name, members))
    for task, name, members in groups:
        listed.append(ListedConfig(task, name, [member.path for member in members]))
    return listed


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


def _example(configs: list[ListedConfig]) -> ListedConfig:
    """Return the configuration for the card's example: the first in English, else the first."""
    tasks = [config for config in configs if len(config.paths) == 1]
    return next((config for config in tasks if "/en/" in config.paths[0]), tasks[0])


def first_row(root: Path, manifest: Manifest) -> dict[str, Any] | None:
    """Return the row for the card's example; None if its file cannot be read."""
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
    """Shorten the text of a row to its beginning, its first needle and its end."""
    text = row["input"]
    if len(text) <= _LONG:
        return dict(row)
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
    return {**row, "input": " […] ".join(text[start:end] for start, end in parts)}


def _groups(manifest: Manifest, configs: list[ListedConfig]) -> dict[str, tuple[list[str], str]]:
    """Return, for each group with a configuration, its tasks and its first configuration."""
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
    families: dict[str, dict[str, dict[str, Any]]] = {}
    for task, params in manifest["tasks"].items():
        if task in tasks:
            families.setdefault(params["family"], {})[task] = params
    return families


def _changed_tasks(
    manifest: Manifest, families: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> list[str]:
    """Return the tasks whose parameters or wording differ from the benchmark's."""
    standard = read_suite(manifest["dataset"])
    tasks, changed = standard.described(), []
    for family, params in families.items():
        same_wording = manifest["families"][family] == standard.families.get(family)
        for task in params:
            if not same_wording or manifest["tasks"][task] != tasks.get(task):
                changed.append(task)
    return changed


def _size_category(rows: int) -> str:
    """Return the Hub's `size_categories` value for a number of rows."""
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
        "text": markdown_text,  # untrusted text: its markup is escaped
        "code": code,
        "cell": _cell,  # text of this project, which may contain markup
    }
    return environment


def code(text: object) -> str:
    """Return a text as a one-line code span of Markdown, which may be in a table."""
    line = plain(" ".join(str(text).split())).replace("|", "\\|")
    ticks = "`" * (_longest_backticks(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _longest_backticks(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _cell(text: object) -> str:
    """Return a text as one line that can be a cell of a Markdown table."""
    return " ".join(str(text).replace("|", "\\|").split())


def _fence(texts: object) -> str:
    """Return a fence for a code block with these texts: longer than any backticks in them."""
    return "`" * max(3, _longest_backticks(json.dumps(texts)) + 1)


def column_meanings() -> dict[str, str]:
    """Return the description of each column of a row."""
    return read_toml(project_file("dataset_cards") / "columns.toml")


# ---- Sources, languages and versions -------------------------------------------------------------


def used_sources(manifest: Manifest) -> dict[str, SourceEntry]:
    """Return the sources that the files of a release were built from."""
    used: set[str] = set()
    for entry in manifest["files"].values():
        used.update(sources_of(manifest, Config.from_entry(manifest["dataset"], entry)))
    return {name: source for name, source in manifest["sources"].items() if name in used}


def languages(manifest: Manifest) -> list[str]:
    """Return the languages of the texts and of the instructions."""
    codes = set()
    for entry in manifest["files"].values():
        codes |= {entry["language"], entry["instruction_language"]}
    return sorted(codes)


def licences(manifest: Manifest) -> dict[str, list[str]]:
    """Return each licence and the sources under it; for ONERULER, the kinds of source."""
    names: dict[str, set[str]] = {}
    for name, source in used_sources(manifest).items():
        kind = name.partition("-")[0]
        names.setdefault(source["licence"], set()).add(kind if kind in KINDS else name)
    return {licence: sorted(names[licence]) for licence in sorted(names)}


def _corrected(
    manifest: Manifest, sources: Mapping[str, SourceEntry]
) -> list[tuple[errata.Erratum, list[str]]]:
    """Return the errata that were applied, and the languages whose published file has the error.

    An error in the noun list affects the rows of every language, because a noun is used only if it
    is unique in all of them: so all languages with the error are listed, built or not.
    """
    corrected = []
    for erratum in errata.errata():
        with_error = LANGUAGES if erratum.languages == errata.ALL else erratum.languages
        built = [
            code
            for code, language in manifest.get("languages", {}).items()
            if erratum.id in language["errata"] and _reads(erratum.file, code, sources)
        ]
        if not built:
            continue
        if erratum.file == "nouns":
            corrected.append((erratum, list(with_error)))
        else:
            corrected.append((erratum, sorted(set(with_error) & set(built))))
    return corrected


def _reads(file: str, code: str, sources: Mapping[str, SourceEntry]) -> bool:
    """Return whether a published file of a language was read. The niah tasks read the nouns."""
    name = f"{file if file in KINDS else 'niah'}-{code}"
    return name in sources and sources[name]["variant"] != EMBEDDED


class DataVersion(NamedTuple):
    """A data version, as a row of the card's table of versions."""

    version: str
    frozen: str  # which rows its lock lists, in words
    superseded_by: str  # the next version, or a dash
    changes: list[str]


def changelog() -> dict[str, list[str]]:
    """Return the changes of data and scores in CHANGELOG.md, by the heading of their version.

    They are the entries that start with `- Data` or `- Score`.
    """
    text = project_file("CHANGELOG.md").read_text(encoding="utf-8")
    versions: dict[str, list[str]] = {}
    for section in re.split("^## ", text, flags=re.MULTILINE)[1:]:
        title, *entries = re.split("^- ", section, flags=re.MULTILINE)
        changes = versions.setdefault(re.sub(r"[\[\]]", "", title.partition("\n")[0]), [])
        for entry in entries:
            if entry.startswith(("Data", "Score")):
                changes.append(" ".join(entry.partition("\n\n")[0].split()))
    return versions


def data_versions(manifest: Manifest, changes: Mapping[str, list[str]]) -> list[DataVersion]:
    """Return the frozen data versions and that of the manifest, the oldest first.

    Args:
        manifest: The release's manifest.
        changes: The result of `changelog`; an entry `Data 1.1.0: …` belongs to that version.
    """
    names = {path.stem for path in frozen_rows.FROZEN.glob("*.toml")} | {manifest["data_version"]}
    ordered = sorted(names, key=lambda name: [int(part) for part in name.split(".")])
    versions = []
    for version, next_version in zip(ordered, [*ordered[1:], "–"], strict=True):
        lock = frozen_rows.read_frozen(version)
        configs = lock.rows.get(manifest["dataset"], {}) if lock else {}
        frozen = "not yet"
        if lock and configs:
            frozen = f"{len(configs):,} configurations, seed {lock.seed}, reserve {lock.reserve}"
        start = f"Data {version}: "
        entries = [entry for section in changes.values() for entry in section]
        changed = [entry.removeprefix(start) for entry in entries if entry.startswith(start)]
        if not changed and version == ordered[0]:
            changed = ["the first version"]
        versions.append(DataVersion(version, frozen, next_version, changed))
    return versions


@cache
def citation_file() -> dict[str, Any]:
    """Read CITATION.cff: the project's authors, version and date, and the papers."""
    text = project_file("CITATION.cff").read_text(encoding="utf-8")
    citation: dict[str, Any] = yaml.safe_load(text)
    return citation


def citations(manifest: Manifest) -> str:
    """Return the BibTeX of the two papers and of this release."""
    template = templates().get_template("citations.bib")
    return template.render(cff=citation_file(), manifest=manifest).rstrip()
