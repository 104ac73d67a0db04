"""What a run is asked to do, and what follows from that before a model is loaded.

    order = RunOrder(dataset="ruler", configs=("all_4k",), backend="oracle", out=Path("RUN"))

The release, its files, the settings for run.json, and which rows are missing. `ruler run` and the
batch files begin with the same steps.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.manifest_form import Manifest
from ruler_common.rows import indices_of
from ruler_common.work import Shard
from ruler_eval.frozen_release import Release, chosen_files, place_of
from ruler_eval.run.backends.backend import ClusterOptions, ModelOptions
from ruler_eval.run.backends.secrets import check_argument
from ruler_eval.run.backends.start import engine_of
from ruler_eval.run.preparing.chat_template import ChatTemplate
from ruler_eval.run.reasoning import Reasoning
from ruler_eval.run.records import Record, Records
from ruler_eval.run.run_settings import RunSettings, Session, check_settings
from ruler_eval.run.work_plan import Part, Waves

VERSIONS = ("ruler-release", "transformers", "tokenizers", "torch", "openai", "datasets", "ray")


@dataclass(frozen=True)
class RunOrder:
    """What `ruler run` is asked to do: one field for each of its flags.

    With `skip_missing` a group stands for those of its tasks that the release holds. `cluster` is
    for the ray backend. `price` is of a million tokens of prompts and of answers, to be shown
    before the first row.
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
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    price: tuple[float, float] | None = None


def make_order(options: Mapping[str, Any]) -> RunOrder:
    """The order that the arguments of `ruler_release.run` make. Raises RulerError.

    An option that is no field of RunOrder, ModelOptions or ClusterOptions is a mistake of the
    caller's author.
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

    def taken(names: Iterable[str]) -> dict[str, Any]:
        return {name: given.pop(name) for name in names if name in given}

    model = ModelOptions(**taken(field.name for field in fields(ModelOptions)))
    cluster = ClusterOptions(**taken(field.name for field in fields(ClusterOptions)))
    return RunOrder(**given, options=model, cluster=cluster)


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
                f"--engine-arg '{name}' is no finite number, or has half a character: "
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
        "backend": engine_of(order.backend),
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
        "replicas": order.cluster.replicas if order.backend == "ray" else None,
        "versions": versions,
        "machine": platform.platform(),
    }


def now() -> str:
    """The time, UTC, in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """An order that was checked: its run folder, its rows, and the settings known so far.

    `digests` are the rows_sha256 of its configurations.
    """

    order: RunOrder
    records: Records
    manifest: Manifest
    digests: Mapping[str, str]
    settings: RunSettings

    @classmethod
    def of(cls, order: RunOrder, decided: Mapping[str, object] | None = None) -> Prepared:
        """Check an order and its folder against the release; nothing is written.

        `decided` are the settings that a backend adds, where they are known already. Raises
        RulerError.
        """
        if order.limit is not None and order.limit < 1:
            raise RulerError("--limit takes a number of rows of each configuration, 1 or more.")
        records = Records(order.out, Shard.parse(order.shard) if order.shard else None)
        release = Release.open(order.dataset, order.data_revision)
        if order.data_revision is not None and release.revision is None:
            raise RulerError(
                f"'{order.dataset}' is a folder: --data-revision is for a Hub repository."
            )
        manifest = release.manifest
        digests = rows_asked(order.configs, manifest, order.skip_missing)
        settings = {**asked_settings(order, release, digests), **(decided or {})}
        decides = not decided and order.mode is None  # the backend, which comes later
        known = {name: value for name, value in settings.items() if name != "mode" or not decides}
        records.check(list(digests))
        check_settings(records.settings(), known, order.out)
        return cls(
            order=order, records=records, manifest=manifest, digests=digests, settings=settings
        )

    def parts(self, writable: bool = True) -> list[Part]:
        """Which rows of each configuration this run owns, and which of those are to be answered.

        Rows are in the frozen order, of which `limit` takes the first.
        """
        order, records = self.order, self.records
        entries = {file["config"]: file for file in self.manifest["files"].values()}
        manifest = self.manifest
        rows = {
            config: indices_of(manifest, entries[config])[: order.limit] for config in self.digests
        }
        sizes = {config: len(own) * entries[config]["max_length"] for config, own in rows.items()}
        mine = records.shard.chosen(sizes) if records.shard else {*sizes}

        def again(record: Record) -> bool:
            return order.retry_failed and record["finish_reason"] == "error"

        parts = []
        for config, own in rows.items():
            missing: tuple[int, ...] = ()
            if config in mine:
                if writable:
                    records.repair(config, again)
                done = {index for index, record in records.of(config).items() if not again(record)}
                missing = tuple(index for index in own if index not in done)
            parts.append(Part(config, tuple(own), missing))
        return parts

    def waves(self, parts: Sequence[Part], look_every: int | None) -> Waves | None:
        """The waves of these parts; None where they are too many to go round."""
        lengths = {file["config"]: file["length"] for file in self.manifest["files"].values()}
        return Waves.of(len({lengths[part.config] for part in parts}), len(parts), look_every)
