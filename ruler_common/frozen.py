"""The frozen rows of a data version: their digests, and whether a release's rows are the same.

    lock = read_frozen("1.0.0")             # None: nothing is frozen for that version
    frozen_sentence(manifest)               # "These are the frozen rows of data version 1.0.0."
    why = why_custom(manifest, ["vt_4k"])   # "embedded texts (essays), seed 7"; "" if frozen
    rows_label("ruler", "1.0.0", digests, why)   # "frozen rows 1.0.0", or "custom rows: seed 7…"

frozen/<data version>.toml, the lock of a data version, lists `rows_sha256` of the published
configurations, which are built only from the canonical sources; builder/freeze.py writes it. Rows
whose digest is in the lock are frozen rows, all others are custom rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ruler_common.files import read_toml
from ruler_common.manifest import (
    CUSTOM_SUITE,
    SUITE_DIGESTS,
    Manifest,
    is_standard,
    suite_digest,
)
from ruler_common.names import LANGUAGES
from ruler_common.text import number_of, some_of

FROZEN = Path(__file__).resolve().parent / "frozen"


@dataclass(frozen=True, kw_only=True)
class FrozenRows:
    """The lock of a data version: the settings that its rows were built with, and their digests."""

    data_version: str
    builder_version: str
    published: bool  # whether it was pushed to the Hub, after which its rows never change
    seed: int
    reserve: int
    rows_per_file: Mapping[str, int]  # by dataset; the table `samples` of the TOML file
    # sha256 of the canonical sources
    sources: Mapping[str, str] = field(default_factory=dict)
    # dataset -> configuration -> `rows_sha256`
    rows: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@cache
def read_frozen(data_version: str, folder: Path = FROZEN) -> FrozenRows | None:
    """Return the lock of a data version, or None if it has none.

    Raises RulerError if the file is damaged. The result is cached: call `read_frozen.cache_clear()`
    after the file has changed.
    """
    path = folder / f"{data_version}.toml"
    if not path.is_file():
        return None
    lock = read_toml(path)
    return FrozenRows(rows_per_file=lock.pop("samples"), **lock)


def custom_files(manifest: Manifest, lock: FrozenRows) -> dict[str, list[str]]:
    """Return the files whose rows are not the frozen ones, each with the settings that differ.

    Frozen rows have both the digest and the settings of the lock. Without a setting, the builder
    has changed, or the lock does not list the configuration.
    """
    suite, dataset = manifest.get("suite", CUSTOM_SUITE), manifest["dataset"]
    has_tasks = suite == dataset and suite_digest(manifest) == SUITE_DIGESTS[dataset]
    if not has_tasks and not is_standard(manifest):
        is_custom = suite in (CUSTOM_SUITE, dataset)
        reason = "a custom suite" if is_custom else f"suite {suite}"
        return {path: [reason] for path in manifest["files"]}
    digests = lock.rows.get(dataset, {})
    settings = _settings_that_differ(manifest, lock)
    rows = lock.rows_per_file[dataset]
    files = {}
    for path, entry in manifest["files"].items():
        reasons = [*settings]
        if entry["length"].isdigit():
            reasons.insert(0, "a length that is not in thousands of 1,024 tokens")
        languages = {entry["language"], entry["instruction_language"]}.difference(LANGUAGES)
        if languages:
            codes = ", ".join(sorted(languages))
            reasons.insert(0, f"a language that is not one of the 26 ({codes})")
        if entry["rows"] != min(rows, entry["max_rows"] or rows):
            reasons.append(f"{number_of(entry['rows'], 'row')} per file, not {rows}")
        if reasons or entry["rows_sha256"] != digests.get(entry["config"]):
            files[path] = reasons
    return files


def _settings_that_differ(manifest: Manifest, lock: FrozenRows) -> list[str]:
    """Return the settings of a whole release that differ from those of the frozen rows."""
    settings = []
    embedded, different = [], []
    for name, source in sorted(manifest["sources"].items()):
        if source["variant"] == "embedded":
            embedded.append(name)
        elif lock.sources.get(name, source["sha256"]) != source["sha256"]:
            different.append(name)
    if embedded:
        settings.append(f"embedded texts ({', '.join(embedded)})")
    if different:
        settings.append(f"other sources ({', '.join(different)})")
    if manifest["seed"] != lock.seed:
        settings.append(f"seed {manifest['seed']}, not {lock.seed}")
    if manifest["reserve"] != lock.reserve:
        settings.append(f"reserve {manifest['reserve']}, not {lock.reserve}")
    return settings


def unexplained(manifest: Manifest, lock: FrozenRows) -> list[str]:
    """Return the files whose rows differ from the frozen ones although their settings are the same.

    The settings are the sources, the seed, the reserve, the number of rows and the suite.
    """
    digests = lock.rows.get(manifest["dataset"], {})
    paths = []
    for path, reasons in custom_files(manifest, lock).items():
        if not reasons and manifest["files"][path]["config"] in digests:
            paths.append(path)
    return paths


def frozen_sentence(manifest: Manifest, lock: FrozenRows | None = None) -> str:
    """Return a sentence that says whether a release's rows are frozen, or which differ and why.

    Args:
        manifest: The manifest of the release.
        lock: The lock to compare with; by default that of the release's data version.
    """
    lock = lock or read_frozen(manifest["data_version"])
    version = f"data version {manifest['data_version']}"
    if lock is None:
        return f"No rows are frozen for {version}."
    digests = lock.rows.get(manifest["dataset"], {})
    different: dict[str, list[str]] = {}  # by configuration
    unlisted = []  # such as the new tasks of a custom suite
    for path, reasons in custom_files(manifest, lock).items():
        name = manifest["files"][path]["config"]
        if name in digests:
            different[name] = reasons
        else:
            unlisted.append(name)
    if different:
        names = [*different]
        differ = f"{some_of(names, 1)} {'differ' if len(names) > 1 else 'differs'}"
        why = ", ".join(different[names[0]]) or "a change of the builder"
        text = f"Custom rows, not the frozen ones of {version}: {differ}: {why}"
        if unlisted:
            verb = "are" if len(unlisted) > 1 else "is"
            text += f"; {some_of(unlisted, 1)} {verb} not among them"
        return f"{text}."
    if len(unlisted) == len(manifest["files"]):
        return f"Custom rows: no configuration here is among the frozen ones of {version}."
    if unlisted:
        return f"These are the frozen rows of {version}, except for {some_of(unlisted, 1)}."
    return f"These are the frozen rows of {version}."


def why_custom(manifest: Manifest, configs: Collection[str] | None = None) -> str:
    """Return why rows are not the frozen ones, or "" if they are.

    Args:
        manifest: The manifest of the release.
        configs: The configurations to compare. By default those that the lock lists, or all if it
            lists none of the release's.
    """
    lock = read_frozen(manifest["data_version"])
    if lock is None:
        return f"no rows are frozen for data version {manifest['data_version']}"
    digests = lock.rows.get(manifest["dataset"], {})
    config_of = {path: entry["config"] for path, entry in manifest["files"].items()}
    if configs is None:
        listed = [name for name in config_of.values() if name in digests]
        configs = listed or [*config_of.values()]
    custom: dict[str, list[str]] = {}  # by configuration
    for path, reasons in custom_files(manifest, lock).items():
        if config_of[path] in configs:
            custom[config_of[path]] = reasons
    if not custom:
        return ""
    names = sorted(custom, key=lambda name: name not in digests)  # those that the lock lists first
    return ", ".join(custom[names[0]]) or _not_in_lock(manifest["data_version"], names)


def rows_label(
    dataset: str,
    data_version: str | None,
    digests: Mapping[str, str],
    why: str | None,
) -> str:
    """Return `frozen rows` with their data version, or `custom rows` with the reason.

    Args:
        dataset: The dataset of the rows.
        data_version: The data version of their release.
        digests: The `rows_sha256` of the configurations.
        why: The result of `why_custom` for the release, or None without a release.
    """
    if why is None or not digests:
        return "custom rows: scored without a release"
    if not why:
        lock = read_frozen(data_version) if data_version else None
        frozen_digests = lock.rows.get(dataset, {}) if lock else {}
        changed = [name for name, digest in digests.items() if frozen_digests.get(name) != digest]
        if not changed:
            return f"frozen rows {data_version}"
        why = _not_in_lock(data_version, changed)
    return f"custom rows: {why}"


def are_frozen(label: str) -> bool:
    """Return whether a label of `rows_label` says that the rows are frozen."""
    return label.startswith("frozen")


def _not_in_lock(data_version: str | None, configs: Sequence[str]) -> str:
    """Return the reason for rows with the settings but not the digest of the lock."""
    return f"{some_of(configs, 1)} not among the frozen rows of {data_version}"
