"""The frozen rows of a data version: a digest of every configuration's rows, and how to compare.

    frozen = read_frozen("1.0.0")            # None: nothing is frozen for that version
    compare(manifest, frozen)                # "These are the frozen rows of data version 1.0.0."
    why = why_custom(manifest, ["vt_4k"])   # "embedded texts (essays), seed 7"; "" if frozen
    rows_label("ruler", "1.0.0", digests, why)   # "frozen rows 1.0.0", or "custom rows: seed 7…"

A data version is its rows. frozen/<data version>.toml lists `rows_sha256` of the
configurations that are published, built only from the canonical sources; builder/freeze.py
writes it. Rows whose digest is in it are frozen rows, all others are custom rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ruler_common.files import read_toml
from ruler_common.languages import custom_languages
from ruler_common.manifest import OWN_SUITE, FileEntry, Manifest, is_standard

FROZEN = Path(__file__).resolve().parent / "frozen"


@dataclass(frozen=True, kw_only=True)
class FrozenRows:
    """The lock of one data version: what its rows were made with, and their digests."""

    data_version: str
    builder_version: str
    published: bool  # whether it was pushed to the Hub: from then on its rows never change
    seed: int
    reserve: int
    samples: Mapping[str, int]  # rows a file, by data set
    # sha256 of every canonical source that was read
    sources: Mapping[str, str] = field(default_factory=dict)
    # data set -> configuration -> `rows_sha256`
    rows: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def frozen_path(data_version: str, folder: Path = FROZEN) -> Path:
    """Return the file that holds a data version's digests."""
    return folder / f"{data_version}.toml"


def read_frozen(data_version: str, folder: Path | None = None) -> FrozenRows | None:
    """Return the frozen rows of a data version.

    None if there are none. Raises RulerError if damaged.
    """
    path = frozen_path(data_version, folder or FROZEN)
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else None


def frozen_for(manifest: Manifest) -> FrozenRows | None:
    """Return the frozen rows of a release's data version; None if there are none."""
    return read_frozen(manifest["data_version"])


@cache
def _read(path: Path, changed: int) -> FrozenRows:
    """Return a file of digests as it was at the time `changed`.

    Some thousand lines take a while.
    """
    return FrozenRows(**read_toml(path))


def compare(manifest: Manifest, frozen: FrozenRows) -> str:
    """Whose rows a release's are by their digests, or which configuration differs and why."""
    known, version = frozen.rows.get(manifest["dataset"], {}), f"data version {frozen.data_version}"
    files = {entry["config"]: entry for entry in manifest["files"].values()}
    listed = [name for name in files if name in known]
    if different := [name for name in listed if files[name]["rows_sha256"] != known[name]]:
        first, more = different[0], len(different) - 1
        differ = f"{first} and {more} more differ" if more else f"{first} differs"
        why = ", ".join(_reasons(manifest, frozen, files[first])) or "a change of the builder"
        return f"Custom rows, not the frozen ones of {version}: {differ}: {why}."
    if not listed:
        return f"Custom rows: no configuration here is among the frozen ones of {version}."
    unlisted = len(files) - len(listed)
    rest = f", but for {unlisted} configurations that are not frozen" if unlisted else ""
    return f"These are the frozen rows of {version}{rest}."


def _reasons(manifest: Manifest, frozen: FrozenRows, entry: FileEntry) -> Iterator[str]:
    """Yield what the release was made with otherwise than the frozen rows."""
    custom = custom_languages(manifest)
    codes = sorted({entry["language"], entry["instruction_language"]})
    if named := [code for code in codes if code in custom]:
        yield f"a language that is none of the 26 ({', '.join(named)})"
    sources = sorted(manifest["sources"].items())
    if embedded := [name for name, source in sources if source["variant"] == "embedded"]:
        yield f"embedded texts ({', '.join(embedded)})"
    if other := [
        name
        for name, source in sources
        if name not in embedded and frozen.sources.get(name, source["sha256"]) != source["sha256"]
    ]:
        yield f"other sources ({', '.join(other)})"
    if manifest["seed"] != frozen.seed:
        yield f"seed {manifest['seed']}, not {frozen.seed}"
    if manifest["reserve"] != frozen.reserve:
        yield f"reserve {manifest['reserve']}, not {frozen.reserve}"
    samples = frozen.samples[manifest["dataset"]]
    if entry["rows"] != min(samples, entry["most_rows"] or samples):
        yield f"{entry['rows']} row{'s' * (entry['rows'] > 1)} a file, not {samples}"


def unexplained(manifest: Manifest, frozen: FrozenRows) -> list[str]:
    """Return the files whose rows are not the frozen ones, though by the manifest they should be.

    It says of them that they were made from the same sources, with the same seed, reserve, number
    of rows and suite. If it says otherwise, other rows are as expected.
    """
    known = frozen.rows.get(manifest["dataset"], {})
    if not is_standard(manifest):
        return []
    return [
        path
        for path, entry in manifest["files"].items()
        if known.get(entry["config"], entry["rows_sha256"]) != entry["rows_sha256"]
        and not list(_reasons(manifest, frozen, entry))
    ]


def is_frozen(manifest: Manifest, frozen: FrozenRows, entry: FileEntry, digest: str) -> bool:
    """Whether rows of this digest are the frozen ones of a file, and all it says of them agrees."""
    known = frozen.rows.get(manifest["dataset"], {}).get(entry["config"])
    return digest == known and is_standard(manifest) and not any(_reasons(manifest, frozen, entry))


def sentence_of(manifest: Manifest) -> str:
    """Whether these are the frozen rows of the manifest's data version, in one sentence."""
    frozen = frozen_for(manifest)
    if frozen is None:
        return f"No rows are frozen for data version {manifest['data_version']}."
    return compare(manifest, frozen)


def why_custom(manifest: Manifest, configs: Collection[str]) -> str:
    """Return why rows of these configurations are not the frozen ones; "" if all are.

    Rows are frozen by their digest, unless the manifest says that they were made differently.
    """
    frozen = frozen_for(manifest)
    if frozen is None:
        return f"no rows are frozen for data version {manifest['data_version']}"
    entries = [entry for entry in manifest["files"].values() if entry["config"] in configs]
    own = [e for e in entries if not is_frozen(manifest, frozen, e, e["rows_sha256"])]
    if not own:
        return ""
    if not is_standard(manifest):
        suite = manifest.get("suite", OWN_SUITE)
        known = suite not in (OWN_SUITE, manifest["dataset"])
        return f"suite {suite}" if known else "a custom suite"
    listed = [entry for entry in own if entry["config"] in frozen.rows.get(manifest["dataset"], {})]
    why = list(_reasons(manifest, frozen, (listed or own)[0]))
    return ", ".join(why) or _not_in_lock(manifest["data_version"], [e["config"] for e in own])


def why_release_is_custom(manifest: Manifest) -> str:
    """Why a release is not one of frozen rows; "" if it holds every listed configuration's.

    Configurations that the lock does not list, such as an ablation's, do not count beside others.
    """
    frozen = frozen_for(manifest)
    known = frozen.rows.get(manifest["dataset"], {}) if frozen else {}
    configs = [entry["config"] for entry in manifest["files"].values()]
    return why_custom(manifest, [name for name in configs if name in known] or configs)


def rows_label(
    dataset: str,
    data_version: str | None,
    digests: Mapping[str, str],
    why: str | None,
) -> str:
    """*Frozen rows* with their data version, or *custom rows* with the reason.

    `digests` are the rows_sha256 of configurations, and `why` what `why_custom` returned for their
    release, None without a release.
    """
    frozen = read_frozen(data_version) if data_version else None
    known = frozen.rows.get(dataset, {}) if frozen else {}
    if why is None or not digests:
        return "custom rows: scored without a release"
    other = [name for name, digest in digests.items() if known.get(name) != digest]
    if not why and other:
        why = _not_in_lock(data_version, other)
    if why:
        return f"custom rows: {why}"
    return f"frozen rows {data_version}"


def are_frozen(label: str) -> bool:
    """Whether a label of `rows_label` is that of frozen rows."""
    return label.startswith("frozen")


def _not_in_lock(data_version: str | None, configs: Sequence[str]) -> str:
    """Return the reason if only the digest shows it."""
    more = f" and {len(configs) - 1} more" * (len(configs) > 1)
    return f"{configs[0]}{more} not among the frozen rows of {data_version}"
