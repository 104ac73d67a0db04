"""What is in the folder of a release: Parquet files, manifests, and the lock of a build.

    with locked_folder(root):
        begin_build(root)
        write_rows(root / path, rows, max_length=131072, level=9)     # returns `rows_sha256`
        write_finished(root, manifest)      # .build/data/tekken/4k/vt.json
        manifest = join_manifests(read_finished(root).values(), root)

A worker writes vt.parquet and then the manifest of this one file, vt.json in the folder `.build`;
each is renamed into place when it is complete. A file that has both is not built again. The
release's manifest is joined from these and written last; files that were made with different
settings are refused. Then the folder `.build` is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
from filelock import BaseFileLock, FileLock, Timeout

from ruler_builder.pinned import cache_dir
from ruler_builder.release.facts import CARD, CROISSANT, EVAL_YAML
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import Suite
from ruler_builder.text import corpora
from ruler_common.errors import DISTRIBUTION, RulerError
from ruler_common.files import check_folder, temporary_beside, write_whole
from ruler_common.manifest import (
    CUSTOM_SUITE,
    FORMAT_VERSION,
    FileEntry,
    Manifest,
    manifest_text,
    parse_manifest,
)
from ruler_common.names import LANGUAGES, Config, check_release_names, parse_length
from ruler_common.rows import COLUMN_TYPES, Row, arrow_schema, canary_of, record_batch

BUILD_FOLDER = ".build"  # of a build that has not finished
STAGING = ".fetch"  # of a download that has not finished
DATA = "data"
_WRITTEN = {DATA, CARD, CROISSANT, EVAL_YAML, BUILD_FOLDER, STAGING}
"""What a stopped build or fetch may leave in a folder without a manifest."""
_OF_SYSTEMS = {".ds_store", ".directory", ".gitattributes", "desktop.ini", "thumbs.db"}
"""Names of files, in lower case, that file managers and git write into any folder."""

# ---- Parquet files -------------------------------------------------------------------------------

# Arguments of pyarrow's ParquetWriter, except for the compression level. Long rows share most of
# their text, so a row group is one page: the compressor then sees the rows side by side (an essay
# file of 500 rows of 600 KB takes a few MB).
_FORM: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": False,
    "data_page_size": 1 << 30,
    "write_statistics": ["index", "length", "max_length"],  # of long texts they bloat the footer
}
_GROUP_TOKENS = 50 * 131072  # of a row group


def write_rows(path: Path, rows: Iterable[Row], max_length: int, level: int) -> str:
    """Write rows into a Parquet file, and return their digest.

    A row group has 50 rows up to 128k, fewer above, and at least 10. The file has a temporary name
    until all rows are written, and is removed after an error.

    Args:
        path: The file; its folder is made.
        rows: The rows, with the columns of ruler_common/rows.py; one group is kept in memory.
        max_length: The length of the rows in tokens.
        level: The compression level of zstd.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    group = max(10, min(50, _GROUP_TOKENS // max(1, max_length)))
    digest, unwritten = hashlib.sha256(), iter(rows)
    with (
        temporary_beside(path) as temporary,
        pq.ParquetWriter(temporary, arrow_schema(), compression_level=level, **_FORM) as writer,
    ):
        while batch := list(islice(unwritten, group)):
            for row in batch:
                digest_row(digest, row)
            writer.write_batch(record_batch(batch))
    return digest.hexdigest()


def digest_row(digest: hashlib._Hash, row: Mapping[str, Any]) -> None:
    """Feed one row to a digest: its input as it is, the other columns as JSON.

    Depths are taken from the offsets: a file keeps them in 32 bits, and rows read from it must have
    the digest of those that were written.
    """
    rest = {name: row[name] for name in COLUMN_TYPES}
    start, width = row["context_start"], max(1, row["context_end"] - row["context_start"])
    rest["evidence"] = [{**s, "depth": (s["start"] - start) / width} for s in row["evidence"]]
    digest.update(rest.pop("input").encode())
    digest.update(json.dumps(rest, ensure_ascii=False, separators=(",", ":")).encode())


def rows_in(file: pq.ParquetFile) -> Iterator[Row]:
    """Yield the rows of a file, with one row group in memory.

    Rows are converted one at a time: as Python objects they take twice the memory of their group.
    """
    for group in range(file.num_row_groups):
        for batch in file.read_row_group(group).to_batches(max_chunksize=1):
            yield from cast(list[Row], batch.to_pylist())


# ---- Manifests -----------------------------------------------------------------------------------

# Settings that all files of a release share.
_EQUAL = ("format", "dataset", "data_version", "canary", "seed", "reserve", "families")
# Settings that files may add to, but not change.
_EXTENDED = ("tasks", "sources", "tokenizers", "words", "languages")
# Parts of the entry of a tokenizer or a source that describe it and do not identify it.
_DESCRIPTION = {
    "version",
    "backend_version",
    "spec",
    "title",
    "licence",
    "citation",
    "urls",
    "book",
}


def new_manifest(suite: Suite, seed: int, reserve: int, max_length: int = 0) -> Manifest:
    """Return a manifest without files, sources, tokenizers and languages.

    Its word lists are those that rows of up to `max_length` tokens need.
    """
    extended = max_length > parse_length("128k", suite.dataset)
    return {
        "format": FORMAT_VERSION,
        "dataset": suite.dataset,
        "data_version": DATA_VERSION,
        "canary": canary_of(suite.dataset, DATA_VERSION),
        "builder_version": version(DISTRIBUTION),
        "seed": seed,
        "reserve": reserve,
        "suite": suite.name,
        "families": suite.families,
        "tasks": suite.described(),
        "groups": {name: list(members) for name, members in suite.groups.items()},
        "sources": {},
        "words": corpora.digests(extended),
        "languages": {},
        "tokenizers": {},
        "files": {},
    }


def join_manifests(
    manifests: Iterable[Manifest], root: Path, jobs: Iterable[Config] = ()
) -> Manifest:
    """Return one manifest with the files of all.

    Raises RulerError if two of them have different settings, or if a release could not be read
    because of its names.

    Args:
        manifests: The manifests to join.
        root: The folder of the release, for an error.
        jobs: The configurations that are to be built into it.
    """
    first, *others = manifests
    joined: dict[str, Any] = {**first}
    for key in (*_EXTENDED, "groups", "files"):
        joined[key] = {**joined[key]}
    for manifest in others:
        added: Mapping[str, Any] = manifest
        for key in _EQUAL:
            if joined[key] != added[key]:
                values = "" if key == "families" else f": {joined[key]!r}, not {added[key]!r}"
                raise RulerError(
                    f"'{root}' was made with another {key}{values}. Give a new folder."
                )
        for key in _EXTENDED:
            for name, value in added[key].items():
                existing = joined[key].get(name, value)
                if existing != value and _identity(existing) != _identity(value):
                    raise RulerError(
                        f"'{root}' was made with another '{name}' among its {key}. "
                        "Give a new folder."
                    )
            joined[key] |= added[key]
        for name, tasks in added["groups"].items():
            joined["groups"][name] = list(dict.fromkeys([*joined["groups"].get(name, ()), *tasks]))
        if joined.get("suite") != added.get("suite"):
            joined["suite"] = CUSTOM_SUITE
        joined["builder_version"] = added["builder_version"]
        joined["files"] |= added["files"]
    manifest = with_files(cast(Manifest, joined), joined["files"])
    _check_names(manifest, root, jobs)
    return manifest


def _check_names(manifest: Manifest, root: Path, jobs: Iterable[Config]) -> None:
    """Raise RulerError if a release with these jobs could not be read because of its names."""
    tokenizers = dict.fromkeys(manifest["tokenizers"])
    languages = dict.fromkeys((*LANGUAGES, *manifest["languages"]))
    for config in jobs:
        tokenizers[config.tokenizer] = None
        languages |= dict.fromkeys((config.language, config.instruction_language))
    try:
        check_release_names(manifest["tasks"], manifest["groups"], tokenizers, languages)
    except RulerError as error:
        raise RulerError(f"'{root}' cannot be read with these names: {error}") from error


def with_files(manifest: Manifest, files: Mapping[str, FileEntry]) -> Manifest:
    """Return a manifest that lists these files, everything in its written order."""
    result: dict[str, Any] = {**manifest, "files": files}
    for key in ("sources", "tokenizers", "words", "languages", "files"):
        result[key] = dict(sorted(result.get(key, {}).items()))
    return cast(Manifest, result)


def _identity(value: Any) -> Any:
    """Return the parts of a manifest entry that identify it: digests and settings, not titles."""
    if not isinstance(value, dict):
        return value
    identity = {**value}
    for key in _DESCRIPTION:
        identity.pop(key, None)
    if value.get("ids_sha256"):  # a folder and a GGUF file may be the same tokenizer
        identity.pop("sha256", None)
    if value.get("ids_sha256") or value.get("sha256"):
        identity.pop("backend_sha256", None)
    return identity


# ---- The records of a build ----------------------------------------------------------------------


def is_unfinished(root: Path) -> bool:
    """Return whether a build was started in this folder and has not finished."""
    return (root / BUILD_FOLDER).is_dir()


def is_of_system(name: str) -> bool:
    """Return whether a file manager or git writes a file of this name into folders."""
    return name.casefold() in _OF_SYSTEMS or name.startswith("._")


def refuse_other_files(root: Path, marker: str) -> None:
    """Raise RulerError if a folder without a release has files that are not of a release.

    `marker` is the folder that a stopped build or fetch leaves, with parts of a release beside it.
    """
    names = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
    for name in names:
        is_left_over = marker in names and (
            name in _WRITTEN or (name.startswith(".") and name.endswith(".tmp"))
        )
        if not is_left_over and not is_of_system(name):
            raise RulerError(f"'{root}' holds other files ({name}): give a new folder.")


def begin_build(root: Path) -> None:
    """Mark the folder as being built, and remove half-written files of a stopped build."""
    (root / BUILD_FOLDER).mkdir(parents=True, exist_ok=True)
    for half_written in [*root.glob("data/**/.*.tmp"), *(root / BUILD_FOLDER).glob("**/.*.tmp")]:
        half_written.unlink()


def write_finished(root: Path, manifest: Manifest) -> None:
    """Record that the one file of a manifest is finished."""
    (path,) = manifest["files"]
    write_whole((root / BUILD_FOLDER / path).with_suffix(".json"), manifest_text(manifest))


def read_finished(root: Path) -> dict[str, Manifest]:
    """Return the manifests of the finished files, by path.

    A manifest is left out if it is damaged, or if its file is missing or has another size: that
    file is built again.
    """
    finished = {}
    for record in sorted((root / BUILD_FOLDER).glob("data/**/*.json")):
        try:
            manifest = parse_manifest(record.read_bytes(), record)
        except RulerError:
            continue
        for path, entry in manifest["files"].items():
            if (root / path).is_file() and (root / path).stat().st_size == entry["bytes"]:
                finished[path] = manifest
    return finished


# ---- The lock ------------------------------------------------------------------------------------


@contextmanager
def locked_folder(root: Path) -> Iterator[None]:
    """Keep other builds and fetches out of a folder.

    Two builds in one folder would each write a manifest without the other's files. The lock is a
    file next to the folder (`.ruler.building`), so that it also works between machines that share a
    disk. The system releases it when a process ends, however it ends.

    Raises RulerError if one is running there, and for a folder that cannot be written.
    """
    check_folder(root)
    folder = root.resolve()
    new_parents = [parent for parent in folder.parents if not parent.exists()]
    try:
        lock = _acquire(folder)
    except Timeout:
        raise RulerError(
            f"Another `ruler build` or `ruler fetch` is running in '{root}': "
            "wait until it ends, or give another folder."
        ) from None
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)  # while it is locked: it is ours
        lock.release()
        for parent in new_parents:
            with contextlib.suppress(OSError):  # the release is in it
                parent.rmdir()


def _acquire(folder: Path) -> BaseFileLock:
    """Lock a file next to the folder, or in the cache if that cannot be locked. Raises Timeout."""
    lock = FileLock(folder.with_name(f".{folder.name}.building"), timeout=0)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise
    except OSError:  # the parent is read-only, or its disk has no locks
        name = hashlib.sha256(str(folder).encode()).hexdigest()
        lock = FileLock(cache_dir() / ".locks" / f"folder-{name}", timeout=0)
        Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    return lock
