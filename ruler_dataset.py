"""Load a release by name, from a folder or the Hub, with its digests checked.

A release is a folder (or a Hub repository) of Parquet files with a card and a manifest:

    ruler/README.md  ruler/manifest.json  ruler/data/<tokenizer>/<length>/<task>.parquet

A configuration names a task or a group at a length: `niah_mk_128k`, `vt_4k_qwen2.5`,
`niah_none_64k_pl`, `niah_single_64k_en-ko` (text in English, instruction in Korean).

    import ruler_dataset
    rows = ruler_dataset.load("ruler", "niah_mk_4k")      # a datasets.Dataset, digests checked
"""

from __future__ import annotations

import difflib
import glob
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ruler_common.errors import RulerError, Unreachable
from ruler_common.files import UNREADABLE, sha256_of
from ruler_common.hub import hub_file, is_repository
from ruler_common.manifest import MANIFEST, FileEntry, Manifest, read_manifest
from ruler_common.names import SPLIT, Names
from ruler_common.rows import check_columns, features, refuse_nulls

if TYPE_CHECKING:
    import datasets

__all__ = ["RulerError", "Unreachable", "check_files", "files_of", "load", "manifest_of"]
MAX_NAMED = 5  # missing configurations that an error lists


def files_of(
    config: str,
    manifest: Manifest,
    tokenizer: str | None = None,
    partly: bool = False,
    where: str | Path = "DIR",
) -> list[str]:
    """Return the Parquet files of a configuration, relative to the release, in task order.

    Args:
        config: A configuration's name. In oneruler `all_8k` is all 26 languages, without the pairs
            of two languages.
        manifest: The release's manifest.
        tokenizer: The tokenizer of a name without a suffix: `("vt_4k", …, "qwen2.5")` is
            `vt_4k_qwen2.5`.
        partly: Return those files of a group that the release has, instead of raising an error.
        where: The folder or repository of the release, for an error.

    Raises RulerError if the release does not have the configuration, or if its name has the suffix
    of another tokenizer.
    """
    names = Names.from_manifest(manifest, where)
    tasks = names.configs(config, manifest["tokenizers"], tokenizer)
    paths = [task.path for task in tasks if task.path in manifest["files"]]
    if len(paths) == len(tasks) or (partly and paths):
        return paths

    name = tasks[0].name if len(tasks) == 1 else config
    if paths:
        missing = [task.name for task in tasks if task.path not in paths]
        reason = f": it lacks {', '.join(missing[:MAX_NAMED])}"
        if len(missing) > MAX_NAMED:
            reason += f" and {len(missing) - MAX_NAMED} more"
        reason += "."
    else:
        similar = difflib.get_close_matches(name, names.available(manifest), n=1)
        reason = f". Did you mean '{similar[0]}'?" if similar else "."
    raise RulerError(f"This release has no '{name}'{reason} To list what it has: {names.see}")


def load(
    root_or_repo: str | Path,
    config: str,
    tokenizer: str | None = None,
    revision: str | None = None,
    verify: bool = True,
) -> datasets.Dataset:
    """Load one configuration of a release as one `datasets.Dataset`.

    Args:
        root_or_repo: A release folder, or a repository of the Hub (offline: its cached copy).
        config: A configuration's name, such as `niah_mk_4k`.
        tokenizer: The tokenizer that rows were fitted under, if the name has no suffix.
        revision: A branch, tag or commit of the repository.
        verify: Check each file's sha256 against the manifest before anything is read.

    Raises:
        RulerError: An unknown configuration, a missing file or a wrong digest.
    """
    import datasets

    if Path(root_or_repo).is_dir() and revision is not None:
        raise RulerError(f"'{root_or_repo}' is a folder: a revision is for a Hub repository.")
    manifest, path_of = _open(root_or_repo, revision)
    names = files_of(config, manifest, tokenizer, where=root_or_repo)
    paths = [path_of(name) for name in names]
    check_files(paths, names, manifest["files"], verify)
    files = {SPLIT: [glob.escape(str(path)) for path in paths]}  # names, not patterns
    # `datasets` recognises files that it has converted before by path and time of change, which
    # another release copied to the same place may share.
    digests = "".join(manifest["files"][name]["sha256"] for name in names)
    cached_as = f"rows-{hashlib.sha256(digests.encode()).hexdigest()[:16]}"
    try:
        rows = datasets.load_dataset(
            "parquet", cached_as, data_files=files, features=features(), split=SPLIT
        )
    except (datasets.exceptions.DatasetGenerationError, *UNREADABLE) as error:
        if isinstance(error, OSError) and error.errno:  # a full disk, or no rights
            raise RulerError(
                f"The rows cannot be copied to the cache of `datasets` ({error}): set HF_HOME to a "
                "folder that can be written."
            ) from error
        raise RulerError(f"'{paths[0]}' cannot be read: fetch or build it again.") from error
    refuse_nulls(rows.data.table, paths[0])
    return rows


def manifest_of(root_or_repo: str | Path, revision: str | None = None) -> Manifest:
    """Return the manifest of a release in a folder or on the Hub."""
    manifest, _ = _open(root_or_repo, revision)
    return manifest


def _open(root_or_repo: str | Path, revision: str | None) -> tuple[Manifest, Callable[[str], Path]]:
    """Return a release's manifest, and a function that returns the local path of a file of it."""
    root, repo = Path(root_or_repo), str(root_or_repo)
    if root.exists():
        return read_manifest(root), root.joinpath
    if not is_repository(repo):
        raise RulerError(
            f"'{repo}' is neither a folder nor a Hub repository (ORG/NAME): correct the name."
        )
    snapshot = hub_file(repo, MANIFEST, revision).parent
    commit = snapshot.name  # the cache keeps snapshots/<commit>/…: one state for all files
    return read_manifest(snapshot), lambda path: hub_file(repo, path, commit)


def check_files(
    paths: Sequence[Path], names: Sequence[str], files: Mapping[str, FileEntry], verify: bool
) -> None:
    """Raise RulerError for a file that is missing or, with `verify`, has another digest."""
    for path, name in zip(paths, names, strict=True):
        if not path.is_file():
            raise RulerError(f"'{path}' is in the manifest but missing. Run: ruler verify DIR")
        if verify:
            digest, expected = sha256_of(path), files[name]["sha256"]
            if digest != expected:
                raise RulerError(
                    f"'{path}' has changed: expected sha256 {expected}, but it has {digest}. "
                    "Download or build it again."
                )
        check_columns(path)
