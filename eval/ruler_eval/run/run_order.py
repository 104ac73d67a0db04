"""What a run is asked to do, and what follows from that before a model is loaded.

    order = RunOrder(dataset="ruler", configs=("all_4k",), backend="oracle", out=Path("RUN"))

The release, its files, the settings for run.json, and which rows are missing. `ruler run` and the
batch files begin with the same steps.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.names import check_name
from ruler_common.rows import indices_of
from ruler_common.work import Shard
from ruler_eval.frozen_release import Release, chosen_files, place_of
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.secrets import check_argument
from ruler_eval.run.backends.start import BACKENDS, check_options
from ruler_eval.run.prompts import MODES, ChatTemplate
from ruler_eval.run.reasoning import Reasoning
from ruler_eval.run.records import Records, RunSettings, Session, check_settings
from ruler_eval.run.work_plan import Part, Waves

RowOrder = Callable[[Manifest, FileEntry, list[int]], list[int]]
"""Puts row indices of a file into another order than the frozen one."""
VERSIONS = ("ruler-release", "transformers", "tokenizers", "torch", "openai", "datasets")


@dataclass(frozen=True)
class RunOrder:
    """What `ruler run` is asked to do: one field for each of its flags.

    With `skip_missing` a group means those of its tasks that the release holds. `price` is of
    a million tokens of prompts and of answers, to be shown before the first row.
    """

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
    quiet: bool = False
    price: tuple[float, float] | None = None


def make_order(options: Mapping[str, Any]) -> RunOrder:
    """The order that the arguments of `ruler_release.run` make. Raises RulerError.

    An option that is not a field of RunOrder or ModelOptions is a mistake of the caller's author.
    """
    given = dict(options)
    for name, value in given.items():
        if isinstance(value, str) and value.encode("utf-8", "replace").decode() != value:
            raise RulerError(f"--{name.replace('_', '-')} has half a character: write it in UTF-8.")
    given["configs"] = tuple(given["configs"])
    given["reasoning"] = Reasoning.parse(str(given.pop("thinking")))
    given["omit"] = tuple(given.get("omit") or ())
    given["arguments"] = checked_arguments(given["arguments"] or {})
    if given.get("chat_template") is not None:
        given["chat_template"] = ChatTemplate.read(given["chat_template"])

    names = [field.name for field in fields(ModelOptions) if field.name in given]
    model = ModelOptions(**{name: given.pop(name) for name in names})
    return RunOrder(**given, options=model)


def parse_price(text: str | None) -> tuple[float, float] | None:
    """Read IN,OUT: the prices of a million tokens of prompts and of answers."""
    if text is None:
        return None
    try:
        prompts, answers = map(float, text.split(","))
    except ValueError:
        prompts = answers = math.nan
    if not (0 <= prompts < math.inf and 0 <= answers < math.inf):
        raise RulerError("--price takes IN,OUT for a million tokens, such as 0.15,0.60.")
    return prompts, answers


def parse_arguments(pairs: Iterable[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; a value is JSON where it reads as JSON, else text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        if not equals or not name:
            raise RulerError("--engine-arg takes NAME=VALUE, such as dtype=bfloat16.")
        try:
            found[name] = json.loads(text)
        except (ValueError, RecursionError):
            found[name] = text
    return checked_arguments(found)


def checked_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, none of which may be a secret or what run.json cannot hold, such as NaN."""
    for name, value in arguments.items():
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, TypeError):
            raise RulerError(
                f"--engine-arg '{name}' is not a finite number, or has half a character: "
                "give another value."
            ) from None
        check_argument(name, value)
    return dict(arguments)


def rows_asked(
    configs: Iterable[str], manifest: Manifest, skip_missing: bool = False
) -> dict[str, str]:
    """Single-task configurations and the digest of each one's rows; groups are expanded."""
    found: dict[str, str] = {}
    for name in configs:
        try:
            chosen = chosen_files([name], manifest, skip_missing=skip_missing)
        except RulerError as error:
            if skip_missing:
                raise
            with suppress(RulerError):
                chosen_files([name], manifest, skip_missing=True)
                error = RulerError(f"{error}; --skip-missing runs the tasks that are there.")
            raise error from None
        for path in chosen:
            file = manifest["files"][path]
            found[file["config"]] = file["rows_sha256"]
    if not found:
        raise RulerError("No configuration was named: --configs all_4k,niah_mk_128k, for example.")
    return found


def asked_settings(order: RunOrder, release: Release, rows: Mapping[str, str]) -> RunSettings:
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
        "chat_template": options.chat_template and options.chat_template.facts(),
        "sampling": options.sampling,
        "arguments": dict(options.arguments or {}),
        "thinking": {"on": order.reasoning.on, "budget": order.reasoning.budget},
        "dataset": release.manifest["dataset"],
        "data_version": release.manifest["data_version"],
        "data_revision": release.revision,
        "rows": dict(rows),
    }


def new_session(order: RunOrder, files: Mapping[str, str]) -> Session:
    """What belongs to this start of the program alone: times, versions, the part of the work."""
    versions = {"python": platform.python_version()}
    for package in VERSIONS:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "started": now(),
        "shard": order.shard,
        "limit": order.limit,
        "source": place_of(order.dataset),
        "configs": list(files),
        "concurrency": order.options.concurrency,
        "stream": order.options.stream,
        "versions": versions,
        "machine": platform.platform(),
    }


def now() -> str:
    """The time, UTC, in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


@dataclass(frozen=True, kw_only=True)
class CheckedRun:
    """An order that was checked, its release and run folder, and the settings known so far.

    `digests` are the rows_sha256 of its configurations.
    """

    order: RunOrder
    release: Release
    records: Records
    digests: Mapping[str, str]
    settings: RunSettings

    @property
    def manifest(self) -> Manifest:
        """The release's manifest."""
        return self.release.manifest

    def parts(self, writable: bool = True, order_rows: RowOrder | None = None) -> list[Part]:
        """Return the rows of each configuration, and which of them this run has to answer.

        `limit` takes the first rows of the frozen order, and `order_rows` puts those into another
        order. If the folder can be written, half-written lines and the failed rows to try again are
        removed from its files.
        """
        records, retry_failed = self.records, self.order.retry_failed
        entries = {file["config"]: file for file in self.manifest["files"].values()}
        rows: dict[str, list[int]] = {}
        tokens: dict[str, int] = {}
        for config in self.digests:
            rows[config] = indices_of(self.manifest, entries[config])[: self.order.limit]
            if order_rows is not None:
                rows[config] = order_rows(self.manifest, entries[config], rows[config])
            tokens[config] = len(rows[config]) * entries[config]["max_length"]
        mine = records.shard.chosen(tokens) if records.shard else set(tokens)
        parts = []
        for config, indices in rows.items():
            missing: list[int] = []
            if config in mine:
                if writable:
                    records.repair(config, retry_failed)
                done = records.of(config, without_failed=retry_failed)
                missing = [index for index in indices if index not in done]
            parts.append(Part(config, tuple(indices), tuple(missing)))
        return parts

    def waves(self, parts: Sequence[Part], look_every: int | None) -> Waves | None:
        """Return the waves of these parts; None if there are too many for waves."""
        lengths = {file["config"]: file["length"] for file in self.manifest["files"].values()}
        return Waves.of(len({lengths[part.config] for part in parts}), len(parts), look_every)


def check_order(order: RunOrder, fixed: Mapping[str, Any] | None = None) -> CheckedRun:
    """Check what `ruler run` is asked to do; nothing is written. Raises RulerError.

    `fixed` are further settings that the whole run has to have.
    """
    check_name("backend", order.backend, BACKENDS, "ruler run --help")
    if not order.options.model:
        if order.backend != "oracle":
            raise RulerError(f"The {order.backend} backend needs a model: add --model NAME.")
        order = replace(order, options=replace(order.options, model="oracle"))
    if order.mode is not None:
        check_name("mode", order.mode, MODES, "ruler run --help")
    check_options(order.backend, order.options)
    if order.mode == "completion" and order.options.chat_template is not None:
        raise RulerError("--mode completion uses no chat template: leave --chat-template out.")
    checked = open_run(order)
    if not fixed:
        return checked
    _check_fixed(checked.records.settings(), fixed, order)
    return replace(checked, settings={**checked.settings, **fixed})


def _check_fixed(before: RunSettings, fixed: Mapping[str, Any], order: RunOrder) -> None:
    """Refuse to fix settings, such as the limit of `ruler decide`, after the first row."""
    if before and not set(fixed) <= set(before):
        raise RulerError(
            f"'{order.out}' was begun before {', '.join(fixed)} was fixed: name a new --out."
        )
    check_settings(before, fixed, order.out)
    for first in before.get("sessions", [])[:1]:
        limit = first.get("limit")
        if limit != order.limit:
            how = f"with --limit {limit}" if limit else "without --limit"
            raise RulerError(
                f"'{order.out}' was begun {how}, which is part of what was fixed: go on so, or "
                "name a new --out."
            )


def open_run(order: RunOrder, decided: Mapping[str, object] | None = None) -> CheckedRun:
    """Open the release and the run folder of an order, and check that they go together.

    `decided` are the settings that a backend adds, if they are known already. Nothing is written.
    Raises RulerError.
    """
    if order.limit is not None and order.limit < 1:
        raise RulerError("--limit takes a number of rows of each configuration, 1 or more.")
    records = Records(order.out, Shard.parse(order.shard) if order.shard else None)
    release = Release.open(order.dataset, order.data_revision)
    if order.data_revision is not None and release.revision is None:
        raise RulerError(f"'{order.dataset}' is a folder: --data-revision is for a Hub repository.")
    digests = rows_asked(order.configs, release.manifest, order.skip_missing)
    settings = {**asked_settings(order, release, digests), **(decided or {})}
    known = dict(settings)
    if not decided and order.mode is None:  # the backend decides on the mode later
        del known["mode"]
    records.check(list(digests))
    check_settings(records.settings(), known, order.out)
    return CheckedRun(
        order=order, release=release, records=records, digests=digests, settings=settings
    )
