"""A verdict on the terminal: one sentence, then a line for each condition."""

from __future__ import annotations

from ruler_common.terminal import sentences, table
from ruler_eval.doctor.findings import Finding
from ruler_eval.doctor.judge import Verdict
from ruler_eval.doctor.observe import Observation

_STATES = {"engine": "CHANGES ANSWERS", "same": "no change", "unchecked": "not checked"}
_OUTCOMES = {"engine": "Engine.", "sound": "Sound.", "unknown": "Cannot tell."}


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict, the table of conditions, and a sentence for each."""
    parts = [sentences(f"{_OUTCOMES[verdict.outcome]} {verdict.headline}"), ""]
    header = ["Condition", "", "rows", "A better", "B better", "p (Holm)", "loss seen"]
    parts.append(table(header, [_cells(f) for f in verdict.findings], left=(0, 1)))
    parts += ["", *(sentences(f"{f.title}: {f.sentence}") for f in verdict.findings)]
    return "\n".join(parts)


def _cells(finding: Finding) -> list[str]:
    state = _STATES[finding.state]
    if finding.state == "unchecked" or finding.name == "tokens":
        rows = f"{finding.rows:,}" if finding.rows else ""
        return [finding.title, state, rows, "", "", "", ""]
    paired = finding.name not in ("depth", "repeat")
    loss = finding.smallest_loss
    return [
        finding.title,
        state,
        f"{finding.rows:,}",
        f"{finding.only_a:,}" if paired else "",
        f"{finding.only_b:,}" if paired else "",
        f"{finding.holm_p:.2g}",
        "" if loss is None else f"{loss:.0f} points",
    ]


def look_line(verdict: Verdict, rows: int, planned: int) -> str:
    """Return a line for a look between two waves."""
    tested = [f for f in verdict.findings if f.state != "unchecked" and f.name != "tokens"]
    least = min(tested, key=lambda f: f.holm_p, default=None)
    nearest = f"; nearest: {least.title}, p = {least.holm_p:.2g}" if least else ""
    return f"{rows} of {planned} rows, {verdict.score:.1f} % right cold{nearest}."


def observation_text(seen: Observation) -> str:
    """Return what a finished run shows."""
    parts = [sentences(f"{p.sentence} {p.remedy}; see {p.docs}.") for p in seen.patterns]
    if not parts:
        parts.append(sentences(f"No pattern of a broken engine in {seen.rows:,} rows."))
    rows = []
    for one in seen.circumstances:
        rows += [
            [
                one.title,
                group.label,
                f"{group.rows:,}",
                f"{group.difference:+.1f}",
                f"± {group.half_width:.1f}",
            ]
            for group in one.groups
        ]
    if rows:
        header = ["Scores by", "", "rows", "points", "95 %"]
        parts += ["", table(header, rows, left=(0, 1))]
    missing = [f"{one.title}: {one.reason}." for one in seen.circumstances if not one.groups]
    parts += ["", *map(sentences, missing)]
    parts.append(
        sentences(
            "Points are differences from the mean of the rows' own configuration. This is an "
            "observation, not a proof: ruler doctor --base-url URL asks the engine."
        )
    )
    return "\n".join(parts)
