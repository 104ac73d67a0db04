"""What a server says about tokens and chat templates: /tokenize of vLLM and llama.cpp, and more.

    tokens = ServerTokens(connection, "org/model", provider, props)
    tokens.count({"prompt": "a"})                 # None if the server does not count
    tokens.ids("a", special_tokens=True)

The server is asked only when an answer is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.run import llama_cpp, vllm_template
from ruler_eval.run.chat_template import ServerTemplate
from ruler_eval.run.connection import Connection
from ruler_eval.run.prompts import TokenIds, appended_tokens
from ruler_eval.run.providers import Provider, json_bytes
from ruler_eval.run.reply_json import count_of, field_of
from ruler_eval.run.send_rows import SHORT_QUESTION

PLAIN_PROBE = "The grass is green.\n\nOne of the special magic numbers for it's-7 is: 8154732, (a)."
TOKENIZER_PROBES = (
    PLAIN_PROBE,
    "on \xa017 May",
    "Zażółć gęślą jaźń; 日本語。русский العربية हिन्दी ½",
)
"""Texts whose ids are compared with the server's."""


class ServerTokens:
    """Asks a server how it tokenizes and renders prompts."""

    def __init__(
        self, connection: Connection, model: str, provider: Provider, props: Mapping[str, Any]
    ) -> None:
        self._connection, self._model, self._provider = connection, model, provider
        self._props = props
        """llama.cpp's /props."""

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the server's reply of a path beside /v1: JSON, or a text.

        A body gets the model's name, which servers of several models need.
        """
        content = None if body is None else json_bytes({"model": self._model, **body})
        return self._connection.ask(self._connection.outside_v1(path), content).body

    @cached_property
    def counts(self) -> bool:
        """Whether the server counts the tokens of a prompt."""
        return self.count({"prompt": "a"}) is not None

    def count(self, body: Mapping[str, Any]) -> int | None:
        """Return the tokens of a prompt or of messages; None if the server does not count them.

        llama.cpp takes a text only, so it renders messages first.
        """
        if self._provider.name == "llama_cpp":
            if "prompt" in body:
                return llama_cpp.count_text(self._ask, body["prompt"])
            return llama_cpp.count_chat(self._ask, body)
        reply = self._ask("tokenize", body)
        tokens = field_of(reply, "tokens")
        count = count_of(field_of(reply, "count"), minimum=1)
        # no tokens at all is not a count: another program has this path too
        return len(tokens) if count is None and isinstance(tokens, list) and tokens else count

    def ids(self, text: str, special_tokens: bool) -> list[int] | None:
        """Return the ids that vLLM or llama.cpp gives to a text; None if they are unknown."""
        if self._provider.name == "llama_cpp":
            return llama_cpp.token_ids(self._ask, text, special_tokens)
        if self._provider.name == "vllm":
            return vllm_template.token_ids(self._ask, text, special_tokens)
        return None

    @cached_property
    def rendered_turn(self) -> list[int] | str | None:
        """A short chat to continue, as the server's chat template renders it: tokens or text."""
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        if self._provider.name == "llama_cpp":
            return llama_cpp.rendered(self._ask, {"messages": turns})
        fields = {"add_generation_prompt": False, "continue_final_message": True}
        tokens = field_of(self._ask("tokenize", {"messages": turns, **fields}), "tokens")
        return tokens if isinstance(tokens, list) else None

    def template(self) -> ServerTemplate | None:
        """Return the server's chat template; None if it has none, or does not render it."""
        if self._provider.name == "llama_cpp":
            return llama_cpp.server_template(self._ask, self._props)
        if self.counts and self.rendered_turn:
            return vllm_template.server_template(self._ask)
        return None

    @property
    def lacks_template(self) -> bool:
        """Whether the server has vLLM's /tokenize, which renders no chat."""
        return self._provider.name != "llama_cpp" and self.counts and not self.rendered_turn

    def texts_with_other_ids(self, tokenizer: Any, name: str) -> list[str]:
        """Return the texts to which a tokenizer gives other ids than the server; none if unknown.

        Raises RulerError if a text in plain English is among them: prompts are sent as ids, and the
        model would read another text. `name` is the tokenizer's.
        """
        encode, others = TokenIds(tokenizer), []
        for text in TOKENIZER_PROBES:
            ids = self.ids(text, False)
            if ids is not None and ids != encode(text, False):
                others.append(text)
        if PLAIN_PROBE in others:
            raise RulerError(
                f"The tokenizer '{name}' gives other token ids than the server, "
                f"{self._provider.title}, whose model would read another text: leave --tokenizer "
                "out, or name the model's own."
            )
        return others

    def check_raw_prompts(self) -> None:
        """Raise RulerError if the server puts an EOS after a raw prompt, or a template around it.

        An unknown server is sent a short prompt, of which it then counts more tokens than letters.
        """
        with_special, plain = self.ids("a", True), self.ids("a", False)
        if with_special and plain and appended_tokens(with_special, plain):
            raise RulerError(
                "The server's tokenizer puts a token, such as EOS, after every raw prompt, and the "
                "model would end at once: add --tokenizer NAME, so that token ids are sent."
            )
        if self._provider.sources:
            return
        body = {"model": self._model, "prompt": SHORT_QUESTION, "max_tokens": 1}
        reply = self._connection.ask("completions", json_bytes(body))
        count = count_of(field_of(reply.body, "usage", "prompt_tokens"))
        if count is not None and count > len(SHORT_QUESTION) + 1:
            raise RulerError(
                f"The server puts raw prompts into a chat template: it counts {count} tokens of "
                f"'{SHORT_QUESTION}'. Use --mode chat, or start it without a template."
            )
