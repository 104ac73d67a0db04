r"""The three prompt modes: what a model sees of a row, and how many tokens that is.

    completion   input + answer_prefix, raw: base models ("Yi/Base" in RULER's Table 6)
    prefill      the chat template, with answer_prefix beginning the assistant's turn: chat models
    chat         the chat template without a prefix: servers that cannot continue a turn, thinking
                 models. `direct` is GPT-4's line of Table 6: the instruction to answer directly and
                 the prefix stand inside the user's turn.

Where prefix and turn meet: a prefix begins with one space, because it continues `input`
(completion, direct). At the head of a turn that space would be stray, and some templates trim it
and some do not; so in prefill it is dropped, for every template. The end of a prefix is kept to the
character (vt's ends with a space), also where a template trims it. A template writes its own BOS
and only a raw text gets the tokenizer's: never two.

    Qwen2.5   …<|im_start|>assistant\nThe special magic number for …  text is
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.outside.hf_tokenizer import auto_tokenizer
from ruler_common.text import one_line
from ruler_eval.run.preparing.token_ids import TokenIds
from ruler_eval.run.reasoning import Reasoning

MODES = ("prefill", "chat", "completion")
DIRECT = " Do not provide any explanation. Please directly give me the answer."
"""The line of RULER's Table 6 for models that cannot be given the start of their answer."""
TEMPLATE_DATE = "26 Jul 2024"
"""Llama 3.1's template writes the day of the run into the prompt; this is its own default day."""
OPENING = 200
"""Characters of a prompt's end that are kept: there a template may open a block of reasoning."""
_SEAM = "@@answer-prefix@@"
_NO_TEMPLATE = "The tokenizer's chat template cannot be used"
_OTHER_TEMPLATE = "Use --mode completion, or give another tokenizer with --tokenizer."


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One row as a model sees it.

    `messages` are for chat endpoints (empty in completion mode; the last one is the assistant's in
    prefill mode). `text` and `token_ids` are the same prompt rendered; None without a tokenizer,
    except that completion's text needs none. `max_new_tokens` is the answer's, `reasoning_tokens`
    the room for reasoning. `row_tokens` is the row's own count under its file's tokenizer.
    """

    config: str
    index: int
    messages: tuple[dict[str, str], ...]
    text: str | None
    token_ids: Sequence[int] | None
    max_new_tokens: int
    reasoning_tokens: int = 0
    row_tokens: int = 0

    @property
    def tokens(self) -> int | None:
        """The tokens of the rendered prompt; None without a tokenizer."""
        return None if self.token_ids is None else len(self.token_ids)

    @property
    def max_tokens(self) -> int:
        """The tokens to ask for: reasoning and answer."""
        return self.max_new_tokens + self.reasoning_tokens


def load_tokenizer(name: str, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """A model's tokenizer from a folder or the Hub; a RulerError says what is missing."""
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise RulerError(f"There is no tokenizer folder '{name}'.")
    try:
        return auto_tokenizer(name, revision, trust_remote_code)
    except ValueError as error:
        raise RulerError(f"Cannot load the tokenizer of '{name}': {error}") from error


def template_arguments(thinks: bool) -> dict[str, Any]:
    """What is passed into a chat template beside the messages."""
    return {"enable_thinking": thinks, "thinking": thinks, "date_string": TEMPLATE_DATE}


@dataclass(frozen=True)
class Prompter:
    """Renders rows in one mode; `tokenizer` is a transformers tokenizer or None.

    `fast` lets a faster engine tokenise where it can be checked (preparing/token_ids.py).
    """

    mode: str
    tokenizer: Any = None
    direct: bool = False
    reasoning: Reasoning = field(default_factory=Reasoning)
    _: KW_ONLY
    fast: bool = False

    def __post_init__(self) -> None:
        if self.mode == "prefill" and self.reasoning.on:
            raise RulerError(
                "A prefix leaves no place for reasoning: with --thinking use --mode chat."
            )
        if self.mode == "completion" and self.reasoning.on:
            raise RulerError("A raw prompt asks for no reasoning: with --thinking use --mode chat.")
        if self.direct and self.mode != "chat":
            raise RulerError("--direct puts the prefix into the user's turn: use --mode chat.")
        if self.mode != "completion" and self.tokenizer is not None and not self.template:
            raise RulerError(
                "The tokenizer has no chat template: use --mode completion for a base model, "
                "or give the chat model's with --tokenizer."
            )

    @property
    def template(self) -> str | None:
        """The chat template's source; None where the tokenizer is the server's."""
        if self.tokenizer is None or not self.tokenizer.chat_template:
            return None
        try:
            return str(self.tokenizer.get_chat_template())
        except Exception as error:  # a stranger wrote it
            raise RulerError(f"{_NO_TEMPLATE}: {one_line(error)}. {_OTHER_TEMPLATE}") from error

    @cached_property
    def token_ids(self) -> TokenIds:
        """What makes a rendered prompt token ids."""
        return TokenIds(self.tokenizer, self.fast)

    @property
    def template_arguments(self) -> dict[str, Any]:
        """What is passed into the template beside the messages."""
        return template_arguments(self.reasoning.on)

    def settings(self) -> dict[str, Any]:
        """What can move a score, for run.json."""
        used = self.template if self.mode != "completion" else None
        digest = hashlib.sha256(used.encode()).hexdigest() if used else None
        return {
            "mode": self.mode,
            "direct": self.direct,
            "prefix_space": "dropped" if self.mode == "prefill" else "kept",
            "template_sha256": digest,
            "template_arguments": {} if self.mode == "completion" else self.template_arguments,
            "thinking": {"on": self.reasoning.on, "budget": self.reasoning.budget},
        }

    def __call__(self, config: str, row: Mapping[str, Any]) -> Prompt:
        """Render one row of configuration `config`."""
        text = self.text(row)
        ids = None
        if self.tokenizer is not None and text is not None:
            ids = self.token_ids(text, self.mode == "completion", (config, int(row["index"])))
        return Prompt(
            config=config,
            index=int(row["index"]),
            messages=tuple(self.messages(row)),
            text=text,
            token_ids=ids,
            max_new_tokens=int(row["max_new_tokens"]),
            reasoning_tokens=self.reasoning.budget,
            row_tokens=int(row.get("length", 0)) - int(row["max_new_tokens"]),
        )

    def messages(self, row: Mapping[str, Any]) -> list[dict[str, str]]:
        """The turns, for a chat endpoint or template; none in completion mode."""
        if self.mode == "completion":
            return []
        prefix = row["answer_prefix"]
        asked = row["input"] + (DIRECT + prefix if self.direct else "")
        turns = [{"role": "user", "content": asked}]
        if self.mode == "prefill" and prefix:
            turns.append({"role": "assistant", "content": prefix.removeprefix(" ")})
        return turns

    def text(self, row: Mapping[str, Any]) -> str | None:
        """The whole prompt as the model sees it; None in a chat mode without a tokenizer."""
        if self.mode == "completion":
            return str(row["input"] + row["answer_prefix"])
        if self.tokenizer is None:
            return None
        turns = self.messages(row)
        if turns[-1]["role"] == "user":
            return self._render(turns, add_generation_prompt=True)
        prefix = turns[-1]["content"]
        turns[-1] = {"role": "assistant", "content": _SEAM}
        try:
            head = self._render(turns, continue_final_message=True)
        except RulerError:
            head = ""
        if not head.endswith(_SEAM):
            raise RulerError(
                "This chat template cannot continue an assistant's turn: use --mode chat."
            )
        return head.removesuffix(_SEAM) + prefix

    def _render(self, turns: list[dict[str, str]], **how: bool) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    turns, tokenize=False, **how, **self.template_arguments
                )
            )
        except Exception as error:  # a template is a program, and a stranger wrote it
            raise RulerError(f"{_NO_TEMPLATE}: {one_line(error)}. {_OTHER_TEMPLATE}") from error
