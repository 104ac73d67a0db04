"""A verdict on the terminal: one sentence, then a line for each condition."""

from __future__ import annotations

from ruler_common.terminal import narrow_table, sentences
from ruler_eval.doctor.judge import Finding, Verdict

_STATES = {"engine": "CHANGES ANSWERS", "same": "no change", "unchecked": "not checked"}
_OUTCOMES = {"engine": "Engine.", "sound": "Sound.", "unknown": "Cannot tell."}


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict, the table of conditions, and a sentence for each."""
    parts = [sentences(f"{_OUTCOMES[verdict.outcome]} {verdict.headline}"), ""]
    header = ["Condition", "", "rows", "A better", "B better", "p (Holm)", "loss seen"]
    parts.append(narrow_table(header, [_cells(f) for f in verdict.findings], left=(0, 1)))
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
