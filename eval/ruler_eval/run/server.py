"""The backend of an OpenAI-compatible server, local or hosted; or of several with the same model.

    vllm serve MODEL &
    ruler run --backend openai --base-url http://localhost:8000/v1 --model MODEL …

Which endpoint a mode uses, and who renders the chat template:

    completion                /v1/completions, the raw text (token ids with --tokenizer)
    prefill with --tokenizer  /v1/completions, the token ids of our own rendering
    prefill without           /v1/chat/completions, the server continues the assistant's turn
    chat                      /v1/chat/completions, the server renders

Prompt tokens are counted with --tokenizer, else by the server's /tokenize (vLLM, llama.cpp).
Without either the budget is "unchecked", and only the token counts of the reply show whether a
prompt was shortened.

When a row has failed: after MAX_TRIES failures, if the server where it failed answered something
else both before and after the last of them: another row, or a short question that it is asked then.
Otherwise that server is out, and the row is missing: the run waits until nothing was answered for
`--give-up-after` seconds. The first row is sent alone, so that a request that the server refuses is
refused once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Collection, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from ruler_common.errors import RulerError
from ruler_common.options import names_in
from ruler_common.text import number_of
from ruler_eval.run import llama_cpp, vllm_template
from ruler_eval.run.backend import Backend, Completion, Completions, completion_of
from ruler_eval.run.chat_template import ServerTemplate
from ruler_eval.run.classify import Answer, Failure, Request, classify
from ruler_eval.run.connection import ASK_SECONDS, Connection
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt, TokenIds, appended_tokens, load_tokenizer
from ruler_eval.run.providers import (
    chat_body,
    check_provider,
    extra_fields,
    json_bytes,
    sampling_fields,
    stream_fields,
    turn_fields,
    with_seed,
    without_prefix,
)
from ruler_eval.run.reasoning import check_model
from ruler_eval.run.reply_json import count_of, field_of
from ruler_eval.run.sampling import read_generation_config
from ruler_eval.run.server_facts import ask_servers, engine_facts, seconds_to_wait, shown

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
PLAIN_PROBE = "The grass is green.\n\nOne of the special magic numbers for it's-7 is: 8154732, (a)."
TOKENIZER_PROBES = (
    PLAIN_PROBE,
    "on \xa017 May",
    "Zażółć gęślą jaźń; 日本語。русский العربية हिन्दी ½",
)
"""Texts whose ids are compared with the server's."""
SHORT_QUESTION = "Say yes."
SHORT_TOKENS = 8
"""The length of a short question in token ids."""
KEPT = "Answered rows are kept; the others are missing and do not count as failed."

Result = TypeVar("Result")


class Server(Backend):
    """A client of one model. The key comes from OPENAI_API_KEY and is not written."""

    name = "openai"

    def __init__(self, options: RunOptions) -> None:
        """Connect and query the server. Raises RulerError if it cannot be used."""
        self.options = options
        urls = options.base_url or names_in(os.environ.get("OPENAI_BASE_URL", ""))
        key = os.environ.get("OPENAI_API_KEY") or ("EMPTY" if urls else "")
        if not key:
            raise RulerError("Set OPENAI_API_KEY, or give the server with --base-url.")
        if options.tokenizer:
            self.tokenizer = load_tokenizer(options.tokenizer)
        self._connections: list[Connection] = []
        self._loop = asyncio.new_event_loop()
        self._mode = ""
        self._extra: dict[str, Any] = {}
        self._limits_reasoning = False
        self._start_counting_time()
        try:
            for url in urls or ["https://api.openai.com/v1"]:
                self._connections.append(Connection(url, key, options.timeout))
            self._first = self._connections[0]
            self._facts = facts = ask_servers(self._connections, options)
            self.provider = facts.provider
            self.context_window = options.max_model_len or facts.context_window
            if facts.slots is not None:
                self._open_at_most(min(options.concurrency, facts.slots * len(self._connections)))
            self._props = facts.props
            self._sampling = sampling_fields(options, self.provider, self.sampling)
            counted = self._count_on_server({"prompt": "a"}) if self.tokenizer is None else None
            self._server_counts = counted is not None
            self._other_ids = self._texts_with_other_ids()
            self.server_template = self._find_template()
        except BaseException:
            self.close()
            raise

    def _open_at_most(self, requests: int) -> None:
        """Set how many requests may be open at a time."""
        self._max_open = self._places = requests
        self._semaphore = asyncio.Semaphore(requests)
        self._has_noted_crowd = False
        self._fewer_since = 0.0

    def _start_counting_time(self) -> None:
        """Set the state of sending rows."""
        self._last_answer = time.monotonic()
        self._last_answers: dict[Connection, float] = {}
        """The last answer of each server."""
        self._has_answered = False
        self._has_noted_wait = False
        self._answering_models: dict[str, None] | None = {}
        """The models that answers name; None after a note on them."""
        self._open_since: dict[object, float] = {}
        """When each request that is still open was sent."""
        self._most_open: dict[object, int] = {}
        """How many requests were open at a time while each of them was."""
        self._sent = 0
        self._open_at_most(self.options.concurrency)
        self._asking = asyncio.Lock()
        self._stopping = asyncio.Event()

    # ---- about the server --------------------------------------------------------------------

    def _ask_outside_v1(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the reply of the first server's path beside /v1: JSON, or a text.

        A body gets the model's name, which servers of several models need.
        """
        content = None if body is None else json_bytes({"model": self.options.model, **body})
        return self._first.ask(self._first.outside_v1(path), content).body

    @property
    def served_models(self) -> tuple[str, ...]:
        """The models that the first server lists."""
        return self._facts.served

    def metrics(self) -> str:
        """Return the text of vLLM's /metrics; empty for other servers."""
        if self.provider.name != "vllm":
            return ""
        text = self._ask_outside_v1("metrics")
        return text if isinstance(text, str) else ""

    def _accepts_cache_salt(self) -> bool:
        """Send a short request with the field `cache_salt`; return whether it is answered.

        Older versions of vLLM refuse every request with it.
        """
        if not self.provider.cache_salt:
            return False
        body = {"model": self.options.model, "max_tokens": 1, "cache_salt": self.options.cache_salt}
        if self.endpoint == "completions":
            body["prompt"] = SHORT_QUESTION
        else:
            body["messages"] = [{"role": "user", "content": SHORT_QUESTION}]
        return self._first.ask(self.endpoint, json_bytes(body)).status == 200

    @property
    def _asks_vllm(self) -> bool:
        """Whether the server has vLLM's /tokenize, which renders chats too."""
        return self._server_counts and self.provider.name != "llama_cpp"

    def _find_template(self) -> ServerTemplate | None:
        """Return the server's chat template if it renders the prompts and can be asked."""
        if self.tokenizer is not None:
            return None
        if self.provider.name == "llama_cpp":
            return llama_cpp.server_template(self._ask_outside_v1, self._props)
        if self._asks_vllm and self._rendered_turn:
            return vllm_template.server_template(self._ask_outside_v1)
        return None

    def _check_raw_prompts(self) -> None:
        """Raise RulerError if the server's tokenizer puts an EOS after a raw prompt."""
        with_special, plain = self._ids_on_server("a", True), self._ids_on_server("a", False)
        if with_special and plain and appended_tokens(with_special, plain):
            raise RulerError(
                "The server's tokenizer puts a token, such as EOS, after every raw prompt, and the "
                "model would end at once: add --tokenizer NAME, so that token ids are sent."
            )

    def _ids_on_server(self, text: str, special_tokens: bool) -> list[int] | None:
        """Return the ids that vLLM or llama.cpp gives to a text; None if they are unknown."""
        if self.provider.name == "llama_cpp":
            return llama_cpp.token_ids(self._ask_outside_v1, text, special_tokens)
        if self.provider.name == "vllm":
            return vllm_template.token_ids(self._ask_outside_v1, text, special_tokens)
        return None

    def _texts_with_other_ids(self) -> list[str]:
        """Return the texts to which --tokenizer gives other ids than the server; none if unknown.

        Raises RulerError if a text in plain English is among them: prompts are sent as ids, and the
        model would read another text.
        """
        if self.options.tokenizer is None:
            return []
        encode, others = TokenIds(self.tokenizer), []
        for text in TOKENIZER_PROBES:
            ids = self._ids_on_server(text, False)
            if ids is not None and ids != encode(text, False):
                others.append(text)
        if PLAIN_PROBE in others:
            raise RulerError(
                f"The tokenizer '{self.options.tokenizer}' gives other token ids than the server, "
                f"{self.provider.title}, whose model would read another text: leave --tokenizer "
                "out, or name the model's own."
            )
        return others

    def _count_on_server(self, body: Mapping[str, Any]) -> int | None:
        """Return the tokens of a prompt or of messages, counted by /tokenize of vLLM or llama.cpp.

        llama.cpp takes a text only, so it renders messages first.
        """
        if self.provider.name == "llama_cpp":
            if "prompt" in body:
                return llama_cpp.count_text(self._ask_outside_v1, body["prompt"])
            return llama_cpp.count_chat(self._ask_outside_v1, body)
        reply = self._ask_outside_v1("tokenize", body)
        tokens = field_of(reply, "tokens")
        count = count_of(field_of(reply, "count"), minimum=1)
        # no tokens at all is not a count: another program has this path too
        return len(tokens) if count is None and isinstance(tokens, list) and tokens else count

    @cached_property
    def _rendered_turn(self) -> list[int] | str | None:
        """A short chat to continue, as the server's chat template renders it: tokens or text."""
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        if self.provider.name == "llama_cpp":
            return llama_cpp.rendered(self._ask_outside_v1, {"messages": turns})
        fields = {"add_generation_prompt": False, "continue_final_message": True}
        body = {"messages": turns, **fields}
        tokens = field_of(self._ask_outside_v1("tokenize", body), "tokens")
        return tokens if isinstance(tokens, list) else None

    def describe(self) -> list[str]:
        """Return a line with model, context window and mode, and a warning if there is one."""
        name = f"{self.provider.title} {self._facts.version or ''}".strip()
        window = "unknown (--max-model-len sets it)"
        if self.context_window:
            window = f"{self.context_window:,} tokens"
        mode, reason = self._choose_mode()
        if self.options.mode is not None:
            reason = "as asked"
        elif mode != self._mode:
            reason = "for --thinking"
        where = " and ".join(connection.where for connection in self._connections)
        lines = [
            f"{name} at {where}: model {self.options.model}, context window {window}, "
            f"mode {self._mode} ({reason})."
        ]
        if self._facts.slots is not None:
            lines.append(self._describe_slots(self._facts.slots))
        if self._other_ids:
            lines.append(
                f"Warning: --tokenizer gives other token ids than {self.provider.title} to texts "
                f"such as {self._other_ids[0]!r}: leave it out, and the server reads the prompts."
            )
        if self._mode != "completion" and llama_cpp.uses_default_template(self._props):
            lines.append(f"Warning: {llama_cpp.NO_TEMPLATE}: a base model needs --mode completion.")
        if self.options.reasoning.limited and not self._limits_reasoning:
            remedy = ""
            if self._takes_budget:
                remedy = (
                    " (vLLM: start it with --reasoning-parser NAME; with --backend vllm: "
                    "--engine-arg reasoning_parser=NAME)"
                )
            lines.append(
                "This server does not enforce a budget of reasoning tokens: --thinking "
                f"{self.options.thinking} only allows for them{remedy}."
            )
        return lines

    def _describe_slots(self, slots: int) -> str:
        """Return a line on llama.cpp's slots, and how many rows are sent at a time."""
        tokens = self._facts.context_window or "?"
        line = f"llama.cpp has {number_of(slots, 'slot')} (-np) of {tokens} tokens"
        if slots > 1:
            line += ", or one context of that size for all (--kv-unified, the default without -np)"
        line += f": {number_of(self._max_open, 'row')} at a time"
        if self._max_open < self.options.concurrency:
            line += f", not {self.options.concurrency} (--concurrency)"
        return f"{line}."

    @property
    def _takes_budget(self) -> bool:
        """Whether requests can limit the reasoning."""
        return self.provider.thinking_budget is not None and self._mode == "chat"

    def generation_config(self) -> dict[str, Any] | None:
        """Return the model's default sampling settings, read from --tokenizer or its source."""
        where = self.options.tokenizer or self._facts.root
        if where is None or not self.provider.samplers:
            return None
        return read_generation_config(where)

    # ---- modes and counts --------------------------------------------------------------------

    def default_mode(self) -> str:
        """Return `prefill` if the server can continue a turn, `completion` without a template."""
        return self._choose_mode()[0]

    def _choose_mode(self) -> tuple[str, str]:
        """Return the default mode, and why."""
        if self.tokenizer is not None and not self.tokenizer.chat_template:
            return "completion", "the tokenizer has no chat template"
        if self.provider.prefill == "no":
            who = self.provider.title if self.provider.sources else "the server"
            return "chat", f"{who} is not known to continue an assistant's turn"
        if self.tokenizer is not None:
            return "prefill", "the tokenizer's chat template is rendered here"
        if llama_cpp.uses_default_template(self._props):
            return "completion", llama_cpp.NO_TEMPLATE
        if self._asks_vllm and not self._rendered_turn:
            return "completion", "the server has no chat template"
        return "prefill", f"{self.provider.title} continues the assistant's turn"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Raise RulerError if the server would silently drop the prefix, or lacks the mode."""
        self._mode = mode
        if self.options.cache_salt is not None and not self.provider.no_cache:
            self.salts_prompts = not self._accepts_cache_salt()
        is_chat = self.endpoint == "chat/completions"
        self._extra = extra_fields(self.options, self.provider, is_chat, template_arguments)
        asks_to_continue = "continue_final_message" in self._extra
        sends_ids = self.tokenizer is not None
        check_provider(self.provider, mode, is_chat, asks_to_continue, sends_ids)
        if self.tokenizer is None and self.server_template is None:
            options, always = self.options, self.provider.always_reasons
            check_model(options.model, mode, options.reasoning, options.engine_args, always)
        if self.options.reasoning.limited and self._takes_budget:
            is_set = self.provider.thinking_budget in self._extra  # by --engine-arg
            self._limits_reasoning = is_set or self._try_thinking_budget()
        if not is_chat and not sends_ids:
            self._check_raw_prompts()
        if mode == "prefill" and is_chat and self._asks_vllm and not self._rendered_turn:
            raise RulerError(
                "The server cannot render a turn to continue (no chat template?): "
                "use --mode completion or chat."
            )

    def _try_thinking_budget(self) -> bool:
        """Send a short request with a reasoning budget; if it is answered, send the budget always.

        vLLM refuses every such request unless it was started with a reasoning parser.
        """
        field, budget = self.provider.thinking_budget, self.options.reasoning.budget
        assert field is not None
        body = {
            "model": self.options.model,
            "messages": [{"role": "user", "content": "a"}],
            "max_tokens": 1,
            field: budget,
        }
        if self._first.ask("chat/completions", json_bytes(body)).status != 200:
            return False
        self._extra[field] = budget
        return True

    @property
    def endpoint(self) -> str:
        """The path under /v1 that this run's mode uses."""
        if self._mode == "completion" or (self._mode == "prefill" and self.tokenizer is not None):
            return "completions"
        return "chat/completions"

    def count(self, prompt: Prompt) -> int | None:
        """Return the prompt's tokens, counted by our tokenizer or the server; None without both."""
        if prompt.tokens is not None or not self._server_counts:
            return prompt.tokens
        if self.endpoint == "completions":
            return self._count_on_server({"prompt": prompt.text})
        turn = turn_fields(prompt, self._mode, self._extra, self.provider)
        return self._count_on_server({"messages": list(prompt.messages), **turn})

    def settings(self) -> dict[str, Any]:
        """Return the settings of server, engine, endpoint, token counting and requests."""
        is_chat = self.endpoint == "chat/completions"
        template_digest = None
        if is_chat and self._rendered_turn:
            rendered = json.dumps(self._rendered_turn).encode()
            template_digest = hashlib.sha256(rendered).hexdigest()
        budget = "tokenizer" if self.tokenizer is not None else "unchecked"
        max_tokens_field = self.provider.max_tokens_field if is_chat else "max_tokens"
        return {
            "backend_version": f"{self.provider.name} {self._facts.version or ''}".strip(),
            "endpoint": self.endpoint,
            "budget": "server" if self._server_counts else budget,
            "request": self._extra,
            "sent": {**self._sampling, "limit": max_tokens_field},
            "thinking_token_budget": self._limits_reasoning,
            "server_template_sha256": template_digest,
            **engine_facts(self.metrics()),
            **({"llama_cpp": llama_cpp.server_facts(self._props)} if self._props else {}),
        }

    # ---- rows --------------------------------------------------------------------------------

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
                self._note_answer(connection)
                return self._completion(prompt, outcome, tries=tries, **facts)
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
        connection = self._first
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
            is_alone = in_flight == 1
            sent_request = Request(
                prompt=prompt, context_window=self.context_window, fields=fields, is_alone=is_alone
            )
            outcome = classify(reply, sent_request)
            if isinstance(outcome, Failure) and outcome.crowded:
                self._send_fewer(prompt, sent)
            if isinstance(outcome, Answer):
                self._note_model(field_of(reply.body, "model"))
        finally:
            if self._places > self._max_open:
                self._places -= 1
            else:
                self._semaphore.release()
        if isinstance(outcome, Answer):
            return outcome, {"in_flight": in_flight, "seconds": took}
        return outcome, {"in_flight": in_flight}

    def _note_model(self, name: Any) -> None:
        """Say once if the answers name another model, as those of a gateway or a loaded model."""
        if not isinstance(name, str) or not name or self._answering_models is None:
            return
        self._answering_models[name] = None
        names = list(self._answering_models)
        if len(names) > 1:
            self.on_note(
                f"Some answers are of the model '{names[0]}' and some of '{names[1]}', by what the "
                f"server says, and not all of '{self.options.model}': score them as one model only "
                "if they are."
            )
        elif not _may_be_one(name, self.options.model):
            self.on_note(
                f"The server says that the answers are of the model '{name}', and not of "
                f"'{self.options.model}': correct --model if it is not another name of it."
            )
        else:
            return
        self._answering_models = None  # said

    def _send_fewer(self, prompt: Prompt, sent: float) -> None:
        """Send fewer requests at a time from now on, because the slots' shared context is full.

        A server may fail all requests in flight then: only one sent since the last time counts.
        """
        if sent < self._fewer_since:
            return
        self._fewer_since = time.monotonic()
        tokens = (prompt.counted_tokens or prompt.row_tokens) + prompt.max_tokens
        needed = (self._facts.slots or self._max_open) * tokens
        fits = self._max_open // 2
        if self._facts.slots is not None and self._facts.context_window is not None:
            fits = self._facts.context_window // tokens * len(self._connections)
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
        completion = completion_of(prompt, outcome, **facts)
        if self.provider.repeats and self._mode == "prefill":
            return replace(completion, text=without_prefix(prompt, completion.text))
        return completion

    def _no_row(self, connection: Connection, failure: Failure) -> RulerError:
        """Return the error of a run whose rows all would fail in the same way."""
        remedy = f": {failure.remedy}" if failure.remedy else ""
        return RulerError(
            f"The server at {connection.where} answers no row ({shown(failure)}){remedy}. {KEPT} "
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
                f"The server at {connection.where} has not answered for {patience:g} seconds "
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

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """Return the body of the request for a prompt."""
        model, provider, extra = self.options.model, self.provider, self._extra
        sampling = with_seed(self._sampling, provider, prompt.sample)
        if self.endpoint == "chat/completions":
            body = chat_body(prompt, self._mode, model, sampling, extra, provider)
        else:
            body = {
                "model": model,
                **sampling,
                "prompt": prompt.text if prompt.token_ids is None else list(prompt.token_ids),
                "max_tokens": prompt.max_tokens,
                **extra,
            }
        if prompt.cache_salt is not None and self.provider.cache_salt and not self.salts_prompts:
            body["cache_salt"] = prompt.cache_salt
        return body | (stream_fields(provider) if self.options.stream else {})

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


def _may_be_one(first: str, second: str) -> bool:
    """Whether two names may be of one model, with another owner, version or spelling."""
    words = [
        re.sub("[^a-z0-9]", "", name.lower().rsplit("/", 1)[-1].removesuffix(":latest"))
        for name in (first, second)
    ]
    return words[0] in words[1] or words[1] in words[0]


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
