"""Run a model over a frozen release: rows -> prompt -> backend -> row state -> record.

    summary = run(RunOptions("ruler", configs="all_4k", backend="oracle", out="RUN"))

RULER's evaluation (arXiv:2404.06654, section 4): greedy decoding, one prompt per row, the answer
prefix begins the model's answer. Every row ends in exactly one state of `records.STATES`; a row
that does not fit the model's context window is recorded as such and never shortened. To stop after
some of the rows, use `OpenRun`.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import chain, product
from threading import Lock
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.text import announce
from ruler_eval.frozen_release import PartialRow
from ruler_eval.run.answer_counts import AnswerCounts
from ruler_eval.run.backend import Backend, EngineDied
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import (
    Estimate,
    RowOrder,
    Rows,
    estimate,
    missing_rows,
    new_session,
    plan_run,
    read_rows,
    recorded_rows,
    utc_now,
)
from ruler_eval.run.progress import Progress, RunSummary
from ruler_eval.run.prompts import PROMPT_END, Prompt, Prompter
from ruler_eval.run.records import Record, check_settings, key_of
from ruler_eval.run.row_state import over_context_window, record_of
from ruler_eval.run.start_backend import choose_mode, make_prompter, start_backend

MAX_THREADS = 16
SALT_BYTES = 8
"""The length of the salt of a row, which is written as hexadecimal digits."""


def estimate_run(options: RunOptions) -> Estimate:
    """Return the work of a run (`ruler run --dry-run`) without loading a model or writing files."""
    plan = plan_run(options)
    return estimate(plan, missing_rows(plan, plan.rows, recorded_rows(plan)))


def run(options: RunOptions) -> RunSummary:
    """Answer the missing rows and return the states of all rows of the run.

    Raises RulerError before the first row if the options are not possible or the folder has
    different settings. If the process is killed, only the rows in flight are lost; the same options
    resume the run.
    """
    with OpenRun(options) as work:
        work.answer(work.plan.rows)
        summary = work.count_states(work.plan.rows)
    if not summary.missing and set(summary.total) == {"does_not_fit"}:
        raise RulerError(
            f"No row fits the model's context window; the first: {summary.first['does_not_fit']}. "
            "Run shorter rows; or give the server a longer context (docs/servers.md) or, if that "
            "length is wrong, --max-model-len, and add --retry-failed."
        )
    return summary


class OpenRun:
    """A run in progress; its backend is started for the first missing row.

    with OpenRun(options) as work:
        work.answer({"vt_4k": [0, 1, 2]})        # now these rows have records
        work.count_states({"vt_4k": [0, 1, 2]})  # returns the states in which they ended
    """

    def __init__(
        self,
        options: RunOptions,
        fixed: Mapping[str, Any] | None = None,
        order_rows: RowOrder | None = None,
    ) -> None:
        """Check the options and lock the folder.

        Args:
            options: The options.
            fixed: More settings, recorded in run.json, that cannot change later.
            order_rows: Puts the rows of a file into a different order.

        Raises RulerError as `run` does.
        """
        self.plan = plan_run(options, fixed, order_rows)
        self.options, self.records = self.plan.options, self.plan.records
        reasoning = self.options.reasoning
        self.summary = RunSummary(
            shard=self.options.shard,
            max_thinking=reasoning.budget if reasoning.limited else None,
            answers=AnswerCounts(thinks=reasoning.on, mode=self.options.mode or ""),
        )
        self.on_record: Callable[[Record], None] | None = None
        """Called with the record of each row that is answered, by the thread that writes it."""
        self._session = new_session(self.options, self.plan.digests)
        self._backend: Backend | None = None
        self._prompter: Prompter
        self._progress: Progress | None = None
        self._restarted = self._is_stopping = False
        self._has_begun = False
        self._writing = Lock()
        self._settings: dict[str, Any] = {}
        self.writable = self.records.lock()
        try:
            self._answered = recorded_rows(self.plan)
        except BaseException:
            self.records.close()
            raise

    def __enter__(self) -> OpenRun:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: Any) -> None:
        try:
            if self._progress is not None:
                self._progress.bar.close()
            if self._backend is not None:
                self._end_session(self._backend.answering_models, has_failed=error is not None)
        finally:
            if self._backend is not None:
                self._backend.close()
            self.records.close()

    def answer(self, rows: Rows) -> None:
        """Answer the rows that have no record yet."""
        for _ in self.stream([rows]):
            pass

    def stream(self, parts: Sequence[Rows]) -> Generator[Record, None, None]:
        """Yield the record of each row that had none, as soon as it is written.

        The rows are sent part by part, without a pause between two parts. Rows stay in flight while
        the caller works on a record; after `stop` only those in flight follow. If the engine dies,
        it is started again once.
        """
        missing = [missing_rows(self.plan, part, self._answered) for part in parts]
        if self._is_stopping or not any(missing):
            return
        backend = self._backend or self._start()
        progress = self._progress or self._start_progress(backend)
        try:
            yield from self._send(missing, backend, progress)
        except EngineDied as error:
            if self._restarted:
                raise RulerError(
                    f"{error} It was started again once before. Answered rows are kept; run the "
                    "same command to continue."
                ) from error
            self._restarted = True
            self._backend = None
            backend.close()
            progress.note(f"{error} It is started again.")
            self._start_backend().on_note = progress.note
            yield from self.stream(parts)

    def stop(self) -> None:
        """Send no more rows: `stream` ends with the records of those in flight."""
        self._is_stopping = True
        if self._backend is not None:
            self._backend.stop()

    def _start(self) -> Backend:
        """Start the backend and check the settings it adds.

        Errors in the model, its context window or the mode are raised here, before the first row.
        """
        options = self.options
        if not self.writable:
            raise RulerError(
                f"'{options.folder}' has missing rows and cannot be written: name a new --out."
            )
        if options.progress and options.backend == "hf":
            announce(f"Loading the model '{options.model}'")
        backend = self._start_backend()
        if backend.needed_context is not None:
            self._session["needed_context"] = backend.needed_context
        settings = {
            **self.plan.settings,
            **backend.settings(),
            **self._prompter.settings(),
            "sampling": backend.sampling.settings(),
            "max_model_len": backend.model_context_window or backend.context_window,
        }
        check_settings(self.records.settings(), settings, options.folder)
        self._settings = settings
        self._session["max_model_len"] = settings["max_model_len"]
        return backend

    def _begin(self) -> None:
        """Write run.json and the session, once there is something to record.

        A start that fails before its first answer, such as one with a field that the server
        refuses, leaves nothing behind that would contradict the next one.
        """
        if not self._has_begun:
            self._has_begun = True
            self.records.write_settings(self._settings)
            self.records.write_session(self._session)

    def _end_session(self, answering_models: Sequence[str], has_failed: bool) -> None:
        """Write what the session did; of one that failed only what the answers say."""
        if answering_models:
            self._session["answering_models"] = [*answering_models]
        if not has_failed:
            self._begin()
            self.summary.complete(self._session, utc_now())
        if self._has_begun and (answering_models or not has_failed):
            self.records.write_session(self._session)

    def _start_backend(self) -> Backend:
        """Start the backend, and make a prompter for the mode of the options or the default one."""
        options, plan = self.options, self.plan
        # all files of this process, so that a session with few missing rows gets the same engine
        files = {config: plan.files[config] for config in plan.in_shard}
        self._backend = backend = start_backend(options, plan.release, files)
        self.summary.answers.mode = mode = choose_mode(options, backend)
        self._prompter = make_prompter(options, mode, backend)
        backend.check_mode(mode, self._prompter.template_arguments)
        return backend

    def _start_progress(self, backend: Backend) -> Progress:
        """Show the estimate, the backend's description, and the bar."""
        to_do = estimate(self.plan, missing_rows(self.plan, self.plan.rows, self._answered))
        options = self.options
        self._progress = progress = Progress(to_do, options.price, quiet=not options.progress)
        for line in backend.describe():
            progress.note(line)
        if note := backend.sampling.note(options.reasoning.on, options.repeats):
            progress.note(note)
        backend.on_note = progress.note
        return progress

    def _send(
        self, parts: Sequence[Rows], backend: Backend, progress: Progress
    ) -> Generator[Record, None, None]:
        """Render, send and record missing rows: every row passes through here."""
        rows = chain.from_iterable(read_rows(self.plan.release, part) for part in parts)
        salt = self.options.cache_salt
        too_long: deque[Record] = deque()
        with closing(render_ahead(rows, self._prompter, backend, salt)) as prompts:
            samples = self._samples(prompts, backend, progress, too_long)
            with closing(backend.generate(samples)) as completions:
                for completion in completions:
                    record = record_of(completion, backend.tokenizer)
                    self.summary.count_session(record, completion.prompt)
                    yield self._write(record, completion.prompt, progress)
                    while too_long:
                        yield too_long.popleft()
        yield from too_long

    def _samples(
        self,
        prompts: Iterator[Prompt],
        backend: Backend,
        progress: Progress,
        too_long: deque[Record],
    ) -> Iterator[Prompt]:
        """Yield each sample that has no record yet; record those that do not fit in `too_long`.

        A backend may run this in a thread of its own.
        """
        for prompt in prompts:
            for number in range(self.options.repeats):
                if self._is_stopping:
                    return
                if (prompt.index, number) in self._answered[prompt.config]:
                    continue
                sample = replace(prompt, sample=number) if number else prompt
                record = over_context_window(sample, backend.context_window)
                if record is None:
                    yield sample
                    continue
                model_window = backend.model_context_window
                if model_window and over_context_window(sample, model_window) is None:
                    raise RulerError(
                        f"{prompt.config} row {prompt.index} needs more than the "
                        f"{backend.context_window:,} tokens that were estimated for its "
                        f"configuration: add --max-model-len {model_window}."
                    )
                too_long.append(self._write(record, sample, progress))

    def _write(self, record: Record, prompt: Prompt, progress: Progress) -> Record:
        """Write the record of a row, or of a sample of it."""
        if self.options.repeats > 1:
            record = {**record, "sample": prompt.sample}
        with self._writing:
            self._begin()
            self.records.write(record)
            self._answered[prompt.config].add((prompt.index, prompt.sample))
            if self.on_record is not None:
                self.on_record(record)
            progress.add(record, prompt.row_tokens)
        return record

    def count_states(self, rows: Rows) -> RunSummary:
        """Count the states of these rows."""
        samples = range(self.options.repeats)
        keys = {config: set(product(indices, samples)) for config, indices in rows.items()}
        missing = {config: set(wanted) for config, wanted in keys.items()}
        for config in rows:
            self.summary.states.setdefault(config, Counter())
        for record in self.records.read():
            config, key = record["config"], key_of(record)
            if key in keys.get(config, ()):
                self.summary.add(record)
                missing[config].discard(key)
        self.summary.missing += sum(map(len, missing.values()))
        return self.summary

    def missing(self, rows: Rows) -> Rows:
        """Return those rows that have no record yet."""
        return missing_rows(self.plan, rows, self._answered)

    def write_result(self, name: str, result: Mapping[str, Any]) -> None:
        """Write a result of the whole run, such as `decision`, into a file of its own."""
        if self.writable:
            self.records.write_result(name, result)


def render_ahead(
    rows: Iterable[tuple[str, PartialRow]],
    prompter: Prompter,
    backend: Backend,
    cache_salt: str | None = None,
) -> Generator[Prompt, None, None]:
    """Yield the prompts of rows in order, rendered a few rows ahead by threads.

    Tokenizers release Python's lock, so there is a thread for each core.
    """
    if prompter.tokenizer is not None and prompter.counts_tokens:
        prompter.token_ids  # noqa: B018  (cached before the threads start)
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    threads = min(cores, MAX_THREADS)
    waiting: deque[Future[Prompt]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for config, row in rows:
            waiting.append(pool.submit(_render, prompter, backend, config, row, cache_salt))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def row_salt(cache_salt: str, config: str, index: int) -> str:
    """Return the salt of a row: no two rows of a run share a cached prefix."""
    text = f"{cache_salt}/{config}/{index}"
    return hashlib.blake2b(text.encode(), digest_size=SALT_BYTES).hexdigest()


def _render(
    prompter: Prompter,
    backend: Backend,
    config: str,
    row: Mapping[str, Any],
    cache_salt: str | None = None,
) -> Prompt:
    """Return a row's prompt with its tokens counted; called by threads."""
    salt = None if cache_salt is None else row_salt(cache_salt, config, row["index"])
    if salt is not None and backend.salts_prompts:
        row = {**row, "input": f"[{salt}]\n{row['input']}"}
    prompt = prompter(config, row)
    if salt is not None:
        prompt = replace(prompt, cache_salt=salt)
    count = backend.count(prompt)
    if prompt.token_ids is None or prompt.text is None:
        return replace(prompt, counted_tokens=count)
    # only the end of the text is read later, and a list would take ten times the memory
    ids, end = array("I", prompt.token_ids), prompt.text[-PROMPT_END:]
    return replace(prompt, counted_tokens=count, token_ids=ids, text=end)
