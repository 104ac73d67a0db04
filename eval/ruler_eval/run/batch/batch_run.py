"""Write a run's missing rows as batch files, and read what came back into the run's records.

    written = write_batch(BatchOrder(order=RunOrder("ruler", ("all_4k",), "batch", Path("RUN"))))
    read = read_batch(Path("RUN"), [Path("output.jsonl")])

The requests are those of the openai backend, the records those of `ruler run`: a batch is another
way to the same run folder. A row without a record is missing, whether it was never sent or its
batch expired, and the next `write_batch` writes it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_common.parsing import check_type
from ruler_common.terminal import steps
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server.providers import provider_for
from ruler_eval.run.backends.server.requests import chat_body, extra_fields, sampling_fields
from ruler_eval.run.backends.start import check_sampling
from ruler_eval.run.batch import batch_files
from ruler_eval.run.batch.batch_answers import completion_of, never_run
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.prompts import Prompter, load_tokenizer
from ruler_eval.run.records import RUN_FILE, Records, RunSettings, Session
from ruler_eval.run.row_state import over_limit, record_of
from ruler_eval.run.run_order import RunOrder, new_session, now, open_run
from ruler_eval.run.work_plan import SentRow, plan_rows, sent_rows

APIS = ("vllm", "openai", "other")
"""Who will answer: it decides which fields a request carries."""
BACKEND = "batch"
"""The name of the backend in run.json."""


class _Start(TypedDict):
    source: str
    configs: list[str]
    limit: int | None


class _Thinking(TypedDict):
    budget: int


class _Written(TypedDict):
    """What reading answers needs of the run.json that `write_batch` made."""

    model: str
    sessions: list[_Start]
    api: NotRequired[str]
    thinking: NotRequired[_Thinking]
    tokenizer: NotRequired[str | None]
    revision: NotRequired[str | None]
    max_model_len: NotRequired[int | None]


@dataclass(frozen=True)
class BatchOrder:
    """What `ruler batch write` is asked to do; the order's backend is BACKEND."""

    order: RunOrder
    api: str = "vllm"
    most_lines: int = batch_files.MOST_LINES
    most_bytes: int = batch_files.MOST_BYTES


@dataclass(kw_only=True)
class WrittenBatch:
    """What was written: files, rows, and the rows that were not because they do not fit."""

    files: list[Path] = field(default_factory=list)
    rows: int = 0
    prompt_tokens: int | None = None
    over: int = 0
    done: int = 0
    checked: bool = True


@dataclass(kw_only=True)
class ReadBatch:
    """What answers were read, and the state of the whole run after that."""

    summary: RunSummary
    answers: int = 0
    again: int = 0
    missing: int = 0
    never_run: Counter[str] = field(default_factory=Counter)

    @property
    def complete(self) -> bool:
        """Whether every row of the run has an answer."""
        return not self.missing and not self.summary.total["error"]


def write_batch(batch: BatchOrder) -> WrittenBatch:
    """Write the rows that have no record yet; rows over the window are recorded as such.

    Raises RulerError before anything is written if the order cannot run as asked, or RUN holds
    other settings.
    """
    order = batch.order
    check_name("API", batch.api, APIS, "ruler batch write --help")
    check_sampling(order.options)
    prompter, limit = _prompter(batch)
    host = "api.openai.com" if batch.api == "openai" else ""
    provider = provider_for(None, host, [batch.api], order.options.model)
    sampling = sampling_fields(order.options, provider)
    extra = extra_fields(order.options, provider, True, prompter.template_arguments)
    decided = {
        **prompter.settings(),
        "endpoint": batch_files.ENDPOINT.removeprefix("/v1/"),
        "request": extra,
        "api": batch.api,
        "budget": "tokenizer" if prompter.tokenizer is not None else "unchecked",
        "max_model_len": limit,
    }
    checked = open_run(order, decided)
    records = checked.records
    written = WrittenBatch(checked=prompter.tokenizer is not None and limit is not None)

    def requests(rows: Iterable[SentRow]) -> Iterator[tuple[batch_files.AskedRow, bytes]]:
        """Those of the rows that fit, counted in `written`; the others are recorded."""
        for config, row in rows:
            prompt = prompter(config, row)
            prompt = replace(prompt, counted_tokens=prompt.tokens)
            if over := over_limit(prompt, limit):
                records.write(over)
                written.over += 1
                continue
            written.rows += 1
            if prompt.tokens is not None:
                written.prompt_tokens = (written.prompt_tokens or 0) + prompt.tokens
            mode, model = prompter.mode, order.options.model
            body = chat_body(prompt, mode, model, sampling, extra, provider)
            yield batch_files.asked_row(prompt), batch_files.request_line(prompt, body)

    if not records.lock():
        raise RulerError(f"'{order.out}' cannot be written: name a new --out.")
    try:
        parts = checked.parts()
        written.done = sum(len(part.indices) - len(part.missing) for part in parts)
        if missing := sum(len(part.missing) for part in parts):
            records.record_settings(checked.settings, new_session(order, checked.digests))
            ordered, _ = plan_rows(checked.release, parts, 0, by_prefix=True, quiet=order.quiet)
            sent = sent_rows(checked.release, ordered)
            rows = steps(sent, "Writing", total=missing, quiet=order.quiet)
            folder = batch_files.BatchFolder(order.out / batch_files.FOLDER)
            written.files = folder.write(requests(rows), batch.most_lines, batch.most_bytes)
        for part in parts:
            records.finish(part.config, part.indices)
        return written
    finally:
        records.close()


def _prompter(batch: BatchOrder) -> tuple[Prompter, int | None]:
    """Who renders and counts the prompts, and the model's window, as far as it is known."""
    order, options = batch.order, batch.order.options
    default = "prefill" if batch.api == "vllm" and not order.reasoning.on else "chat"
    mode = order.mode or default
    if mode not in ("chat", "prefill"):
        raise RulerError(
            f"Batch files hold chat requests alone, not --mode {mode}: use `ruler run` for it."
        )
    if mode == "prefill" and batch.api != "vllm":
        raise RulerError(
            f"The API '{batch.api}' is not known to continue an assistant's turn: use --mode chat."
        )
    name = options.tokenizer or (options.model if batch.api == "vllm" else None)
    tokenizer = None if name is None else load_tokenizer(name, options.revision)
    if tokenizer is not None and not tokenizer.chat_template:
        raise RulerError(
            f"'{name}' has no chat template, and batch files hold chat requests alone: "
            "use `ruler run --mode completion`."
        )
    limit = options.max_model_len
    if limit is None and batch.api == "vllm":
        limit = _window(options)
    return Prompter(mode, tokenizer, order.direct, order.reasoning), limit


def _window(options: ModelOptions) -> int | None:
    """The window of a model in tokens, by its own configuration; None where that is silent."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(
            options.model, revision=options.revision, trust_remote_code=False
        )
    except Exception:  # an unreadable configuration; the window is then asked for by a flag
        return None
    window = getattr(config.get_text_config(), "max_position_embeddings", None)
    return window if isinstance(window, int) else None


def read_batch(run: Path, files: Sequence[Path]) -> ReadBatch:
    """Read answer files of a batch (outputs and errors, in any order) into the run's records.

    Everything is read before anything is recorded. An answer replaces a failure, and the first
    of several answers counts. Raises RulerError for a file that answers something else.
    """
    records = Records(run)
    asked = batch_files.BatchFolder(run / batch_files.FOLDER).asked()
    settings = records.settings()
    if not asked or settings.get("backend") != BACKEND or not settings.get("sessions"):
        raise RulerError(f"'{run}' is not a run of batch files. Make one: ruler batch write --help")
    check_type(settings, _Written, run / RUN_FILE, "Write the batch again with another --out.")
    started = now()
    configs = sorted({row["config"] for row in asked.values()})
    lines = [line for path in files for line in batch_files.read_answers(path, asked)]
    tokenizer = _reading_tokenizer(settings)
    records.check(configs)
    if not records.lock():
        raise RulerError(f"'{run}' cannot be written.")
    try:
        result = ReadBatch(summary=RunSummary())
        limit = settings.get("max_model_len")
        have = {config: records.of(config) for config in configs}
        for name, line in lines:
            if why := never_run(line):
                result.never_run[why] += 1
                continue
            row = asked[name]
            prompt = batch_files.prompt_of(row)
            record = record_of(completion_of(prompt, line), limit, tokenizer)
            before = have[row["config"]].get(row["index"])
            if before and (
                before["finish_reason"] != "error" or record["finish_reason"] == "error"
            ):
                result.again += 1
                continue
            records.write(record)
            have[row["config"]][row["index"]] = record
            result.answers += 1
            result.summary.count_session(record, prompt)
        _finish(records, asked.values(), settings, result, started)
        return result
    finally:
        records.close()


def _reading_tokenizer(settings: RunSettings) -> Any:
    """The tokenizer that counts reasoning; None where no room for it was asked for."""
    if not settings.get("thinking", {}).get("budget"):
        return None
    name = settings.get("tokenizer") or (
        settings["model"] if settings.get("api") == "vllm" else None
    )
    return None if name is None else load_tokenizer(name, settings.get("revision"))


def _finish(
    records: Records,
    asked: Iterable[batch_files.AskedRow],
    settings: RunSettings,
    result: ReadBatch,
    started: str,
) -> None:
    """Sort what is complete, count the states of all rows, and note this session in run.json."""
    rows: dict[str, set[int]] = {}
    for row in asked:
        rows.setdefault(row["config"], set()).add(row["index"])
    for config, indices in sorted(rows.items()):
        found = records.of(config)
        records.finish(config, indices)
        result.missing += len(indices - set(found))
        result.summary.add(config, found.values())
    last = settings["sessions"][-1]
    order = RunOrder(last["source"], tuple(last["configs"]), BACKEND, records.folder)
    session: Session = {**new_session(order, dict.fromkeys(rows, "")), "limit": last["limit"]}
    session["started"] = started
    result.summary.complete(session, now())
    records.record_settings({}, session)
