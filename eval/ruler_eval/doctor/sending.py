"""Render and send the prompts of a side: with a cache salt, padding, or the server's chat template.

sender = start_sender(options, release, salt)
prompts = [sender.prompt("niah_single_1_4k", row, COLD) for row in rows]
for completion in sender.send(prompts, COLD): …
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ruler_common.errors import RulerError
from ruler_eval.doctor.condition import Side
from ruler_eval.doctor.conditions import (
    CONDITIONS,
    LOAD,
    NEIGHBOURS,
    TEMPLATE,
    TEXT,
    TOKENS,
    next_boundary,
)
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.run.backend import Backend, Completion
from ruler_eval.run.prompts import Prompt, Prompter
from ruler_eval.run.start_backend import start_backend

FILLER_START, FILLER, FILLER_END = "Ignore this line:", " a", "\n"
"""The padding at the front of a prompt: FILLER is one token in nearly every vocabulary."""
FILLER_TOKENS = 6
"""The approximate number of tokens of FILLER_START and FILLER_END."""
PADDING_TRIES = 3
SALT_BYTES = 8
SHORT_TOKENS = 32
"""Maximum tokens of the answer to a short neighbour."""
PROBE_ROW: PartialRow = {
    "index": 0,
    "input": "Say yes.",
    "answer_prefix": "",
    "max_new_tokens": 1,
}
"""A short row, to see how a prompt is tokenized and whether the server accepts cache_salt."""
SHORT = "short"
"""The configuration name given to short neighbours; their answers are not stored."""


@dataclass
class Sender:
    """Renders and sends the requests of an examination."""

    backend: Backend
    prompter: Prompter
    salt: str
    """The salt of this examination, from which the salts of all prompts are derived."""
    salt_field: bool
    """Whether the engine accepts cache_salt; if not, the salt is a line in front of the prompt."""
    server: Backend | None = None
    """A second client of the server, for prompts whose chat template the server renders."""
    unchecked: dict[str, str] = field(default_factory=dict)
    """The conditions that cannot be checked on this engine, and why."""
    _padding_error: int = 0
    """Tokens by which padded prompts were too long, as counted by the server."""

    @cached_property
    def has_bos(self) -> bool:
        """Whether the prompts begin with a BOS, as tokenized before they are sent."""
        bos = getattr(self.backend.tokenizer, "bos_token_id", None)
        token_ids = self.prompter(SHORT, PROBE_ROW).token_ids
        return bool(token_ids and token_ids[0] == bos)

    def close(self) -> None:
        """Close the backends."""
        self.backend.close()
        if self.server is not None:
            self.server.close()

    def prompt(
        self, config: str, row: PartialRow, side: Side, cold_tokens: int | None = None
    ) -> Prompt | None:
        """Return the prompt of a row on a side.

        Args:
            config: The row's configuration.
            row: The columns that make a prompt.
            side: The way to send it.
            cold_tokens: The tokens of the unpadded prompt, for a side that pads it.

        Returns:
            The prompt; None if it has to be padded and its number of tokens is unknown.
        """
        salt_key = f"{config}/{row['index']}"
        if side.margin is None:
            return self._render(config, row, side, salt_key)
        if cold_tokens is None:
            return None
        target = next_boundary(cold_tokens) + side.margin
        units = max(0, target - cold_tokens - FILLER_TOKENS - self._padding_error)
        for _ in range(PADDING_TRIES):
            filler = FILLER_START + FILLER * units + FILLER_END
            prompt = self._render(config, row, side, salt_key, filler)
            if prompt.counted_tokens is None or prompt.counted_tokens == target:
                break
            units = max(0, units + target - prompt.counted_tokens)
        return prompt

    def correct_padding(self, cold_tokens: int, side: Side, completion: Completion) -> None:
        """Adjust later padding by the server's token count.

        Nothing is adjusted if the prompt's tokens were counted before it was sent.
        """
        if completion.prompt.counted_tokens is not None or side.margin is None:
            return
        server_tokens = completion.prompt_tokens
        if server_tokens is None:
            return
        boundary = next_boundary(cold_tokens)
        error = server_tokens - boundary - side.margin
        if abs(error) < boundary // 8:  # a larger error means that the server truncated the prompt
            self._padding_error += error

    def _render(
        self, config: str, row: PartialRow, side: Side, salt_key: str, filler: str = ""
    ) -> Prompt:
        """Return a prompt with `filler` at the front; its salt depends on `salt_key` and side."""
        salt_text = f"{self.salt}/{salt_key}/{side.after or side.name}"
        salt = hashlib.blake2b(salt_text.encode(), digest_size=SALT_BYTES).hexdigest()
        salt_line = "" if self.salt_field else f"[{salt}]\n"
        prompt = self.prompter(config, {**row, "input": salt_line + filler + row["input"]})
        counted = self.backend.count(prompt)
        if side.form != "usual":
            prompt = replace(prompt, token_ids=None)
        return replace(prompt, counted_tokens=counted, cache_salt=salt if self.salt_field else None)

    def neighbours(self, side: Side, prompt: Prompt) -> list[Prompt]:
        """Return the short prompts that are sent together with a prompt."""
        prompts = []
        for number in range(side.short_neighbours):
            row = {
                "index": number,
                "input": f"Count upwards from {number * 10}, in words.",
                "answer_prefix": "",
                "max_new_tokens": min(SHORT_TOKENS, prompt.max_new_tokens),
            }
            salt_key = f"{SHORT}/{prompt.config}/{prompt.index}/{number}"
            prompts.append(self._render(SHORT, row, side, salt_key))
        return prompts

    def send(self, prompts: Sequence[Prompt], side: Side) -> list[Completion]:
        """Send prompts at once and return their completions, without those of short neighbours."""
        backend = self.server if side.form == "server" else self.backend
        assert backend is not None
        completions = backend.generate(iter(prompts))
        return [completion for completion in completions if completion.prompt.config != SHORT]

    def count_cached_tokens(self) -> float | None:
        """Return the tokens that the server has read from its prefix cache, from its /metrics."""
        counts = [
            float(line.rpartition(" ")[2])
            for line in self.backend.metrics().splitlines()
            if line.startswith(("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"))
            and "_created" not in line
        ]
        return sum(counts) if counts else None


def start_sender(options: DoctorOptions, release: Release, salt: str) -> Sender:
    """Start the backend, and find out which conditions can be checked. Raises RulerError."""
    run = options.run_options()
    backend = start_backend(run, release)
    try:
        mode = options.mode or backend.default_mode()
        prompter = Prompter(mode, backend.tokenizer, server_template=backend.server_template)
        backend.check_mode(mode, prompter.template_arguments)
        salt_field = backend.accepts_cache_salt()
        if salt_field:  # older versions of vLLM refuse it
            salt_field = _accepts_request_with_salt(backend, prompter, salt)
        sender = Sender(backend, prompter, salt, salt_field)
        sender.unchecked = _unchecked_forms(sender)
        if TEMPLATE.name not in sender.unchecked:
            sender.server = start_backend(replace(backend.options, tokenizer=None), release)
            try:
                sender.server.check_mode(mode, prompter.template_arguments)
            except RulerError as error:
                sender.server.close()
                sender.server = None
                sender.unchecked[TEMPLATE.name] = str(error).rstrip(".")
    except BaseException:
        backend.close()
        raise
    return sender


def _accepts_request_with_salt(backend: Backend, prompter: Prompter, salt: str) -> bool:
    """Send a short request with a cache salt; return whether the server accepts it."""
    prompt = replace(prompter(SHORT, PROBE_ROW), cache_salt=salt)
    try:
        (completion,) = backend.generate(iter([prompt]))
    except RulerError:  # it refuses every such request
        return False
    return completion.error is None


def _unchecked_forms(sender: Sender) -> dict[str, str]:
    """Return why the conditions `text` and `template` cannot be checked, if so."""
    mode = sender.prompter.mode
    if sender.backend.tokenizer is None:
        reason = "it needs the model's tokenizer (--tokenizer)"
        return {TEXT.name: reason, TEMPLATE.name: reason}
    if mode == "completion":
        return {TEMPLATE.name: "--mode completion uses no chat template"}
    reasons = {TEXT.name: "the prompt has a chat template, which is checked instead"}
    if mode == "chat":
        reasons[TEMPLATE.name] = "with --mode chat the server always renders the template"
    return reasons


def conditions_for(sender: Sender, level: str, rows: int) -> tuple[list[str], dict[str, str]]:
    """Return the conditions that are tested, and why the others are not.

    `tokens` is in neither, because it is not a test and is always judged.
    """
    planned, reasons = [], dict(sender.unchecked)
    for name, condition in CONDITIONS.items():
        if name in reasons or name == TOKENS.name:
            continue
        if level == "quick" and not condition.quick:
            reasons[name] = "--quick leaves it out"
        elif condition in (LOAD, NEIGHBOURS) and rows < 2:
            reasons[name] = "it needs more than one row"
        else:
            planned.append(name)
    return planned, reasons
