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
prompt was shortened. How rows are sent, and sent again, is in send_rows.py.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.options import names_in
from ruler_common.text import number_of
from ruler_eval.run import llama_cpp
from ruler_eval.run.backend import Completion
from ruler_eval.run.classify import Answer, Failure, failure_of
from ruler_eval.run.connection import Connection
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt, load_tokenizer
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
from ruler_eval.run.records import check_settings
from ruler_eval.run.sampling import read_generation_config
from ruler_eval.run.send_rows import SHORT_QUESTION, RowSender
from ruler_eval.run.server_facts import ask_servers, engine_facts
from ruler_eval.run.server_tokens import ServerTokens


class Server(RowSender):
    """A client of one model. The key comes from OPENAI_API_KEY and is not written."""

    name = "openai"

    def __init__(self, options: RunOptions) -> None:
        """Connect and query the server. Raises RulerError if it cannot be used."""
        super().__init__(options)
        urls = options.base_url or names_in(os.environ.get("OPENAI_BASE_URL", ""))
        key = os.environ.get("OPENAI_API_KEY") or ("EMPTY" if urls else "")
        if not key:
            raise RulerError("Set OPENAI_API_KEY, or give the server with --base-url.")
        if options.tokenizer:
            self.tokenizer = load_tokenizer(options.tokenizer)
        self._mode = ""
        self._template_arguments: Mapping[str, Any] = {}
        self._extra: dict[str, Any] = {}
        self._limits_reasoning = False
        try:
            for url in urls or ["https://api.openai.com/v1"]:
                self._connections.append(Connection(url, key, options.timeout))
            self._first = self._connections[0]
            self._facts = facts = ask_servers(self._connections, options)
            self.provider = facts.provider
            self.context_window = options.max_model_len or facts.context_window
            if facts.slots is not None:
                self.slots, self.slot_context = facts.slots, facts.context_window
                self._open_at_most(min(options.concurrency, facts.slots * len(self._connections)))
            self._props = facts.props
            self._sampling = sampling_fields(options, self.provider, self.sampling)
            self._tokens = ServerTokens(self._first, options.model, self.provider, facts.props)
            self._server_counts = self.tokenizer is None and self._tokens.counts
            self._other_ids: list[str] = []
            if options.tokenizer is not None:
                self._other_ids = self._tokens.texts_with_other_ids(
                    self.tokenizer, options.tokenizer
                )
            if self.tokenizer is None:
                self.server_template = self._tokens.template()
        except BaseException:
            self.close()
            raise

    # ---- about the server --------------------------------------------------------------------

    @property
    def served_models(self) -> tuple[str, ...]:
        """The models that the first server lists."""
        return self._facts.served

    def metrics(self) -> str:
        """Return the text of vLLM's /metrics; empty for other servers."""
        if self.provider.name != "vllm":
            return ""
        text = self._first.ask(self._first.outside_v1("metrics")).body
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
        where = " and ".join(connection.url for connection in self._connections)
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
        if self._tokens.lacks_template:
            return "completion", "the server has no chat template"
        return "prefill", f"{self.provider.title} continues the assistant's turn"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Raise RulerError if the server would silently drop the prefix, or lacks the mode."""
        self._mode, self._template_arguments = mode, template_arguments
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
            self._tokens.check_raw_prompts()
        if mode == "prefill" and is_chat and self._tokens.lacks_template:
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
            return self._tokens.count({"prompt": prompt.text})
        turn = turn_fields(prompt, self._mode, self._extra, self.provider)
        return self._tokens.count({"messages": list(prompt.messages), **turn})

    def settings(self) -> dict[str, Any]:
        """Return the settings of server, engine, endpoint, token counting and requests."""
        is_chat = self.endpoint == "chat/completions"
        template_digest = None
        if is_chat and self._tokens.rendered_turn:
            rendered = json.dumps(self._tokens.rendered_turn).encode()
            template_digest = hashlib.sha256(rendered).hexdigest()
        budget = "tokenizer" if self.tokenizer is not None else "unchecked"
        max_tokens_field = self.provider.max_tokens_field if is_chat else "max_tokens"
        return {
            "backend_version": f"{self.provider.name} {self._facts.version or ''}".strip(),
            "server_model": self._facts.model,
            "endpoint": self.endpoint,
            "budget": "server" if self._server_counts else budget,
            "request": self._extra,
            "sent": {**self._sampling, "max_tokens_field": max_tokens_field},
            "thinking_token_budget": self._limits_reasoning,
            "server_template_sha256": template_digest,
            **({"salts_prompts": True} if self.salts_prompts else {}),
            **engine_facts(self.metrics()),
            **({"llama_cpp": llama_cpp.server_facts(self._props)} if self._props else {}),
        }

    def is_unchanged(self, connection: Connection) -> bool:
        """Return whether a server that was out is the same now; False if it is out again.

        Only a server that says what it is can be compared. Raises RulerError if another model,
        version or setting answers.
        """
        if self._facts.model is None and self._facts.version is None:
            return True
        try:
            server = Server(replace(self.options, base_url=(connection.base_url,)))
            try:
                server.check_mode(self._mode, self._template_arguments)
                before, now = (
                    {**Server.settings(asked), "max_model_len": asked.context_window}
                    for asked in (self, server)
                )
            finally:
                server.close()
            check_settings(before, now, self.options.folder)
        except RulerError as error:
            failure = failure_of(connection.ask("models"))
            if failure is not None and failure.kind in ("wait", "retry"):
                return False
            raise RulerError(
                f"The server at {connection.url} was out and is not the same as before: {error}"
            ) from error
        return True

    def _completion(self, prompt: Prompt, outcome: Answer | Failure, **facts: Any) -> Completion:
        completion = super()._completion(prompt, outcome, **facts)
        if self.provider.repeats and self._mode == "prefill":
            return replace(completion, text=without_prefix(prompt, completion.text))
        return completion

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
