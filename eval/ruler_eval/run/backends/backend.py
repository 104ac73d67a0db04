"""Where prompts go and answers come from: one small contract, four backends.

    for completion in backend.generate(prompts):     # in any order, as they finish
        print(completion.prompt.config, completion.prompt.index, completion.text)

A backend pulls prompts only when it has room for them, so a release of any size runs in the same
memory. Each prompt gets exactly one completion: that of a failed request has `error` set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.run.prompts import ChatTemplate, Prompt, load_tokenizer


class EngineDied(RulerError):
    """An engine in this process ended while it answered; another may be started."""


@dataclass(frozen=True)
class Completion:
    """What came back for a prompt.

    `finish_reason` is what the backend reports: `stop`, `length`, or anything else, which counts as
    an error. Token counts are None where the backend does not know them. `reasoning` is set only
    where a server's parser took the reasoning out of the text.
    """

    prompt: Prompt
    text: str = ""
    finish_reason: str | None = "stop"
    _: KW_ONLY
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning: str | None = None
    reasoning_tokens: int | None = None
    error: str | None = None


class Backend(ABC):
    """The contract. `tokenizer` is the model's, or None; `limit` its window in tokens, or None."""

    name: str
    tokenizer: Any = None
    limit: int | None = None
    own_limit: int | None = None
    """The model's window, where `limit` is a smaller one that the rows were thought to need."""
    on_note: Callable[[str], None] = staticmethod(lambda text: None)
    """What is called with a sentence that the user should know while it happens."""

    @abstractmethod
    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Answer every prompt once, as they finish; pull the next one only when there is room."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What can move a score, for run.json: version, dtype, sampling, parallelism, caches."""

    def default_mode(self) -> str:
        """`prefill` for a model with a chat template, `completion` for one without."""
        return "prefill" if getattr(self.tokenizer, "chat_template", None) else "completion"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Raise a RulerError where this backend cannot serve a mode; before the first row."""
        return

    def count(self, prompt: Prompt) -> int | None:
        """Tokens of a prompt after templating; None if it is unknown."""
        return prompt.tokens

    def close(self) -> None:
        """Free what the backend holds."""
        return


@dataclass(frozen=True)
class ModelOptions:
    """How a model is found and sampled; `arguments` are the backend's own (`--engine-arg`).

    `concurrency` requests are sent to a server at a time, at most. `timeout` are the seconds of a
    request; with `stream`, of each piece of its answer. `give_up_after` are the seconds for which
    a server that is not available is waited for.
    `chat_template` is used instead of the tokenizer's own.
    `window` is what the rows need of one, where `max_model_len` is not given. `provider` is an
    entry of server/providers.toml, `omit` are sampling fields that are not sent.
    """

    model: str
    _: KW_ONLY
    revision: str | None = None
    tokenizer: str | None = None
    max_model_len: int | None = None
    window: int | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    arguments: Mapping[str, Any] | None = None
    base_url: str | None = None
    concurrency: int = 32
    timeout: float = 3600.0
    stream: bool = False
    provider: str | None = None
    omit: tuple[str, ...] = ()
    chat_template: ChatTemplate | None = None
    give_up_after: float = 600.0

    @property
    def sampling(self) -> dict[str, Any]:
        """How tokens are drawn; a temperature of 0 is greedy."""
        return {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}


def tokenizer_of(options: ModelOptions) -> Any:
    """The tokenizer that is named, or the model's own, with the chat template that is given.

    The code of a repository runs where `trust_remote_code` asks for it, and only the model's own.
    Raises RulerError.
    """
    if options.tokenizer is not None:
        tokenizer = load_tokenizer(options.tokenizer, options.revision)
    else:
        trust = (options.arguments or {}).get("trust_remote_code", False) is True
        tokenizer = load_tokenizer(options.model, options.revision, trust)
    if options.chat_template is not None:
        options.chat_template.put_into(tokenizer)
    return tokenizer
