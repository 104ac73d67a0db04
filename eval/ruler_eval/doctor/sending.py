"""Send rows in the way of a side: with a cache salt, padded, one at a time or together.

sender = start_sender(options, release, salt)
prompts = [sender.prompt("niah_single_1_4k", row, COLD) for row in rows]
for completion in sender.send(prompts, COLD): …
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
from ruler_eval.run.backends.backend import (
    Backend,
    Completion,
    start_backend,
)
from ruler_eval.run.prompts import Prompt, Prompter

FILLER_START, FILLER, FILLER_END = "Ignore this line:", " a", "\n"
"""The padding at the front of a prompt: FILLER is one token in nearly every vocabulary."""
FILLER_TOKENS = 6
"""The approximate number of tokens of FILLER_START and FILLER_END."""
PADDING_TRIES = 3
SALT_BYTES = 8
SHORT_TOKENS = 32
"""Maximum tokens of the answer to a short neighbour."""
SHORT = "short"
"""The configuration's name of a short neighbour, whose answer is not stored."""


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
    has_bos: bool = False
    """Whether the prompts begin with a BOS, as tokenized before they are sent."""
    _padding_error: int = 0
    """Tokens by which padded prompts were too long, as counted by the server."""

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
        if side.margin is None:
            return self._render(config, row, side, "")
        if cold_tokens is None:
            return None
        target = next_boundary(cold_tokens) + side.margin
        units = max(0, target - cold_tokens - FILLER_TOKENS - self._padding_error)
        for _ in range(PADDING_TRIES):
            prompt = self._render(config, row, side, FILLER_START + FILLER * units + FILLER_END)
            if prompt.counted_tokens is None or prompt.counted_tokens == target:
                break
            units = max(0, units + target - prompt.counted_tokens)
        return prompt

    def learn_padding(self, cold_tokens: int, side: Side, completion: Completion) -> None:
        """Correct later padding by the server's token count, unless we counted the tokens."""
        read = completion.prompt_tokens
        if read is None or completion.prompt.counted_tokens is not None or side.margin is None:
            return
        boundary = next_boundary(cold_tokens)
        error = read - boundary - side.margin
        if abs(error) < boundary // 8:  # a larger error: the server shortened the prompt
            self._padding_error += error

    def _render(self, config: str, row: PartialRow, side: Side, filler: str) -> Prompt:
        salt_key = f"{self.salt}/{config}/{row['index']}/{side.after or side.name}"
        salt = hashlib.blake2b(salt_key.encode(), digest_size=SALT_BYTES).hexdigest()
        salt_line = "" if self.salt_field else f"[{salt}]\n"
        prompt = self.prompter(config, {**row, "input": salt_line + filler + row["input"]})
        counted = self.backend.count(prompt)
        bos = getattr(self.backend.tokenizer, "bos_token_id", None)
        if bos is not None and prompt.token_ids:
            self.has_bos = prompt.token_ids[0] == bos
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
            neighbour = self._render(f"{SHORT}/{prompt.config}/{prompt.index}", row, side, "")
            prompts.append(replace(neighbour, config=SHORT))
        return prompts

    def send(self, prompts: Sequence[Prompt], side: Side) -> list[Completion]:
        """Send prompts at once and return their completions, without those of short neighbours."""
        backend = self.server if side.form == "server" else self.backend
        assert backend is not None
        completions = backend.generate(iter(prompts))
        return [completion for completion in completions if completion.prompt.config != SHORT]

    def metrics_hits(self) -> float | None:
        """Return the tokens that the server has read from its prefix cache, from its /metrics."""
        read_metrics = getattr(self.backend, "metrics", None)
        text = read_metrics() if read_metrics is not None else ""
        counts = [
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith(("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"))
            and "_created" not in line
        ]
        return sum(counts) if counts else None

    def accepts_salts(self) -> bool:
        """Send a short request with a cache salt; return whether the server accepts it."""
        row = {"index": 0, "input": "Say yes.", "answer_prefix": "", "max_new_tokens": 1}
        prompt = replace(self.prompter(SHORT, row), cache_salt=self.salt)
        errors = [completion.error or "" for completion in self.backend.generate(iter([prompt]))]
        return not any(error.startswith(("HTTP 400", "HTTP 422")) for error in errors)


def start_sender(options: DoctorOptions, release: Release, salt: str) -> Sender:
    """Start the backend, and find out which conditions can be checked. Raises RulerError."""
    run = options.run_options()
    backend = start_backend(run, release)
    try:
        mode = options.mode or backend.default_mode()
        prompter = Prompter(mode, backend.tokenizer)
        backend.check_mode(mode, prompter.template_arguments)
        provider: Any = getattr(backend, "provider", None)
        sender = Sender(backend, prompter, salt, salt_field=backend.name == "vllm")
        if getattr(provider, "name", "") == "vllm":
            sender.salt_field = sender.accepts_salts()
        sender.unchecked = _unchecked_forms(sender, options)
        if TEMPLATE.name not in sender.unchecked:
            sender.server = start_backend(replace(run, backend="openai", tokenizer=None), release)
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


def _unchecked_forms(sender: Sender, options: DoctorOptions) -> dict[str, str]:
    """Return why the conditions `text` and `template` cannot be checked, if so."""
    mode = sender.prompter.mode
    if options.backend == "vllm":
        reason = "in this process every prompt is sent as token ids"
        return {TEXT.name: reason, TEMPLATE.name: reason}
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
