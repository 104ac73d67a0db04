"""Write the files that describe a release: its card README.md, eval.yaml and croissant.json.

    write_card_files(root, manifest)
    render(collect_facts(manifest, root))       # the text of the card

`ruler build` and `ruler fetch` write them, `ruler verify` renders them again and compares.
dataset_cards/_card.md is the text of both data sets' cards; ruler.md and oneruler.md fill in its
blocks. Each function below makes the variables of one part of that text, from the manifest,
text/errata.toml and CHANGELOG.md. A release of ONERULER has thousands of files, so the card shows
sums; manifest.json has every file.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from ruler_builder.release.metadata import (
    CARD,
    CROISSANT,
    EVAL_YAML,
    ReleaseFacts,
    collect_facts,
    croissant,
    descriptions,
    eval_yaml,
    project_file,
)
from ruler_builder.tasks.registry import read_suite, usual_of
from ruler_builder.text import errata
from ruler_builder.text.sources import EMBEDDED
from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.frozen import frozen_sentence, frozen_versions, read_frozen
from ruler_common.hub import is_repository
from ruler_common.languages import release_languages
from ruler_common.manifest import FileEntry, Manifest, SourceEntry, is_standard, version_numbers
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    EVIDENCE_ALONE,
    LANGUAGES,
    SPLIT,
    languages_of,
)
from ruler_common.rows import COLUMNS
from ruler_common.text import markdown_text, plain, printable

KINDS = ("niah", "cwe", "book", "words")
"""The kinds of source that a language of ONERULER has: two prompts, a book, a dictionary."""
# The example row shows a text of more than _LONG characters shortened: its first _HEAD characters,
# the first needle with _NEAR characters on either side, and the last _TAIL characters.
_LONG, _HEAD, _TAIL, _NEAR = 480, 240, 200, 60


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
        "example": facts.example,
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
    excerpt, excerpt_end = "", 0
    for start, end in spans:
        if start > excerpt_end:
            excerpt += " […] "
        excerpt += text[max(start, excerpt_end) : end]
        excerpt_end = max(excerpt_end, end)
    return json.dumps({**row, "input": excerpt}, ensure_ascii=False, indent=1)


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


# ---- Tables of figures ---------------------------------------------------------------------------

Cells = dict[tuple[str, str, str], list[FileEntry]]
"""The files of each cell of a table: by tokenizer, the label of a line, and length."""


def files_by_length(manifest: Manifest) -> dict[tuple[str, str], list[FileEntry]]:
    """Return the files of each tokenizer and length, the shortest length first."""
    groups: dict[tuple[str, str], list[FileEntry]] = {}
    for entry in sorted(
        manifest["files"].values(), key=lambda e: (e["tokenizer"], e["max_length"])
    ):
        groups.setdefault((entry["tokenizer"], entry["length"]), []).append(entry)
    return groups


def mean_fill(files: Iterable[FileEntry]) -> str:
    """Return the mean of `length` as a share of the window without the reserve, over all rows."""
    rows, fill = 0, 0.0
    for entry in files:
        rows += entry["rows"]
        fill += entry["fill"] * entry["rows"]
    return f"{100 * (fill / rows):.2f} %"


def min_fill(files: Iterable[FileEntry], reserve: int) -> str:
    """Return the fill of the shortest row; 0 at `0k`, which has no window."""
    fill = math.inf
    for entry in files:
        window = entry["max_length"] - reserve
        fill = min(fill, entry["tokens"]["min"] / window if window > 0 else 0.0)
    return f"{100 * fill:.2f} %"


def figures(manifest: Manifest) -> dict[str, Any]:
    """Return a card's numbers of rows and bytes, its lengths, and its tables of figures."""
    rows = size = 0
    columns: dict[str, list[str]] = {}  # lengths by tokenizer
    windows: dict[str, int] = {}
    table = []
    for (tokenizer, length), files in files_by_length(manifest).items():
        columns.setdefault(tokenizer, []).append(length)
        windows[length] = files[0]["max_length"]
        rows_of_length = exhausted = 0
        tokens = 0.0
        full = []
        for entry in files:
            rows_of_length += entry["rows"]
            size += entry["bytes"]
            exhausted += entry["exhausted"]
            tokens += entry["tokens"]["mean"] * entry["rows"]
            if _is_full(entry):
                full.append(entry)
        rows += rows_of_length
        line = [tokenizer, length, f"{windows[length]:,}", f"{len(files):,}"]
        line += [f"{rows_of_length:,}", f"{tokens / rows_of_length:,.1f}"]
        line += [min_fill(full, manifest["reserve"]), mean_fill(full)] if full else ["–", "–"]
        table.append([*line, f"{exhausted:,}"])
    lengths = sorted(windows, key=windows.__getitem__)
    header = ["tokenizer", "length", "window", "files", "rows", "mean length", "minimum fill"]
    header += ["mean fill", "rows that use up a text or list"]
    return {
        "rows": rows,
        "bytes": size,
        "size": _size_category(rows),
        "lengths": lengths,
        "has_0k": EVIDENCE_ALONE in lengths,
        "has_decimal_length": any(map(str.isdigit, lengths)),
        "length_table": markdown_table(header, table),
        **fill_tables(manifest, columns),
    }


def _is_full(entry: FileEntry) -> bool:
    """Return whether the rows of a file are as full as their window allows."""
    return entry["max_length"] > 0 and not entry["exhausted"]


def fill_tables(manifest: Manifest, columns: Mapping[str, list[str]]) -> dict[str, str]:
    """Return how full the rows are, how often a text starts over, and where all of it is used.

    By task in ruler and by language in oneruler. The second and the third are "" if no row has such
    a text.

    Args:
        manifest: The manifest of the release.
        columns: The lengths of each tokenizer.
    """
    by_task, reserve = manifest["dataset"] == "ruler", manifest["reserve"]
    files, tasks = manifest["files"], list(manifest["tasks"])

    def order(path: str) -> tuple[int, str, int, str]:
        languages = languages_of(files[path])
        return len(languages), languages, tasks.index(files[path]["task"]), path

    repeating: set[str] = set()  # tasks and languages of files in which a text starts over
    for entry in files.values():
        if entry["repeats"]:
            repeating |= {entry["task"], languages_of(entry)}
    full: Cells = {}
    repeats: Cells = {}
    exhausted: Cells = {}
    for path in sorted(files, key=order):
        entry = files[path]
        task, tokenizer, length = entry["task"], entry["tokenizer"], entry["length"]
        languages = languages_of(entry)
        label = task if by_task else languages
        if _is_full(entry):
            full.setdefault((tokenizer, label, length), []).append(entry)
        if task in repeating and label in repeating:
            repeats.setdefault((tokenizer, label, length), []).append(entry)
        if entry["exhausted"]:
            name = task if by_task else f"{languages} {task}"
            exhausted.setdefault((tokenizer, name, length), []).append(entry)

    def show_fill(files: list[FileEntry]) -> str:
        return f"{mean_fill(files)} ({min_fill(files, reserve)})"

    head = "task" if by_task else "language"
    exhausted_head = "task" if by_task else "language and task"
    return {
        "fill_tables": _grids(head, columns, full, show_fill),
        "repeat_tables": _grids("repeats", columns, repeats, _show_repeats),
        "exhausted_tables": _grids(exhausted_head, columns, exhausted, _show_exhausted),
    }


def _show_repeats(files: list[FileEntry]) -> str:
    """Return how many times a text starts over in a row of these files."""
    times: list[int] = []
    for entry in files:
        times += entry.get("row_repeats", [entry["repeats"]])
    return f"{min(times)} … {max(times)}" if min(times) < max(times) else f"{max(times)}"


def _show_exhausted(files: list[FileEntry]) -> str:
    """Return the mean fill of these files, and how many rows use up a text or list."""
    exhausted = rows = 0
    for entry in files:
        exhausted += entry["exhausted"]
        rows += entry["rows"]
    return f"{mean_fill(files)}, {exhausted:,} of {rows:,} rows"


def _grids(
    head: str,
    columns: Mapping[str, list[str]],
    cells: Cells,
    show_cell: Callable[[list[FileEntry]], str],
) -> str:
    """Return a table for each tokenizer: a line for each label, a column for each length."""
    tables = []
    for tokenizer, lengths in columns.items():
        lines: dict[str, list[str]] = {}
        for cell_tokenizer, label, _ in cells:
            if cell_tokenizer == tokenizer and label not in lines:
                lines[label] = [label]
                for length in lengths:
                    files = cells.get((tokenizer, label, length))
                    lines[label].append(show_cell(files) if files else "–")
        if lines:
            tables.append(markdown_table([f"{tokenizer}: {head}", *lengths], lines.values()))
    return "\n\n".join(tables)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; its cells are Markdown already."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")


def _size_category(rows: int) -> str:
    """Return the Hub's `size_categories` value for a number of rows."""
    digits = len(str(rows))
    return "n<1K" if digits <= 3 else f"{_SIZES[digits - 4]}<n<{_SIZES[digits - 3]}"


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


# ---- Versions ------------------------------------------------------------------------------------


def versions(manifest: Manifest) -> dict[str, Any]:
    """Return the data versions with their changes, and what each release changed.

    The data versions are the frozen ones and the manifest's, the oldest first. An entry
    `Data 1.1.0: …` of the changelog belongs to that version.
    """
    changes = changelog()
    names = {manifest["data_version"], *frozen_versions()}
    ordered = sorted(names, key=version_numbers)
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


def _cell(text: str) -> str:
    """Return a text as one line that can be a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())
