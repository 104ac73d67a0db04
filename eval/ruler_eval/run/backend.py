"""The interface of a backend, which answers prompts (start_backend.py starts one).

    backend = start_backend(options, release)
    for completion in backend.generate(prompts):     # in any order, as they finish
        print(completion.prompt.config, completion.prompt.index, completion.text)

A backend takes the next prompt only when it can work on it, so a release of any size runs in the
same memory. Each prompt gets at most one completion. The completion of a failed request has `error`
set; a row without a completion stays missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from ruler_common.errors import RulerError
from ruler_eval.run.chat_template import ServerTemplate
from ruler_eval.run.classify import Answer, Failure
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.reply_rules import Kind
from ruler_eval.run.sampling import Sampling, choose_sampling

UNKNOWN = "unknown"
"""The value in run.json of a setting that an engine or a server does not report."""


class EngineDied(RulerError):
    """A server that was started for this run died while it answered; it may be started again."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The answer to a prompt. Token counts are None if the backend does not know them."""

    prompt: Prompt = field(kw_only=False)
    text: str = field(default="", kw_only=False)
    finish_reason: Literal["stop", "length"] = field(default="stop", kw_only=False)
    """Whether the answer ended by itself, or used all its tokens."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning: str | None = None
    """Set only if a server's parser separated the reasoning from the text."""
    reasoning_tokens: int | None = None
    at_limit: bool = False
    """Whether all tokens were used, although the server reports that the answer ended."""
    error: str | None = None
    """Why there is no answer."""
    failure: Kind = "retry"
    """The kind of the error."""
    in_flight: int | None = None
    """Requests in flight when it was sent or answered (the larger number); only from a server."""
    tries: int | None = None
    """How often it was sent; only from a server."""
    seconds: float | None = None
    """From the last time it was sent to the end of the reply; only from a server."""


Completions = Generator[Completion, None, None]
"""Completions as they finish. Closing it ends the requests that are open."""


def completion_of(prompt: Prompt, outcome: Answer | Failure, **facts: Any) -> Completion:
    """Return what a reply means for a prompt as a completion; `facts` are those of a server."""
    if isinstance(outcome, Answer):
        return Completion(prompt, **vars(outcome), **facts)
    return Completion(
        prompt,
        error=outcome.sentence,
        failure=outcome.kind,
        prompt_tokens=outcome.prompt_tokens,
        completion_tokens=outcome.completion_tokens,
        **facts,
    )


class Backend(ABC):
    """The interface of vllm, openai, hf, oracle and the batch files."""

    name: str
    options: RunOptions
    tokenizer: Any = None
    """The model's tokenizer; None if the server has it."""
    context_window: int | None = None
    """The context window in tokens; None if it is unknown."""
    model_context_window: int | None = None
    """The model's context window, if `context_window` is only `needed_context`."""
    needed_context: int | None = None
    """The tokens that the rows are estimated to need, if that was computed."""
    server_template: ServerTemplate | None = None
    """The server's chat template, if it renders the prompts and can be asked."""
    answering_models: Sequence[str] = ()
    """The models that the answers name, if they are not all of the model that was asked for."""
    on_note: Callable[[str], None] = staticmethod(lambda text: None)
    """Called with a sentence that the user should see at once."""
    salts_prompts: bool = False
    """Whether a cache salt has to be a line of the prompt, because there is no field for it."""
    needs_token_ids: bool = True
    """Whether prompts are tokenized if there is a tokenizer."""
    is_stopping: bool = False
    """Whether no more prompts are to be taken."""

    @abstractmethod
    def generate(self, prompts: Iterator[Prompt]) -> Completions:
        """Yield at most one completion for each prompt, as they finish."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the settings that can change a score, for run.json: version, dtype and caches."""

    def default_mode(self) -> str:
        """Return `prefill` for a model with a chat template, `completion` for one without."""
        return "prefill" if getattr(self.tokenizer, "chat_template", None) else "completion"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Raise RulerError before the first row if this backend does not support a mode."""
        return

    def describe(self) -> list[str]:
        """Return sentences about the server or engine, shown before the first row."""
        return []

    def count(self, prompt: Prompt) -> int | None:
        """Return the tokens of a prompt after templating; None if they are unknown."""
        return prompt.tokens

    def metrics(self) -> str:
        """Return the text of vLLM's /metrics; empty for other backends and servers."""
        return ""

    def generation_config(self) -> Mapping[str, Any] | None:
        """Return the model's default sampling settings; None if they cannot be read."""
        return None

    @cached_property
    def sampling(self) -> Sampling:
        """How tokens are sampled."""
        return choose_sampling(self.options, self.generation_config)

    def stop(self) -> None:
        """Take no more prompts; `generate` then ends with the answers to those in flight."""
        self.is_stopping = True

    def close(self) -> None:
        """Free the resources of the backend."""
        return
