r"""The three prompt modes: what a model sees of a row, and how many tokens that is.

    completion   input + answer_prefix, raw: base models ("Yi/Base" in RULER's Table 6)
    prefill      the chat template, with answer_prefix beginning the assistant's turn: chat models
    chat         the chat template without a prefix: servers that cannot continue a turn, thinking
                 models. `direct` is GPT-4's line of Table 6: the user's turn ends with the
                 instruction to answer directly and the prefix.

A prefix begins with a space, because it continues `input` (completion, direct). At the beginning of
a turn that space does not belong, and only some templates trim it, so prefill drops it for every
template. The end of a prefix is kept exactly (vt's ends with a space), even if a template trims it.
A template writes the BOS itself, and only a raw text gets the tokenizer's: never two.

    Qwen2.5   …<|im_start|>assistant\nThe special magic number for …  text is

    prompt = Prompter("prefill", load_tokenizer("Qwen/Qwen2.5-7B-Instruct"))("vt_4k", row)
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.hub import auto_tokenizer
from ruler_common.text import one_line
from ruler_eval.run.options import RunOptions
from ruler_eval.run.reasoning import Reasoning

DIRECT = " Do not provide any explanation. Please directly give me the answer."
"""The line of RULER's Table 6 for models that cannot be given the start of their answer."""
TEMPLATE_DATE = "26 Jul 2024"
"""Llama 3.1's template writes the date of the run into the prompt; this is its default date."""
PROMPT_END = 200
"""Characters of a prompt's end that are kept: a template may open a block of reasoning there."""
_SEAM = "@@answer-prefix@@"
_PROBES = (
    "The grass is green.  Here we go\tthere\n\n\nand back again.\r\n 1. VAR ABCDE = 12345 don't ",
    "Zażółć gęślą jaźń; 日本語。한국어 العربية हिन्दी 🙂👩‍👧 8f14e45f-ceea-467f-a1f2-6f2d3c9a1b7e",
)
"""Texts for which the fast library must return the same ids as the tokenizer."""
_NO_TEMPLATE = "The tokenizer's chat template cannot be used"
_OTHER_TEMPLATE = "Use --mode completion, or give another tokenizer with --tokenizer."


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A row as a model sees it."""

    config: str
    index: int
    messages: tuple[dict[str, str], ...]
    """For chat endpoints. Empty in completion mode; in prefill mode the last is the assistant's."""
    text: str | None
    """The rendered prompt. None in a chat mode without a tokenizer."""
    token_ids: Sequence[int] | None
    """The tokens of `text`; None without a tokenizer."""
    max_new_tokens: int
    """The maximum number of tokens of the answer, without reasoning."""
    reasoning_tokens: int = 0
    """The tokens allowed for reasoning."""
    row_tokens: int = 0
    """The tokens of the row's prompt, as counted by the tokenizer of its file."""
    counted_tokens: int | None = None
    """The tokens of the templated prompt, as counted before it is sent."""
    sample: int = 0
    """The number of the sample of this row (`--repeats`)."""
    cache_salt: str | None = None
    """Keeps vLLM from using cached prefixes of prompts with a different salt."""

    @property
    def tokens(self) -> int | None:
        """The tokens of the rendered prompt; None without a tokenizer."""
        return None if self.token_ids is None else len(self.token_ids)

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens to generate: reasoning and answer."""
        return self.max_new_tokens + self.reasoning_tokens


def load_tokenizer(name: str, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """Return a model's tokenizer from a folder or the Hub. Raises RulerError."""
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise RulerError(f"There is no tokenizer folder '{name}'.")
    try:
        return auto_tokenizer(name, revision, trust_remote_code)
    except ValueError as error:
        raise RulerError(f"Cannot load the tokenizer of '{name}': {error}") from error


def template_arguments(thinks: bool) -> dict[str, Any]:
    """Return the arguments of a chat template besides the messages."""
    return {"enable_thinking": thinks, "thinking": thinks, "date_string": TEMPLATE_DATE}


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template from a file, used instead of the tokenizer's own (RULER's Table 6).

    Such a file is what transformers calls `chat_template.jinja`: a jinja2 template of `messages`.
    """

    name: str
    text: str

    @classmethod
    def read(cls, path: Path | str) -> ChatTemplate:
        """Read a file. Raises RulerError if it is missing, empty or not UTF-8."""
        path = Path(path).expanduser()
        if not path.is_file():
            raise RulerError(
                f"There is no chat template '{path}': name a jinja2 file with --chat-template."
            )
        text = read_text(path)
        if not text.strip():
            raise RulerError(f"The chat template '{path}' is empty: name another file.")
        return cls(path.name, text)

    def facts(self) -> dict[str, str]:
        """Return the file's name and the sha256 of its text, for run.json."""
        return {"name": self.name, "sha256": hashlib.sha256(self.text.encode()).hexdigest()}

    def put_into(self, tokenizer: Any) -> None:
        """Set the template of a transformers tokenizer, and render a user's turn to test it.

        Raises RulerError if it cannot be rendered, or leaves out the user's message.
        """
        tokenizer.chat_template = self.text
        probe = "@@probe@@"
        turns = [{"role": "user", "content": probe}]
        try:
            rendered = str(
                tokenizer.apply_chat_template(
                    turns, tokenize=False, add_generation_prompt=True, **template_arguments(False)
                )
            )
        except Exception as error:  # a template is a program
            raise RulerError(
                f"The chat template '{self.name}' cannot be used: {one_line(error)}. Correct the "
                "file of --chat-template."
            ) from error
        if probe not in rendered:
            raise RulerError(
                f"The chat template '{self.name}' leaves out the user's message: it must render "
                "each message's `content`. Correct the file of --chat-template."
            )


def load_model_tokenizer(options: RunOptions) -> Any:
    """Return the tokenizer of `--tokenizer` or of the model, with the template of --chat-template.

    The code in a model's repository runs only with `trust_remote_code`; the code of another
    tokenizer never runs. Raises RulerError.
    """
    if options.tokenizer is not None:
        tokenizer = load_tokenizer(options.tokenizer, options.revision)
    else:
        trust = options.arguments.get("trust_remote_code", False) is True
        tokenizer = load_tokenizer(options.model, options.revision, trust)
    if options.chat_template is not None:
        ChatTemplate.read(options.chat_template).put_into(tokenizer)
    return tokenizer


class TokenIds:
    """Turns texts into token ids, from any number of threads."""

    def __init__(self, tokenizer: Any) -> None:
        # each call has one text: the library's threads would only cost a tenth more time
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._library = _fast_library(tokenizer)

    def __call__(self, text: str, special_tokens: bool) -> list[int]:
        """Return the ids of a text, with the tokenizer's BOS and the like if `special_tokens`."""
        if self._library is not None:  # the same ids without offsets, which take time
            (encoded,) = self._library.encode_batch_fast([text], add_special_tokens=special_tokens)
            return list(encoded.ids)
        with self._lock:
            encoding = self._tokenizer(text, add_special_tokens=special_tokens, verbose=False)
            return list(encoding["input_ids"])


def _fast_library(tokenizer: Any) -> Any:
    """Return the `tokenizers` object inside a tokenizer if it gives the same ids, else None."""
    library: Any = getattr(tokenizer, "backend_tokenizer", None)
    if not hasattr(library, "encode_batch_fast"):
        return None
    for special_tokens in (False, True):  # the call sets the library not to truncate or pad
        expected = tokenizer(list(_PROBES), add_special_tokens=special_tokens, verbose=False)
        encoded = library.encode_batch_fast(list(_PROBES), add_special_tokens=special_tokens)
        if [list(encoding.ids) for encoding in encoded] != [
            list(ids) for ids in expected["input_ids"]
        ]:
            return None
    return library


@dataclass(frozen=True)
class Prompter:
    """Renders rows in one mode; `tokenizer` is a transformers tokenizer or None."""

    mode: str
    tokenizer: Any = None
    direct: bool = False
    reasoning: Reasoning = field(default_factory=Reasoning)
    counts_tokens: bool = True
    """Whether prompts are tokenized if there is a tokenizer."""

    def __post_init__(self) -> None:
        if self.mode != "chat" and self.reasoning.on:
            raise RulerError(
                "A model cannot reason before an answer prefix or in a raw prompt: with --thinking "
                "use --mode chat."
            )
        if self.direct and self.mode != "chat":
            raise RulerError("--direct puts the prefix into the user's turn: use --mode chat.")
        if self.mode != "completion" and self.tokenizer is not None and not self.template:
            raise RulerError(
                "The tokenizer has no chat template: use --mode completion for a base model, "
                "or name the chat model's tokenizer with --tokenizer."
            )

    @property
    def template(self) -> str | None:
        """The chat template's source; None without a tokenizer or a template."""
        if self.tokenizer is None or not self.tokenizer.chat_template:
            return None
        try:
            return str(self.tokenizer.get_chat_template())
        except Exception as error:  # a template is a program
            raise RulerError(f"{_NO_TEMPLATE}: {one_line(error)}. {_OTHER_TEMPLATE}") from error

    @cached_property
    def token_ids(self) -> TokenIds:
        """The tokenizer of rendered prompts."""
        return TokenIds(self.tokenizer)

    @property
    def template_arguments(self) -> dict[str, Any]:
        """The arguments of the template besides the messages."""
        return template_arguments(self.reasoning.on)

    def settings(self) -> dict[str, Any]:
        """Return the settings that can change a score, for run.json."""
        used = self.template if self.mode != "completion" else None
        digest = hashlib.sha256(used.encode()).hexdigest() if used else None
        return {
            "mode": self.mode,
            "direct": self.direct,
            "prefix_space": "dropped" if self.mode == "prefill" else "kept",
            "template_sha256": digest,
            "template_arguments": {} if self.mode == "completion" else self.template_arguments,
            "thinking": self.reasoning.settings(),
        }

    def __call__(self, config: str, row: Mapping[str, Any]) -> Prompt:
        """Render one row of configuration `config`."""
        text = self.text(row)
        ids = None
        if self.counts_tokens and self.tokenizer is not None and text is not None:
            ids = self.token_ids(text, special_tokens=self.mode == "completion")
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
        """Return the turns for a chat endpoint or template; empty in completion mode."""
        if self.mode == "completion":
            return []
        prefix = row["answer_prefix"]
        text = row["input"] + (DIRECT + prefix if self.direct else "")
        turns = [{"role": "user", "content": text}]
        if self.mode == "prefill" and prefix:
            turns.append({"role": "assistant", "content": prefix.removeprefix(" ")})
        return turns

    def text(self, row: Mapping[str, Any]) -> str | None:
        """Return the whole prompt as the model sees it; None in a chat mode without a tokenizer."""
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

    def _render(self, turns: list[dict[str, str]], **flags: bool) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    turns, tokenize=False, **flags, **self.template_arguments
                )
            )
        except Exception as error:  # a template is a program
            raise RulerError(f"{_NO_TEMPLATE}: {one_line(error)}. {_OTHER_TEMPLATE}") from error
