"""The progress of a run, and the summary at its end, which lists failures first.

On a terminal a bar shows the progress; in a log file a line a minute does.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from ruler_common.text import note, number_of, plain, progress_bar, sentences, shows_progress
from ruler_eval.run.answer_counts import AnswerCounts
from ruler_eval.run.plan import Estimate
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import Record, Session
from ruler_eval.run.secrets import hide_keys

MAX_TEMPLATE = 1000
"""Tokens that a chat template may add to a prompt."""
LINE_SECONDS = 60.0
"""Seconds between two lines of progress in a log file."""


class Progress:
    """Shows the estimate, then a bar over prompt tokens with rows, speed and failures.

    Rows differ in length by a factor of 32 or more, so the remaining time is estimated from tokens.
    """

    def __init__(
        self, estimate: Estimate, price: tuple[float, float] | None = None, quiet: bool = False
    ) -> None:
        self._quiet = quiet
        self._states: Counter[str] = Counter()
        self._rows = estimate.rows * estimate.samples
        self._tokens = 0
        self._prompt_tokens = 0
        self._all_prompt_tokens = max(1, estimate.prompt_tokens)
        self._started = self._last_line = time.monotonic()
        if not quiet and shows_progress():
            for line in estimate.lines(price):
                note(sentences(line))
        self.bar = progress_bar("rows", estimate.prompt_tokens, quiet)

    def note(self, text: str) -> None:
        """Print a sentence above the bar."""
        if not self._quiet:
            self.bar.write(plain(hide_keys(text)), file=sys.stderr)

    def add(self, record: Record, row_tokens: int) -> None:
        """Count a row that reached its state; `row_tokens` is the estimate for its prompt."""
        states = self._states
        states[record["finish_reason"]] += 1
        usage = record["usage"]
        if usage and record["finish_reason"] in ("stop", "length"):
            self._tokens += usage["prompt_tokens"] + usage["completion_tokens"]
        speed = self._tokens / max(time.monotonic() - self._started, 1e-9)
        text = f"rows {states.total():,}/{self._rows:,}, {speed:,.0f} tokens/s"
        if states["error"]:
            text += f", {states['error']:,} failed"
        if states["length"]:
            text += f", {states['length']:,} truncated"
        if states["does_not_fit"]:
            text += f", {states['does_not_fit']:,} too long"
        self.bar.set_description_str(text, refresh=False)
        self.bar.update(row_tokens)
        self._prompt_tokens += row_tokens
        if self.bar.disable and not self._quiet and shows_progress():  # no terminal
            self._write_line(text)

    def _write_line(self, text: str) -> None:
        """Write a line with the time that remains, if the last one was written a while ago."""
        now = time.monotonic()
        if now - self._last_line < LINE_SECONDS:
            return
        self._last_line = now
        share = min(1.0, max(self._prompt_tokens, 1) / self._all_prompt_tokens)
        remaining = timedelta(seconds=round((now - self._started) * (1 - share) / share))
        note(f"{time.strftime('%H:%M:%S')} {text}, about {remaining} remaining")


@dataclass(repr=False)
class RunSummary:
    """The states of all rows of a run, and what this session did."""

    shard: str | None = None
    max_thinking: int | None = None
    """The budget of reasoning tokens, if the engine was asked to enforce it."""
    answers: AnswerCounts = field(default_factory=AnswerCounts)
    """What the answers have in common."""
    states: dict[str, Counter[str]] = field(default_factory=dict)
    """How many rows of each configuration ended in each state."""
    unfinished: Counter[str] = field(default_factory=Counter)
    """Rows of each configuration whose reasoning did not end."""
    shortened: int = 0
    """Rows whose prompt the server shortened."""
    at_limit: int = 0
    """Rows that used all their tokens, although the server reports that they ended."""
    over_budget: int = 0
    """Rows whose reasoning was longer than its budget."""
    first: dict[str, str] = field(default_factory=dict)
    """The first row in the state `error` and the first in `does_not_fit`, with the reason."""
    missing: int = 0
    """Rows that have no record yet."""
    tokens: Counter[str] = field(default_factory=Counter)
    """The tokens of this session's rows."""
    tokens_with_cache: int = 0
    """This session's prompt tokens of rows for which the backend says how many were cached."""
    uncounted: int = 0
    """This session's answers of a server that does not say how many tokens it read."""
    longer: int = 0
    """This session's prompts of which the server read far more tokens than they have."""
    differences: int = 0
    """This session's prompts whose length the server counted differently from our template."""
    started: float = field(default_factory=time.monotonic)

    def __repr__(self) -> str:
        """Show how many rows ended in each state."""
        return f"RunSummary({dict(self.total)}, missing={self.missing})"

    def add(self, record: Record) -> None:
        """Count a recorded row."""
        config, state = record["config"], record["finish_reason"]
        self.states.setdefault(config, Counter())[state] += 1
        self.unfinished[config] += record.get("thinking_ended") is False
        self.answers.add(record)
        self.at_limit += record.get("at_limit", False)
        self.shortened += record.get("failure") == "truncated"
        usage = record["usage"]
        if usage and self.max_thinking is not None:
            self.over_budget += usage["thinking_tokens"] > self.max_thinking
        if state in ("error", "does_not_fit") and state not in self.first:
            self.first[state] = f"{config} row {record['index']}: {record['error']}"

    def count_session(self, record: Record, prompt: Prompt) -> None:
        """Count a row answered now: its tokens, and whether the server saw the same prompt."""
        usage = record["usage"]
        if usage is None:
            is_of_server = "in_flight" in record
            self.uncounted += is_of_server and record["finish_reason"] in ("stop", "length")
            return
        for name in ("prompt_tokens", "completion_tokens", "thinking_tokens"):
            self.tokens[name] += usage[name]
        if usage["cached_tokens"] is not None:
            self.tokens["cached_tokens"] += usage["cached_tokens"]
            self.tokens_with_cache += usage["prompt_tokens"]
        expected = prompt.counted_tokens
        self.differences += expected is not None and usage["prompt_tokens"] != expected
        # two tokenizers never differ by more than a factor of 2.5 on these texts
        self.longer += expected is None and usage["prompt_tokens"] > MAX_TEMPLATE + (
            prompt.row_tokens * 5 // 2
        )

    @property
    def failed(self) -> int:
        """Rows that failed, or of which the server read only a part."""
        return self.total["error"] + self.shortened

    @property
    def total(self) -> Counter[str]:
        """Rows by state."""
        return sum(self.states.values(), Counter[str]())

    @property
    def cached_share(self) -> float | None:
        """The share of this session's prompt tokens that came from a prefix cache.

        Counts only rows whose cached tokens the backend reports; None without them.
        """
        if not self.tokens_with_cache:
            return None
        return self.tokens["cached_tokens"] / self.tokens_with_cache

    def complete(self, session: Session, ended: str) -> None:
        """Add to a session what it did; `ended` is the time in ISO 8601."""
        session["ended"] = ended
        session["seconds"] = round(time.monotonic() - self.started, 1)
        session["tokens"] = dict(self.tokens)
        session["cached_share"] = self.cached_share
        session["prompt_token_differences"] = self.differences

    def _lines_of_server(self) -> list[str]:
        """Return sentences about what the server did to prompts and answers."""
        lines = []
        if self.uncounted:
            lines.append(
                f"{number_of(self.uncounted, 'answer')} came without a count of the tokens that "
                "the server read: if it shortened a prompt, only the score shows it (ruler doctor)."
            )
        if self.longer:
            lines.append(
                f"The server says that it read far more tokens than {number_of(self.longer, 'row')}"
                " can have: a gateway adds a prompt, or the count covers several requests."
            )
        if self.shortened:
            lines.append(
                f"The server shortened {number_of(self.shortened, 'prompt')}: give it a longer "
                "context, then run the same command with --retry-failed."
            )
        if self.at_limit:
            lines.append(
                f"{number_of(self.at_limit, 'answer')} reached the limit of max_new_tokens, "
                "although the server reports that they ended by themselves: they may be truncated."
            )
        return lines

    def lines(self) -> list[str]:
        """Return the summary as sentences, failures first."""
        total = self.total
        rows = total.total()
        lines = []
        if total["error"]:
            lines.append(
                f"{total['error']} of {number_of(rows, 'row')} FAILED; the first: "
                f"{self.first['error']}"
            )
            lines.append("Run the same command with --retry-failed.")
        if total["does_not_fit"]:
            lines.append(
                f"{total['does_not_fit']:,} of {number_of(rows, 'row')} did not fit the model's "
                f"context window; the first: {self.first['does_not_fit']}."
            )
            lines.append("To find rows made for a model's tokenizer: ruler tokenizers --for MODEL")
        lines += self.answers.lines()
        if rows and not lines:
            lines.append(f"No failures: {number_of(rows, 'row')} answered.")
        if self.differences:
            lines.append(
                f"{number_of(self.differences, 'prompt')} had a different length on the server "
                "than counted before: the template, BOS or the end of the prefix differ. If "
                "--tokenizer is given, check that it is the model's."
            )
        if unfinished := self.unfinished.total():
            lines.append(
                f"The reasoning of {number_of(unfinished, 'row')} did not end: give --thinking "
                "more tokens."
            )
        if self.over_budget:
            lines.append(
                f"The reasoning of {number_of(self.over_budget, 'row')} was longer than the "
                f"{self.max_thinking:,} tokens of --thinking: the engine did not limit it."
            )
        if total["length"]:
            lines.append(f"Truncated at max_new_tokens: {number_of(total['length'], 'answer')}.")
        lines += self._lines_of_server()
        if self.missing:
            if self.shard:
                verb = "belongs" if self.missing == 1 else "belong"
                why = f"{verb} to shards that have not run"
            else:
                why = "has no answer" if self.missing == 1 else "have no answer"
            lines.append(f"{number_of(self.missing, 'row')} {why} yet.")
        read, generated = self.tokens["prompt_tokens"], self.tokens["completion_tokens"]
        if read:
            seconds = time.monotonic() - self.started
            share = "unknown how many" if self.cached_share is None else f"{self.cached_share:.1%}"
            lines.append(
                f"This session: {read:,} prompt tokens, {share} of them from the prefix cache, "
                f"{generated:,} generated, {(read + generated) / seconds:,.0f} tokens/s."
            )
        return lines
