"""Any OpenAI-compatible server: concurrent requests, retries, and no trust in finish_reason.

    vllm serve MODEL &
    ruler run --backend openai --base-url http://localhost:8000/v1 --model MODEL …

Which endpoint a mode uses, and who renders the chat template:

    completion                /v1/completions, the raw text (token ids with --tokenizer)
    prefill with --tokenizer  /v1/completions, the token ids of our own rendering
    prefill without           /v1/chat/completions, the server continues the assistant's turn
    chat                      /v1/chat/completions, the server renders

The budget is counted with --tokenizer, else by the server's /tokenize (vLLM), else it is
"unchecked", and only the token counts of the answer tell what was shortened.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from ruler_common.errors import RulerError
from ruler_eval.run.backends import server_replies
from ruler_eval.run.backends.backend import Backend, Completion, ModelOptions
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.backends.server.connection import FAILURES, PATIENCE, Connection
from ruler_eval.run.backends.server.in_flight import completed, in_flight, prompt_tokens
from ruler_eval.run.backends.server.outage import GivenUp, Outage
from ruler_eval.run.backends.server.pace import Pace
from ruler_eval.run.backends.server.patience import Patience
from ruler_eval.run.backends.server.providers import Provider, check_provider, provider_for
from ruler_eval.run.backends.server.refusals import AllRefused, Refusals
from ruler_eval.run.backends.server.vllm_metrics import cache_of
from ruler_eval.run.backends.server_replies import MOST_SHOWN, inside
from ruler_eval.run.backends.server_requests import (
    chat_body,
    extra_fields,
    sampling_fields,
    stream_fields,
    turn_fields,
    without_prefix,
)
from ruler_eval.run.prompts import Prompt, load_tokenizer


class OpenAI(Backend):
    """A client of one model on one server; the key is OPENAI_API_KEY's and is never written."""

    name = "openai"

    def __init__(self, options: ModelOptions) -> None:
        self.options = options
        self.base_url = options.base_url or os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get("OPENAI_API_KEY") or ("EMPTY" if self.base_url else "")
        if not key:
            raise RulerError("Set OPENAI_API_KEY, or give the server with --base-url.")
        if options.tokenizer:
            self.tokenizer = load_tokenizer(options.tokenizer)
        self._server = Connection(self.base_url, key, options.timeout)
        with ExitStack() as failed:
            failed.callback(self._server.close)
            self._begin()
            failed.pop_all()

    def _begin(self) -> None:
        """Ask the server what it is."""
        options = self.options
        self.provider, self.version, self.limit = self._ask_server()
        self._sampling = sampling_fields(options, self.provider)
        self.limit = options.max_model_len or self.limit
        self.tokenizes = self.tokenizer is None and self._tokenize({"prompt": "a"}) is not None
        self.outage = Outage(self._server.alive, options.give_up_after, self._waits)
        vllm = self.provider.name == "vllm"
        engines = self._server.beside("metrics", read=cache_of) if vllm else None
        self.pace, self.patience = Pace.of(options, *engines or ()), Patience(options.timeout)
        self.mode = ""
        self._extra: dict[str, Any] = {}

    def _ask_server(self) -> tuple[Provider, str | None, int | None]:
        """The provider, its version and the model's window, as far as it tells."""
        try:
            page = self._server.call(self._server.ask("/models", seconds=PATIENCE))
        except FAILURES as error:
            if sentence := server_replies.unusable(error, self._server.where):
                raise sentence from error
            self._find_api()
            page = None
        served = server_replies.served_models(page)
        model = served.get(self.options.model)
        owners = [str(model.get("owned_by")) for model in served.values()]
        host = urlsplit(self._server.where).hostname or ""
        kind = provider_for(self.options.provider, host, owners, self.options.model)
        if model is None:
            if kind.strict and served:
                raise RulerError(
                    f"The server at {self._server.where} has no model '{self.options.model}', "
                    f"but: {server_replies.told(served, self.options.model)}."
                )
            return kind, None, None
        parent = model.get("parent")  # an adapter's window is its model's
        found = [model, served.get(parent, {}) if isinstance(parent, str) else {}]
        limits = [server_replies.window_in(one) for one in found]
        version = inside(self._server.beside("version"), "version") if kind.name == "vllm" else None
        known = hide_keys(version, MOST_SHOWN) if isinstance(version, str) else None
        return kind, known, limits[0] or limits[1]

    def _find_api(self) -> None:
        """Raise a RulerError where a server lists no models, but does so under /v1."""
        where = self._server.where.rstrip("/")
        if not where.endswith("/v1") and server_replies.served_models(
            self._server.beside("v1/models")
        ):
            raise RulerError(f"The server's API is at {where}/v1: give that with --base-url.")

    def _tokenize(self, body: Mapping[str, Any], seconds: float = PATIENCE) -> int | None:
        found = self._server.beside("tokenize", {"model": self.options.model, **body}, seconds)
        return server_replies.integer(inside(found, "count"))

    @cached_property
    def _rendered(self) -> list[int] | None:
        """The tokens of a small chat to continue as the server renders it: its template's trace."""
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        how = {"add_generation_prompt": False, "continue_final_message": True}
        body = {"model": self.options.model, "messages": turns, **how}
        tokens = inside(self._server.beside("tokenize", body), "tokens")
        whole = isinstance(tokens, list) and all(type(token) is int for token in tokens)
        return tokens if whole else None

    def default_mode(self) -> str:
        """`prefill` where the server can continue a turn, `chat` where nobody knows."""
        if self.tokenizer is not None and not self.tokenizer.chat_template:
            return "completion"
        if self.provider.prefill == "no":
            return "chat"
        if self.tokenizer is None and self.tokenizes and not self._rendered:
            return "completion"
        return "prefill"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Refuse `prefill` where the prefix would silently be lost."""
        self.mode = mode
        chat = self.endpoint == "chat/completions"
        self._extra = extra_fields(self.options, self.provider, chat, template_arguments)
        asks = "continue_final_message" in self._extra
        check_provider(self.provider, mode, chat, asks, ids=self.tokenizer is not None)
        if mode == "prefill" and chat and self.tokenizes and not self._rendered:
            raise RulerError(
                "The server cannot render a turn to continue (no chat template?): "
                "use --mode completion or chat."
            )

    @property
    def endpoint(self) -> str:
        """The path under /v1 that this run's mode uses."""
        raw = self.mode == "completion" or (self.mode == "prefill" and self.tokenizer is not None)
        return "completions" if raw else "chat/completions"

    def settings(self) -> dict[str, Any]:
        """The server, the endpoint, who counts the budget and what every request carries."""
        known = "server" if self.tokenizes else "unchecked"
        rendered = self._rendered if self.endpoint == "chat/completions" else None
        digest = hashlib.sha256(json.dumps(rendered).encode()).hexdigest() if rendered else None
        limit = self.provider.limit if self.endpoint == "chat/completions" else "max_tokens"
        return {
            "backend_version": " ".join(filter(None, (self.provider.name, self.version))),
            "endpoint": self.endpoint,
            "budget": known if self.tokenizer is None else "tokenizer",
            "request": self._extra,
            "sent": {**self._sampling, "limit": limit},
            "server_template_sha256": digest,
        }

    def count(self, prompt: Prompt) -> int | None:
        """Tokens by our tokenizer, else by the server's /tokenize, else None."""
        if prompt.tokens is not None or not self.tokenizes:
            return prompt.tokens
        if self.endpoint == "completions":
            return self._tokenize({"prompt": prompt.text}, self.options.timeout)
        turn = turn_fields(prompt, self.mode, self._extra, self.provider)
        body = {"messages": list(prompt.messages), **turn}
        return self._tokenize(body, self.options.timeout)

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """The body of the request for one prompt."""
        model, provider, extra = self.options.model, self.provider, self._extra
        stream = stream_fields(provider) if self.options.stream else {}
        if self.endpoint != "completions":
            return chat_body(prompt, self.mode, model, self._sampling, extra, provider) | stream
        ids = prompt.token_ids
        text = prompt.text if ids is None else list(ids)
        asked = {"model": model, **self._sampling, "prompt": text, "max_tokens": prompt.max_tokens}
        return {**asked, **extra, **stream}

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Keep requests in flight up to the bounds of the options; answers come as they finish.

        Raises RulerError where the server stays away, or refuses every row.
        """
        try:
            refusals = Refusals()
            for completion in in_flight(prompts, self._complete, self._server.loop, self.pace):
                yield from refusals(completion)
            yield from refusals.rest()
        except GivenUp as error:
            raise RulerError(
                f"The server at {self._server.where} has answered nothing for "
                f"{self.options.give_up_after:g} seconds ({error}). What was answered is kept, and "
                "no other row counts as failed: the same command goes on."
            ) from error
        except AllRefused as error:
            raise RulerError(
                f"The server at {self._server.where} refuses every row: {error}. These rows are "
                "missing, not failed: mend what it names, and run the same command."
            ) from error

    async def _complete(self, prompt: Prompt) -> Completion:
        options, tokens = self.options, prompt_tokens(prompt)

        def ask() -> Awaitable[Any]:
            request = self._server.ask(f"/{self.endpoint}", self.request(prompt))
            return self.pace.watch(self.patience.wait(request, tokens), tokens)

        found = await completed(prompt, ask, self.outage, options.retries, options.timeout)
        repeats = self.provider.repeats and self.mode == "prefill"
        return replace(found, text=without_prefix(prompt, found.text)) if repeats else found

    def _waits(self, kind: str) -> None:
        self.on_note(
            f"The server at {self._server.where} does not answer ({kind}): the run waits for it, "
            f"{self.options.give_up_after:g} seconds at the most (--give-up-after)."
        )

    def close(self) -> None:
        """Close the connections."""
        self._server.close()
