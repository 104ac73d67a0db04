"""The numbers of an examination: the evidence, what follows from it, and the verdict.

    verdict.outcome, verdict.cause, verdict.loss

judge.py makes a verdict from the evidence, and sentences.py writes it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ruler_eval.doctor.answers import Answer, Answers, Key
from ruler_eval.doctor.paired_test import SUSPECT, exact_p
from ruler_eval.doctor.plan import RowFacts

DRIFT = "drift"
MIN_ROWS = 10
"""Minimum rows for a pattern, such as one more token in every prompt."""
MAX_FOLLOWED = 3
"""The configurations that lost most, whose fresh rows are sent."""
State = Literal["engine", "suspect", "same", "unchecked"]
TokenKind = Literal[
    "shortened", "capped", "estimate", "bos", "differ", "equal", "plausible", "none", "unsent"
]
"""Faults, then other counts, then why there are none."""
Outcome = Literal["sound", "engine", "unknown"]


@dataclass(frozen=True, kw_only=True)
class ConfigLoss:
    """The rows of a configuration whose two scores differ."""

    config: str
    rows: int
    only_a: int
    only_b: int

    @property
    def p(self) -> float:
        """The unadjusted one-sided p of "B is not worse here"."""
        return exact_p(self.only_b, self.only_a)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one condition, in numbers; losses are in points."""

    name: str
    state: State
    reason: str = ""
    """Why it is not checked."""
    rows: int = 0
    only_a: int = 0
    """Rows with a better answer on the reference side, and on the suspected one."""
    only_b: int = 0
    exact_p: float | None = None
    """The two-sided p of McNemar's test, as in `ruler compare` of the two sides."""
    p: float = 1.0
    holm_p: float = 1.0
    smallest_loss: float | None = None
    flips: float = 0.0
    """Of identical requests: the share whose scores differ."""
    failed: int = 0
    """Rows of which one request failed, or both."""
    failed_only_b: int = 0
    """Rows that failed on the suspected side, if no other request did, or far fewer."""
    failed_only_cold: int = 0
    failure: str = ""
    """The first error."""
    configs: tuple[ConfigLoss, ...] = ()
    """The configurations in which some rows differ, the largest loss first."""
    fresh: ConfigLoss | None = None
    """The fresh rows of a suspect condition, over their configurations."""
    seen_again: bool | None = None
    """Of load: whether the fresh rows lose or fail too; None if none were sent."""
    cold_differ: tuple[int, int] | None = None
    """If cache hits are blamed: cold requests that differ, of how many."""

    @property
    def is_suspect(self) -> bool:
        """Whether B is worse with an unadjusted p of at most SUSPECT, overall or anywhere."""
        if self.fresh is not None:
            return self.fresh.p <= SUSPECT
        overall = exact_p(self.only_b, self.only_a) <= SUSPECT
        return overall or any(config.p <= SUSPECT for config in self.configs)

    @property
    def suspect_configs(self) -> tuple[str, ...]:
        """The configurations that lost most."""
        losing = [config for config in self.configs if config.only_a > config.only_b]
        return tuple(config.config for config in losing[:MAX_FOLLOWED])


@dataclass(frozen=True, kw_only=True)
class TokenFacts:
    """What the server's token counts show."""

    state: State
    kind: TokenKind
    rows: int = 0
    read: int = 0
    sent: int = 0
    side: str = ""
    medians: Mapping[str, float] = field(default_factory=dict)
    """By side: how many more tokens the server read than were counted."""


@dataclass(frozen=True, kw_only=True)
class Recall:
    """How often evidence is found, by its place in the prompt, at one length; an observation."""

    length: str
    rows: int
    shares: tuple[float | None, ...]
    """From the beginning of the prompt to its end; None without rows."""


@dataclass(frozen=True, kw_only=True)
class LengthScore:
    """The mean score of the cold answers to rows of a length, 0 … 100."""

    length: str
    rows: int
    score: float


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All answers so far, and what is known about the requests."""

    keys: Sequence[Key]
    """The rows that were sent."""
    facts: Mapping[Key, RowFacts]
    sides: Mapping[str, Answers]
    conditions: Sequence[str]
    """The conditions that are tested."""
    reasons: Mapping[str, str]
    """Why the others are not."""
    complete: bool
    """Whether all planned rows were sent."""
    fresh: Mapping[str, Sequence[Key]] = field(default_factory=dict)
    """Fresh rows of suspect conditions."""
    counts: Literal["exact", "unchecked"] = "unchecked"
    """Whether prompts are counted before they are sent, with the model's tokenizer."""
    has_bos: bool = False
    cache_hits: float | None = None
    """Tokens read from the prefix cache, from the server's /metrics; None without them."""
    max_loss: float = 10.0
    """The largest loss, in points, that a sound verdict may miss."""

    def answered(self, side: str) -> list[tuple[Key, Answer]]:
        """Return the rows that a side has answered, with the answers."""
        answers = self.sides.get(side, {})
        return [(key, answers[key]) for key in self.keys if key in answers]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All findings and the conclusion."""

    outcome: Outcome
    rows: int
    """Rows that were sent."""
    score: float
    """The mean score of the cold answers, 0 … 100."""
    complete: bool
    max_loss: float
    findings: tuple[Finding, ...]
    """The cause first."""
    tokens: TokenFacts
    recall: tuple[Recall, ...] = ()
    lengths: tuple[LengthScore, ...] = ()
    """Of lengths with enough rows, the lowest score first."""
    without_right: tuple[str, ...] = ()
    """The configurations without a right answer: no loss can be seen in them."""
    failure: str = ""
    """The first error of the cold requests."""
    all_failed: bool = False
    lost_text: str = ""
    """What the server's chat template does to the user's text."""

    @property
    def cause(self) -> Finding | None:
        """The finding that explains the fault."""
        first = self.findings[0] if self.findings else None
        return first if first is not None and first.state == "engine" else None

    @property
    def loss(self) -> float | None:
        """The loss, in points, from which a change of the mean would have been detected.

        Without drift, which is compared on the first rows only.
        """
        losses = [f.smallest_loss for f in self.findings if f.name != DRIFT]
        known = [loss for loss in losses if loss is not None]
        return max(known) if known else None

    @property
    def scores(self) -> list[float]:
        """The mean score, and that of each length."""
        return [self.score, *(length.score for length in self.lengths)]

    @property
    def suspects(self) -> list[Finding]:
        """The findings for which chance is not a good explanation, nor excluded."""
        return [finding for finding in self.findings if finding.state == "suspect"]
