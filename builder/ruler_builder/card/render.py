"""The dataset card: dataset_cards/ruler.md or oneruler.md rendered from the manifest.

    render(manifest)                               # the card
    render(manifest, first_row(root, manifest))    # with a row of the release in it

Nothing is typed by hand that the manifest, the errata, the changelog or the citation file knows:
figures are added up in figures.py, origins gathered in provenance.py, prose stands in the
templates and what both cards say in dataset_cards/_parts.md. The metadata lists every configuration
with its files, one a line; a group lists the files of its tasks below their folder.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2

from ruler_builder.card import figures as tables
from ruler_builder.card import provenance as origins
from ruler_builder.project_files import project_file
from ruler_builder.suites.suite import own_wording, standard_tasks
from ruler_builder.tasks.registry import FAMILIES, usual_of
from ruler_common.errors import RulerError
from ruler_common.frozen_rows import custom_because, sentence_of
from ruler_common.languages import facts_in, own_languages
from ruler_common.manifest_form import Manifest
from ruler_common.names import DEFAULT_TOKENIZER, SPLIT, Config, Names, in_tokens, languages_of
from ruler_common.parquet import open_parquet
from ruler_common.rows import COLUMNS
from ruler_common.text import markdown_text, plain

_LONG, _HEAD, _TAIL, _NEAR = 480, 240, 200, 60  # characters of a text that is shown shortened


def configurations(manifest: Manifest) -> list[dict[str, Any]]:
    """Every configuration of a release: task or group, name and paths.

    Tasks first, then groups, then those of all languages together.
    """
    names = Names.in_manifest(manifest)
    configs = [Config.of(manifest["dataset"], entry) for entry in manifest["files"].values()]
    order = {name: place for place, name in enumerate((*names.tasks, *names.groups))}
    configs.sort(key=lambda c: (c.tokenizer, c.max_length, c.languages, order[c.task]))
    found: list[dict[str, Any]] = [
        {"task": config.task, "name": config.name, "paths": [config.path]} for config in configs
    ]
    groups = sorted(names.whole_groups(configs), key=lambda group: order[group[0].task])
    for config, members in groups:
        paths = [member.path for member in members]
        found.append({"task": config.task, "name": config.name, "paths": paths})
    for name, members in names.whole_languages(configs):
        found.append({"task": "all", "name": name, "paths": [member.path for member in members]})
    return found


def files_of_config(paths: Sequence[str]) -> str:
    """A configuration's files as the card's metadata has them, in YAML; each is named, none by `*`.

    A group names the folder of its files once, as its `data_dir`: the metadata of a release of
    thousands of configurations is a seventh shorter so. The Hub reads it whole at every call.
    """
    if len(paths) == 1:
        return f"data_files: [{{split: {SPLIT}, path: {paths[0]}}}]"
    folder = posixpath.commonpath(paths)
    names = ", ".join(posixpath.relpath(path, folder) for path in paths)
    return f"data_dir: {folder}, data_files: [{{split: {SPLIT}, path: [{names}]}}]"


def first_row(root: Path, manifest: Manifest) -> dict[str, Any] | None:
    """The first row of the card's example configuration; None where its file cannot be read."""
    import pyarrow as pa

    (path,) = _example(configurations(manifest))["paths"]
    place = root / path
    if not place.is_file():
        return None
    try:
        with open_parquet(place) as file:
            row: dict[str, Any] = next(file.iter_batches(batch_size=1)).to_pylist()[0]
    except (RulerError, OSError, StopIteration, pa.ArrowException):
        return None
    return row


def render(
    manifest: Manifest, row: Mapping[str, Any] | None = None, repo: str | None = None
) -> str:
    """The card of a release, or of a part of one; `row` is shown, its long texts shortened.

    Its calls load from the Hub's dataset `repo`, ORG/NAME, and the metric of the same owner; in a
    folder that was not pushed ORG stands for it.
    """
    template = templates().get_template(f"{manifest['dataset']}.md")
    repo = repo or f"ORG/{manifest['dataset']}"
    owner = repo.partition("/")[0]
    return template.render(_facts(manifest, row), repo=repo, metric=f"{owner}/ruler_score")


def column_meanings() -> dict[str, str]:
    """What each column of a row is, as the card says it."""
    found: dict[str, str] = templates().get_template("_parts.md").module.meaning  # type: ignore[attr-defined]
    return found


def citations(manifest: Manifest) -> str:
    """BibTeX of the two papers and of this release, from CITATION.cff."""
    template = templates().get_template("citations.bib")
    return template.render(cff=origins.citation_file(), manifest=manifest).rstrip()


@cache
def templates() -> jinja2.Environment:
    """The templates in dataset_cards, with the filters that cards use."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(project_file("dataset_cards")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda share: f"{100 * share:.2f} %"
    environment.filters |= {"count": "{:,}".format, "cell": _cell}
    environment.filters["files_of_config"] = files_of_config
    environment.filters |= {"text": markdown_text, "code": code}
    environment.filters["json"] = partial(json.dumps, ensure_ascii=False)
    return environment


# fmt: off
_ORIGINS = (  # what a template calls as provenance.py does
    "languages", "sources", "embedded", "licences", "by_language", "books", "restricted", "mended",
    "wording", "data_versions",
)
# fmt: on


def _facts(manifest: Manifest, row: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the templates tell of a release."""
    configs, spoken = configurations(manifest), manifest.get("languages") or {}
    entries = list(manifest["files"].values())
    by_task = tables.by_task(manifest)
    texts = tables.by_languages(manifest) if manifest["dataset"] == "oneruler" else by_task
    whole = tables.add_up(entries, manifest["reserve"])
    assert whole  # a release has a file
    return {
        "manifest": manifest,
        "configs": configs,
        "example": _example(configs)["name"],
        "columns": COLUMNS,
        "default_tokenizer": DEFAULT_TOKENIZER,
        "row": json.dumps(_shown(row), ensure_ascii=False, indent=1) if row else None,
        "whole": whole,
        "size": tables.size_category(whole.rows),
        "texts": origins.text_languages(manifest),
        "said": {code: facts_in(spoken, code).none for code in sorted(spoken)},
        "own": {code: facts_in(spoken, code) for code in own_languages(spoken)},
        "pairs": sorted({names for names in map(languages_of, entries) if "-" in names}),
        "tokenizers": tables.tokenizers(manifest),
        "families": _families(manifest),
        "optional": {family: usual_of(family) for family in FAMILIES},
        "fence": _fence(manifest["families"]),
        "evidence_alone": any(entry["max_length"] == 0 for entry in entries),
        "decimal": any(in_tokens(entry["length"]) for entry in entries),
        "of_their_own": _of_their_own(manifest),
        "groups": _groups(manifest, configs),
        "lengths": tables.lengths(manifest),
        "fill": tables.grids(manifest, texts, tables.full),
        "again": tables.grids(manifest, texts, tables.begun_again(manifest, texts)),
        "out": tables.grids(
            manifest,
            tables.by_languages_and_task(manifest) if texts is not by_task else by_task,
            tables.ran_out,
        ),
        "kinds": origins.KINDS,
        "frozen": sentence_of(manifest),
        "kind": "custom rows" if custom_because(manifest) else "frozen",
        "versions": origins.versions(),
        "citations": citations(manifest),
        **{name: getattr(origins, name)(manifest) for name in _ORIGINS},
    }


def _example(configs: list[dict[str, Any]]) -> dict[str, Any]:
    """The configuration the card shows: the first one, in English if there is one."""
    tasks = [config for config in configs if len(config["paths"]) == 1]
    return next((config for config in tasks if "/en/" in config["paths"][0]), tasks[0])


def _families(manifest: Manifest) -> dict[str, dict[str, dict[str, Any]]]:
    """Family -> task -> its parameters, of the tasks that have files.

    An optional parameter is there for all of a family's tasks, if any of them sets it.
    """
    there = {entry["task"] for entry in manifest["files"].values()}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task, described in manifest["tasks"].items():
        if task in there:
            params = {name: value for name, value in described.items() if name != "family"}
            found.setdefault(described["family"], {})[task] = params
    for family, tasks in found.items():
        named = {name for params in tasks.values() for name in params}
        usual = {n: value for n, value in usual_of(family).items() if n in named}
        found[family] = {
            task: {**{n: v for n, v in params.items() if n not in usual}, **usual, **params}
            for task, params in tasks.items()
        }
    return found


def _of_their_own(manifest: Manifest) -> list[str]:
    """The tasks of a user's suite: others than the dataset's, or with other parameters or words."""
    wording, known = own_wording(manifest["dataset"]), standard_tasks(manifest["dataset"])
    return [
        task
        for family, tasks in _families(manifest).items()
        for task in tasks
        if manifest["families"][family] != wording.get(family)
        or manifest["tasks"][task] != known.get(task)
    ]


def _groups(manifest: Manifest, configs: list[dict[str, Any]]) -> dict[str, tuple[list[str], str]]:
    """Group -> its tasks and the first configuration of it, of the groups that have any."""
    first: dict[str, str] = {}
    for config in configs:
        first.setdefault(config["task"], config["name"])
    groups = manifest["groups"].items()
    return {group: (tasks, first[group]) for group, tasks in groups if group in first}


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its text shortened around the first needle, and of its evidence the first."""
    shown = dict(row)
    if len(row["input"]) > _LONG:
        cuts = [(0, _HEAD), (len(row["input"]) - _TAIL, len(row["input"]))]
        if row["evidence"]:
            span = row["evidence"][0]
            cuts.insert(1, (span["start"] - _NEAR, span["end"] + _NEAR))
        shown["input"] = " […] ".join(
            row["input"][max(start, 0) : end] for start, end in _apart(cuts)
        )
    return shown


def _apart(cuts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cuts in order, those that meet joined."""
    found = [cuts[0]]
    for start, end in cuts[1:]:
        if start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _fence(texts: object) -> str:
    """What begins and ends a block of code that holds these texts: more ticks than they have."""
    ticks = re.findall("`+", json.dumps(texts))
    return "`" * max(3, 1 + max(map(len, ticks), default=0))


def code(text: object) -> str:
    """A text as a span of code of Markdown: in one line, between more ticks than it has."""
    line = plain(" ".join(str(text).split())).replace("|", "\\|")  # as tables need it
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " * (line.startswith("`") or line.endswith("`"))
    return f"{ticks}{space}{line}{space}{ticks}"


def _cell(text: object) -> str:
    """A text of the project's own, which may hold markup, as a cell of a Markdown table."""
    return " ".join(str(text).replace("|", "\\|").split())
