"""From what the conditions show to a verdict: whether it is the model or the engine.

    verdict = judge(rows, answers, planned, complete=True, max_loss=10)
    verdict.outcome, verdict.exit_code                    # "sound", 0

Holm's method over all planned tests (findings.py) keeps the chance that a sound engine is called
broken at ALPHA, over all conditions and both directions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ruler_common.text import number_of
from ruler_eval.doctor.conditions import COLD, CONDITIONS, LOADED, Condition
from ruler_eval.doctor.findings import (
    ALPHA,
    Answer,
    Answers,
    Finding,
    Row,
    describe_pairs,
    exact_p,
    judge_depth,
    judge_pairs,
    judge_repeats,
    judge_tokens,
    pairs_of,
    smallest_loss,
)
from ruler_eval.score.intervals import holm

LIKELY = 0.2
"""The p below which a condition that is not decided yet is waited for."""
RARELY = 0.01
"""The chance below which cold requests differ too rarely for the noise of identical ones."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All findings, and what follows from them."""

    outcome: Literal["sound", "engine", "unknown"]
    exit_code: int
    headline: str
    rows: int
    score: float
    """Of the cold answers, 0 … 100."""
    findings: tuple[Finding, ...]

    def records(self) -> list[dict[str, Any]]:
        """Return the findings as JSON has them, and as the page's section shows them."""
        return [{**asdict(finding), "docs": finding.docs} for finding in self.findings]


def judge(
    rows: Sequence[Row],
    answers: Answers,
    planned: Collection[str],
    *,
    complete: bool,
    max_loss: float,
    unchecked: Mapping[str, str] | None = None,
    has_bos: bool = False,
) -> Verdict:
    """Judge all answers so far.

    Args:
        rows: The rows that were asked, in their order.
        answers: Of each side, by row.
        planned: The conditions that are asked.
        complete: Whether every planned row was asked.
        max_loss: The largest loss, in points, that a sound verdict may overlook.
        unchecked: Why other conditions are not asked, by their names.
        has_bos: Whether the prompts, as they are tokenized here, begin with a BOS.
    """
    reasons = dict(unchecked or {})
    findings = []
    pairs = {}
    for name in planned:
        pairs[name], reason = pairs_of(CONDITIONS[name], rows, answers)
        findings.append(judge_pairs(CONDITIONS[name], pairs[name], complete))
        if not pairs[name]:
            reasons[name] = reason
    findings.append(judge_depth(rows, answers, complete))
    findings.append(judge_repeats(rows, answers))
    adjusted = holm([finding.p for finding in findings])
    findings = [replace(finding, holm_p=p) for finding, p in zip(findings, adjusted, strict=True)]
    tests = len(findings)
    settled = [
        _settle(finding, pairs.get(finding.name), reasons, complete, tests) for finding in findings
    ]
    settled = _blame_cache(settled, rows, answers)
    settled.append(judge_tokens(rows, answers, has_bos))
    for name in CONDITIONS:
        if name not in planned:
            settled.append(_not_checked(CONDITIONS[name], reasons.get(name, "not asked")))
    cold = answers.get(COLD.name, {})
    scores = [cold[row.key].score for row in rows if row.key in cold]
    score = 100 * sum(scores) / len(scores) if scores else 0.0
    return _verdict(settled, len(scores), score, complete, max_loss)


def _not_checked(condition: Condition, reason: str) -> Finding:
    return Finding(
        name=condition.name,
        title=condition.title,
        state="unchecked",
        sentence=f"Not checked: {reason}.",
    )


def _settle(
    finding: Finding,
    pairs: Sequence[tuple[Row, Answer, Answer]] | None,
    reasons: Mapping[str, str],
    complete: bool,
    tests: int,
) -> Finding:
    """Return a tested finding with its state, its sentence and the smallest loss it would show."""
    if finding.holm_p <= ALPHA:
        sentence = finding.sentence
        if pairs is not None:
            sentence = describe_pairs(CONDITIONS[finding.name], finding, pairs)
        return replace(finding, state="engine", sentence=sentence)
    if pairs is None or finding.state == "unchecked":
        return finding
    if not pairs or finding.name in reasons:
        return replace(
            finding, state="unchecked", sentence=f"Not checked: {reasons[finding.name]}."
        )
    if not complete:
        return replace(finding, state="unchecked", sentence="Not decided when it stopped.")
    loss = smallest_loss(finding.rows, finding.only_a + finding.only_b, tests)
    condition = CONDITIONS[finding.name]
    sentence = (
        f"No change: {finding.only_a} of {number_of(finding.rows, 'row')} have a better answer "
        f"{condition.a.words}, {finding.only_b} {condition.b.words}; a loss of {loss:.0f} points "
        "would have been seen."
    )
    return replace(finding, sentence=sentence, smallest_loss=loss)


def _blame_cache(
    findings: Sequence[Finding], rows: Sequence[Row], answers: Answers
) -> list[Finding]:
    """Name the cache if identical requests get different scores only on cache hits.

    All repeats hit the cache. If the engine were noisy everywhere, answers that hit no cache, COLD
    and LOADED, would differ as often; if they differ far more rarely, hits are at fault.
    """
    from scipy.stats import binom

    named = {finding.name: finding for finding in findings}
    repeat, cache = named["repeat"], named.get("cache")
    cold, loaded = answers.get(COLD.name, {}), answers.get(LOADED.name, {})
    both = [row.key for row in rows if row.key in cold and row.key in loaded]
    if repeat.state != "engine" or cache is None or cache.state == "engine" or not both:
        return list(findings)
    differ = sum(cold[key].score != loaded[key].score for key in both)
    if binom.cdf(differ, len(both), repeat.flips) > RARELY:
        return list(findings)
    blamed = replace(
        cache,
        state="engine",
        holm_p=repeat.holm_p,
        sentence="Answers change on cache hits: the scores of identical requests that hit it "
        f"differ in {100 * repeat.flips:.1f} % of the pairs (p = {repeat.holm_p:.2g}), those of "
        f"cold requests in {differ} of {number_of(len(both), 'row')}; {cache.only_a} have a better "
        f"answer cold, {cache.only_b} from the cache.",
    )
    return [blamed if finding is cache else finding for finding in findings]


def _causes(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield what is wrong with the engine, the most telling first."""
    broken = {finding.name: finding for finding in findings if finding.state == "engine"}
    for name, condition in CONDITIONS.items():
        if name in broken and condition.explained_by in broken:
            del broken[name]
    last = ("depth", "repeat")
    first = [finding for name, finding in broken.items() if name not in last and name != "tokens"]
    if "tokens" in broken:
        yield broken["tokens"]
    yield from sorted(first, key=lambda finding: finding.holm_p)
    for name in last:
        if name in broken:
            yield broken[name]


def _verdict(
    findings: Sequence[Finding], rows: int, score: float, complete: bool, max_loss: float
) -> Verdict:
    """Sum the findings up in one sentence and an exit code."""
    causes = list(_causes(findings))
    losses = [f.smallest_loss for f in findings if f.smallest_loss is not None]
    outcome: Literal["sound", "engine", "unknown"] = "unknown"
    if causes:
        outcome = "engine"
        headline = f"{causes[0].sentence} {causes[0].remedy}; see {causes[0].docs}."
    elif not complete:
        headline = "Stopped before the last row: give the same command to go on."
    elif not losses:
        headline = "No condition could be checked."
    elif max(losses) > max_loss:
        headline = (
            f"No condition was seen to change answers, but a loss of less than {max(losses):.0f} "
            "points would have been overlooked: ask more rows (--thorough, or --rows N)."
        )
    elif score < max(losses):
        headline = (
            f"The model answers {score:.0f} % of these rows, too few to see a loss: ask shorter "
            "lengths or easier tasks (--lengths, --configs)."
        )
    else:
        outcome = "sound"
        headline = (
            f"No condition changes answers by {max(losses):.0f} points or more: the losses in "
            "your scores are the model's."
        )
    return Verdict(
        outcome=outcome,
        exit_code={"sound": 0, "engine": 1, "unknown": 3}[outcome],
        headline=headline,
        rows=rows,
        score=score,
        findings=(*causes, *[f for f in findings if f not in causes]),
    )


def may_stop(verdict: Verdict, rows_when_decided: int) -> bool:
    """Whether an engine's fault is named as well as it can be before the last row.

    A condition that another one may explain better, and repeats, which any other one may, wait for
    as many rows again as it took to decide on them, and longer while the other one looks likely.
    """
    if verdict.outcome != "engine":
        return False
    named = {finding.name: finding for finding in verdict.findings}
    cause = next(finding for finding in verdict.findings if finding.state == "engine")
    condition = CONDITIONS.get(cause.name)
    if cause.name == "tokens" or (condition is not None and not condition.explained_by):
        return True
    better = named.get(condition.explained_by) if condition is not None else None
    if better is not None and exact_p(better.only_b, better.only_a) < LIKELY:
        return False
    return verdict.rows >= 2 * rows_when_decided
