"""Run a model over a frozen release: rows -> prompt -> backend -> row state -> record.

    summary = run(RunOptions("ruler", configs="all_4k", backend="oracle", out="RUN"))

RULER's evaluation (arXiv:2404.06654, section 4): greedy decoding, one prompt a row, the answer
prefix begins the model's answer. Every row ends in exactly one state of `records.STATES`; a row
that does not fit the model's window is recorded as such and never shortened. Rows are sent in
waves (plan.py); a caller who may stop between two of them uses `OpenRun`.
"""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.terminal import announce
from ruler_eval.run.backends.backend import Backend, EngineDied, check_installed, start_backend
from ruler_eval.run.checked_run import RowOrder, check_run, new_session, utc_now
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import (
    Estimate,
    Part,
    SentRow,
    in_waves,
    needed_window,
    plan_rows,
    read_rows,
)
from ruler_eval.run.progress import Progress, RunSummary
from ruler_eval.run.prompts import OPENING, Prompt, Prompter
from ruler_eval.run.records import Record
from ruler_eval.run.row_state import over_limit, record_of

MAX_THREADS = 16
MAX_TOKENS_AHEAD = 1 << 22
"""Tokens of the rows that are rendered ahead, at most (a longer row is rendered alone)."""


def estimate(options: RunOptions) -> Estimate:
    """Return what a run would do: `ruler run --dry-run`. No model is loaded, nothing is written."""
    checked = check_run(options)
    parts = checked.parts(writable=False)
    return plan_rows(checked.release, parts, checked.options, checked.waves(parts, None))[1]


def run(options: RunOptions) -> RunSummary:
    """Answer what is missing and return the state of every row of the run.

    Raises RulerError before the first row if the run cannot be as asked or the folder holds other
    settings. Killed at any moment it loses the rows in flight; the same options resume.
    """
    with OpenRun(options) as work:
        if any(part.missing for part in work.parts):
            work.start()
            work.answer([part for wave in work.in_order for part in wave])
        summary = work.finish(work.parts)
    if summary.none_fits:
        raise RulerError(
            f"No row fits the model's context length; the first: {summary.first['does_not_fit']}. "
            "Run shorter rows, or see docs/servers.md for a longer context; if that length is "
            "wrong, give --max-model-len."
        )
    return summary


class OpenRun:
    """A run that is being worked on; its backend starts with the first missing row.

    with OpenRun(options) as work:
        for wave in work.waves():
            work.answer(wave)                    # until every row of the wave has its record
    """

    def __init__(
        self,
        options: RunOptions,
        fixed: Mapping[str, Any] | None = None,
        look_every: int | None = None,
        order_rows: RowOrder | None = None,
    ) -> None:
        """Check the options and lock the folder; `fixed` settings are recorded in run.json, too.

        A caller who looks at the rows between waves gives `look_every`, the most rows of a
        configuration in one, and maybe their order. Raises RulerError as `run` does.
        """
        self.checked = check_run(options, fixed)
        self.options, self.records = self.checked.options, self.checked.records
        reasoning = self.options.reasoning
        self.summary = RunSummary(
            shard=self.options.shard, max_thinking=reasoning.budget if reasoning.limited else None
        )
        self.on_record: Callable[[Record], None] = lambda record: None
        """Called with the record of each row that is answered."""
        self._session = new_session(self.options, self.checked.digests)
        self._backend: Backend | None = None
        self._prompter: Prompter | None = None
        self._progress: Progress | None = None
        self._restarted = False
        self._done: set[tuple[str, int, int]] = set()
        self.writable = self.records.lock()
        try:
            self.parts = self.checked.parts(self.writable, order_rows)
            self._waves = self.checked.waves(self.parts, look_every)
        except BaseException:
            self.records.close()
            raise

    def __enter__(self) -> OpenRun:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: Any) -> None:
        try:
            if self._progress is not None:
                self._progress.stop()
            if self._backend is not None and error is None:
                self.summary.complete(self._session, utc_now())
                self.records.record_settings({}, self._session)
        finally:
            if self._backend is not None:
                self._backend.close()
            self.records.close()

    @cached_property
    def plan(self) -> tuple[list[Part], Estimate]:
        """The parts with their rows in the order of sending, and what they amount to."""
        return plan_rows(self.checked.release, self.parts, self.options, self._waves)

    @cached_property
    def in_order(self) -> list[list[Part]]:
        """The parts of each wave; all in one if the run has no waves."""
        parts, _ = self.plan
        return in_waves(parts, self._waves) if self._waves else [parts]

    def waves(self) -> list[list[Part]]:
        """Return the parts of each wave, in the frozen order. Raises RulerError without waves."""
        if self._waves is None:
            raise RulerError(
                f"{len(self.parts)} configurations are too many to go round in waves: choose fewer "
                "with --configs."
            )
        return self.in_order

    def start(self) -> None:
        """Start the backend and record the settings it adds, unless it has been started.

        Done before the plan is made, it finds early what is wrong with model, window or mode.
        """
        if self._backend is not None:
            return
        if not self.writable:
            raise RulerError(
                f"'{self.options.folder}' has missing rows and cannot be written: name a new --out."
            )
        check_installed(self.options.backend)
        backend, prompter = self._start_backend()
        settings = {
            **self.checked.settings,
            **backend.settings(),
            **prompter.settings(),
            "sampling": backend.sampling.settings(),
            "max_model_len": backend.own_limit or backend.limit,
        }
        self.records.record_settings(settings, self._session)

    def _start_backend(self) -> tuple[Backend, Prompter]:
        """Start the backend, and the prompts in the mode that is asked for or the backend's own."""
        options = self.options
        window = None
        if options.backend == "vllm" and not (
            options.max_model_len or "max_model_len" in options.arguments
        ):
            window = needed_window(self.checked.release, self.parts, options)
            self._session["window"] = window
        if options.progress and options.backend in ("vllm", "hf"):
            announce(f"Loading the model '{options.model}'")
        self._backend = backend = start_backend(options, self.checked.release, window)
        mode = options.mode or ("chat" if options.reasoning.on else backend.default_mode())
        self._prompter = Prompter(
            mode,
            backend.tokenizer,
            options.direct,
            options.reasoning,
            counts_tokens=backend.needs_token_ids,
        )
        backend.check_mode(mode, self._prompter.template_arguments)
        return backend, self._prompter

    def answer(self, parts: Sequence[Part]) -> None:
        """Answer the missing rows of these parts, each of which then has its record.

        An engine that ends while it runs is started again, once.
        """
        if not any(part.missing for part in parts):
            return
        self.start()
        if self._progress is None:
            self._progress = self._start_progress()
        try:
            self._answer(parts, self._progress)
        except EngineDied as error:
            if self._restarted or self._backend is None:
                raise
            self._restarted = True
            self._backend.close()
            self._progress.note(f"{error} It is started again.")
            self._start_backend()
            self.answer(parts)

    def _start_progress(self) -> Progress:
        """Show the estimate, what the backend found, and the bar."""
        backend = self._backend
        assert backend is not None
        progress = Progress(self.plan[1], self.options.price, not self.options.progress)
        for line in backend.describe():
            progress.note(line)
        if note := backend.sampling.note(self.options.reasoning.on):
            progress.note(note)
        backend.on_note = progress.note
        return progress

    def _answer(self, parts: Sequence[Part], progress: Progress) -> None:
        """Render, send and record the missing rows of parts: the way of every row."""
        backend, prompter = self._backend, self._prompter
        assert backend is not None
        assert prompter is not None
        backend.on_note = progress.note
        if self.options.repeats > 1:
            for part in parts:
                done = self.records.read(part.config, self.options.retry_failed)
                self._done |= {(part.config, *key) for key in done}
        with closing(render_ahead(self._rows_to_send(parts), prompter, backend)) as prompts:
            samples = self._samples_to_send(prompts, backend, progress)
            for completion in backend.generate(samples):
                record = record_of(completion, backend.limit, backend.tokenizer)
                self.summary.count_session(record, completion.prompt)
                self._record(record, completion.prompt, progress)

    def _rows_to_send(self, parts: Sequence[Part]) -> Iterator[SentRow]:
        """Yield the rows without a record of every sample, in the order of sending."""
        samples = range(self.options.repeats)
        for config, row in read_rows(self.checked.release, parts):
            if any((config, row["index"], sample) not in self._done for sample in samples):
                yield config, row

    def _samples_to_send(
        self, prompts: Iterator[Prompt], backend: Backend, progress: Progress
    ) -> Iterator[Prompt]:
        """Yield each sample that has no record yet; those that do not fit are recorded as such."""
        for prompt in prompts:
            for number in range(self.options.repeats):
                if (prompt.config, prompt.index, number) in self._done:
                    continue
                sample = replace(prompt, sample=number) if number else prompt
                over = over_limit(sample, backend.limit)
                if over is None:
                    yield sample
                else:
                    _check_window(backend, sample)
                    self._record(over, sample, progress)

    def _record(self, record: Record, prompt: Prompt, progress: Progress) -> None:
        """Write the record of a row, or of a sample of it."""
        if self.options.repeats > 1:
            record = {**record, "sample": prompt.sample}
        self.records.write(record)
        self.on_record(record)
        self._done.add((prompt.config, prompt.index, prompt.sample))
        progress.add(record, prompt.row_tokens)

    def finish(self, parts: Sequence[Part]) -> RunSummary:
        """Sort the files of these parts, and count the state of every row of them."""
        for part in parts:
            keys = [
                (index, sample) for index in part.indices for sample in range(self.options.repeats)
            ]
            if self.writable:
                self.records.finish(part.config, keys)
            found = self.records.read(part.config)
            self.summary.missing += sum(key not in found for key in keys)
            self.summary.add(part.config, [found[key] for key in keys if key in found])
        return self.summary

    def record(self, found: Mapping[str, Any]) -> None:
        """Write a result of the whole run into run.json; rows tried again may change it."""
        settings = self.records.settings()
        if self.writable and settings.get("sessions"):
            self.records.record_settings({}, settings["sessions"][-1], found)


def render_ahead(
    rows: Iterator[SentRow], prompter: Prompter, backend: Backend
) -> Generator[Prompt, None, None]:
    """Yield the prompts of rows in their order, rendered by threads a few rows ahead.

    Tokenizers work outside Python's lock: as many run at a time as there are cores.
    """
    if prompter.tokenizer is not None and prompter.counts_tokens:
        prompter.token_ids  # noqa: B018  (made before there are threads)
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    threads = min(cores, MAX_THREADS)
    waiting: deque[tuple[Future[Prompt], int]] = deque()
    tokens = 0
    pool = ThreadPoolExecutor(threads)
    try:
        for config, row in rows:
            size = int(row.get("length", 0))
            waiting.append((pool.submit(_render, prompter, backend, config, row), size))
            tokens += size
            while waiting and (len(waiting) > 2 * threads or tokens > MAX_TOKENS_AHEAD):
                future, size = waiting.popleft()
                tokens -= size
                yield future.result()
        while waiting:
            yield waiting.popleft()[0].result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _render(prompter: Prompter, backend: Backend, config: str, row: Mapping[str, Any]) -> Prompt:
    """Return a row's prompt with its tokens counted; threads call this."""
    prompt = prompter(config, row)
    count = backend.count(prompt)
    if prompt.token_ids is None or prompt.text is None:
        return replace(prompt, counted_tokens=count)
    # the text is not read any more but for its end, and a list takes ten times the memory
    ids, end = array("I", prompt.token_ids), prompt.text[-OPENING:]
    return replace(prompt, counted_tokens=count, token_ids=ids, text=end)


def _check_window(backend: Backend, prompt: Prompt) -> None:
    """Raise RulerError for a row that fits the model, but not the window this engine was given."""
    needed = (prompt.counted_tokens or 0) + prompt.max_tokens
    if backend.own_limit is not None and needed <= backend.own_limit:
        raise RulerError(
            f"{prompt.config} row {prompt.index} needs {needed:,} tokens, more than the "
            f"{backend.limit:,} that its configuration was thought to need: give "
            f"--max-model-len {backend.own_limit}."
        )
