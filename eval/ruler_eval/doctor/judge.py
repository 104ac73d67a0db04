"""Judge the answers of an examination: numbers for each condition, and the outcome.

    verdict = judge(evidence)
    verdict.outcome, verdict.findings[0].only_a

The answers of two sides are paired by row. A row counts for A or for B if one of them has the
better score (paired_test.py has the test); a row whose request failed counts for neither. Nothing
is called sound while a condition, over all rows or in one configuration, is suspect: its unadjusted
one-sided p is at most SUSPECT. Suspect conditions are tested again on fresh rows of the
configurations that lost most, and those rows alone decide. sentences.py writes them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

import numpy as np

from ruler_eval.doctor.answers import Answer, Answers, Key, pairs
from ruler_eval.doctor.conditions import CACHED, COLD, CONDITIONS, LOADED, PLAIN, Condition
from ruler_eval.doctor.paired_test import (
    ALPHA,
    FRESH,
    PLANNED,
    SUSPECT,
    anytime_p,
    exact_p,
    pair_p,
    smallest_loss,
)
from ruler_eval.doctor.plan import RowFacts
from ruler_eval.score.intervals import holm, mcnemar

MIN_ROWS = 10
"""Minimum rows for a pattern, such as one more token in every prompt."""
MIN_FAILED = 3
"""Rows that fail on one side only, while no other request fails, before that is a fault."""
FAR_MORE = 0.001
"""The one-sided p at which far more rows fail on a side than cold, if others fail too."""
MAX_FLIPS = 0.05
"""The share of identical requests whose scores may differ."""
RARELY = 0.01
"""The p (Fisher's exact test) below which cold requests differ less often than cache hits."""
SHARED_CACHE = 0.5
"""The cached share of a prompt from which a request read another side's cache."""
DRIFT = "drift"
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

        Without drift, which is compared on the rows of one wave only.
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


def judge(evidence: Evidence) -> Verdict:
    """Judge all answers so far."""
    tests = len(evidence.conditions)
    findings = [_judge_pair(CONDITIONS[name], evidence, tests) for name in evidence.conditions]
    adjusted = holm([finding.p for finding in findings]) if findings else []
    findings = [
        _decide(finding, p, evidence) for finding, p in zip(findings, adjusted, strict=True)
    ]
    findings = _blame_drift(_blame_cache(findings, evidence))
    for name, reason in evidence.reasons.items():
        findings.append(Finding(name=name, state="unchecked", reason=reason))
    causes = [finding for finding in findings if finding.state == "engine"]
    # an engine that gets worse looks like any side that was sent later
    causes.sort(key=lambda f: (f.name != DRIFT, f.name == "repeat", f.holm_p))
    findings = [*causes, *[finding for finding in findings if finding not in causes]]
    cold = [answer for _, answer in _answered(evidence, COLD)]
    scores = [answer.score for answer in cold if answer.counts]
    failures = [answer.failure for answer in cold if answer.failure]
    verdict = Verdict(
        outcome="unknown",
        rows=len(cold),
        score=100 * sum(scores) / len(scores) if scores else 0.0,
        complete=evidence.complete,
        max_loss=evidence.max_loss,
        findings=tuple(findings),
        tokens=judge_tokens(evidence),
        recall=tuple(_recall(evidence)),
        lengths=_scores_by_length(evidence),
        without_right=_without_right_answers(evidence),
        failure=failures[0] if failures else "",
        all_failed=bool(failures) and len(failures) == len(cold),
    )
    return replace(verdict, outcome=_outcome(verdict))


def _outcome(verdict: Verdict) -> Outcome:
    if verdict.cause is not None or verdict.tokens.state == "engine":
        return "engine"
    loss = verdict.loss
    is_sound = (
        verdict.complete
        and loss is not None
        and loss <= verdict.max_loss
        and not verdict.suspects
        # a loss of half of the right answers would have been detected, at each length
        and all(score >= 2 * loss for score in verdict.scores)
    )
    return "sound" if is_sound else "unknown"


def _answered(evidence: Evidence, side: str) -> list[tuple[Key, Answer]]:
    answers = evidence.sides.get(side, {})
    return [(key, answers[key]) for key in evidence.keys if key in answers]


# ---- pairs of sides ------------------------------------------------------------------------------


def _judge_pair(condition: Condition, evidence: Evidence, tests: int) -> Finding:
    """Compare the answers of a condition's two sides, before Holm's adjustment."""
    sides = evidence.sides
    a, b = sides.get(condition.a, {}), sides.get(condition.b, {})
    answered = pairs(a, b, evidence.keys)
    finding = Finding(name=condition.name, state="unchecked")
    if not answered:
        reason = "it is tested after the last row" if not evidence.complete else "no row was sent"
        return replace(finding, reason=reason)
    # a row that fits on one side only did not fit because of how it was sent
    failures = [
        (first.failure or second.failure or first.unfit_reason or second.unfit_reason)
        for _, first, second in answered
        if first.failure or second.failure or first.fits != second.fits
    ]
    failed_only_b, failed_only_cold = _failed_only(condition.b, evidence)
    finding = replace(
        finding,
        failed=len(failures),
        failed_only_b=failed_only_b,
        failed_only_cold=failed_only_cold,
        failure=failures[0] if failures else "",
    )
    both = [(key, first, second) for key, first, second in answered if _both_count(first, second)]
    if not both:
        reason = f"every request failed ({failures[0]})" if failures else "no row fits"
        return replace(finding, reason=reason)
    usable, reason = _usable(condition, both, evidence)
    if not usable:
        return replace(finding, reason=reason)
    if condition.name == "repeat":
        differ = [float(first.score != second.score) for _, first, second in usable]
        return replace(
            finding,
            state="same",
            rows=len(usable),
            flips=sum(differ) / len(differ),
            p=min(1.0, anytime_p(differ, MAX_FLIPS)[0] / PLANNED),
        )
    signs = [float(np.sign(first.score - second.score)) for _, first, second in usable]
    only_a, only_b = signs.count(1.0), signs.count(-1.0)
    is_complete = evidence.complete or condition.name == DRIFT  # its rows are sent at once
    loss = None
    if is_complete:
        by_failures = 100 * len(failures) / len(answered)
        loss = min(100.0, smallest_loss(len(usable), only_a + only_b, tests) + by_failures)
    fresh_keys = evidence.fresh.get(condition.name, ())
    fresh = [pair for pair in pairs(a, b, fresh_keys) if _both_count(pair[1], pair[2])]
    return replace(
        finding,
        state="same",
        reason=reason,
        rows=len(usable),
        only_a=only_a,
        only_b=only_b,
        exact_p=mcnemar(only_a, only_b),
        p=pair_p(signs, is_complete),
        smallest_loss=loss,
        configs=_by_config(usable),
        fresh=_sum_of(", ".join(dict.fromkeys(key[0] for key, _, _ in fresh)), fresh)
        if fresh
        else None,
    )


def _both_count(first: Answer, second: Answer) -> bool:
    return first.counts and second.counts


def _sum_of(config: str, compared: Sequence[tuple[Key, Answer, Answer]]) -> ConfigLoss:
    return ConfigLoss(
        config=config,
        rows=len(compared),
        only_a=sum(first.score > second.score for _, first, second in compared),
        only_b=sum(first.score < second.score for _, first, second in compared),
    )


def _by_config(compared: Sequence[tuple[Key, Answer, Answer]]) -> tuple[ConfigLoss, ...]:
    """Return the configurations in which some rows differ, the most certain loss first."""
    ordered = sorted(compared, key=lambda pair: pair[0][0])
    losses = [
        _sum_of(config, list(of_config))
        for config, of_config in groupby(ordered, key=lambda pair: pair[0][0])
    ]
    differing = [loss for loss in losses if loss.only_a or loss.only_b]
    return tuple(sorted(differing, key=lambda loss: loss.p))


def _failed_only(side: str, evidence: Evidence) -> tuple[int, int]:
    """Return how many rows failed on a side only, and how many only when they were sent cold.

    0 and 0 if that may be chance: a request failed elsewhere too, and not far more on this side.
    A row that does not fit on a side has failed there if it fits when it is sent cold.
    """
    cold = evidence.sides.get(COLD, {})
    failed = {
        name: {
            key
            for key, answer in answers.items()
            if answer.failure or (not answer.fits and key in cold and cold[key].fits)
        }
        for name, answers in evidence.sides.items()
    }
    here, failed_cold = failed.get(side, set()), failed.get(COLD, set())
    if sum(map(len, failed.values())) == len(here):  # none elsewhere
        return len(here), 0
    only_here, only_cold = len(here - failed_cold), len(failed_cold - here)
    return (only_here, only_cold) if exact_p(only_cold, only_here) <= FAR_MORE else (0, 0)


Pairs = list[tuple[Key, Answer, Answer]]


def _usable(condition: Condition, compared: Pairs, evidence: Evidence) -> tuple[Pairs, str]:
    """Return the pairs in which only the condition differs; if there are none, or doubts, why.

    The choice depends on token counts, never on the scores.
    """
    if condition.name == "cache":
        return _with_cache_hits(compared, evidence)
    if condition.name == "repeat":
        return compared, ""
    separate = [pair for pair in compared if _is_hit(pair[1]) == _is_hit(pair[2])]
    reason = "requests with different salts share the server's cache"
    return (separate, "") if len(separate) > len(compared) / 2 else ([], reason)


def _is_hit(answer: Answer) -> bool:
    """Whether most of a prompt came from a cache."""
    cached, read = answer.cached_tokens, answer.prompt_tokens
    return bool(cached and read and cached > SHARED_CACHE * read)


def _with_cache_hits(compared: Pairs, evidence: Evidence) -> tuple[Pairs, str]:
    """Leave out pairs whose second request did not hit the cache, or whose first one did.

    Without a report of hits only changed answers are conclusive.
    """
    if all(not second.cached_tokens for _, _, second in compared):
        if any(second.cached_tokens == 0 for _, _, second in compared):
            return [], "the server reports no cache hits"
        if evidence.cache_hits == 0:
            return [], "the server's /metrics show no cache hits"
        return compared, "" if evidence.cache_hits else "unconfirmed"
    hits = [
        (key, first, second)
        for key, first, second in compared
        if second.cached_tokens is None or second.cached_tokens > 2 * (first.cached_tokens or 0)
    ]
    if len(hits) <= len(compared) / 2:
        return [], "cold requests hit the cache too: it is shared by requests with different salts"
    return hits, ""


def _decide(finding: Finding, holm_p: float, evidence: Evidence) -> Finding:
    """Return the finding with its adjusted p, and whether it is a fault, suspect, or neither."""
    finding = replace(finding, holm_p=holm_p)
    if finding.failed_only_b >= MIN_FAILED and finding.name in ("load", "cache"):
        return replace(finding, state="engine", holm_p=0.0)
    if finding.state != "same":
        return finding
    if finding.fresh is not None:
        fresh_p = min(1.0, finding.fresh.p / FRESH * max(1, len(evidence.fresh)))
        finding = replace(finding, holm_p=min(holm_p, fresh_p))
    if finding.holm_p <= ALPHA:
        return replace(finding, state="engine", smallest_loss=None)
    if not evidence.complete:
        return replace(finding, state="unchecked", reason="not decided when it stopped")
    if finding.name != "repeat" and finding.is_suspect:
        return replace(finding, state="suspect")
    if finding.reason == "unconfirmed":
        return replace(finding, state="unchecked", smallest_loss=None)
    return finding


def _blame_cache(findings: list[Finding], evidence: Evidence) -> list[Finding]:
    """Name the cache if identical requests get different scores only on cache hits.

    Both repeated requests hit the cache. If the engine were noisy everywhere, answers without cache
    hits (COLD and LOADED) would differ as often.
    """
    from scipy.stats import fisher_exact

    named = {finding.name: finding for finding in findings}
    repeat, cache = named.get("repeat"), named.get("cache")
    if repeat is None or cache is None or repeat.state != "engine" or cache.state == "engine":
        return findings
    sides = evidence.sides
    cold = [
        pair
        for pair in pairs(sides.get(COLD, {}), sides.get(LOADED, {}), evidence.keys)
        if _both_count(pair[1], pair[2])
    ]
    differ = sum(first.score != second.score for _, first, second in cold)
    hits = [answer.cached_tokens for _, answer in _answered(evidence, CACHED)]
    if not cold or not (any(hits) or evidence.cache_hits):
        return findings
    flipped = round(repeat.flips * repeat.rows)
    table = [[differ, len(cold) - differ], [flipped, repeat.rows - flipped]]
    if fisher_exact(table, alternative="less").pvalue > RARELY:
        return findings
    blamed = replace(
        cache,
        state="engine",
        holm_p=repeat.holm_p,
        flips=repeat.flips,
        cold_differ=(differ, len(cold)),
        smallest_loss=None,
    )
    return [blamed if finding is cache else finding for finding in findings]


def _blame_drift(findings: list[Finding]) -> list[Finding]:
    """Name drift, if an engine that certainly changes answers seems to get worse.

    Any side that was sent later then looks worse than the cold one.
    """
    is_broken = any(finding.state == "engine" for finding in findings)
    blamed = []
    for finding in findings:
        is_worse = finding.name == DRIFT and exact_p(finding.only_b, finding.only_a) <= SUSPECT
        if is_broken and is_worse and finding.state != "engine":
            p = exact_p(finding.only_b, finding.only_a)
            finding = replace(finding, state="engine", holm_p=p, smallest_loss=None)
        blamed.append(finding)
    return blamed


def follow_up(verdict: Verdict) -> dict[str, tuple[str, ...]]:
    """Return the configurations of which fresh rows should be sent, by suspect condition."""
    return {
        finding.name: finding.suspect_configs
        for finding in verdict.suspects
        if finding.suspect_configs and finding.fresh is None
    }


def may_stop(verdict: Verdict, rows_when_decided: int) -> bool:
    """Return whether the examination may stop before the last row, because the cause is clear.

    Noise may have a more precise explanation, so it needs twice the rows at which it was found.
    """
    if verdict.outcome != "engine":
        return False
    cause = verdict.cause
    is_noise = cause is not None and (cause.name == "repeat" or cause.cold_differ is not None)
    if verdict.tokens.state == "engine" or not is_noise:
        return True
    return verdict.rows >= 2 * rows_when_decided


# ---- tokens --------------------------------------------------------------------------------------


def judge_tokens(evidence: Evidence) -> TokenFacts:
    """Compare the server's count of the tokens of each prompt with what was sent.

    This is a fact and needs no test. A count by another tokenizer is an estimate, which counts only
    if the server read less than any tokenizer would (classify.py).
    """
    counted = [
        (side, key, answer)
        for side, answers in evidence.sides.items()
        for key, answer in answers.items()
        if answer.prompt_tokens is not None
    ]
    rows = len({key for _, key, _ in counted})
    if not counted:
        return TokenFacts(state="unchecked", kind="none")
    shortened = [(key, answer) for side, key, answer in counted if answer.shortened]
    if shortened:
        exact = [pair for pair in shortened if pair[1].counted_tokens is not None]
        key, answer = (exact or shortened)[0]
        return TokenFacts(
            state="engine",
            kind="shortened" if exact else "estimate",
            rows=len({key for key, _ in exact or shortened}),
            read=answer.prompt_tokens or 0,
            sent=answer.counted_tokens or evidence.facts[key].tokens,
        )
    if evidence.counts == "unchecked" and (capped := _capped(evidence)):
        return capped
    extra = _extra_tokens(evidence)
    plain = extra.get(PLAIN, [])
    if evidence.has_bos and "text" in evidence.conditions:
        one_more = len(plain) >= MIN_ROWS and set(plain) == {1}
        if one_more:
            return TokenFacts(state="engine", kind="bos", rows=len(plain), side=PLAIN)
    medians = {side: float(np.median(counts)) for side, counts in extra.items() if any(counts)}
    if medians:
        return TokenFacts(state="same", kind="differ", rows=rows, medians=medians)
    kind: TokenKind = "equal" if extra else "plausible"
    return TokenFacts(state="same", kind=kind, rows=rows)


def _extra_tokens(evidence: Evidence) -> dict[str, list[int]]:
    """Return by side how many more tokens the server read than were sent.

    For the side without --tokenizer: more than for the same row as token ids.
    """
    if evidence.counts == "unchecked":
        return {}
    extra: dict[str, list[int]] = {}
    cold = evidence.sides.get(COLD, {})
    for side, answers in evidence.sides.items():
        for key, answer in answers.items():
            if answer.prompt_tokens is None or not answer.counts:
                continue
            sent = answer.counted_tokens or answer.prompt_tokens
            if side == PLAIN:
                of_ids = cold[key].prompt_tokens if key in cold else None
                if of_ids is None:
                    continue
                sent = of_ids
            extra.setdefault(side, []).append(answer.prompt_tokens - sent)
    return extra


def _capped(evidence: Evidence) -> TokenFacts | None:
    """Return the fact that the server read prompts of different sizes as the same size."""
    cold = [pair for pair in _answered(evidence, COLD) if pair[1].prompt_tokens is not None]
    if not cold:
        return None
    largest = max(answer.prompt_tokens or 0 for _, answer in cold)
    at_cap = [key for key, answer in cold if answer.prompt_tokens == largest]
    sizes = {evidence.facts[key].tokens for key in at_cap}
    if len(sizes) < MIN_ROWS or len(at_cap) < len(cold) / 5:
        return None
    return TokenFacts(state="engine", kind="capped", rows=len(sizes), read=largest)


# ---- observations --------------------------------------------------------------------------------

PLACES = 10
"""The parts of a prompt in which recall is shown."""


def _scores_by_length(evidence: Evidence) -> tuple[LengthScore, ...]:
    """Return the scores at the lengths with enough rows, the lowest first."""
    by_length: dict[str, list[float]] = {}
    for key, answer in _answered(evidence, COLD):
        if answer.counts:
            by_length.setdefault(evidence.facts[key].length, []).append(answer.score)
    lengths = [
        LengthScore(length=length, rows=len(scores), score=100 * sum(scores) / len(scores))
        for length, scores in by_length.items()
        if len(scores) >= MIN_ROWS
    ]
    return tuple(sorted(lengths, key=lambda length: length.score))


def _without_right_answers(evidence: Evidence) -> tuple[str, ...]:
    """Return the configurations whose cold answers all score 0."""
    best: dict[str, float] = {}
    for (config, _), answer in _answered(evidence, COLD):
        if answer.counts:
            best[config] = max(best.get(config, 0.0), answer.score)
    return tuple(config for config, score in best.items() if not score)


def _recall(evidence: Evidence) -> Iterable[Recall]:
    """Yield how often evidence is found by its place, for each length with enough rows."""
    by_length: dict[str, list[tuple[float, float]]] = {}
    for key, answer in _answered(evidence, COLD):
        facts = evidence.facts[key]
        if facts.depth is not None and answer.counts:
            by_length.setdefault(facts.length, []).append((facts.depth, answer.score))
    for length, recalled in by_length.items():
        if len(recalled) >= 2 * MIN_ROWS:
            shares: list[float | None] = []
            for place in range(PLACES):
                scores = [score for depth, score in recalled if int(depth * PLACES) == place]
                shares.append(sum(scores) / len(scores) if scores else None)
            yield Recall(length=length, rows=len(recalled), shares=tuple(shares))
