"""The progress bar of a run, and the summary at its end, which begins with the failures."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable

from ruler_common.terminal import note, progress_bar, sentences
from ruler_common.text import number_of, plain, printable
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.plan import Estimate
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import Record, Session


class Progress:
    """The estimate, then a bar over prompt tokens with rows, speed and failures; both can be quiet.

    Rows differ in length by a factor of 32 and more: time left is estimated from tokens.
    """

    def __init__(
        self, estimate: Estimate, price: tuple[float, float] | None = None, quiet: bool = False
    ) -> None:
        self._quiet = quiet
        self._states: Counter[str] = Counter()
        self._rows = estimate.rows * estimate.samples
        self._tokens = 0
        self._started = time.monotonic()
        if not quiet:
            for line in estimate.lines(price):
                note(sentences(line))
        self._bar = progress_bar("rows", estimate.prompt_tokens, quiet)
        self._describe()

    def stop(self) -> None:
        """End the bar."""
        self._bar.close()

    def note(self, text: str) -> None:
        """Print a sentence above the bar."""
        if not self._quiet:
            self._bar.write(plain(hide_keys(text)), file=sys.stderr)

    def add(self, record: Record, row_tokens: int) -> None:
        """Count one row that reached its state; `row_tokens` of its prompt, as estimated."""
        self._states[record["finish_reason"]] += 1
        usage = record["usage"]
        if usage and record["finish_reason"] in ("stop", "length"):
            self._tokens += usage["prompt_tokens"] + usage["completion_tokens"]
        self._describe()
        self._bar.update(row_tokens)

    def _describe(self) -> None:
        """Put rows, speed, and the rows that did not end well behind the bar."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        parts = [
            f"rows {self._states.total():,}/{self._rows:,}",
            f"{self._tokens / seconds:,.0f} tokens/s",
        ]
        for state, name in (
            ("error", "failed"), ("length", "truncated"), ("does_not_fit", "too long")
        ):  # fmt: skip
            if self._states[state]:
                parts.append(f"{self._states[state]:,} {name}")
        self._bar.set_description_str(", ".join(parts), refresh=False)


class RunSummary:
    """The states of all rows of a run, and what this session did.

    `missing` are rows that have no record yet; `differences` are prompts of this session whose
    length the server counted differently from our template. `max_thinking` is the budget of
    reasoning tokens, if an engine was to keep the model to one.
    """

    def __init__(self, shard: str | None = None, max_thinking: int | None = None) -> None:
        self._shard = shard
        self._max_thinking = max_thinking
        self._over_budget = 0
        self.states: dict[str, Counter[str]] = {}
        self.unfinished: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        """The first row that failed, and the first that did not fit, by these states."""
        self.missing = 0
        self.differences = 0
        self.notes: list[str] = []
        """Sentences that the user should read at the end."""
        self.tokens: Counter[str] = Counter()
        self._told = 0
        self._started = time.monotonic()

    def __repr__(self) -> str:
        """Show how many rows ended in each state."""
        return f"RunSummary({dict(self.total)}, missing={self.missing})"

    def add(self, config: str, records: Iterable[Record]) -> None:
        """Count the recorded rows of a configuration."""
        states = self.states.setdefault(config, Counter())
        for record in records:
            states[record["finish_reason"]] += 1
            self.unfinished[config] += record.get("thinking_ended") is False
            usage = record["usage"]
            if usage and self._max_thinking is not None:
                self._over_budget += usage["thinking_tokens"] > self._max_thinking
            ended = record["finish_reason"]
            if ended in ("error", "does_not_fit") and ended not in self.first:
                why = printable(hide_keys(record["error"] or ""))
                self.first[ended] = f"{config} row {record['index']}: {why}"

    def count_session(self, record: Record, prompt: Prompt) -> None:
        """Count a row answered now: its tokens, and whether the server saw the same prompt."""
        usage = record["usage"]
        if usage is None:
            return
        self.tokens.update({name: count for name, count in usage.items() if type(count) is int})
        if usage["cached_tokens"] is not None:
            self._told += usage["prompt_tokens"]
        ours = prompt.counted_tokens
        self.differences += ours is not None and usage["prompt_tokens"] != ours

    @property
    def total(self) -> Counter[str]:
        """Rows by state."""
        return sum(self.states.values(), Counter[str]())

    @property
    def none_fits(self) -> bool:
        """Whether every row is recorded as longer than the model's context."""
        return not self.missing and set(self.total) == {"does_not_fit"}

    @property
    def cached_share(self) -> float | None:
        """The share of this session's prompt tokens that came from a prefix cache.

        Of the rows for which the backend reports it; None if it reports none.
        """
        return self.tokens["cached_tokens"] / self._told if self._told else None

    def complete(self, session: Session, ended: str) -> None:
        """Add to a session what it did; `ended` is the time in ISO 8601."""
        session["ended"] = ended
        session["seconds"] = round(time.monotonic() - self._started, 1)
        session["tokens"] = dict(self.tokens)
        session["cached_share"] = self.cached_share
        session["prompt_token_differences"] = self.differences

    def lines(self) -> list[str]:
        """Return the summary in words, failures first."""
        total, rows = self.total, self.total.total()
        lines = []
        if total["error"]:
            lines.append(
                f"{total['error']} of {number_of(rows, 'row')} FAILED; the first: "
                f"{self.first['error']}"
            )
            lines.append("Run the same command with --retry-failed.")
        if total["does_not_fit"]:
            lines.append(
                f"Of {number_of(rows, 'row')} {total['does_not_fit']:,} did not fit the model's "
                f"window; the first: {self.first['does_not_fit']}."
            )
            lines.append(
                "Which rows were made for a model's tokenizer: ruler tokenizers --for MODEL"
            )
        if self.differences:
            lines.append(
                f"{number_of(self.differences, 'prompt')} had another length on the server than "
                "with the tokenizer given: its template, BOS or prefix differs. Check --tokenizer."
            )
        if unfinished := self.unfinished.total():
            lines.append(
                f"The reasoning of {number_of(unfinished, 'row')} did not end: give --thinking "
                "more tokens."
            )
        if self._over_budget:
            lines.append(
                f"The reasoning of {number_of(self._over_budget, 'row')} was longer than the "
                f"{self._max_thinking:,} tokens of --thinking: the engine did not limit it."
            )
        if total["length"]:
            cut = number_of(total["length"], "answer")
            lines.append(f"Truncated at max_new_tokens: {cut}.")
        if self.missing:
            is_one = self.missing == 1
            why = "has no answer" if is_one else "have no answer"
            if self._shard:
                why = f"{'belongs' if is_one else 'belong'} to shards that have not run"
            lines.append(f"{number_of(self.missing, 'row')} {why} yet.")
        lines += self.notes
        if rows and not total["error"] and not total["does_not_fit"]:
            lines.insert(0, f"No failures: {number_of(rows, 'row')} answered.")
        read, made = self.tokens["prompt_tokens"], self.tokens["completion_tokens"]
        if read:
            seconds = time.monotonic() - self._started
            share = "unknown how many" if self.cached_share is None else f"{self.cached_share:.1%}"
            lines.append(
                f"This session: {read:,} prompt tokens, {share} of them from the prefix cache, "
                f"{made:,} generated, {(read + made) / seconds:,.0f} tokens/s."
            )
        return lines
