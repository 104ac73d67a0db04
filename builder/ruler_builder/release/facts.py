"""Collect the facts that describe a release, and find the project's files.

    facts = collect_facts(manifest)
    facts.configs["niah_4k"]                # the files of a configuration
    project_file("dataset_cards")           # in a checkout or in an installed package

The card, eval.yaml and croissant.json are written from these facts and the manifest alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ruler_builder.tasks.registry import sources_of
from ruler_common.errors import DISTRIBUTION, RulerError
from ruler_common.files import read_toml
from ruler_common.frozen import why_custom
from ruler_common.manifest import Manifest, SourceEntry
from ruler_common.names import Config, Names

CARD = "README.md"
CROISSANT = "croissant.json"
EVAL_YAML = "eval.yaml"

# ---- The facts -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReleaseFacts:
    """The facts of a release that the card, eval.yaml and croissant.json share."""

    manifest: Manifest
    # The files of each configuration: of tasks, then of groups, then of all languages together
    configs: dict[str, list[str]]
    groups: dict[str, str]  # the first configuration of each group that is complete
    example: str  # a configuration of one task: the first in English, else the first of all
    tasks: set[str]  # the tasks that have files
    tokenizers: list[str]
    languages: list[str]  # of the texts and of the instructions
    sources: dict[str, SourceEntry]  # the sources that the files were built from
    why_custom: str  # why the rows are not the frozen ones; "" if they are


def collect_facts(manifest: Manifest) -> ReleaseFacts:
    """Return the facts of a release, read from the entries of its files."""
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
        if config.languages == "en" and example.languages != "en":
            example = config
    groups = names.whole_groups(configs)
    first: dict[str, str] = {}
    for group, members in sorted(groups, key=lambda group: order.index(group[0].task)):
        first.setdefault(group.task, group.name)
        paths[group.name] = [member.path for member in members]
    for name, members in names.whole_languages(groups):
        paths[name] = [member.path for member in members]
    return ReleaseFacts(
        manifest=manifest,
        configs=paths,
        groups=first,
        example=example.name,
        tasks=tasks,
        tokenizers=[*tokenizers],
        languages=sorted(languages),
        sources=dict(sorted(sources.items())),
        why_custom=why_custom(manifest),
    )


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
    citations = (path for path in recorded if path.as_posix().endswith(f"{_SHARE}/CITATION.cff"))
    folders = [Path(str(path.locate())).parent for path in citations]
    return [*folders, _ROOT / _SHARE]  # `pip install --target` moves it unrecorded


@cache
def descriptions() -> dict[str, Any]:
    """Return the meaning of every column and optional parameter, and texts of eval.yaml."""
    return read_toml(project_file("dataset_cards") / "descriptions.toml")
