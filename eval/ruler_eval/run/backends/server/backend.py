"""The backend of an OpenAI-compatible server, local or hosted.

    vllm serve MODEL &
    ruler run --backend openai --base-url http://localhost:8000/v1 --model MODEL …

Which endpoint a mode uses, and who renders the chat template:

    completion                /v1/completions, the raw text (token ids with --tokenizer)
    prefill with --tokenizer  /v1/completions, the token ids of our own rendering
    prefill without           /v1/chat/completions, the server continues the assistant's turn
    chat                      /v1/chat/completions, the server renders

Prompt tokens are counted with --tokenizer, else by the server's /tokenize (vLLM). Without either
the budget is "unchecked", and only the token counts of the reply show whether a prompt was
shortened.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import queue
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from typing import Any

import openai

from ruler_common.errors import RulerError
from ruler_common.text import note
from ruler_eval.run.backends.backend import Backend, Completion
from ruler_eval.run.backends.server.client import (
    START_SECONDS,
    Client,
    describe,
    is_refused,
    is_unavailable,
    start_error,
)
from ruler_eval.run.backends.server.replies import (
    MAX_SHOWN,
    Malformed,
    count_of,
    engine_facts,
    field_of,
    read_completion,
    read_json,
    served_models,
    window_of_model,
)
from ruler_eval.run.backends.server.requests import (
    Provider,
    chat_body,
    check_provider,
    extra_fields,
    json_bytes,
    provider_for,
    sampling_fields,
    stream_fields,
    turn_fields,
    with_seed,
    without_prefix,
)
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt, load_tokenizer
from ruler_eval.run.sampling import read_generation_config

MAX_FAILURES_IN_A_ROW = 32
"""Consecutive rows that fail with the same cause before the run stops."""


class OpenAIServer(Backend):
    """A client of one model on one server. The key comes from OPENAI_API_KEY and is not written."""

    name = "openai"

    def __init__(self, options: RunOptions) -> None:
        """Connect and query the server. Raises RulerError if it cannot be used."""
        self.options = options
        base_url = options.base_url or os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get("OPENAI_API_KEY") or ("EMPTY" if base_url else "")
        if not key:
            raise RulerError("Set OPENAI_API_KEY, or give the server with --base-url.")
        if options.tokenizer:
            self.tokenizer = load_tokenizer(options.tokenizer)
        self._client = Client(base_url, key, options.timeout, options.give_up_after)
        self._client.on_note = note
        self._mode = ""
        self._extra: dict[str, Any] = {}
        self._limits_reasoning = False
        self._last_cause: str | None = None
        self._failures_in_a_row = 0
        try:
            self.provider, self.version, window, self._root = self._ask_server()
            self.limit = options.max_model_len or window
            self._sampling = sampling_fields(options, self.provider, self.sampling)
            counted = self._count_on_server({"prompt": "a"}) if self.tokenizer is None else None
            self._server_counts = counted is not None
        except BaseException:
            self.close()
            raise

    # ---- about the server --------------------------------------------------------------------

    def _ask_server(self) -> tuple[Provider, str | None, int | None, str | None]:
        """Return the provider, its version, the model's context length and the model's source.

        All except the provider are None if the server does not report them. Raises RulerError for
        an unknown model.
        """
        options = self.options
        served = self._ask_models()
        model = served.get(options.model)
        owners = [str(entry.get("owned_by")) for entry in served.values()]
        provider = provider_for(options.provider, self._client.host, owners, options.model)
        if model is None:
            if provider.strict and served:
                models = ", ".join(served)[:MAX_SHOWN]
                raise RulerError(
                    f"The server at {self._client.where} has no model '{options.model}'. "
                    f"It serves: {models}."
                )
            return provider, None, None, None
        window = window_of_model(model)
        parent = model.get("parent")  # the window of an adapter is its base model's
        if window is None and isinstance(parent, str):
            window = window_of_model(served.get(parent))
        version = None
        if provider.name == "vllm":
            version = field_of(self._ask_outside_v1("version"), "version")
        return provider, version, window, model.get("root")

    def _ask_models(self) -> dict[str, dict[str, Any]]:
        """Return the served models; empty if the server lists none. Waits while it is loading.

        Raises RulerError if the server cannot be used.
        """
        client = self._client

        async def ask() -> Any:
            try:
                return read_json(await asyncio.wait_for(client.send("/models"), START_SECONDS))
            except Exception as error:
                if is_unavailable(error) and not is_refused(error):
                    raise
                if sentence := start_error(error, client.where):
                    raise sentence from error
                return None  # not every server has this path

        page = client.start(client.retry(ask)).result()
        has_none = page is None and not client.url.endswith("/v1")
        if has_none and served_models(self._ask_outside_v1("v1/models")):
            raise RulerError(f"The server's API is at {client.where}/v1: use that with --base-url.")
        return served_models(page)

    def _ask_outside_v1(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of a path outside /v1, or None if the server does not have the path."""
        url = f"{self._client.url.removesuffix('/v1')}/{path}"
        try:
            return read_json(self._client.ask(url, None if body is None else json_bytes(body)))
        except Malformed:
            return None

    def metrics(self) -> str:
        """Return the text of vLLM's /metrics; empty for other servers."""
        if self.provider.name != "vllm":
            return ""
        return self._client.ask(f"{self._client.url.removesuffix('/v1')}/metrics")

    def accepts_cache_salt(self) -> bool:
        """Return whether the server is vLLM, which has the field."""
        return self.provider.name == "vllm"

    def _count_on_server(self, body: Mapping[str, Any]) -> int | None:
        reply = self._ask_outside_v1("tokenize", {"model": self.options.model, **body})
        return count_of(field_of(reply, "count"))

    @cached_property
    def _rendered_turn(self) -> list[int] | None:
        """The tokens of a short chat to continue, as the server's chat template renders it."""
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        fields = {"add_generation_prompt": False, "continue_final_message": True}
        body = {"model": self.options.model, "messages": turns, **fields}
        tokens = field_of(self._ask_outside_v1("tokenize", body), "tokens")
        return tokens if isinstance(tokens, list) else None

    def describe(self) -> list[str]:
        """Return a line with model, context length and mode, and a warning if there is one."""
        name = " ".join([self.provider.title, *([self.version] if self.version else [])])
        window = f"{self.limit:,} tokens" if self.limit else "unknown (--max-model-len sets it)"
        mode, reason = self._choose_mode()
        reason = reason if mode == self._mode else "as asked"
        lines = [
            f"{name} at {self._client.where}: model {self.options.model}, context length {window}, "
            f"mode {self._mode} ({reason})."
        ]
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

    @property
    def _takes_budget(self) -> bool:
        """Whether the provider has a field for the maximum tokens of reasoning."""
        return self.provider.thinking_budget is not None

    def generation_config(self) -> dict[str, Any] | None:
        """Return the model's default sampling settings, read from --tokenizer or its source."""
        where = self.options.tokenizer or self._root
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
            return "chat", f"{self.provider.title} is not known to continue an assistant's turn"
        if self.tokenizer is not None:
            return "prefill", "the tokenizer's chat template is rendered here"
        if self._server_counts and not self._rendered_turn:
            return "completion", "the server has no chat template"
        return "prefill", f"{self.provider.title} continues the assistant's turn"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Raise RulerError if the server would silently drop the prefix, or lacks the mode."""
        self._mode = mode
        is_chat = self.endpoint == "chat/completions"
        self._extra = extra_fields(self.options, self.provider, is_chat, template_arguments)
        asks_to_continue = "continue_final_message" in self._extra
        sends_ids = self.tokenizer is not None
        check_provider(self.provider, mode, is_chat, asks_to_continue, sends_ids)
        if self.options.reasoning.limited and self._takes_budget:
            is_set = self.provider.thinking_budget in self._extra  # by --engine-arg
            self._limits_reasoning = is_set or self._try_thinking_budget()
        if mode == "prefill" and is_chat and self._server_counts and not self._rendered_turn:
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
        if not self._client.ask("/chat/completions", json_bytes(body)):
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
        return {
            "backend_version": f"{self.provider.name} {self.version or ''}".strip(),
            "endpoint": self.endpoint,
            "budget": "server" if self._server_counts else budget,
            "request": self._extra,
            "sent": {**self._sampling, "limit": self.provider.limit if is_chat else "max_tokens"},
            "thinking_token_budget": self._limits_reasoning,
            "server_template_sha256": template_digest,
            **engine_facts(self.metrics()),
        }

    # ---- rows --------------------------------------------------------------------------------

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Answer the prompts, at most `concurrency` at a time; yield answers as they finish.

        Raises RulerError if the server is not available for too long, refuses the key, or fails
        MAX_FAILURES_IN_A_ROW rows in a row with the same cause.
        """
        self._client.on_note = self.on_note
        self._client.note_answer()
        finished: queue.SimpleQueue[Future[Completion]] = queue.SimpleQueue()
        in_flight: set[Future[Completion]] = set()
        has_more = True
        try:
            while has_more or in_flight:
                if has_more and len(in_flight) < self.options.concurrency and finished.empty():
                    prompt = next(prompts, None)
                    if prompt is None:
                        has_more = False
                        continue
                    future = self._client.start(self._complete(prompt))
                    in_flight.add(future)
                    future.add_done_callback(finished.put)
                else:
                    future = finished.get()
                    in_flight.remove(future)
                    completion = future.result()
                    yield completion
                    self._check_failures(completion)
        finally:
            for future in in_flight:
                future.cancel()

    def _check_failures(self, completion: Completion) -> None:
        """Raise RulerError after MAX_FAILURES_IN_A_ROW rows that failed with the same cause."""
        cause = None if completion.error is None else completion.error.partition(":")[0]
        if cause is None or cause != self._last_cause:
            self._failures_in_a_row = 0
        self._last_cause = cause
        if cause is None:
            return
        self._failures_in_a_row += 1
        if self._failures_in_a_row == MAX_FAILURES_IN_A_ROW:
            self._failures_in_a_row = 0
            raise RulerError(
                f"{MAX_FAILURES_IN_A_ROW} rows in a row failed with one cause: {completion.error}. "
                "They are recorded as failed; the rows after them are missing. Fix the cause, then "
                "run the same command again, `ruler run` with --retry-failed."
            )

    def check_alive(self) -> None:
        """Raise EngineDied if the server cannot come back; called after each try that failed."""
        return

    async def _complete(self, prompt: Prompt) -> Completion:
        """Return the answer to a prompt, or the error with which its row failed.

        Raises RulerError if no row can be answered.
        """
        client = self._client
        path, content = f"/{self.endpoint}", json_bytes(self.request(prompt))
        tries, in_flight, seconds = 0, 0, 0.0

        async def send() -> Completion:
            nonlocal tries, in_flight, seconds
            tries += 1
            request = object()
            client.open_since[request] = sent = time.monotonic()
            in_flight = len(client.open_since)
            try:
                reply = await client.complete(path, content, self.options.stream)
                seconds = time.monotonic() - sent
            except Exception:
                self.check_alive()
                raise
            finally:
                in_flight = max(in_flight, len(client.open_since))
                del client.open_since[request]
            return read_completion(prompt, reply)

        try:
            completion = await client.retry(send)
        except RulerError:
            raise
        except Exception as error:  # whatever the server does, the row gets a recorded state
            if isinstance(error, openai.APIStatusError) and error.status_code in (401, 403):
                raise RulerError(
                    f"The server at {client.where} refuses the key ({describe(error)}): set "
                    "OPENAI_API_KEY. Answered rows are kept; the others are missing. Run the same "
                    "command to continue."
                ) from error
            return Completion(prompt, error=describe(error), tries=tries, in_flight=in_flight)
        text = completion.text
        if self.provider.repeats and self._mode == "prefill":
            text = without_prefix(prompt, text)
        return replace(completion, text=text, tries=tries, in_flight=in_flight, seconds=seconds)

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
        if prompt.cache_salt is not None:
            body["cache_salt"] = prompt.cache_salt
        return body | (stream_fields(provider) if self.options.stream else {})

    def close(self) -> None:
        """Cancel requests in flight and close the connections."""
        self._client.close()
