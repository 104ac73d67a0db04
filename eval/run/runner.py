"""Run a model over a frozen release: plan what is missing, answer it, record every row once.

    summary = run(RunOrder(dataset="ruler", configs=("all_4k",), backend="oracle", out=Path("RUN")))

RULER's evaluation (arXiv:2404.06654, section 4): greedy decoding, one prompt a row, the answer
prefix begins the model's answer. Every row ends in exactly one state of `records.STATES`; a row
that does not fit the model's window is recorded as such and never shortened.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import ruler_dataset
from eval.frozen_release import Release, chosen_files
from eval.run.backends.backend import ModelOptions
from eval.run.backends.start import check_options, known_backend, start
from eval.run.progress import Progress, RunSummary
from eval.run.prompts import MODES, Prompt, Prompter, fits
from eval.run.reasoning import Reasoning
from eval.run.records import Record, Records
from eval.run.row_state import Expected, does_not_fit, record_of
from eval.run.run_settings import RunSettings, Session, check_settings
from ruler_dataset import Manifest, RulerError, Shard, check_name

COLUMNS = ("index", "input", "answer_prefix", "max_new_tokens", "length")
"""All that a prompt is made of: references and evidence never come near a model."""
VERSIONS = ("ruler-release", "transformers", "tokenizers", "torch", "openai", "datasets")


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
    quiet: bool = False


@dataclass(frozen=True)
class Part:
    """A configuration of the plan: the rows of this run, and which of them still miss an answer."""

    config: str
    indices: tuple[int, ...]
    missing: tuple[int, ...]


def run(order: RunOrder) -> RunSummary:
    """Answer what is missing and return the state of every row of the run.

    Raises RulerError before the first row if the order cannot run as asked or RUN holds other
    settings. Killed at any moment it loses the rows in flight; the same order resumes.
    """
    order = replace(order, backend=known_backend(order.backend))
    if order.mode is not None:
        check_name("mode", order.mode, MODES, "ruler run --help")
    if order.limit is not None and order.limit < 1:
        raise RulerError("--limit takes a number of rows of each configuration, 1 or more.")
    check_options(order.backend, order.options)
    records = Records(order.out, Shard.parse(order.shard) if order.shard else None)
    manifest, revision = release(order.dataset, order.data_revision)
    files = data_files(order.configs, manifest)
    asked = asked_settings(order, manifest, revision, files)
    records.check(list(files))
    writable = records.lock()
    try:
        known = cast(
            RunSettings, {name: value for name, value in asked.items() if value is not None}
        )
        check_settings(records.settings(), known, order.out)
        parts = plan(order, manifest, files, records, writable)
        summary = RunSummary()
        if any(part.missing for part in parts):
            if not writable:
                raise RulerError(
                    f"'{order.out}' lacks rows and cannot be written: name a new --out."
                )
            session = new_session(order, files)
            with Progress(sum(len(part.missing) for part in parts), order.quiet) as progress:
                answer_rows(order, parts, records, asked, session, progress, summary)
            summary.complete(session, now())
            records.record_settings(known, session)
        for part in parts:
            if not writable or not records.finish(part.config, part.indices):
                found = records.of(part.config)
                summary.missing += sum(index not in found for index in part.indices)
            mine = records.of(part.config)
            summary.add(part.config, [mine[i] for i in part.indices if i in mine])
        return summary
    finally:
        records.close()


def release(dataset: str, revision: str | None) -> tuple[Manifest, str | None]:
    """The manifest of a release folder or Hub repository, and the commit of the latter."""
    found = Release.open(dataset, revision)
    if revision is not None and found.revision is None:
        raise RulerError(f"'{dataset}' is a folder: --data-revision is for a Hub repository.")
    return found.manifest, found.revision


def data_files(configs: Iterable[str], manifest: Manifest) -> dict[str, str]:
    """Single-task configurations and the sha256 of each; groups are expanded, none comes twice."""
    found: dict[str, str] = {}
    for path in chosen_files(configs, manifest):
        file = manifest["files"][path]
        found[file["config"]] = file["sha256"]
    if not found:
        raise RulerError("No configuration was named: --configs all_4k,niah_mk_128k, for example.")
    return found


def asked_settings(
    order: RunOrder, manifest: Manifest, revision: str | None, files: Mapping[str, str]
) -> RunSettings:
    """The settings that are known before a model is loaded; None where the backend decides."""
    options = order.options
    return {
        "format": 1,
        "model": options.model,
        "revision": options.revision,
        "backend": order.backend,
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


def answer_rows(
    order: RunOrder,
    parts: Iterable[Part],
    records: Records,
    asked: RunSettings,
    session: Session,
    progress: Progress,
    summary: RunSummary,
) -> None:
    """Start the backend, check the settings it adds, and answer the missing rows."""
    backend = start(order.backend, order.options)
    try:
        mode = order.mode or ("chat" if order.reasoning.on else backend.default_mode())
        prompter = Prompter(mode, backend.tokenizer, order.direct, order.reasoning)
        backend.check_mode(mode, prompter.template_arguments)
        decided = {**backend.settings(), **prompter.settings(), "max_model_len": backend.limit}
        settings = cast(RunSettings, {**asked, **decided})
        records.record_settings(settings, session)
        waiting: dict[tuple[str, int], Expected] = {}

        def prompts() -> Iterator[Prompt]:
            for config, row in rows_of(
                order.dataset, asked["data_revision"], parts, backend.shares_prefixes
            ):
                prompt = prompter(config, row)
                tokens = backend.count(prompt)
                if fits(tokens, prompt, backend.limit):
                    waiting[prompt.config, prompt.index] = Expected(tokens, backend.limit)
                    yield prompt
                else:
                    record = does_not_fit(prompt, tokens or 0, backend.limit or 0)
                    records.write(record)
                    progress.add(record)

        for answer in backend.generate(prompts()):
            expected = waiting.pop((answer.prompt.config, answer.prompt.index))
            record = record_of(answer, expected, backend.tokenizer)
            records.write(record)
            progress.add(record)
            summary.count_session(record, expected)
    finally:
        backend.close()


def rows_of(
    dataset: str, revision: str | None, parts: Iterable[Part], by_prefix: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The missing rows, read one at a time, those with the longest common beginning together."""
    for part in parts:
        if not part.missing:
            continue
        data = ruler_dataset.load(part.config, dataset, revision=revision)
        positions = {index: position for position, index in enumerate(data["index"])}
        absent = [index for index in part.missing if index not in positions]
        if absent:
            raise RulerError(f"'{part.config}' has no row {absent[0]}. Run: ruler verify DIR")
        order = [positions[index] for index in part.missing]
        if by_prefix and len(order) > 1:
            texts = data.select_columns(["input"])
            order.sort(key=lambda position: prefix_key(texts[position]["input"]))
        needed = data.select_columns(list(COLUMNS))
        for position in order:
            yield part.config, needed[position]


def prefix_key(text: str, block: int = 2048) -> tuple[bytes, ...]:
    """A short sort key that brings texts with a common beginning together.

    One digest for each beginning of 1, 2, … blocks of bytes: equal as far as the texts are.
    """
    digest = hashlib.blake2b(digest_size=8)
    data = text.encode()
    keys = []
    for at in range(0, len(data), block):
        digest.update(data[at : at + block])
        keys.append(digest.copy().digest())
    return tuple(keys)
