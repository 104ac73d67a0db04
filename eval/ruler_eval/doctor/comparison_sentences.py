"""Write the sentences of a comparison of two deployments from its numbers (same_model.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ruler_common.text import number_of, sentences, visible
from ruler_eval.doctor.outcomes import EXIT_CODES, OUTCOMES
from ruler_eval.doctor.same_model import CONFIDENCE, MAX_SHARE, Comparison, Tally


def progress_line(comparison: Comparison, rows: int, planned: int) -> str:
    """Return the progress line shown after a wave of rows."""
    tally = comparison.tally
    return (
        f"{rows} of {planned} rows: {tally.only_b} answers differ, {tally.noise} of the server's "
        f"own repeats; p = {comparison.p:.2g}."
    )


def headline(comparison: Comparison) -> str:
    """Return the conclusion of a comparison, and what could not be compared."""
    tally, text = comparison.tally, _conclusion(comparison)
    if tally.unfit:
        verb = "is" if tally.unfit == 1 else "are"
        text += (
            f" {number_of(tally.unfit, 'row')} did not fit both and {verb} not compared; the "
            f"first: {tally.unfit_reason}."
        )
    if tally.failed_a or tally.failed_b:
        other, remedy = "on the other", "the same command sends them again"
        if tally.stored:
            other = "in the stored answers"
            remedy = "answer the stored ones with --retry-failed, and repeat this command"
        text += (
            f" {number_of(tally.failed_a, 'row')} failed on the server and {tally.failed_b} "
            f"{other} ({tally.failure}); {remedy}."
        )
    if tally.tokens is not None:
        read_a, read_b = tally.tokens
        text += (
            f" They read a different number of tokens in {number_of(tally.tokens_differ, 'row')}, "
            f"such as {read_a:,} and {read_b:,}: template, tokenizer or truncation differ."
        )
    return text


def _conclusion(comparison: Comparison) -> str:
    """Return what follows from the rows; those that cannot be compared come first."""
    tally, bound = comparison.tally, 100 * comparison.bound
    rows = number_of(tally.rows, "row")
    share = 100 * tally.only_b / tally.rows if tally.rows else 0.0
    noise = f"the server's own repeats differ in {tally.noise}"
    if tally.shortened_a or tally.shortened_b:
        return (
            f"{_shortened_sentence(tally)} In the {rows} that both read whole, {tally.only_b} "
            f"answers differ where the server repeats its own; {noise}."
        )
    if comparison.outcome == "different":
        confirmed = number_of(tally.odd_b, "row")
        return (
            f"The answers differ in {tally.only_b} of {rows} ({share:.1f} %) where the server "
            f"repeats its own; {noise} (p = {comparison.p:.2g}, {confirmed} confirmed). Different "
            "is not worse, and may be the same model: in 16 bits another engine can be enough. "
            f"Over rows like these the score can drop by {bound:.0f} points at most (95 %). "
            "Whether it does: ruler decide."
        )
    if comparison.outcome == "same" and tally.left_out:
        return (
            f"{_left_out(tally)} cannot be compared and count as different "
            f"({_one_sided(tally)}). No difference seen in the {tally.rows:,} others: at most "
            f"{bound:.1f} % of answers differ (95 %); {noise}."
        )
    if comparison.outcome == "same":
        return (
            f"No difference seen in {rows}: at most {bound:.1f} % of answers differ (95 %); "
            f"{noise}."
        )
    if comparison.outcome == "noisy":
        return (
            f"The answers differ in {tally.differ} of {rows}, and {noise}: at most {bound:.0f} % "
            f"differ (95 %), which is more than {100 * MAX_SHARE:.0f} %. Send fewer requests at "
            "a time (--load), or turn off what makes answers vary, and compare again."
        )
    if tally.left_out > tally.only_b:
        return (
            f"{_left_out(tally)} cannot be compared: {_one_sided(tally)}. In the {tally.rows:,} "
            f"others {tally.differ} answers differ, which says nothing about those: at most "
            f"{bound:.0f} % of all differ (95 %); {noise}."
        )
    if tally.only_b > tally.noise:
        return (
            f"The answers differ in {tally.only_b} of {rows} where the server repeats its own, and "
            f"{noise}, which may be chance (p = {comparison.p:.2g}): at most {bound:.0f} % differ "
            "(95 %). Use more rows (--rows N)."
        )
    return f"{rows} are too few: at most {bound:.0f} % of answers differ (95 %). Use more rows."


def _left_out(tally: Tally) -> str:
    return f"{tally.left_out:,} of {number_of(tally.sent, 'row')}"


def _one_sided(tally: Tally) -> str:
    """Return how many rows only one side answered, which may be those that differ."""
    if not tally.one_sided:
        return "neither side has an answer to them"
    verb = "has" if tally.one_sided == 1 else "have"
    return f"{number_of(tally.one_sided, 'row')} {verb} an answer on one side only"


def _shortened_sentence(tally: Tally) -> str:
    """Return which of two deployments shortened prompts that the other read whole."""
    parts = []
    if tally.shortened_a:
        other = "were read whole for the stored answers" if tally.stored else "the other read whole"
        shortened = number_of(tally.shortened_a, "prompt")
        parts.append(f"The server shortened {shortened} that {other}.")
    if tally.shortened_b and tally.stored:
        rows = number_of(tally.shortened_b, "row")
        parts.append(
            f"The stored answers come from shortened prompts in {rows} that the server read whole."
        )
    elif tally.shortened_b:
        shortened = number_of(tally.shortened_b, "prompt")
        parts.append(f"The other server shortened {shortened} that the first read whole.")
    return f"{' '.join(parts)} Give both the same context window, and compare again."


def comparison_json(
    comparison: Comparison, model: str, against: str, notes: list[str]
) -> dict[str, Any]:
    """Return the verdict for doctor.json, --json and the page."""
    tally = comparison.tally
    state = {"different": "engine", "same": "same"}.get(comparison.outcome, "suspect")
    return {
        "question": "same model",
        "model": model,
        "against": against,
        "outcome": comparison.outcome,
        "exit_code": EXIT_CODES[comparison.outcome],
        "headline": headline(comparison),
        "rows": tally.rows,
        "score": tally.score_a,
        "score_against": tally.score_b,
        "p": comparison.p,
        "bound": 100 * comparison.bound,
        "confidence": CONFIDENCE,
        "notes": notes,
        "partings": [asdict(parting) for parting in tally.partings],
        "conditions": [
            {
                "name": "against",
                "title": f"Against {against}",
                "state": state,
                "sentence": headline(comparison),
                "rows": tally.rows,
                "left_out": tally.left_out,
                "differ": tally.differ,
                "only_b": tally.only_b,
                "noise": tally.noise,
                "odd_b": tally.odd_b,
                "odd_a": tally.odd_a,
            }
        ],
    }


def comparison_text(verdict: Mapping[str, Any]) -> str:
    """Return a verdict for the terminal, with the first differing rows side by side."""
    parts = [sentences(f"{OUTCOMES[verdict['outcome']]} {verdict['headline']}".strip())]
    for note in verdict["notes"]:
        parts.append(sentences(note))
    if verdict["partings"]:
        parts += ["", "The first rows that differ:"]
    for parting in verdict["partings"]:
        place = f"{parting['config']} row {parting['index']}, after {parting['at']:,} characters"
        parts += [
            "",
            f"  {place}",
            f"    A …{_line(parting['a'])}",
            f"    B …{_line(parting['b'])}",
        ]
    scores = f"On these rows A scores {verdict['score']:.1f} and B {verdict['score_against']:.1f}."
    return "\n".join([*parts, "", scores])


def _line(text: str) -> str:
    return visible(text).replace("\n", "⏎")
