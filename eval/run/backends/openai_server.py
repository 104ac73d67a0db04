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

import asyncio
import hashlib
import json
import os
import queue
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from eval.run.backends.backend import Backend, Completion, ModelOptions
from eval.run.backends.bounded_http import BoundedAsyncClient, BoundedClient
from eval.run.backends.server_replies import (
    describe,
    is_transient,
    read_completion,
    untrusted_certificate,
    wait_seconds,
)
from eval.run.backends.server_requests import (
    CONTINUES,
    chat_fields,
    extra_fields,
    sampling_fields,
    turn_fields,
)
from eval.run.prompts import Prompt, load_tokenizer
from ruler_dataset import RulerError


class OpenAI(Backend):
    """A client of one model on one server; the key is OPENAI_API_KEY's and is never written."""

    name = "openai"

    def __init__(self, options: ModelOptions) -> None:
        import openai
        import tenacity  # noqa: F401  (a missing package is named before the first request)

        self.options = options
        self.base_url = options.base_url or os.environ.get("OPENAI_BASE_URL")
        self._key = os.environ.get("OPENAI_API_KEY") or ("EMPTY" if self.base_url else "")
        if not self._key:
            raise RulerError("Set OPENAI_API_KEY, or give the server with --base-url.")
        if options.tokenizer:
            self.tokenizer = load_tokenizer(options.tokenizer)
        self._how: dict[str, Any] = {
            "api_key": self._key,
            "base_url": self.base_url,
            "max_retries": 0,
            "timeout": openai.Timeout(options.timeout, connect=min(60.0, options.timeout)),
        }
        self._sync = openai.OpenAI(**self._how, http_client=BoundedClient())
        self.server, self.version, self.limit = self._ask_server()
        self.limit = options.max_model_len or self.limit
        self.tokenizes = self.tokenizer is None and self._tokenize({"prompt": "a"}) is not None
        self.mode = ""
        self._extra: dict[str, Any] = {}

    def _ask_server(self) -> tuple[str, str | None, int | None]:
        """The server's kind, its version and the model's window, as far as it tells."""
        import openai

        try:
            served = {model.id: model for model in self._sync.models.list(timeout=60.0)}
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise RulerError(
                f"The server at {self._where} refuses the key: set OPENAI_API_KEY."
            ) from error
        except openai.APIConnectionError as error:
            if untrusted := untrusted_certificate(error):
                raise RulerError(
                    f"The server at {self._where} has a certificate that is not trusted "
                    f"({untrusted}): name its authority's file in SSL_CERT_FILE."
                ) from error
            raise RulerError(
                f"No server answers at {self._where}: start one (vllm serve MODEL), "
                "or mend --base-url."
            ) from error
        except (openai.APIStatusError, ValueError, AttributeError, TypeError):
            return "unknown", None, None
        model = served.get(self.options.model)
        kinds = {model.owned_by for model in served.values()}
        kind = next((kind for kind in CONTINUES if kind in kinds), "unknown")
        if model is None:
            if kind != "unknown":
                raise RulerError(
                    f"The server at {self._where} has no model '{self.options.model}', "
                    f"but: {', '.join(served)}."
                )
            return kind, None, None
        extra = model.model_extra or {}
        parent = served.get(extra.get("parent") or "")  # an adapter's window is its model's
        limit = extra.get("max_model_len") or (
            (parent.model_extra or {}).get("max_model_len") if parent else None
        )
        version = None
        if kind == "vllm":
            version = (self._beside("GET", "version") or {}).get("version")
        return kind, version, limit

    @property
    def _where(self) -> str:
        """The server's address without anything secret in it."""
        parts = urlsplit(self.base_url or str(self._sync.base_url))
        host = parts.hostname or ""
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def _beside(self, method: str, path: str, body: Any = None) -> dict[str, Any] | None:
        """Call a path beside /v1 that only some servers have; None where it is missing."""
        import openai

        root = str(self._sync.base_url).rstrip("/").removesuffix("/v1")
        client = self._sync.with_options(base_url=root)
        try:
            if method == "GET":
                found = client.get(f"/{path}", cast_to=object)
            else:
                found = client.post(f"/{path}", cast_to=object, body=body)
        except (openai.OpenAIError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _tokenize(self, body: Mapping[str, Any]) -> int | None:
        count = self._tokenized(body).get("count")
        return count if isinstance(count, int) else None

    def _tokenized(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._beside("POST", "tokenize", {"model": self.options.model, **body}) or {}

    def _rendered(self) -> list[int] | None:
        """The tokens of a small chat to continue as the server renders it: its template's trace."""
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        how = {"add_generation_prompt": False, "continue_final_message": True}
        return self._tokenized({"messages": turns, **how}).get("tokens")

    def default_mode(self) -> str:
        """`prefill` where the server can continue a turn, `chat` where nobody knows."""
        if self.tokenizer is not None and not self.tokenizer.chat_template:
            return "completion"
        if self.server == "unknown":
            return "chat"
        if self.tokenizer is None and self.tokenizes and not self._rendered():
            return "completion"
        return "prefill"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Refuse `prefill` where the prefix would silently be lost."""
        self.mode = mode
        chat = self.endpoint == "chat/completions"
        self._extra = extra_fields(self.options, self.server, chat, template_arguments)
        if mode == "prefill" and self.tokenizer is None:
            if self.server == "unknown" and "continue_final_message" not in self._extra:
                raise RulerError(
                    f"The server at {self._where} is not known to continue an assistant's turn: "
                    "use --mode chat, or --tokenizer NAME to send it the rendered prompt."
                )
            if self.tokenizes and not self._rendered():
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
        rendered = self._rendered() if self.endpoint == "chat/completions" else None
        digest = hashlib.sha256(json.dumps(rendered).encode()).hexdigest() if rendered else None
        return {
            "backend_version": f"{self.server} {self.version}" if self.version else self.server,
            "endpoint": self.endpoint,
            "budget": known if self.tokenizer is None else "tokenizer",
            "request": self._extra,
            "server_template_sha256": digest,
        }

    def count(self, prompt: Prompt) -> int | None:
        """Tokens by our tokenizer, else by the server's /tokenize, else None."""
        if prompt.token_ids is not None:
            return len(prompt.token_ids)
        if not self.tokenizes:
            return None
        if self.endpoint == "completions":
            return self._tokenize({"prompt": prompt.text})
        turn = turn_fields(prompt, self.mode, self._extra)
        return self._tokenize({"messages": list(prompt.messages), **turn})

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """The arguments of the client's call for one prompt."""
        extra, fields = dict(self._extra), sampling_fields(self.options)
        if self.endpoint == "completions":
            fields["prompt"] = prompt.token_ids if prompt.token_ids is not None else prompt.text
            fields["max_tokens"] = prompt.max_tokens
        else:
            newer = (urlsplit(self._where).hostname or "").endswith("openai.com")
            fields.update(chat_fields(prompt, newer))
            extra.update(turn_fields(prompt, self.mode, self._extra))
        return {**fields, "extra_body": extra}

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Keep requests in flight up to the bounds of the options; answers come as they finish."""
        from openai import AsyncOpenAI

        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        client = AsyncOpenAI(**self._how, http_client=BoundedAsyncClient())
        answers: queue.SimpleQueue[Completion] = queue.SimpleQueue()

        async def work(prompt: Prompt) -> None:
            answers.put(await self._complete(client, prompt))

        async def stop() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await client.close()

        most, most_tokens = self.options.concurrency, self.options.tokens_in_flight
        requests = tokens = 0
        try:
            for prompt in prompts:
                size = prompt_tokens(prompt)
                while requests and (
                    requests >= most or tokens + size > most_tokens or not answers.empty()
                ):
                    answer = answers.get()
                    requests, tokens = requests - 1, tokens - prompt_tokens(answer.prompt)
                    yield answer
                asyncio.run_coroutine_threadsafe(work(prompt), loop)
                requests, tokens = requests + 1, tokens + size
            for _ in range(requests):
                yield answers.get()
        finally:
            asyncio.run_coroutine_threadsafe(stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _complete(self, client: Any, prompt: Prompt) -> Completion:
        """One row: tries until an answer, a final error, or the last try."""
        import tenacity

        def wait(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            return wait_seconds(error, state.attempt_number)

        trying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self.options.retries),
            wait=wait,
            retry=tenacity.retry_if_exception(is_transient),
            reraise=True,
        )
        api = client.completions if self.endpoint == "completions" else client.chat.completions
        fields = self.request(prompt)
        try:
            async for attempt in trying:
                with attempt:
                    reply = await asyncio.wait_for(api.create(**fields), self.options.timeout)
                    return read_completion(prompt, reply)
        except Exception as error:  # whatever a server does, the row gets one recorded state
            return Completion(prompt, error=describe(error))
        raise AssertionError("a retry loop ends with an answer or an error")

    def close(self) -> None:
        """Close the connections."""
        self._sync.close()


def prompt_tokens(prompt: Prompt) -> int:
    """The tokens of a prompt by our tokenizer, else as the release counts its row."""
    return prompt.row_tokens if prompt.token_ids is None else len(prompt.token_ids)
