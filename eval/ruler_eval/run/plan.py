r"""The work of a run, checked before a model is loaded: release, folder, settings, rows.

    plan = plan_run(RunOptions("ruler", configs="all_4k", …))
    plan.rows                            # {"niah_single_1_4k": [412, 17, …], …}
    estimate(plan, plan.rows).lines()    # "To do: 6,500 rows of 13 configurations, …"
    for config, row in read_rows(plan.release, plan.rows):
        …

Token counts come from the manifest, so no rows are read for them; they are counts of the release's
tokenizer. Rows are read in the order of their files, a row group of every configuration in turn, so
that a run that stops early has about the same number of rows of each. The rows of a group are
sorted by their text: an engine with a prefix cache then reads the common beginning of two prompts
once.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import open_parquet, release_memory
from ruler_common.manifest import FileEntry, Manifest
from ruler_common.options import names_in
from ruler_common.rows import indices_of, refuse_nulls
from ruler_common.text import number_of
from ruler_eval.frozen_release import PartialRow, Release, chosen_files, place_of
from ruler_eval.run.chat_template import ChatTemplate
from ruler_eval.run.options import RunOptions
from ruler_eval.run.providers import sampler_names
from ruler_eval.run.records import (
    FAILED_STATES,
    RUN_FILE,
    Records,
    RowKey,
    RunSettings,
    Session,
    Shard,
    check_settings,
    shard_folders,
)
from ruler_eval.run.sampling import choose_sampling
from ruler_eval.run.secrets import check_address, check_key

RowOrder = Callable[[Manifest, FileEntry, list[int]], list[int]]
"""Returns the row indices of a file in a different order than the frozen one."""
Rows = Mapping[str, Sequence[int]]
"""Row indices by configuration."""
VERSIONS = ("ruler-release", "transformers", "tokenizers", "torch", "httpx", "datasets")
"""Packages whose versions run.json records."""
PROMPT_COLUMNS = ("index", "input", "answer_prefix", "max_new_tokens", "length")
"""The columns that make a prompt; references and evidence never reach a model."""
MIN_ROWS_IN_TURN = 20
"""Rows of a configuration that are sent one after another, if it has that many to send."""


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The options, release, folder and rows of a run, and the settings known before it starts."""

    options: RunOptions
    release: Release
    records: Records
    files: Mapping[str, FileEntry]
    """The manifest's entry of each configuration."""
    digests: Mapping[str, str]
    """The rows_sha256 of each configuration."""
    rows: Rows
    """The rows of each configuration, in the order in which a limit chooses them."""
    in_shard: Collection[str]
    """The configurations that this process runs."""
    settings: RunSettings


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The work ahead: rows, and tokens by the release's own count."""

    rows: int = 0
    configs: int = 0
    samples: int = 1
    prompt_tokens: int = 0
    output_tokens: int = 0

    def lines(self, price: tuple[float, float] | None = None) -> list[str]:
        """Return the estimate as sentences.

        Args:
            price: The prices of a million prompt tokens and of a million answer tokens.
        """
        samples = f"{self.samples} samples of " if self.samples > 1 else ""
        lines = [
            f"To do: {samples}{number_of(self.rows, 'row')} of "
            f"{number_of(self.configs, 'configuration')}, {self.prompt_tokens:,} "
            f"prompt tokens as the release counts them, up to {self.output_tokens:,} tokens of "
            "answers."
        ]
        if price is not None:
            prompts = self.prompt_tokens * price[0] / 1e6
            answers = self.output_tokens * price[1] / 1e6
            lines.append(
                f"Cost: {prompts:,.2f} for the prompts and up to {answers:,.2f} for the answers, "
                f"{prompts + answers:,.2f} at most; cached tokens may cost less."
            )
        return lines


def plan_run(
    options: RunOptions,
    fixed: Mapping[str, Any] | None = None,
    order_rows: RowOrder | None = None,
) -> RunPlan:
    """Check that a run is possible and consistent with the records in its folder. Writes nothing.

    Args:
        options: The options; `limit` takes the first rows of the frozen order.
        fixed: More settings that must be the same in all sessions of the run.
        order_rows: Puts the rows of a file into a different order.

    Raises RulerError.
    """
    if not options.model:
        if options.backend != "oracle":
            raise RulerError(f"The {options.backend} backend needs a model: add --model NAME.")
        options = replace(options, model="oracle")
    _check_combinations(options)
    shard = Shard.parse(options.shard) if options.shard else None
    release = Release.open(options.dataset, options.data_revision)
    if options.data_revision is not None and release.revision is None:
        raise RulerError(
            f"'{options.dataset}' is a folder: --data-revision is for a Hub repository."
        )
    files = chosen_configs(options.configs, release.manifest, options.skip_missing, release.source)
    digests, rows, tokens = {}, {}, {}
    for config, file in files.items():
        digests[config] = file["rows_sha256"]
        rows[config] = indices_of(release.manifest, file)[: options.limit]
        if order_rows is not None:
            rows[config] = order_rows(release.manifest, file, rows[config])
        tokens[config] = len(rows[config]) * max(1, file["max_length"])
    settings = known_settings(options, release)
    records = Records(options.folder)
    before = records.settings()
    check_settings(before, settings, options.folder)
    records.states()  # refuses a file that no run wrote
    check_release(records, release)
    _check_shards(options, settings)
    if fixed:
        _check_fixed(records, fixed, options)
        settings = {**settings, **fixed}
    return RunPlan(
        options=options,
        release=release,
        records=records,
        files=files,
        digests=digests,
        rows=rows,
        in_shard=files.keys() if shard is None else shard.chosen(tokens),
        settings=settings,
    )


def _check_combinations(options: RunOptions) -> None:
    """Raise RulerError for options that exclude each other, before anything is started."""
    backend = options.backend
    if options.mode == "completion" and options.system is not None:
        raise RulerError("--mode completion has no system turn: leave --system out.")
    if options.chat_template is not None:
        if options.mode == "completion":
            raise RulerError("--mode completion uses no chat template: leave --chat-template out.")
        if backend not in ("vllm", "hf"):
            raise RulerError(
                "--chat-template is for --backend vllm and hf: a server uses its own template "
                "(vllm serve MODEL --chat-template FILE)."
            )
    if options.answers and backend != "batch":
        raise RulerError("--answers are for --backend batch.")
    _check_server_options(options)


def _check_server_options(options: RunOptions) -> None:
    """Raise RulerError for options of a server that the backend does not have."""
    backend = options.backend
    if backend != "openai" and (options.omit or options.stream):
        raise RulerError("--omit and --stream are for --backend openai.")
    if backend not in ("openai", "batch") and options.provider:
        raise RulerError("--provider is for --backend openai and batch.")
    names = sampler_names()
    for name in options.omit:
        if name not in names:
            raise RulerError(f"--omit takes {', '.join(names)}, not '{name}'.")
    if backend != "openai" and options.base_url:
        raise RulerError(
            "--base-url is for --backend openai: leave one of them out. RULER_BASE_URL sets it too."
        )
    if backend == "openai":
        for url in options.base_url or names_in(os.environ.get("OPENAI_BASE_URL", "")):
            check_address(url)
    if backend in ("openai", "vllm"):
        check_key("OPENAI_API_KEY")


def chosen_configs(
    names: Iterable[str],
    manifest: Manifest,
    skip_missing: bool = False,
    where: str | Path = "DIR",
) -> dict[str, FileEntry]:
    """Return the manifest's entries of configurations by name; groups are expanded.

    Raises RulerError with the remedy, which names `where`, the folder or repository of the release.
    """
    entries: dict[str, FileEntry] = {}
    for name in names:
        try:
            paths = chosen_files([name], manifest, skip_missing=skip_missing, where=where)
        except RulerError as error:
            try:
                chosen_files([name], manifest, skip_missing=True)
            except RulerError:
                raise error from None
            raise RulerError(f"{error}; --skip-missing runs the tasks that it has.") from None
        for path in paths:
            entries[manifest["files"][path]["config"]] = manifest["files"][path]
    if not entries:
        raise RulerError("No configuration is named: add --configs, such as all_4k,niah_mk_128k.")
    return entries


def check_release(records: Records, release: Release) -> None:
    """Raise RulerError if a run has rows of another release than the one that is run now.

    A run is scored with one release, which must have all its rows.
    """
    for session in records.sessions():
        for config, digest in session.get("rows", {}).items():
            has_it = config in release.configs and release.rows_sha256(config) == digest
            if not has_it:
                raise RulerError(
                    f"'{records.folder}' has rows of another release ({config} of "
                    f"'{session.get('source')}'), and a run is scored with one: name a new --out."
                )


def _check_shards(options: RunOptions, settings: RunSettings) -> None:
    """Raise RulerError if the shards in a folder are not those of this run."""
    whole = Path(options.out)
    if options.shard is not None and (whole / RUN_FILE).exists():
        raise RulerError(f"'{whole}' was run without --shard: leave it out, or name a new --out.")
    shards = shard_folders(whole)
    if shards and options.shard is None:
        raise RulerError(
            f"'{whole}' has shards, such as '{shards[0]}': add --shard, or name a new --out."
        )
    for folder in shards:
        if folder != options.folder:
            check_settings(Records(folder).settings(), settings, folder)
        if folder.name.partition("of")[2] != options.folder.name.partition("of")[2]:
            raise RulerError(f"'{folder}' is a shard of another number: name a new --out.")


def known_settings(options: RunOptions, release: Release) -> RunSettings:
    """Return the settings that are known before a model is loaded.

    They do not include a mode or sampling that the backend chooses.
    """
    template = ChatTemplate.read(options.chat_template) if options.chat_template else None
    settings = {
        "model": options.model,
        "revision": options.revision,
        "backend": options.backend,
        "direct": options.direct,
        "tokenizer": options.tokenizer,
        "chat_template": template.facts() if template else None,
        "system": options.system,
        "arguments": dict(options.engine_args),
        "thinking": options.reasoning.settings(),
        "repeats": options.repeats,
        "dataset": release.manifest["dataset"],
        "data_version": release.manifest["data_version"],
        "data_revision": release.revision,
    }
    if options.mode is not None:
        settings["mode"] = options.mode
    if options.cache_salt is not None:
        settings["cache_salt"] = options.cache_salt
    sampling = choose_sampling(options, lambda: None)
    if sampling.source == "greedy":  # else it may come from the model's generation_config.json
        settings["sampling"] = sampling.settings()
    return settings


def _check_fixed(records: Records, fixed: Mapping[str, Any], options: RunOptions) -> None:
    """Refuse to fix settings, such as the margin of `ruler decide`, after the first row."""
    before = records.settings()
    if before and not set(fixed) <= set(before):
        raise RulerError(
            f"'{options.folder}' was started before {', '.join(fixed)} was fixed: name a new --out."
        )
    check_settings(before, fixed, options.folder)
    for first in records.sessions()[:1]:
        limit = first.get("limit")
        if limit != options.limit:
            how = f"with --limit {limit}" if limit else "without --limit"
            raise RulerError(
                f"'{options.folder}' was started {how}, which cannot change later: give the "
                "same --limit, or name a new --out."
            )


def new_session(options: RunOptions, rows: Mapping[str, str]) -> Session:
    """Return the facts of this session: time, versions, and its part of the work.

    `rows` are the digests of its configurations.
    """
    source = place_of(str(options.dataset))
    versions = {"python": platform.python_version()}
    for package in VERSIONS:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "started": utc_now(),
        "shard": options.shard,
        "limit": options.limit,
        "source": source,
        "configs": list(rows),
        "rows": dict(rows),
        "concurrency": options.concurrency,
        "stream": options.stream,
        "options": {**options.to_json(), "dataset": source},
        "versions": versions,
        "machine": platform.platform(),
    }


def utc_now() -> str:
    """Return the time in ISO 8601, UTC."""
    return datetime.now(timezone.utc).isoformat()


def recorded_rows(plan: RunPlan) -> dict[str, set[RowKey]]:
    """Return the rows of this process that have a record and will not be run again."""
    again = FAILED_STATES if plan.options.retry_failed else ()
    all_states, answered = plan.records.states(), {}
    for config in plan.in_shard:
        states = all_states.get(config, {})
        answered[config] = {key for key, state in states.items() if state not in again}
    return answered


def missing_rows(plan: RunPlan, rows: Rows, answered: Mapping[str, set[RowKey]]) -> Rows:
    """Return the rows in this process's shard that have a sample without a record."""
    samples = range(plan.options.repeats)
    missing: dict[str, list[int]] = {}
    for config, indices in rows.items():
        for index in indices if config in plan.in_shard else ():
            if not answered[config].issuperset(product([index], samples)):
                missing.setdefault(config, []).append(index)
    return missing


def estimate(plan: RunPlan, rows: Rows) -> Estimate:
    """Return the work of answering these rows, from the manifest's token counts."""
    tasks = plan.release.manifest["tasks"]
    samples = plan.options.repeats
    prompt_tokens = output_tokens = 0.0
    for config, indices in rows.items():
        file = plan.files[config]
        answer = tasks[file["task"]].get("max_new_tokens", 0)
        prompt_tokens += len(indices) * max(0, file["tokens"]["mean"] - answer)
        output_tokens += len(indices) * (answer + plan.options.reasoning.budget)
    return Estimate(
        rows=sum(map(len, rows.values())),
        configs=len(rows),
        samples=samples,
        prompt_tokens=round(samples * prompt_tokens),
        output_tokens=round(samples * output_tokens),
    )


def read_rows(release: Release, rows: Rows) -> Iterator[tuple[str, PartialRow]]:
    """Yield the configuration of each row, and the row's columns that make its prompt.

    Each row group is read once; the configurations take turns. Raises RulerError for a row that
    is missing from its file.
    """
    import pyarrow.compute as pc

    turns = {config: _turns(release, config, indices) for config, indices in rows.items()}
    while turns:
        for config in list(turns):
            table = next(turns[config], None)
            if table is None:
                del turns[config]
                continue
            for place in pc.sort_indices(table["input"]).to_pylist():
                (row,) = table.slice(place, 1).to_pylist()
                yield config, row
            del table, row
            release_memory()  # the memory that unpacking used


def _turns(release: Release, config: str, indices: Collection[int]) -> Iterator[Any]:
    """Yield Arrow tables of rows, in the order of the file.

    A table has the rows of one row group, or of several if few of their rows are needed. The file
    is opened for each table, because a run may have thousands of files.
    """
    import pyarrow as pa

    missing, path, group = set(indices), release.path(config), 0
    while missing:
        tables: list[Any] = []
        with open_parquet(path) as file:
            while missing and sum(map(len, tables)) < MIN_ROWS_IN_TURN:
                if group == file.num_row_groups:
                    raise RulerError(f"'{config}' has no row {min(missing)}. Run: ruler verify DIR")
                in_group = file.read_row_group(group, columns=["index"])["index"].to_pylist()
                places = [place for place, index in enumerate(in_group) if index in missing]
                if places:
                    table = file.read_row_group(group, columns=list(PROMPT_COLUMNS))
                    refuse_nulls(table, path)
                    if len(places) < len(in_group):
                        table = table.take(places)
                    tables.append(table)
                    missing.difference_update(in_group)
                group += 1
        turn = pa.concat_tables(tables)
        del table, tables  # only the caller holds the rows now
        yield turn
