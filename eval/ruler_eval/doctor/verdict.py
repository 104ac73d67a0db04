"""Combine the findings of all conditions into a verdict on the engine.

    verdict = judge(answers, ("cache", "load", "repeat"), {"text": "not tested"}, max_loss=10)
    verdict.outcome, verdict.exit_code                    # "sound", 0

Holm's method over all tested conditions keeps the probability that a sound engine is called broken
below ALPHA, over all conditions and both directions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "headline": self.headline,
            "rows": self.rows,
            "score": self.score,
            "conditions": [finding.to_json() for finding in self.findings],
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
    cause = causes[0] if causes else None
    return _verdict(findings, cause, unchecked, answers, max_loss)


def _decide(finding: Finding, holm_p: float) -> Finding:
    """Return the finding with its Holm-adjusted p; it is a fault if that p is at most ALPHA."""
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
    cause: Finding | None,
    unchecked: Sequence[str],
    answers: AllAnswers,
    max_loss: float,
) -> Verdict:
    """Summarise the findings in a sentence and an exit code.

    Args:
        findings: All findings, the cause first.
        cause: The finding that explains the fault; None if no condition changes answers.
        unchecked: The names of conditions that were planned but could not be checked.
        answers: The answers.
        max_loss: The largest loss, in points, that a sound verdict may miss.
    """
    cold = [answer for _, answer in answers.answered(COLD.name)]
    scores = [answer.score for answer in cold if answer.counts]
    score = 100 * sum(scores) / len(scores) if scores else 0.0
    outcome: Literal["sound", "engine", "unknown"] = "unknown"
    if cause is not None:
        outcome = "engine"
        headline = f"{cause.sentence} {cause.remedy}; see {cause.docs}."
    else:
        losses = [f.smallest_loss for f in findings if f.smallest_loss is not None]
        has_notes = any(finding.note for finding in findings)
        headline = _why_unknown(answers, score, losses, has_notes, max_loss)
        if not headline:
            outcome = "sound"
            headline = _sound_headline(max(losses), unchecked)
    return Verdict(
        outcome=outcome,
        exit_code={"sound": 0, "engine": 1, "unknown": 3}[outcome],
        headline=headline,
        rows=len(cold),
        score=score,
        findings=tuple(findings),
    )


def _why_unknown(
    answers: AllAnswers, score: float, losses: Sequence[float], has_notes: bool, max_loss: float
) -> str:
    """Return why the engine cannot be called sound; empty if it can.

    Args:
        answers: The answers.
        score: The mean score of the cold answers, 0 … 100.
        losses: For each checked pair of sides, the smallest loss that is detected, in points.
        has_notes: Whether rows were left out because their requests failed.
        max_loss: The largest loss, in points, that a sound verdict may miss.
    """
    cold = [answer for _, answer in answers.answered(COLD.name)]
    failures = [answer.failure for answer in cold if answer.failure]
    if not answers.complete:
        return "Stopped before the last row: run the same command to continue."
    if failures and not any(answer.counts for answer in cold):
        return (
            f"Every request failed ({failures[0]}). Fix the cause, then run the same command again."
        )
    if not losses:
        return "No condition could be checked."
    if max(losses) > max_loss and has_notes:
        return (
            "Some requests failed, and a loss could be hidden among them; the sentences below "
            "count them. Run the same command again: it sends the failed rows again."
        )
    if max(losses) > max_loss:
        return (
            f"No condition was found to change answers, but a loss of less than {max(losses):.0f} "
            "points would have been missed: test more rows (--thorough, or --rows N)."
        )
    if score < max(losses):
        return (
            f"The model answers {score:.0f} % of these rows correctly, too few to detect a loss: "
            "choose shorter lengths or easier tasks (--lengths, --configs)."
        )
    return ""


def _sound_headline(smallest_loss: float, unchecked: Sequence[str]) -> str:
    """Return the headline of a sound verdict; smaller losses than `smallest_loss` may be missed."""
    headline = f"No condition changes answers by {smallest_loss:.0f} points or more"
    if smallest_loss <= SMALL_LOSS:
        headline += ": the losses in your scores are the model's."
    else:
        headline += ". Smaller changes would be missed: test more rows to detect them."
    if unchecked:
        headline += f" Not checked: {', '.join(unchecked)}."
    return headline


def may_stop(verdict: Verdict, rows_when_decided: int) -> bool:
    """Return whether the examination may stop before the last row, because the cause is clear.

    Some causes may have a more precise explanation: the condition named by `explained_by`, or, for
    depth and repeat, any other. For those, continue until twice as many rows were sent as at the
    first decision, and longer while the `explained_by` condition is still likely.
    """
    if verdict.outcome != "engine":
        return False
    cause = verdict.findings[0]
    more_precise = CONDITIONS[cause.name].explained_by
    if not more_precise and cause.name not in (REPEAT.name, DEPTH.name):
        return True
    for finding in verdict.findings:
        if finding.name == more_precise and exact_p(finding.only_b, finding.only_a) < LIKELY:
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


def progress_line(verdict: Verdict, rows: int, planned: int) -> str:
    """Return the progress line shown after a wave of rows."""
    line = f"{rows} of {planned} rows, cold answers score {verdict.score:.1f} %"
    tested = [finding for finding in verdict.findings if finding.p < 1]
    if tested:
        suspect = min(tested, key=lambda finding: finding.holm_p)
        line += f"; smallest p: {suspect.title}, p = {suspect.holm_p:.2g}"
    return f"{line}."
