r"""The three prompt modes: what a model sees of a row, and how many tokens that is.

    completion   input + answer_prefix, raw: base models ("Yi/Base" in RULER's Table 6)
    prefill      the chat template, with answer_prefix beginning the assistant's turn: chat models
    chat         the chat template without a prefix: servers that cannot continue a turn, thinking
                 models. `direct` is GPT-4's line of Table 6: the user's turn ends with the
                 instruction to answer directly and the prefix.

A prefix begins with a space, because it continues `input` (completion, direct). At the beginning of
a turn that space does not belong, and only some templates trim it, so prefill drops it for every
template. The end of a prefix is kept exactly (vt's ends with a space), even if a template trims it,
unless the server renders the turn (prefill without a tokenizer): then it is what the server's
template makes of it. A template writes the BOS itself, and only a raw text gets the tokenizer's:
never two, and never the EOS that some tokenizers put after a text. `--system` adds a system turn.

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
from ruler_common.hub import auto_tokenizer, is_gguf
from ruler_common.text import one_line
from ruler_eval.run.chat_template import (
    NO_TEMPLATE,
    OTHER_TEMPLATE,
    ChatTemplate,
    CheckedTemplate,
    ServerTemplate,
    check_template,
    check_text,
    render_with,
    system_text,
    template_arguments,
    user_turn,
)
from ruler_eval.run.options import RunOptions
from ruler_eval.run.reasoning import Reasoning
from ruler_score.split_reasoning import opened_reasoning

DIRECT = " Do not provide any explanation. Please directly give me the answer."
"""The line of RULER's Table 6 for models that cannot be given the start of their answer."""
PROMPT_END = 200
"""Characters of a prompt's end that are kept: a template may open a block of reasoning there."""
_SEAM = "@@answer-prefix@@"
_PROBES = (
    "The grass is green.  Here we go\tthere\n\n\nand back again.\r\n 1. VAR ABCDE = 12345 don't ",
    "Zażółć gęślą jaźń; 日本語。한국어 العربية हिन्दी 🙂👩‍👧 8f14e45f-ceea-467f-a1f2-6f2d3c9a1b7e",
)
"""Texts for which the fast library must return the same ids as the tokenizer."""


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
    """Return a model's tokenizer from a folder, a GGUF file or the Hub. Raises RulerError."""
    is_folder = name.startswith((".", "/", "~")) and not is_gguf(name)
    if is_folder and not Path(name).expanduser().is_dir():
        raise RulerError(f"There is no tokenizer folder '{name}'.")
    try:
        return auto_tokenizer(name, revision, trust_remote_code)
    except ValueError as error:
        raise RulerError(f"Cannot load the tokenizer of '{name}': {error}") from error


def load_model_tokenizer(options: RunOptions) -> Any:
    """Return the tokenizer of `--tokenizer` or of the model, with the template of --chat-template.

    The code in a model's repository runs only with `trust_remote_code`; the code of another
    tokenizer never runs. Raises RulerError.
    """
    if options.tokenizer is not None:
        tokenizer = load_tokenizer(options.tokenizer, options.revision)
    else:
        trust = options.engine_args.get("trust_remote_code", False) is True
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
        self.appended = appended_tokens(self._encode("a", True), self._encode("a", False))
        """The tokens that the tokenizer puts after a raw text, such as EOS; they are left out."""

    def __call__(self, text: str, special_tokens: bool) -> list[int]:
        """Return the ids of a text, with the tokenizer's BOS and the like if `special_tokens`.

        An EOS of the tokenizer is left out: the model would end before it answers.
        """
        ids = self._encode(text, special_tokens)
        return ids[: len(ids) - len(self.appended)] if special_tokens else ids

    def _encode(self, text: str, special_tokens: bool) -> list[int]:
        if self._library is not None:  # the same ids without offsets, which take time
            (encoded,) = self._library.encode_batch_fast([text], add_special_tokens=special_tokens)
            return list(encoded.ids)
        with self._lock:
            encoding = self._tokenizer(text, add_special_tokens=special_tokens, verbose=False)
            return list(encoding["input_ids"])


def appended_tokens(special: Sequence[int], plain: Sequence[int]) -> list[int]:
    """Return the tokens that a tokenizer puts after a text, from its ids with and without them.

    appended_tokens([1, 50, 2], [50])    # [2]
    """
    for start in range(len(special) - len(plain), -1, -1):
        if list(special[start : start + len(plain)]) == list(plain):
            return list(special[start + len(plain) :])
    return []


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
    system: str | None = None
    """The text of the system turn (`--system`)."""
    server_template: ServerTemplate | None = None
    """The server's chat template, if it renders the prompts and can be asked."""

    def __post_init__(self) -> None:
        if self.mode == "completion" and self.system is not None:
            raise RulerError(
                "A raw prompt has no system turn: leave --system out, or use --mode chat."
            )
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
        checked = self._checked  # raises RulerError for a template that cannot be used
        if self.mode == "chat":
            checked.raise_problem(
                "Give it tokens (--thinking 8192), or use --mode prefill, which begins the answer."
            )

    @property
    def template(self) -> str | None:
        """The chat template's source; None if it is unknown or there is none."""
        if self.tokenizer is None:
            return None if self.server_template is None else self.server_template.source
        if not self.tokenizer.chat_template:
            return None
        try:
            return str(self.tokenizer.get_chat_template())
        except Exception as error:  # a template is a program
            raise RulerError(f"{NO_TEMPLATE}: {one_line(error)}. {OTHER_TEMPLATE}") from error

    @cached_property
    def token_ids(self) -> TokenIds:
        """The tokenizer of rendered prompts."""
        return TokenIds(self.tokenizer)

    @cached_property
    def template_arguments(self) -> dict[str, Any]:
        """The arguments of the template besides the messages."""
        return template_arguments(self.template, self.reasoning.on)

    @cached_property
    def _checked(self) -> CheckedTemplate:
        """What was found out about the template. Raises RulerError if it cannot be used."""
        if self.mode == "completion":
            return CheckedTemplate()
        if self.tokenizer is not None:
            render, is_exact = render_with(self.tokenizer), True
        elif self.server_template is not None:
            render, is_exact = self.server_template.render, self.server_template.is_exact
        else:
            return CheckedTemplate()
        return check_template(render, self.template, self.system, self.reasoning.on, is_exact)

    @property
    def system_turn(self) -> str | None:
        """The system turn, with the template's words that turn reasoning off; None without one."""
        return system_text(self.system, self._checked.words)

    def settings(self) -> dict[str, Any]:
        """Return the settings that can change a score, for run.json."""
        used = self.template if self.mode != "completion" else None
        digest = hashlib.sha256(used.encode()).hexdigest() if used else None
        return {
            "mode": self.mode,
            "direct": self.direct,
            "prefix_space": "dropped" if self.mode == "prefill" else "kept",
            "prefix_end": self._prefix_end,
            "system_turn": self.system_turn,
            "template_sha256": digest,
            "template_arguments": {} if self.mode == "completion" else self.template_arguments,
            "thinking": self.reasoning.settings(),
        }

    @property
    def _prefix_end(self) -> str:
        """What becomes of the space at the end of an answer prefix, for run.json."""
        if self.mode == "prefill" and self.tokenizer is None:
            return "as the server's template renders it"
        return "kept"

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
        turns = user_turn(text, self.system_turn)
        if self.mode == "prefill" and prefix:
            turns.append({"role": "assistant", "content": prefix.removeprefix(" ")})
        return turns

    def text(self, row: Mapping[str, Any]) -> str | None:
        """Return the whole prompt as the model sees it; None in a chat mode without a tokenizer."""
        if self.mode == "completion":
            return str(row["input"] + row["answer_prefix"])
        turns = self.messages(row)
        if turns[-1]["role"] == "user":
            self._checked.raise_problem("Give it tokens: --mode chat --thinking 8192.")
        if self.tokenizer is None:
            return None
        if turns[-1]["role"] == "user":
            text = self._render(turns, add_generation_prompt=True)
            self._check_row(text, turns[-1]["content"])
            return text
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
        if opened := opened_reasoning(head.removesuffix(_SEAM)):
            raise RulerError(
                f"The chat template puts the answer prefix into the reasoning, after '{opened}': "
                "use --mode chat --thinking 8192."
            )
        self._check_row(head, turns[-2]["content"])
        return head.removesuffix(_SEAM) + prefix

    def _check_row(self, rendered: str, text: str) -> None:
        """Raise RulerError if the template renders this row's text in a different way."""
        check_text(rendered, text, "The chat template", "user", OTHER_TEMPLATE)

    def _render(self, turns: list[dict[str, str]], **flags: bool) -> str:
        try:
            return render_with(self.tokenizer, **flags)(turns, self.template_arguments)
        except RulerError as error:
            raise RulerError(f"{NO_TEMPLATE}: {error} {OTHER_TEMPLATE}") from error
