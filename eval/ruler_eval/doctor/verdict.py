"""Combine the findings of all conditions into a verdict on the engine.

    verdict = judge(answers, ("cache", "load", "repeat"), {"text": "not tested"}, max_loss=10)
    verdict.outcome, verdict.exit_code                    # "sound", 0

Holm's method over all tested conditions keeps the probability that a sound engine is called broken
below ALPHA, over all conditions and both directions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ruler_common.text import sentences, table
from ruler_eval.doctor.answers import AllAnswers
from ruler_eval.doctor.condition import COLD, Finding, Pair
from ruler_eval.doctor.conditions import CACHE, CONDITIONS, DEPTH, REPEAT, TOKENS
from ruler_eval.doctor.paired_test import ALPHA, exact_p
from ruler_eval.score.intervals import holm

LIKELY = 0.2
"""An undecided condition whose p is below this may still turn out to be the cause."""
SMALL_LOSS = 10.0
"""Points. If no larger change could be missed, a lower score is due to the model."""
OUTCOMES = {"engine": "Engine.", "sound": "Sound.", "unknown": "Cannot tell."}
STATES = {"engine": "CHANGES ANSWERS", "same": "no change", "unchecked": "not checked"}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All findings and the conclusion."""

    outcome: Literal["sound", "engine", "unknown"]
    exit_code: int
    headline: str
    rows: int
    """Rows that were sent."""
    score: float
    """The mean score of the cold answers, 0 … 100."""
    findings: tuple[Finding, ...]
    """All findings, the cause first."""

    def to_json(self) -> dict[str, Any]:
        """Return the verdict for doctor.json, --json and the page."""
        conditions = [{**asdict(finding), "docs": finding.docs} for finding in self.findings]
        for condition in conditions:
            condition["sentence"] += condition.pop("note")
            del condition["fault"]
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "headline": self.headline,
            "rows": self.rows,
            "score": self.score,
            "conditions": conditions,
        }


def judge(
    answers: AllAnswers, planned: Collection[str], reasons: Mapping[str, str], max_loss: float
) -> Verdict:
    """Judge all answers so far.

    Args:
        answers: The rows that were sent, and their answers.
        planned: The conditions that are tested, without `tokens`.
        reasons: Why other conditions are not tested, by their names.
        max_loss: The largest loss, in points, that a sound verdict may miss.
    """
    findings = [CONDITIONS[name].judge(answers) for name in planned]
    adjusted = holm([finding.p for finding in findings])
    findings = [_decide(finding, p) for finding, p in zip(findings, adjusted, strict=True)]
    findings = _blame_cache(findings, answers)
    findings.append(TOKENS.judge(answers))
    unchecked = [finding.name for finding in findings if finding.state == "unchecked"]
    for name, reason in reasons.items():
        findings.append(CONDITIONS[name].unchecked(reason))
    causes = list(_causes(findings))
    findings = [*causes, *[finding for finding in findings if finding not in causes]]
    return _verdict(findings, bool(causes), unchecked, answers, max_loss)


def _decide(finding: Finding, holm_p: float) -> Finding:
    """Return the finding with its p over all conditions, as a fault if the p is small enough."""
    if holm_p > ALPHA:
        return replace(finding, holm_p=holm_p)
    sentence = f"{finding.fault} (p = {holm_p:.2g})."
    return replace(finding, holm_p=holm_p, state="engine", sentence=sentence, smallest_loss=None)


def _blame_cache(findings: list[Finding], answers: AllAnswers) -> list[Finding]:
    """Name the cache if identical requests get different scores only on cache hits."""
    named = {finding.name: finding for finding in findings}
    repeat, cache = named.get(REPEAT.name), named.get(CACHE.name)
    if repeat is None or cache is None or repeat.state != "engine" or cache.state == "engine":
        return findings
    blamed = CACHE.blame(cache, repeat, answers)
    return [blamed if finding is cache else finding for finding in findings]


def _causes(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings that show a fault, the most likely cause first."""
    broken = {finding.name: finding for finding in findings if finding.state == "engine"}
    for name in list(broken):
        if CONDITIONS[name].explained_by in broken:
            del broken[name]
    if TOKENS.name in broken:
        yield broken.pop(TOKENS.name)
    pairs = [finding for name, finding in broken.items() if isinstance(CONDITIONS[name], Pair)]
    yield from sorted(pairs, key=lambda finding: finding.holm_p)
    for name in (DEPTH.name, REPEAT.name):
        if name in broken:
            yield broken[name]


def _verdict(
    findings: Sequence[Finding],
    is_engine: bool,
    unchecked: Sequence[str],
    answers: AllAnswers,
    max_loss: float,
) -> Verdict:
    """Summarise the findings in a sentence and an exit code.

    Args:
        findings: All findings; if there is a cause, it is the first.
        is_engine: Whether there is a cause.
        unchecked: The names of conditions that were planned but could not be checked.
        answers: The answers.
        max_loss: The largest loss, in points, that a sound verdict may miss.
    """
    cold = [answer for _, answer in answers.answered(COLD.name)]
    failures = [answer.failure for answer in cold if answer.failure]
    scores = [answer.score for answer in cold if answer.counts]
    score = 100 * sum(scores) / len(scores) if scores else 0.0
    losses = [f.smallest_loss for f in findings if f.smallest_loss is not None]
    outcome: Literal["sound", "engine", "unknown"] = "unknown"
    if is_engine:
        outcome = "engine"
        cause = findings[0]
        headline = f"{cause.sentence} {cause.remedy}; see {cause.docs}."
    elif not answers.complete:
        headline = "Stopped before the last row: run the same command to continue."
    elif failures and not scores:
        headline = (
            f"Every request failed ({failures[0]}). Fix the cause, then run the same command again."
        )
    elif not losses:
        headline = "No condition could be checked."
    elif max(losses) > max_loss and any(finding.note for finding in findings):
        headline = (
            "Some requests failed, and a loss could be hidden among them; the sentences below "
            "count them. Run the same command again: it sends the failed rows again."
        )
    elif max(losses) > max_loss:
        headline = (
            f"No condition was found to change answers, but a loss of less than {max(losses):.0f} "
            "points would have been missed: test more rows (--thorough, or --rows N)."
        )
    elif score < max(losses):
        headline = (
            f"The model answers {score:.0f} % of these rows correctly, too few to detect a loss: "
            "choose shorter lengths or easier tasks (--lengths, --configs)."
        )
    else:
        outcome = "sound"
        headline = f"No condition changes answers by {max(losses):.0f} points or more"
        if max(losses) <= SMALL_LOSS:
            headline += ": the losses in your scores are the model's."
        else:
            headline += ". Smaller changes would be missed: test more rows to detect them."
        if unchecked:
            headline += f" Not checked: {', '.join(unchecked)}."
    return Verdict(
        outcome=outcome,
        exit_code={"sound": 0, "engine": 1, "unknown": 3}[outcome],
        headline=headline,
        rows=len(cold),
        score=score,
        findings=tuple(findings),
    )


def may_stop(verdict: Verdict, rows_when_decided: int) -> bool:
    """Return whether the examination may stop before the last row, because the cause is clear.

    Another condition may explain some causes more precisely (`explained_by`); depth and repeat may
    be explained by any other. For those the examination continues until it has twice the rows of
    the first decision, and longer while the more precise condition is likely.
    """
    if verdict.outcome != "engine":
        return False
    cause = verdict.findings[0]
    better = CONDITIONS[cause.name].explained_by
    if not better and cause.name not in (REPEAT.name, DEPTH.name):
        return True
    for finding in verdict.findings:
        if finding.name == better and exact_p(finding.only_b, finding.only_a) < LIKELY:
            return False
    return verdict.rows >= 2 * rows_when_decided


# ---- on the terminal -----------------------------------------------------------------------------


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict, a table of the conditions, and a sentence for each."""
    parts = [sentences(f"{OUTCOMES[verdict.outcome]} {verdict.headline}"), ""]
    header = ["Condition", "", "rows", "A better", "B better", "p (Holm)", "detects"]
    parts.append(table(header, [_cells(f) for f in verdict.findings], left=(0, 1)))
    parts += ["", *(sentences(f"{f.name}: {f.sentence}{f.note}") for f in verdict.findings)]
    return "\n".join(parts)


def _cells(finding: Finding) -> list[str]:
    name, state = finding.name, STATES[finding.state]
    if finding.state == "unchecked" or name == TOKENS.name:
        rows = f"{finding.rows:,}" if finding.rows else ""
        return [name, state, rows, "", "", "", ""]
    is_pair = isinstance(CONDITIONS[name], Pair)
    loss = finding.smallest_loss
    return [
        name,
        state,
        f"{finding.rows:,}",
        f"{finding.only_a:,}" if is_pair else "",
        f"{finding.only_b:,}" if is_pair else "",
        f"{finding.holm_p:.2g}",
        "" if loss is None else f"{loss:.0f} points",
    ]


def look_line(verdict: Verdict, rows: int, planned: int) -> str:
    """Return a line of progress after a wave."""
    line = f"{rows} of {planned} rows, cold answers score {verdict.score:.1f} %"
    tested = [finding for finding in verdict.findings if finding.p < 1]
    if tested:
        suspect = min(tested, key=lambda finding: finding.holm_p)
        line += f"; smallest p: {suspect.title}, p = {suspect.holm_p:.2g}"
    return f"{line}."
