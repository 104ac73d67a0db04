"""Record the rows of built releases as the frozen rows of their data version: for maintainers.

    python builder/freeze.py ruler oneruler        # writes ruler_common/frozen/1.0.0.toml

Every row is audited first. Releases can be built, frozen and removed one after another: each call
adds to the file, unless --replace begins it again. A published data version never changes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ruler_builder.release.folder import is_unfinished
from ruler_builder.tasks.registry import read_suite
from ruler_builder.text.sources import CANONICAL
from ruler_builder.verify.verify import audit_release
from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.frozen import FROZEN, FrozenRows, read_frozen
from ruler_common.manifest import FileEntry, Manifest, read_manifest
from ruler_common.names import TASKS
from ruler_common.rows import FULL_ROWS
from ruler_common.text import end_if_unread

_ABOUT = """\
# Digests (rows_sha256) of the rows of data version {version}, written by builder/freeze.py: what
# `ruler build` and `ruler verify` compare with. Once `published` is true they never change.
"""


def freeze(
    roots: Iterable[Path], replace_all: bool = False, published: bool = False, folder: Path = FROZEN
) -> FrozenRows:
    """Add the rows of whole releases to the frozen rows of their data version, or replace all.

    `published` marks the version as published. Raises RulerError for a release with other settings
    than published ones, for rows that differ from frozen ones, and for a published version.
    """
    manifests = [_whole_manifest(root) for root in roots]
    versions = {manifest["data_version"] for manifest in manifests}
    if len(versions) != 1:
        raise RulerError(f"Freeze releases of one data version: here are {sorted(versions)}.")
    (version,) = versions
    before = read_frozen(version, folder)
    frozen = None if replace_all else before
    for manifest in manifests:
        frozen = _with_rows(frozen, manifest)
    assert frozen  # there is a manifest
    if (
        before
        and before.published
        and (frozen.rows, frozen.sources) != (before.rows, before.sources)
    ):
        raise RulerError(
            f"Data version {version} is published, and its rows never change: give changed rows "
            "a new data version (DATA_VERSION in ruler_builder/tasks/base.py)."
        )
    frozen = replace(frozen, published=published or (before is not None and before.published))
    write_whole(folder / f"{version}.toml", _toml(frozen))
    read_frozen.cache_clear()
    return frozen


def _whole_manifest(root: Path) -> Manifest:
    """Return the manifest of a release that is complete and can be published.

    Raises RulerError for any other.
    """
    manifest = read_manifest(root)
    dataset, rows = manifest["dataset"], FULL_ROWS[manifest["dataset"]]
    if is_unfinished(root):
        raise RulerError(f"'{root}' is unfinished: run the same `ruler build` again.")
    replaced = [name for name, s in manifest["sources"].items() if s["variant"] != CANONICAL]
    if replaced:
        raise RulerError(f"'{root}' was not built from the published {replaced[0]}.")
    suite = read_suite(dataset)
    standard = json.loads(json.dumps([suite.families, suite.described()]))
    if [manifest["families"], manifest["tasks"]] != standard:
        raise RulerError(f"'{root}' was built with another suite than {dataset}'s own.")
    for entry in _standard_files(manifest):
        if entry["rows"] != min(rows, entry["max_rows"] or rows):
            raise RulerError(
                f"'{root}' has {entry['rows']} rows of {entry['config']}; frozen are {rows}."
            )
    return manifest


def _standard_files(manifest: Manifest) -> list[FileEntry]:
    """Return the files of the tasks that the papers' tables have; a suite may have more."""
    tasks = TASKS[manifest["dataset"]]
    return [entry for entry in manifest["files"].values() if entry["task"] in tasks]


def _with_rows(frozen: FrozenRows | None, manifest: Manifest) -> FrozenRows:
    """Return the frozen rows with those of a manifest. Raises RulerError if the two disagree."""
    added = FrozenRows(
        data_version=manifest["data_version"],
        builder_version=manifest["builder_version"],
        published=False,
        seed=manifest["seed"],
        reserve=manifest["reserve"],
        rows_per_file=FULL_ROWS,
        sources={name: source["sha256"] for name, source in manifest["sources"].items()},
        rows={
            manifest["dataset"]: {
                entry["config"]: entry["rows_sha256"] for entry in _standard_files(manifest)
            }
        },
    )
    if frozen is None:
        return added
    if (added.seed, added.reserve) != (frozen.seed, frozen.reserve):
        raise RulerError("Releases with different seeds or reserves cannot be frozen together.")
    _refuse_changed("source", frozen.sources, added.sources)
    dataset = manifest["dataset"]
    recorded, new = frozen.rows.get(dataset, {}), added.rows[dataset]
    _refuse_changed("configuration", recorded, new)
    return replace(
        frozen,
        builder_version=added.builder_version,
        sources={**frozen.sources, **added.sources},
        rows={**frozen.rows, dataset: {**recorded, **new}},
    )


def _refuse_changed(kind: str, recorded: Mapping[str, str], new: Mapping[str, str]) -> None:
    changed = [name for name in new if recorded.get(name, new[name]) != new[name]]
    if changed:
        raise RulerError(
            f"{len(changed)} {kind}s were frozen with another digest, first {changed[0]}: "
            "say why in CHANGELOG.md and freeze every release again, with --replace."
        )


def _toml(frozen: FrozenRows) -> str:
    """Return the text of the file; strings are written as JSON, which TOML reads."""
    lines = [_ABOUT.format(version=frozen.data_version)]
    lines += [f"{key} = {json.dumps(getattr(frozen, key))}" for key in _HEADER]
    tables = {"samples": frozen.rows_per_file, "sources": dict(sorted(frozen.sources.items()))}
    tables |= {f"rows.{dataset}": frozen.rows[dataset] for dataset in sorted(frozen.rows)}
    for title, table in tables.items():
        lines += ["", f"[{title}]"]
        lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


_HEADER = ("data_version", "builder_version", "published", "seed", "reserve")


def main() -> None:
    """Audit the releases that the command line names, and freeze their rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", type=Path, nargs="+", metavar="DIR", help="Folders of releases.")
    parser.add_argument("--replace", action="store_true", help="Forget what was frozen before.")
    parser.add_argument("--published", action="store_true", help="Rows never change again.")
    parser.add_argument("--to", type=Path, default=FROZEN, help="Folder of the digests.")
    arguments = parser.parse_args()
    try:
        for root in arguments.roots:
            if not audit_release(root).ok:
                raise RulerError(f"'{root}' is not frozen: see `ruler verify --audit {root}`.")
        frozen = freeze(arguments.roots, arguments.replace, arguments.published, arguments.to)
    except RulerError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    rows = sum(len(names) for names in frozen.rows.values())
    path = arguments.to / f"{frozen.data_version}.toml"
    print(f"Data version {frozen.data_version}: {rows} configurations are frozen in '{path}'.")


if __name__ == "__main__":
    end_if_unread(main)
