"""Loading a release by name, from a folder or the Hub, its digests checked.

A release is a folder (or a Hub repository) of Parquet files with a card and a manifest:

    ruler/README.md  ruler/manifest.json  ruler/data/<tokenizer>/<length>/<task>.parquet

A configuration names a task or a group at a length: `niah_mk_128k`, `vt_4k_qwen2.5`,
`niah_none_64k_pl`, `niah_single_64k_en-ko` (text in English, instruction in Korean).

    import ruler_dataset
    rows = ruler_dataset.load("ruler", "niah_mk_4k")      # a datasets.Dataset, digests checked

It hands on the public names of `ruler_common`, which say what a release is.
"""

from __future__ import annotations

import difflib
import glob
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

# fmt: off
# isort: off
from ruler_common.errors import RulerError, Unreachable
from ruler_common.files import UNREADABLE, sha256_of, temporary_beside, write_whole
from ruler_common.hub_access import hub_address, hub_errors, hub_file, is_repository, write_token
from ruler_common.manifest import (
    SUITE_DIGESTS, has_threshold, is_standard, parse_manifest, read_manifest, suite_digest,
)
from ruler_common.manifest_form import (
    FORMAT_VERSION, MANIFEST, OWN_SUITE, BookRights, FileEntry, LanguageEntry, Manifest,
    SourceEntry, TokenFigures, TokenizerEntry, Variant,
)
from ruler_common.names import (
    DEFAULT_TOKENIZER, EVIDENCE_ALONE, GROUPS, LANGUAGES, LENGTHS, NIAH, SPLIT, TASKS, Config,
    Names, check_name, in_tokens, languages_of, length_name, parse_length,
)
from ruler_common.parsing import parse_json
from ruler_common.rows import (
    COLUMNS, Evidence, Row, arrow_schema, check_columns, features, refuse_nulls,
)
from ruler_common.text import markdown_text, plain, without_passwords
from ruler_common.work import Shard
# isort: on

if TYPE_CHECKING:
    import datasets

__all__ = [
    "COLUMNS", "DEFAULT_TOKENIZER", "EVIDENCE_ALONE", "FORMAT_VERSION", "GROUPS", "LANGUAGES",
    "LENGTHS", "MANIFEST", "NIAH", "OWN_SUITE", "SPLIT", "SUITE_DIGESTS", "TASKS", "UNREADABLE",
    "BookRights", "Config", "Evidence", "FileEntry", "LanguageEntry", "Manifest", "Names",
    "Row", "RulerError", "Shard", "SourceEntry", "TokenFigures", "TokenizerEntry",
    "Unreachable", "Variant", "arrow_schema", "check_files", "check_name", "features",
    "files_of", "has_threshold", "hub_address", "hub_errors", "hub_file", "in_tokens",
    "is_repository", "is_standard", "languages_of", "length_name", "load", "manifest_of",
    "markdown_text", "parse_json", "parse_length", "parse_manifest", "plain", "read_manifest",
    "refuse_nulls", "sha256_of", "suite_digest", "temporary_beside", "without_passwords",
    "write_token", "write_whole",
]
# fmt: on
_MOST_NAMED = 5  # configurations that an error lists


def files_of(
    config: str, manifest: Manifest, tokenizer: str | None = None, partly: bool = False
) -> list[str]:
    """The Parquet files of a configuration, relative to the release, in task order.

    `tokenizer` stands for the name's suffix: `("vt_4k", …, "qwen2.5")` is `vt_4k_qwen2.5`. In
    oneruler `all_8k` is all 26 languages, and no pair of two. With `partly` a group has the files
    that are there. Raises RulerError for what is not there.
    """
    names = Names.in_manifest(manifest)
    tasks = names.configs(config, manifest["tokenizers"])
    if tokenizer and tasks[0].tokenizer not in (DEFAULT_TOKENIZER, tokenizer):
        raise RulerError(f"'{config}' names another tokenizer than '{tokenizer}': give one.")
    tasks = [replace(task, tokenizer=tokenizer or task.tokenizer) for task in tasks]
    paths = [task.path for task in tasks if task.path in manifest["files"]]
    if len(paths) < len(tasks) and not (partly and paths):
        lacking = [task.name for task in tasks if task.path not in paths]
        first, more = ", ".join(lacking[:_MOST_NAMED]), len(lacking) - _MOST_NAMED
        named = f": it lacks {first}{f' and {more} more' * (more > 0)}" if paths else ""
        whole = tasks[0].name if len(tasks) == 1 else config
        near = difflib.get_close_matches(whole, names.held(manifest), n=1) if not paths else []
        named += f". Did you mean '{near[0]}'?" if near else "."
        raise RulerError(f"This release holds no '{whole}'{named} What it holds: ruler list DIR")
    return paths


def load(
    root_or_repo: str | Path,
    config: str | Path,
    tokenizer: str | None = None,
    revision: str | None = None,
    verify: bool = True,
) -> datasets.Dataset:
    """Load one configuration of a release, from a folder or the Hub (or, offline, its cache).

    The order is that of `datasets.load_dataset`; the older one, the configuration first, is taken
    too, with a FutureWarning. With `verify` each file's sha256 is checked against the manifest
    before anything is read.
    Raises RulerError for an unknown configuration, a missing file or a wrong digest.
    """
    import datasets

    if not _is_place(root_or_repo) and _is_place(config):
        warnings.warn(
            f"ruler_dataset.load takes the release first: load({str(config)!r}, "
            f"{str(root_or_repo)!r}).",
            FutureWarning,
            stacklevel=2,
        )
        root_or_repo, config = config, root_or_repo
    config = str(config)
    if Path(root_or_repo).is_dir() and revision is not None:
        raise RulerError(f"'{root_or_repo}' is a folder: a revision belongs to a Hub repository.")
    manifest, get = _open(root_or_repo, revision)
    relative = files_of(config, manifest, tokenizer)
    paths = [get(path) for path in relative]
    check_files(paths, relative, manifest["files"], verify)
    files = {SPLIT: [glob.escape(str(path)) for path in paths]}  # names, not patterns
    try:
        rows = datasets.load_dataset("parquet", data_files=files, features=features(), split=SPLIT)
    except (datasets.exceptions.DatasetGenerationError, *UNREADABLE) as error:
        if isinstance(error, OSError) and error.errno:
            raise  # a full disk
        raise RulerError(f"'{paths[0]}' cannot be read: get or build it anew.") from error
    refuse_nulls(rows.data.table, paths[0])
    return rows


def _is_place(name: str | Path) -> bool:
    """Whether this is a folder, a path or a repository, as no configuration's name is."""
    return isinstance(name, Path) or "/" in name or Path(name).is_dir()


def manifest_of(root_or_repo: str | Path, revision: str | None = None) -> Manifest:
    """The manifest of a release in a folder or on the Hub."""
    return _open(root_or_repo, revision)[0]


def _open(at: str | Path, revision: str | None) -> tuple[Manifest, Callable[[str], Path]]:
    """A release's manifest, and what gives the path of a file of it."""
    root, repo = Path(at), str(at)
    if root.is_dir():
        return read_manifest(root), root.joinpath
    if not is_repository(repo):
        raise RulerError(f"'{repo}' is neither a folder nor a Hub repository (ORG/NAME).")
    there = hub_file(repo, MANIFEST, revision).parent
    commit = there.name  # the cache keeps snapshots/<commit>/…: one state for all files
    manifest = read_manifest(there)
    return manifest, lambda path: hub_file(repo, path, commit, manifest["files"][path]["bytes"])


def check_files(
    paths: Sequence[Path], names: Sequence[str], files: Mapping[str, FileEntry], verify: bool
) -> None:
    """Raise RulerError for a file that is missing or, with `verify`, has another digest."""
    for path, name in zip(paths, names, strict=True):
        if not path.is_file():
            raise RulerError(f"'{path}' is in the manifest but missing. Run: ruler verify DIR")
        if verify and (found := sha256_of(path)) != files[name]["sha256"]:
            raise RulerError(f"'{path}': expected sha256 {files[name]['sha256']}, found {found}.")
        check_columns(path)
