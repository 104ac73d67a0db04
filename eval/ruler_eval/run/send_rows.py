"""Send rows as requests: how many at a time, how often again, and when a run gives up.

When a row has failed: after MAX_TRIES failures, if the server where it failed answered something
else both before and after the last of them: another row, or a short question that it is asked then.
Otherwise that server is out, and the row is missing: the run waits until nothing was answered for
`--give-up-after` seconds. The first row is sent alone, so that a request that the server refuses is
refused once.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from abc import abstractmethod
from collections.abc import Collection, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from ruler_common.errors import RulerError
from ruler_eval.run.answering_models import AnsweringModels
from ruler_eval.run.backend import Backend, Completion, Completions, completion_of
from ruler_eval.run.classify import Answer, Failure, Request, classify, shown
from ruler_eval.run.connection import ASK_SECONDS, Connection
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.providers import json_bytes
from ruler_eval.run.reply_json import field_of
from ruler_eval.run.reply_rules import BROKEN, UNREACHABLE
from ruler_eval.run.server_facts import seconds_to_wait

MAX_TRIES = 5
"""Failures of a row that has failed."""
MIN_WAIT = 1.0
"""Seconds between two tries, however soon the run gives up."""
REFUSAL_SECONDS = 10.0
"""A server refuses a request at once; if one is open for longer, the server is working on it."""
FIRST_ROW_SECONDS = 5.0
"""Seconds after which the other rows are sent, if the first one is still open."""
FINISH_SECONDS = 30.0
"""Seconds in which a run that ends early waits for the answers to open requests."""
MOMENT = 0.02
"""Seconds in which rows are collected that are sent together."""
NOTICE_SECONDS = 5.0
"""Seconds without an answer after which a server is reported as not available."""
OUT = (UNREACHABLE, BROKEN, 502, 503, 504)
"""Statuses after which a server may have been started again, perhaps with another model."""
SHORT_QUESTION = "Say yes."
SHORT_TOKENS = 8
"""The length of a short question in token ids."""
KEPT = "Answered rows are kept; the others are missing and do not count as failed."

Result = TypeVar("Result")


class RowSender(Backend):
    """A backend that sends every row as a request to one of several servers of the same model."""

    slots: int | None = None
    """The rows that a server takes at a time, if they share one context; None if it sets none."""
    slot_context: int | None = None
    """The tokens of a slot's context window, if that is known."""

    def __init__(self, options: RunOptions) -> None:
        """Send nothing yet, and to no server."""
        self.options = options
        self._connections: list[Connection] = []
        self._loop = asyncio.new_event_loop()
        self._last_answer = time.monotonic()
        self._last_answers: dict[Connection, float] = {}
        """The last answer of each server."""
        self._were_out: set[Connection] = set()
        """The servers that were out, and have not been compared since."""
        self._has_answered = False
        self._has_noted_wait = False
        self._models_named = AnsweringModels(options.model)
        self._open_since: dict[object, float] = {}
        """When each request that is still open was sent."""
        self._most_open: dict[object, int] = {}
        """How many requests were open at a time while each of them was."""
        self._sent = 0
        self._open_at_most(self.options.concurrency)
        self._asking = asyncio.Lock()
        self._comparing = asyncio.Lock()
        self._stopping = asyncio.Event()

    @property
    @abstractmethod
    def endpoint(self) -> str:
        """The path under /v1 to which rows are sent."""

    @abstractmethod
    def request(self, prompt: Prompt) -> dict[str, Any]:
        """Return the body of the request for a prompt."""

    def _open_at_most(self, requests: int) -> None:
        """Set how many requests may be open at a time."""
        self._max_open = self._places = requests
        self._semaphore = asyncio.Semaphore(requests)
        self._has_noted_crowd = False
        self._fewer_since = 0.0

    def generate(self, prompts: Iterator[Prompt]) -> Completions:
        """Answer the prompts, at most `concurrency` at a time; yield answers as they finish.

        Raises RulerError if the server is not available for too long, or answers no row. What was
        answered by then comes first. After `stop` the open requests are answered.
        """
        self._last_answer = began = time.monotonic()
        self._stopping.clear()
        rows: set[asyncio.Task[Completion]] = set()
        coming: asyncio.Future[list[Prompt]] | None = None
        has_more = True
        with ThreadPoolExecutor(1) as reader:  # rendering a row may take as long as its answer
            try:
                while (has_more or rows) and not self._stopping.is_set():
                    is_first = not self._has_answered
                    is_first = is_first and time.monotonic() - began < FIRST_ROW_SECONDS
                    places = 1 if is_first else self.options.concurrency
                    if has_more and coming is None and len(rows) < places:
                        free = places - len(rows)
                        coming = self._loop.run_in_executor(reader, next_prompts, prompts, free)
                    work = {*rows} if coming is None else {*rows, coming}
                    done = self._run(_first_of(work, FIRST_ROW_SECONDS if is_first else None))
                    yield from self._take(rows, done)
                    if coming is not None and coming in done:
                        new, coming = coming.result(), None
                        has_more = bool(new)
                        rows.update(self._loop.create_task(self._answer(row)) for row in new)
                yield from self._take_last(rows)
            except RulerError:
                self._stopping.set()
                yield from self._take_last(rows)
                raise
            finally:
                for row in rows:
                    row.cancel()
                self._run(_all_of([*rows] if coming is None else [*rows, coming]))

    def _take(self, rows: set[Any], done: Iterable[Any]) -> Iterator[Completion]:
        """Yield the completions of rows that are done, and then raise the first error."""
        finished = [row for row in done if row in rows]
        rows.difference_update(finished)
        errors = [error for row in finished if (error := row.exception()) is not None]
        yield from (row.result() for row in finished if row.exception() is None)
        if errors:
            raise errors[0]

    def _take_last(self, rows: set[Any]) -> Iterator[Completion]:
        """Wait for the requests that are open, but not for long, and yield their completions."""
        self._run(_wait_for(rows, FINISH_SECONDS))
        for row in rows:
            if row.done() and not row.cancelled() and row.exception() is None:
                yield row.result()

    def stop(self) -> None:
        """Send nothing more; `generate` then ends with the answers to the open requests."""
        super().stop()
        self._stopping.set()

    def check_alive(self) -> None:
        """Raise EngineDied if the server cannot come back; called after each try that failed."""
        return

    def is_unchanged(self, connection: Connection) -> bool:
        """Return whether a server that was out is the same now; False if it is out again.

        Raises RulerError if it is another one.
        """
        return True

    async def _is_same(self, connection: Connection) -> bool:
        """Whether the server of an answer is the one that answered before it was out."""
        async with self._comparing:
            if connection in self._were_out:
                if not await self._loop.run_in_executor(None, self.is_unchanged, connection):
                    return False
                self._were_out.remove(connection)
        return True

    async def _answer(self, prompt: Prompt) -> Completion:
        """Send a row until it is answered or has failed. Raises RulerError if none is answered."""
        content, fields = self._encoded(prompt)
        tries = failures = 0
        connection = None
        while True:
            connection = self._next_connection(connection)
            outcome, facts = await self._send(connection, prompt, content, fields)
            tries += 1
            if isinstance(outcome, Answer) or outcome.kind in ("too_long", "truncated"):
                if await self._is_same(connection):
                    self._note_answer(connection)
                    return self._completion(prompt, outcome, tries=tries, **facts)
                outcome = Failure(kind="wait", sentence="the server is starting")
            self.check_alive()
            if outcome.kind == "fatal":
                raise self._no_row(connection, outcome)
            failures += outcome.kind != "wait"
            if outcome.kind == "refused" or outcome.final or failures >= MAX_TRIES - 1:
                if not await self._answers_others(connection, prompt, outcome):
                    failures = 0  # the server is out: that says nothing about the row
                elif outcome.final or failures == MAX_TRIES:
                    return self._completion(prompt, outcome, tries=tries, **facts)
            self._check_given_up(connection, outcome)
            await self._pause(outcome, tries)

    def _next_connection(self, failed: Connection | None) -> Connection:
        """Return the next server in turn; another than that where the row has just failed."""
        connection = self._connections[0]
        for _ in self._connections:
            connection = self._connections[self._sent % len(self._connections)]
            self._sent += 1
            if connection is not failed:
                break
        return connection

    async def _send(
        self,
        connection: Connection,
        prompt: Prompt,
        content: bytes,
        fields: Collection[str],
        seconds: float | None = None,
    ) -> tuple[Answer | Failure, dict[str, Any]]:
        """Send a prompt once; return what the reply means, and facts about the request."""
        await self._semaphore.acquire()
        try:
            if self._stopping.is_set():
                raise asyncio.CancelledError
            request = object()
            self._open_since[request] = sent = time.monotonic()
            for other in self._open_since:
                self._most_open[other] = max(self._most_open.get(other, 0), len(self._open_since))
            try:
                reply = await connection.send(self.endpoint, content, self.options.stream, seconds)
                took = time.monotonic() - sent
            finally:
                in_flight = self._most_open.pop(request)
                del self._open_since[request]
            if reply.status in OUT:
                self._were_out.add(connection)
            is_alone = in_flight == 1
            sent_request = Request(
                prompt=prompt, context_window=self.context_window, fields=fields, is_alone=is_alone
            )
            outcome = classify(reply, sent_request)
            if isinstance(outcome, Failure) and outcome.crowded:
                self._send_fewer(prompt, sent)
            if isinstance(outcome, Answer):
                note = self._models_named.note(field_of(reply.body, "model"))
                if note is not None:
                    self.on_note(note)
                    self.answering_models = self._models_named.names
        finally:
            if self._places > self._max_open:
                self._places -= 1
            else:
                self._semaphore.release()
        if isinstance(outcome, Answer):
            return outcome, {"in_flight": in_flight, "seconds": took}
        return outcome, {"in_flight": in_flight}

    def _send_fewer(self, prompt: Prompt, sent: float) -> None:
        """Send fewer requests at a time from now on, because the slots' shared context is full.

        A server may fail all requests in flight then: only one sent since the last time counts.
        """
        if sent < self._fewer_since:
            return
        self._fewer_since = time.monotonic()
        tokens = (prompt.counted_tokens or prompt.row_tokens) + prompt.max_tokens
        needed = (self.slots or self._max_open) * tokens
        fits = self._max_open // 2
        if self.slots is not None and self.slot_context is not None:
            fits = self.slot_context // tokens * len(self._connections)
        self._max_open = max(1, min(self._max_open - 1, fits))
        if not self._has_noted_crowd:
            self._has_noted_crowd = True
            self.on_note(
                "The server's slots share one context, which is full: fewer rows are sent at a "
                f"time. For all its slots start it with -c of at least {needed}."
            )

    async def _answers_others(
        self, connection: Connection, prompt: Prompt, failure: Failure
    ) -> bool:
        """Whether the same server answers something else now: another row, or a short question.

        Raises RulerError if it refuses that as it refused the row. If it had answered before, an
        address that is not found is a gateway whose server is out.
        """
        since = time.monotonic()
        async with self._asking:
            if self._last_answers.get(connection, 0.0) > since:
                return True
            short = short_question(prompt)
            seconds = min(ASK_SECONDS, self.options.timeout)
            outcome, _ = await self._send(connection, short, *self._encoded(short), seconds)
            if isinstance(outcome, Answer) or outcome.kind in ("too_long", "truncated"):
                self._note_answer(connection)
                return True
            is_unknown = connection not in self._last_answers
            is_same = outcome.kind == failure.kind == "refused"
            if outcome.kind == "fatal" or (is_same and (outcome.final or is_unknown)):
                raise self._no_row(connection, outcome)
            return self._last_answers.get(connection, 0.0) > since

    def _completion(self, prompt: Prompt, outcome: Answer | Failure, **facts: Any) -> Completion:
        return completion_of(prompt, outcome, **facts)

    def _no_row(self, connection: Connection, failure: Failure) -> RulerError:
        """Return the error of a run whose rows all would fail in the same way."""
        remedy = f": {failure.remedy}" if failure.remedy else ""
        return RulerError(
            f"The server at {connection.url} answers no row ({shown(failure)}){remedy}. {KEPT} "
            "Run the same command to continue."
        )

    def _note_answer(self, connection: Connection) -> None:
        """Record that a server is available."""
        self._last_answer = self._last_answers[connection] = time.monotonic()
        self._has_answered = True
        self._has_noted_wait = False

    def _check_given_up(self, connection: Connection, failure: Failure) -> None:
        """Raise RulerError if nothing was answered for too long; say once that the run waits."""
        now, patience = time.monotonic(), self.options.give_up_after
        oldest = min(self._open_since.values(), default=now)
        waited = now - self._last_answer
        if waited >= patience and now - oldest <= REFUSAL_SECONDS:
            raise RulerError(
                f"The server at {connection.url} has not answered for {patience:g} seconds "
                f"({shown(failure)}). {KEPT} Run the same command to continue."
            )
        if waited >= NOTICE_SECONDS and not self._has_noted_wait and not failure.crowded:
            self._has_noted_wait = True
            self.on_note(
                f"The server is not available ({shown(failure)}): waiting up to {patience:g} "
                "seconds (--give-up-after)."
            )

    async def _pause(self, failure: Failure, tries: int) -> None:
        """Wait before the next try, at most until the run gives up or ends with an error."""
        remaining = self._last_answer + self.options.give_up_after - time.monotonic()
        seconds = min(seconds_to_wait(failure, tries), max(remaining, MIN_WAIT))
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
            raise asyncio.CancelledError

    def _encoded(self, prompt: Prompt) -> tuple[bytes, tuple[str, ...]]:
        """Return the body of a request as it is sent, and the names of its fields.

        A list of token ids takes ten times the memory, so it is not kept.
        """
        body = self.request(prompt)
        return json_bytes(body), tuple(body)

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end; in a thread if this one has a loop, as in a notebook.

        Ctrl-C ends the coroutine, and takes effect after the loop has stopped: an exception of its
        handler within the loop would be reported as an error of a connection.
        """
        if _is_in_a_loop():
            with ThreadPoolExecutor(1) as thread:
                return thread.submit(self._loop.run_until_complete, work).result()
        handler = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or not callable(handler):
            return self._loop.run_until_complete(work)
        task = self._loop.create_task(work)
        self._loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            return self._loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        finally:
            self._loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, handler)
        signal.raise_signal(signal.SIGINT)
        raise KeyboardInterrupt

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            self._run(connection.close())
        self._run(_finish_all())
        self._loop.close()


def _is_in_a_loop() -> bool:
    """Whether this thread runs an event loop, as that of a notebook does."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def short_question(prompt: Prompt) -> Prompt:
    """Return a prompt in the form of another one that takes no time to answer."""
    turns = []
    for turn in prompt.messages:
        turns.append({**turn, "content": SHORT_QUESTION} if turn["role"] == "user" else turn)
    return replace(
        prompt,
        messages=tuple(turns),
        text=None if prompt.text is None else SHORT_QUESTION,
        token_ids=None if prompt.token_ids is None else prompt.token_ids[:SHORT_TOKENS],
        row_tokens=0,
        counted_tokens=None,
    )


def next_prompts(prompts: Iterator[Prompt], count: int) -> list[Prompt]:
    """Return the next prompts: at most `count`, and those that are ready within a moment."""
    began, ready = time.monotonic(), []
    for prompt in islice(prompts, count):
        ready.append(prompt)
        if time.monotonic() - began > MOMENT:
            break
    return ready


async def _first_of(work: Iterable[Any], seconds: float | None) -> set[Any]:
    """Return what is done, as soon as anything is, or after a time."""
    done, _ = await asyncio.wait(work, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return done


async def _wait_for(work: Iterable[Any], seconds: float) -> None:
    """Wait until everything is done, or for a time."""
    if work:
        await asyncio.wait(work, timeout=seconds)


async def _finish_all() -> None:
    """Let everything end that the loop still holds, such as a stream that was left early."""
    await asyncio.get_running_loop().shutdown_asyncgens()
    await _all_of(asyncio.all_tasks() - {asyncio.current_task()})


async def _all_of(work: Iterable[Any]) -> None:
    """Wait until everything is done, whether it failed or was cancelled."""
    await asyncio.gather(*work, return_exceptions=True)
