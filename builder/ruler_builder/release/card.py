"""Write the files that describe a release: its card README.md, eval.yaml and croissant.json.

    write_card_files(root, manifest)
    render(collect_facts(manifest))             # the text of the card

`ruler build` and `ruler fetch` write them, `ruler verify` renders them again and compares.
dataset_cards/_card.md is the text of both data sets' cards; ruler.md and oneruler.md fill in its
blocks. The functions below make what that text cannot say once for all releases, from the manifest
and text/errata.toml. A release of ONERULER has thousands of files, so the card shows sums;
manifest.json has every file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ruler_builder.release.croissant import croissant
from ruler_builder.release.facts import (
    CARD,
    CROISSANT,
    EVAL_YAML,
    ReleaseFacts,
    collect_facts,
    descriptions,
)
from ruler_builder.release.templates import citations, longest_backticks, templates
from ruler_builder.tasks.registry import read_suite, usual_of
from ruler_builder.text import errata
from ruler_builder.text.sources import CANONICAL, EMBEDDED
from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.frozen import frozen_sentence
from ruler_common.hub import is_repository
from ruler_common.languages import release_languages
from ruler_common.manifest import FileEntry, Manifest, is_standard
from ruler_common.names import CONTROL_LENGTH, DEFAULT_TOKENIZER, LANGUAGES, SPLIT, languages_of
from ruler_common.rows import COLUMN_TYPES
from ruler_common.text import markdown_text, printable

KINDS = ("niah", "cwe", "book", "words")
"""The kinds of source that a language of ONERULER has: two prompts, a book, a dictionary."""
FRAMEWORK = "ruler-release"
"""The id of this project's harness, as dataset_cards/benchmark_registration.md asks for it."""


def card_files(
    facts: ReleaseFacts, benchmark: bool = True, repo: str | None = None
) -> dict[str, str]:
    """Return the text of each file that describes a release, by file name.

    Args:
        facts: The facts of the release.
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
    for name, text in card_files(collect_facts(manifest)).items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            write_whole(path, text)


# ---- The card ------------------------------------------------------------------------------------


def render(facts: ReleaseFacts, repo: str | None = None) -> str:
    """Return the text of a release's card.

    Args:
        facts: The facts of the release.
        repo: The dataset on the Hub, ORG/NAME, that the examples load; by default the placeholder
            `ORG` and the name of the benchmark.
    """
    manifest = facts.manifest
    repo = repo or f"ORG/{manifest['dataset']}"
    entries = manifest["files"].values()
    rows = sum(entry["rows"] for entry in entries)
    tokens = {entry["length"]: entry["max_length"] for entry in entries}
    texts = json.dumps(manifest["families"])
    variables = {
        "manifest": manifest,
        "facts": facts,
        "benchmark": manifest["dataset"].upper(),
        "is_ruler": manifest["dataset"] == "ruler",
        "repo": repo,
        "metric": f"{repo.partition('/')[0]}/ruler_score",
        "title_of_rows": "custom rows" if facts.why_custom else "frozen",
        "frozen_sentence": frozen_sentence(manifest),
        "default_tokenizer": DEFAULT_TOKENIZER,
        "columns": COLUMN_TYPES,
        "descriptions": descriptions(),
        "rows": rows,
        "bytes": sum(entry["bytes"] for entry in entries),
        "size": _size_category(rows),
        "tokens_of_length": dict(sorted(tokens.items(), key=lambda length: length[1])),
        "figures": figures(manifest),
        "any_repeats": any(entry["repeats"] for entry in entries),
        "any_exhausted": any(entry["exhausted"] for entry in entries),
        "has_control": CONTROL_LENGTH in tokens,
        "has_decimal_length": any(name.isdigit() for name in tokens),
        "fence": "`" * max(3, longest_backticks(texts) + 1),  # of a code block with any wording
        "citations": citations(manifest),
        **_tasks(facts),
        **_sources(facts),
    }
    if manifest["dataset"] == "oneruler":
        variables |= _languages(facts)
    return templates().get_template(f"{manifest['dataset']}.md").render(variables)


_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")


def _size_category(rows: int) -> str:
    """Return the Hub's `size_categories` value for a number of rows."""
    digits = len(str(rows))
    return "n<1K" if digits <= 3 else f"{_SIZES[digits - 4]}<n<{_SIZES[digits - 3]}"


def _tasks(facts: ReleaseFacts) -> dict[str, Any]:
    """Return a table of tasks for each family, and the tasks that differ from the benchmark's.

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
    parameters: set[str] = set()
    for family, tasks in families.items():
        tables[family] = _task_table(family, tasks)
        for params in tasks.values():
            parameters |= usual_of(family).keys() & params.keys()
    return {"task_tables": tables, "changed_tasks": changed, "parameters": parameters}


def _task_table(family: str, tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of a family's tasks and their parameters."""
    usual = usual_of(family)
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
    return markdown_table(["task", *map(markdown_text, names)], rows)


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
    """Return the card's facts about ONERULER's languages and their published files."""
    pairs = set()
    for entry in facts.manifest["files"].values():
        if entry["language"] != entry["instruction_language"]:
            pairs.add(languages_of(entry))
    about = release_languages(facts.manifest)
    custom = [code for code in about if about[code].is_custom]
    published = []  # languages of which a published file may have been read
    if any(source["variant"] == CANONICAL for source in facts.sources.values()):
        published = [code for code in facts.languages if code not in custom]
    return {
        "kinds": KINDS,
        "pairs": sorted(pairs),
        "about_languages": about,
        "custom_languages": custom,
        "errata": [e for e in errata.errata() if any(map(e.affects, published))],
        "wording": [error for error in errata.wording() if error.language in published],
    }


# ---- The table of figures ------------------------------------------------------------------------


def mean_fill(files: Iterable[FileEntry]) -> str:
    """Return the mean of `length` as a share of the window, over all rows."""
    rows, fill = 0, 0.0
    for entry in files:
        rows += entry["rows"]
        fill += entry["fill"] * entry["rows"]
    return f"{100 * (fill / rows):.2f} %"


def min_fill(files: Iterable[FileEntry], reserve: int) -> str:
    """Return the fill of the shortest row; 0 for the control, which has no window."""
    fill = math.inf
    for entry in files:
        window = entry["max_length"] - reserve
        fill = min(fill, entry["tokens"]["min"] / window if window > 0 else 0.0)
    return f"{100 * fill:.2f} %"


def figures(manifest: Manifest) -> str:
    """Return how full the rows are and how often a text starts over or is used up, as a table.

    It has a line for each tokenizer and task, in oneruler for each tokenizer and language, and a
    column for each length.
    """
    by_task, tasks = manifest["dataset"] == "ruler", [*manifest["tasks"]]

    def order(entry: FileEntry) -> tuple[str, int, str, int]:
        languages = languages_of(entry)  # pairs come last
        return entry["tokenizer"], len(languages), languages, tasks.index(entry["task"])

    cells: dict[tuple[str, str], dict[str, list[FileEntry]]] = {}
    tokens: dict[str, int] = {}
    for entry in sorted(manifest["files"].values(), key=order):
        label = entry["task"] if by_task else languages_of(entry)
        files = cells.setdefault((entry["tokenizer"], label), {})
        files.setdefault(entry["length"], []).append(entry)
        tokens[entry["length"]] = entry["max_length"]
    lengths = sorted(tokens, key=tokens.__getitem__)
    lines = []
    for (tokenizer, label), by_length in cells.items():
        line = [tokenizer, label]
        for length in lengths:
            line.append(_figures_of(by_length.get(length, []), manifest["reserve"]))
        lines.append(line)
    return markdown_table(["tokenizer", "task" if by_task else "language", *lengths], lines)


def _figures_of(files: Sequence[FileEntry], reserve: int) -> str:
    """Return a cell: fill of the full files, repeats, and rows that use up a text; `–` for none."""
    full = [entry for entry in files if entry["max_length"] > 0 and not entry["exhausted"]]
    used_up = [entry for entry in files if entry["exhausted"]]
    parts = []
    if full:
        parts.append(f"{mean_fill(full)} ({min_fill(full, reserve)})")
    repeats = max((entry["repeats"] for entry in files), default=0)
    if repeats:
        parts.append(f"repeats {repeats}")
    if used_up:
        exhausted = sum(entry["exhausted"] for entry in used_up)
        rows = sum(entry["rows"] for entry in used_up)
        parts.append(f"{exhausted:,} of {rows:,} used up, {mean_fill(used_up)}")
    return "; ".join(parts) or "–"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; its cells are Markdown already."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


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
    text: str = yaml.safe_dump(benchmark, sort_keys=False, allow_unicode=True)
    return comment + text


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
    tokens: dict[str, int] = {}
    for entry in manifest["files"].values():
        if entry["tokenizer"] == tokenizer and entry["max_length"]:
            tokens[entry["length"]] = entry["max_length"]
    lengths = sorted(tokens, key=tokens.__getitem__, reverse=True) or [CONTROL_LENGTH]
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
