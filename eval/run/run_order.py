"""What a run is asked to do, and what follows from that before a model is loaded.

    order = RunOrder(dataset="ruler", configs=("all_4k",), backend="oracle", out=Path("RUN"))

The release, its files, the settings for run.json, and which rows are missing. `ruler run` and the
batch files begin with the same steps.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from eval.frozen_release import Release, chosen_files
from eval.run.backends.backend import ModelOptions
from eval.run.backends.start import engine_of
from eval.run.reasoning import Reasoning
from eval.run.records import Record, Records
from eval.run.replicas.ray_placement import ClusterOptions
from eval.run.run_settings import RunSettings, Session
from eval.run.work_plan import Part
from ruler_dataset import Manifest, RulerError

VERSIONS = ("ruler-release", "transformers", "tokenizers", "torch", "openai", "datasets", "ray")


@dataclass(frozen=True)
class RunOrder:
    """What `ruler run` is asked to do: one field for each of its flags."""

    dataset: str
    configs: tuple[str, ...]
    backend: str
    out: Path
    _: KW_ONLY
    options: ModelOptions = field(default_factory=lambda: ModelOptions("oracle"))
    mode: str | None = None
    direct: bool = False
    reasoning: Reasoning = field(default_factory=Reasoning)
    limit: int | None = None
    shard: str | None = None
    retry_failed: bool = False
    data_revision: str | None = None
    skip_missing: bool = False
    """Whether a group stands for those of its tasks that the release holds."""
    quiet: bool = False
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    """How many engines the ray backend places, and where."""
    price: tuple[float, float] | None = None
    """Of a million tokens of prompts and of answers, to be shown before the first row."""


def release(dataset: str, revision: str | None) -> tuple[Manifest, str | None]:
    """The manifest of a release folder or Hub repository, and the commit of the latter."""
    found = Release.open(dataset, revision)
    if revision is not None and found.revision is None:
        raise RulerError(f"'{dataset}' is a folder: --data-revision is for a Hub repository.")
    return found.manifest, found.revision


def data_files(
    configs: Iterable[str], manifest: Manifest, skip_missing: bool = False
) -> dict[str, str]:
    """Single-task configurations and the sha256 of each; groups are expanded, none comes twice."""
    found: dict[str, str] = {}
    for name in configs:
        try:
            chosen = chosen_files([name], manifest, skip_missing=skip_missing)
        except RulerError as error:
            if skip_missing or not _is_partly_there(name, manifest):
                raise
            raise RulerError(f"{error} --skip-missing runs the tasks that are there.") from error
        for path in chosen:
            file = manifest["files"][path]
            found[file["config"]] = file["sha256"]
    if not found:
        raise RulerError("No configuration was named: --configs all_4k,niah_mk_128k, for example.")
    return found


def _is_partly_there(name: str, manifest: Manifest) -> bool:
    try:
        return bool(chosen_files([name], manifest, skip_missing=True))
    except RulerError:
        return False


def asked_settings(
    order: RunOrder, manifest: Manifest, revision: str | None, files: Mapping[str, str]
) -> RunSettings:
    """The settings that are known before a model is loaded; None where the backend decides."""
    options = order.options
    return {
        "format": 1,
        "model": options.model,
        "revision": options.revision,
        "backend": engine_of(order.backend),
        "mode": order.mode,
        "direct": order.direct,
        "tokenizer": options.tokenizer,
        "sampling": {
            "temperature": options.temperature,
            "top_p": options.top_p,
            "seed": options.seed,
        },
        "arguments": dict(options.arguments or {}),
        "thinking": {"on": order.reasoning.on, "budget": order.reasoning.budget},
        "dataset": manifest["dataset"],
        "data_version": manifest["data_version"],
        "data_revision": revision,
        "files": dict(files),
    }


def new_session(order: RunOrder, files: Mapping[str, str]) -> Session:
    """What belongs to this start of the program alone: times, versions, the part of the work."""
    versions = {"python": platform.python_version()}
    for package in VERSIONS:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "started": now(),
        "shard": order.shard,
        "limit": order.limit,
        "source": order.dataset,
        "configs": list(files),
        "concurrency": order.options.concurrency if order.backend == "openai" else None,
        "replicas": order.cluster.replicas if order.backend == "ray" else None,
        "versions": versions,
        "machine": platform.platform(),
    }


def now() -> str:
    """The time, UTC, in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


def plan(
    order: RunOrder,
    manifest: Manifest,
    files: Iterable[str],
    records: Records,
    writable: bool = True,
) -> list[Part]:
    """Which rows of each configuration this run owns, and which of those are to be answered."""
    rows = {
        file["config"]: range(min(file["rows"], order.limit or file["rows"]))
        for file in manifest["files"].values()
    }
    longest = {file["config"]: file["max_length"] for file in manifest["files"].values()}
    sizes = {config: len(rows[config]) * longest[config] for config in files}
    mine = records.shard.chosen(sizes) if records.shard else {*sizes}

    def again(record: Record) -> bool:
        return order.retry_failed and record["finish_reason"] == "error"

    parts = []
    for config in sizes:
        missing: tuple[int, ...] = ()
        if config in mine:
            if writable:
                records.repair(config, again)
            done = {index for index, record in records.of(config).items() if not again(record)}
            missing = tuple(index for index in rows[config] if index not in done)
        parts.append(Part(config, tuple(rows[config]), missing))
    return parts
