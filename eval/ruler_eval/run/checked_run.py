"""A run that was checked before a model is loaded: release, folder, settings, missing rows.

checked = check_run(RunOptions("ruler", configs="all_4k", …))
checked.parts()                      # rows of each configuration, and which have no answer
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.manifest import FileEntry, Manifest
from ruler_common.rows import indices_of
from ruler_common.work import Shard
from ruler_eval.frozen_release import Release, chosen_files, place_of
from ruler_eval.run.backends.secrets import check_address, check_key
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import Part, Waves
from ruler_eval.run.prompts import ChatTemplate
from ruler_eval.run.records import Records, RunSettings, Session, check_settings
from ruler_eval.run.sampling import check_omitted, choose_sampling

RowOrder = Callable[[Manifest, FileEntry, list[int]], list[int]]
"""Puts row indices of a file into another order than the frozen one."""
VERSIONS = ("ruler-release", "transformers", "tokenizers", "torch", "openai", "datasets")
"""Packages whose versions run.json records."""


@dataclass(frozen=True, kw_only=True)
class CheckedRun:
    """The options of a run, its release and folder, and the settings known so far.

    `digests` are the rows_sha256 of its configurations.
    """

    options: RunOptions
    release: Release
    records: Records
    digests: Mapping[str, str]
    settings: RunSettings

    def parts(self, writable: bool = True, order_rows: RowOrder | None = None) -> list[Part]:
        """Return the rows of each configuration, and which of them this run has to answer.

        `limit` takes the first rows of the frozen order, and `order_rows` puts those into another
        order. If the folder can be written, half-written lines and the failed rows to try again are
        removed from its files.
        """
        manifest = self.release.manifest
        records, options = self.records, self.options
        entries = {file["config"]: file for file in manifest["files"].values()}
        rows: dict[str, list[int]] = {}
        tokens: dict[str, int] = {}
        for config in self.digests:
            rows[config] = indices_of(manifest, entries[config])[: options.limit]
            if order_rows is not None:
                rows[config] = order_rows(manifest, entries[config], rows[config])
            tokens[config] = len(rows[config]) * entries[config]["max_length"]
        mine = records.shard.chosen(tokens) if records.shard else set(tokens)
        parts = []
        for config, indices in rows.items():
            missing: list[int] = []
            if config in mine:
                if writable:
                    records.repair(config, options.retry_failed)
                done = records.read(config, without_failed=options.retry_failed)
                missing = [
                    index
                    for index in indices
                    if any((index, sample) not in done for sample in range(options.repeats))
                ]
            parts.append(Part(config, tuple(indices), tuple(missing)))
        return parts

    def waves(self, parts: Sequence[Part], look_every: int | None) -> Waves | None:
        """Return the waves of these parts; None if there are too many for waves."""
        files = self.release.manifest["files"].values()
        lengths = {file["config"]: file["length"] for file in files}
        return Waves.of(len({lengths[part.config] for part in parts}), len(parts), look_every)


def check_run(options: RunOptions, fixed: Mapping[str, Any] | None = None) -> CheckedRun:
    """Check that a run can be as asked, and goes with what its folder holds. Nothing is written.

    `fixed` are further settings that the whole run has to have. Raises RulerError.
    """
    if not options.model:
        if options.backend != "oracle":
            raise RulerError(f"The {options.backend} backend needs a model: add --model NAME.")
        options = replace(options, model="oracle")
    _check_combinations(options)
    records = Records(options.folder, Shard.parse(options.shard) if options.shard else None)
    release = Release.open(options.release, options.data_revision)
    if options.data_revision is not None and release.revision is None:
        raise RulerError(
            f"'{options.release}' is a folder: --data-revision is for a Hub repository."
        )
    digests = rows_asked_for(options.configs, release.manifest, options.skip_missing)
    settings = known_settings(options, release, digests)
    records.check(list(digests))
    before = records.settings()
    check_settings(before, settings, options.folder)
    if fixed:
        _check_fixed(before, fixed, options)
        settings = {**settings, **fixed}
    return CheckedRun(
        options=options, release=release, records=records, digests=digests, settings=settings
    )


def _check_combinations(options: RunOptions) -> None:
    """Raise RulerError for options that do not go together, before anything is started."""
    backend = options.backend
    if options.chat_template is not None:
        if options.mode == "completion":
            raise RulerError("--mode completion uses no chat template: leave --chat-template out.")
        if backend not in ("vllm", "hf"):
            raise RulerError(
                "--chat-template is for --backend vllm and hf: a server uses its own template "
                "(vllm serve MODEL --chat-template FILE)."
            )
    if backend != "openai" and (options.omit or options.stream):
        raise RulerError("--omit and --stream are for --backend openai.")
    if backend not in ("openai", "batch") and options.provider:
        raise RulerError("--provider is for --backend openai and batch.")
    if options.answers and backend != "batch":
        raise RulerError("--answers are for --backend batch.")
    check_omitted(options)
    if backend == "openai":
        check_address(options.base_url or os.environ.get("OPENAI_BASE_URL"))
        check_key("OPENAI_API_KEY")


def rows_asked_for(
    names: Iterable[str], manifest: Manifest, skip_missing: bool = False
) -> dict[str, str]:
    """Return single-task configurations and the digest of each one's rows; groups are expanded."""
    found: dict[str, str] = {}
    for name in names:
        for path in _files_of(name, manifest, skip_missing):
            file = manifest["files"][path]
            found[file["config"]] = file["rows_sha256"]
    if not found:
        raise RulerError("No configuration was named: --configs all_4k,niah_mk_128k, for example.")
    return found


def _files_of(name: str, manifest: Manifest, skip_missing: bool) -> Iterable[str]:
    """Return the files of a configuration or group. Raises RulerError with the remedy."""
    try:
        return chosen_files([name], manifest, skip_missing=skip_missing)
    except RulerError as error:
        try:
            chosen_files([name], manifest, skip_missing=True)
        except RulerError:
            raise error from None
        raise RulerError(f"{error}; --skip-missing runs the tasks that it has.") from None


def known_settings(
    options: RunOptions, release: Release, digests: Mapping[str, str]
) -> RunSettings:
    """Return the settings that are known before a model is loaded.

    A mode and sampling that the backend chooses are not among them.
    """
    template = ChatTemplate.read(options.chat_template) if options.chat_template else None
    settings = {
        "format": 1,
        "model": options.model,
        "revision": options.revision,
        "backend": options.backend,
        "direct": options.direct,
        "tokenizer": options.tokenizer,
        "chat_template": template.facts() if template else None,
        "arguments": dict(options.arguments),
        "thinking": options.reasoning.settings(),
        "repeats": options.repeats,
        "dataset": release.manifest["dataset"],
        "data_version": release.manifest["data_version"],
        "data_revision": release.revision,
        "rows": dict(digests),
    }
    if options.mode is not None:
        settings["mode"] = options.mode
    sampling = choose_sampling(options, lambda: None)
    if sampling.source == "greedy":  # else the model's generation_config.json has a say
        settings["sampling"] = sampling.settings()
    return settings


def _check_fixed(before: RunSettings, fixed: Mapping[str, Any], options: RunOptions) -> None:
    """Refuse to fix settings, such as the limit of `ruler decide`, after the first row."""
    if before and not set(fixed) <= set(before):
        raise RulerError(
            f"'{options.folder}' was begun before {', '.join(fixed)} was fixed: name a new --out."
        )
    check_settings(before, fixed, options.folder)
    for first in before.get("sessions", [])[:1]:
        limit = first.get("limit")
        if limit != options.limit:
            how = f"with --limit {limit}" if limit else "without --limit"
            raise RulerError(
                f"'{options.folder}' was begun {how}, which is part of what was fixed: give the "
                "same --limit, or name a new --out."
            )


def new_session(options: RunOptions, digests: Mapping[str, str]) -> Session:
    """Return what belongs only to this start of the program: times, versions, part of the work."""
    versions = {"python": platform.python_version()}
    for package in VERSIONS:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "started": utc_now(),
        "shard": options.shard,
        "limit": options.limit,
        "source": place_of(options.release),
        "configs": list(digests),
        "concurrency": options.concurrency,
        "stream": options.stream,
        "options": {**options.to_json(), "dataset": place_of(options.release)},
        "versions": versions,
        "machine": platform.platform(),
    }


def utc_now() -> str:
    """Return the time in ISO 8601, UTC."""
    return datetime.now(timezone.utc).isoformat()
