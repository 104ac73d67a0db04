"""Judge the answers of an examination: numbers for each condition, and the outcome.

    verdict = judge(evidence)            # verdict.py says what they hold

The answers of two sides are paired by row. A row counts for A or for B if one of them has the
better score (paired_test.py has the test); a row whose request failed counts for neither. Nothing
is called sound while a condition, over all rows or in one configuration, is suspect: its unadjusted
one-sided p is at most SUSPECT. Suspect conditions are tested again on fresh rows of the
configurations that lost most, and those rows alone decide. sentences.py writes them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from ruler_eval.doctor.answers import Answer, Key, pairs
from ruler_eval.doctor.conditions import CACHED, COLD, CONDITIONS, LOADED, Condition
from ruler_eval.doctor.paired_test import (
    ALPHA,
    FRESH_SHARE,
    PLANNED_SHARE,
    SUSPECT,
    anytime_p,
    exact_p,
    pair_p,
    smallest_loss,
)
from ruler_eval.doctor.token_counts import judge_tokens
from ruler_eval.doctor.verdict import (
    DRIFT,
    MIN_ROWS,
    ConfigLoss,
    Evidence,
    Finding,
    LengthScore,
    Outcome,
    Recall,
    Verdict,
)
from ruler_eval.score.intervals import holm, mcnemar

LOAD = "load"
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
Pairs = Sequence[tuple[Key, Answer, Answer]]
"""Rows with their answers on both sides of a condition."""


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
    cold = [answer for _, answer in evidence.answered(COLD)]
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
    fresh_keys = evidence.fresh.get(condition.name, ())
    fresh_answers = pairs(a, b, fresh_keys)
    fails_again = any(_fails_alone(first, second) for _, first, second in fresh_answers)
    if fresh_keys:
        finding = replace(finding, seen_again=fails_again)
    both = [(key, first, second) for key, first, second in answered if _both_count(first, second)]
    if not both:
        reason = f"every request failed ({failures[0]})" if failures else "no row fits"
        return replace(finding, reason=reason)
    usable, reason = _usable(condition, both, evidence)
    if not usable:
        return replace(finding, reason=reason)
    if condition.name == "repeat":
        return _test_flips(finding, usable)
    is_complete = evidence.complete or condition.name == DRIFT  # its rows are sent at once
    finding = _test_scores(replace(finding, reason=reason), usable, is_complete)
    fresh = [pair for pair in fresh_answers if _both_count(pair[1], pair[2])]
    if fresh:
        lost = _sum_of(", ".join(dict.fromkeys(key[0] for key, _, _ in fresh)), fresh)
        loses_again = (lost.only_a - lost.only_b) * (finding.only_a - finding.only_b) > 0
        finding = replace(finding, fresh=lost, seen_again=fails_again or loses_again)
    if is_complete:
        by_failures = 100 * len(failures) / len(answered)
        loss = smallest_loss(len(usable), finding.only_a + finding.only_b, tests)
        finding = replace(finding, smallest_loss=min(100.0, loss + by_failures))
    return finding


def _test_flips(finding: Finding, usable: Pairs) -> Finding:
    """Add the share of rows whose score changes from one request to the same request again."""
    differ = [float(first.score != second.score) for _, first, second in usable]
    return replace(
        finding,
        state="same",
        rows=len(usable),
        flips=sum(differ) / len(differ),
        p=min(1.0, anytime_p(differ, MAX_FLIPS)[0] / PLANNED_SHARE),
    )


def _test_scores(finding: Finding, usable: Pairs, is_complete: bool) -> Finding:
    """Add the test of whether one side has better scores than the other."""
    signs = [float(np.sign(first.score - second.score)) for _, first, second in usable]
    only_a, only_b = signs.count(1.0), signs.count(-1.0)
    return replace(
        finding,
        state="same",
        rows=len(usable),
        only_a=only_a,
        only_b=only_b,
        exact_p=mcnemar(only_a, only_b),
        p=pair_p(signs, is_complete),
        configs=_by_config(usable),
    )


def _fails_alone(first: Answer, second: Answer) -> bool:
    """Return whether a row failed, or did not fit, on the second side only."""
    return not first.failure and bool(second.failure or (first.fits and not second.fits))


def _both_count(first: Answer, second: Answer) -> bool:
    return first.counts and second.counts


def _sum_of(config: str, compared: Pairs) -> ConfigLoss:
    return ConfigLoss(
        config=config,
        rows=len(compared),
        only_a=sum(first.score > second.score for _, first, second in compared),
        only_b=sum(first.score < second.score for _, first, second in compared),
    )


def _by_config(compared: Pairs) -> tuple[ConfigLoss, ...]:
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
    once = finding.name == LOAD and finding.seen_again is False
    if finding.failed_only_b >= MIN_FAILED and finding.name in (LOAD, "cache") and not once:
        return replace(finding, state="engine", holm_p=0.0)
    if finding.state != "same":
        return finding
    if finding.fresh is not None:
        fresh_p = min(1.0, finding.fresh.p / FRESH_SHARE * max(1, len(evidence.fresh)))
        finding = replace(finding, holm_p=min(holm_p, fresh_p))
    if finding.holm_p <= ALPHA:
        if once:
            return replace(finding, state="suspect")
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
    hits = [answer.cached_tokens for _, answer in evidence.answered(CACHED)]
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


def to_confirm(verdict: Verdict) -> dict[str, tuple[str, ...]]:
    """Return the configurations of which fresh rows should be sent before load is blamed.

    The rows of a wave are under load at one moment, so a fault of that moment looks like load. If
    no row lost its score, all configurations.
    """
    cause = verdict.cause
    if verdict.tokens.state == "engine" or cause is None:
        return {}
    needs_rows = cause.name == LOAD and cause.seen_again is None
    return {LOAD: cause.suspect_configs} if needs_rows else {}


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


# ---- observations --------------------------------------------------------------------------------

PLACES = 10
"""The parts of a prompt in which recall is shown."""


def _scores_by_length(evidence: Evidence) -> tuple[LengthScore, ...]:
    """Return the scores at the lengths with enough rows, the lowest first."""
    by_length: dict[str, list[float]] = {}
    for key, answer in evidence.answered(COLD):
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
    for (config, _), answer in evidence.answered(COLD):
        if answer.counts:
            best[config] = max(best.get(config, 0.0), answer.score)
    return tuple(config for config, score in best.items() if not score)


def _recall(evidence: Evidence) -> Iterable[Recall]:
    """Yield how often evidence is found by its place, for each length with enough rows."""
    by_length: dict[str, list[tuple[float, float]]] = {}
    for key, answer in evidence.answered(COLD):
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
