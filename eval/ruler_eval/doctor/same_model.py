"""Are two deployments the same model? Compare their greedy answers, word for word.

    tally = tally_rows(sides, keys)
    judge_tally(tally, complete=True).outcome        # different, same, noisy or few

Scores hide most differences between deployments; texts show them. But a server's own answers may
differ from one request to the next, so each row is sent to server A twice and to B once. If both
are the same deployment, the three answers are exchangeable: if exactly one of them is the odd one
out, it is B's with a probability of 1/3, whatever the rows are and however noisy the server is.

A row in which B is the odd one out (A = A != B) is sent again, twice to A and once to B, and only
these fresh answers count: rows that are odd by noise alone are rarely odd twice. With stored
answers (`--against RUN`) B has only one answer, and the first three answers of all rows count.

The test. Let n be the rows with exactly one odd answer, and x those in which it is B's. After each
wave a mixture of likelihood ratios against probabilities above 1/3 is looked at (half of its weight
on 1, half spread evenly from 1/3 to 1): its chance ever to reach 1/alpha is at most alpha, by
Ville's inequality. After the last row comes the exact binomial test. Both share ALPHA. Assumptions:
rows are independent, and an answer does not depend on when it is asked for, nor on the answers
before it (a gateway that stores and repeats answers makes A look less noisy than it is).

"No difference" comes with an upper bound (95 %, Clopper-Pearson) of the share of rows in which the
answers of A and B differ, noise included; if that is above MAX_SHARE, nothing is concluded. Rows
without a whole answer on both sides (failed, too long, shortened) count as different in the bound:
the rows that only one side can answer may be those in which they differ.

A prompt that one deployment shortened and the other read whole needs no test: they are different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ruler_eval.doctor.answers import Answers, Key
from ruler_eval.doctor.paired_test import EARLY_SHARE, LAST_SHARE

A, A_AGAIN, B = "a", "a_again", "b"
A_THIRD, A_FOURTH, B_AGAIN = "a_third", "a_fourth", "b_again"
FIRST_SIDES, FRESH_SIDES = (A, A_AGAIN, B), (A_THIRD, A_FOURTH, B_AGAIN)
"""The sides of all rows, and of rows in which B was the odd one out."""
ALPHA = 0.025
"""The maximum probability that equal deployments are called different."""
ODD_SHARE = 1 / 3
"""The probability that the odd one of three exchangeable answers is B's."""
CONFIDENCE = 0.95
MAX_SHARE = 0.1
"""The largest upper bound with which "no difference" is worth saying."""
MAX_EXCERPTS = 3
"""Differing rows that are shown."""
EXCERPT_CHARACTERS = 60
Outcome = Literal["different", "same", "noisy", "few"]


@dataclass(frozen=True, kw_only=True)
class Parting:
    """A row whose answers differ, and where."""

    config: str
    index: int
    at: int
    """Characters that are equal in both."""
    a: str
    b: str
    """The answers from a little before that place on."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How often the answers of two deployments differ."""

    stored: bool = False
    """Whether B's answers were stored earlier."""
    sent: int = 0
    """Rows that were sent to all of A, A and B."""
    rows: int = 0
    """Rows with a whole answer from all of them, which are compared."""
    one_sided: int = 0
    """Rows with whole answers from only one of A and B."""
    differ: int = 0
    """Rows in which A's first answer differs from B's."""
    noise: int = 0
    """Rows in which A's two answers differ."""
    only_b: int = 0
    """Rows in which A gave the same answer twice, and B another."""
    odd_b: int = 0
    """Rows that count for the test: B's answer is the odd one out."""
    odd_a: int = 0
    """Rows that count for the test: one of A's answers is the odd one out."""
    failed_a: int = 0
    failed_b: int = 0
    failure: str = ""
    unfit: int = 0
    """Rows that did not fit, or were shortened, on at least one side; they are not compared."""
    shortened_a: int = 0
    """Rows that A shortened twice, and B read whole."""
    shortened_b: int = 0
    """Rows that B shortened, and A read whole twice."""
    unfit_reason: str = ""
    """Why the first of these rows did not fit; of a shortened one if only one side shortened it."""
    tokens_differ: int = 0
    """Rows of which A and B read a different number of tokens."""
    tokens: tuple[int, int] | None = None
    """The first such numbers."""
    score_a: float = 0.0
    score_b: float = 0.0
    """The mean scores on these rows, 0 … 100."""
    partings: tuple[Parting, ...] = ()

    @property
    def left_out(self) -> int:
        """Rows that cannot be compared."""
        return self.sent - self.rows


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a tally means."""

    outcome: Outcome
    tally: Tally
    p: float
    """Of "both are the same deployment", over all looks; ALPHA is the limit."""
    bound: float
    """The share of rows, 0 … 1, in which answers differ at most (95 %), noise included; rows that
    cannot be compared count as different."""
    complete: bool


def tally_rows(sides: Mapping[str, Answers], keys: Sequence[Key], stored: bool = False) -> Tally:
    """Count the rows in which answers differ.

    Args:
        sides: The answers of each side.
        keys: The rows that were sent.
        stored: Whether B has only one answer to each row, so that the first three count.
    """
    rows = [key for key in keys if all(key in sides.get(side, {}) for side in FIRST_SIDES)]
    whole = [key for key in rows if _all_count(sides, FIRST_SIDES, key)]
    texts = {key: _texts(sides, FIRST_SIDES, key) for key in whole}
    differing = [key for key in whole if texts[key][0] != texts[key][2]]
    only_b = [key for key in differing if texts[key][0] == texts[key][1]]
    counted = list(texts.values())
    if not stored:
        counted = [
            _texts(sides, FRESH_SIDES, key) for key in only_b if _all_count(sides, FRESH_SIDES, key)
        ]
    odd = [odd_one(*answers) for answers in counted]
    tokens = [(sides[A][key].prompt_tokens, sides[B][key].prompt_tokens) for key in whole]
    unequal = [(a, b) for a, b in tokens if a is not None and b is not None and a != b]
    failures = [sides[side][key].failure for key in rows for side in FIRST_SIDES]
    unfit = [key for key in rows if not all(sides[side][key].fits for side in FIRST_SIDES)]
    shortened_a = [key for key in unfit if _shortened(sides, key) == (True, True, False)]
    shortened_b = [key for key in unfit if _shortened(sides, key) == (False, False, True)]
    reasons = [
        sides[side][key].unfit_reason
        for key in shortened_a + shortened_b + unfit
        for side in FIRST_SIDES
    ]
    answered_a = [sides[A][key].counts and sides[A_AGAIN][key].counts for key in rows]
    answered_b = [sides[B][key].counts for key in rows]
    return Tally(
        stored=stored,
        sent=len(rows),
        rows=len(whole),
        one_sided=sum(a != b for a, b in zip(answered_a, answered_b, strict=True)),
        differ=len(differing),
        noise=sum(answers[0] != answers[1] for answers in texts.values()),
        only_b=len(only_b),
        odd_b=odd.count("b"),
        odd_a=odd.count("a"),
        failed_a=sum(bool(sides[A][key].failure or sides[A_AGAIN][key].failure) for key in rows),
        failed_b=sum(bool(sides[B][key].failure) for key in rows),
        failure=next(filter(None, failures), ""),
        unfit=len(unfit),
        shortened_a=len(shortened_a),
        shortened_b=len(shortened_b),
        unfit_reason=next(filter(None, reasons), ""),
        tokens_differ=len(unequal),
        tokens=unequal[0] if unequal else None,
        score_a=_mean(sides[A], whole),
        score_b=_mean(sides[B], whole),
        partings=tuple(
            _parting(key, texts[key][0], texts[key][2]) for key in only_b[:MAX_EXCERPTS]
        ),
    )


def _all_count(sides: Mapping[str, Answers], names: Sequence[str], key: Key) -> bool:
    """Return whether these sides all have a whole answer to a row."""
    return all(key in sides.get(name, {}) and sides[name][key].counts for name in names)


def _texts(sides: Mapping[str, Answers], names: Sequence[str], key: Key) -> tuple[str, str, str]:
    first, second, third = (sides[name][key].text for name in names)
    return first, second, third


def _shortened(sides: Mapping[str, Answers], key: Key) -> tuple[bool, bool, bool] | None:
    """Return which of A, A and B shortened the prompt; None if another did not read it at all."""
    answers = [sides[side][key] for side in FIRST_SIDES]
    if any(not (answer.counts or answer.shortened) for answer in answers):
        return None
    first, second, third = (answer.shortened for answer in answers)
    return first, second, third


def odd_one(a: str, a_again: str, b: str) -> Literal["a", "b"] | None:
    """Return whose answer is the odd one out of three; None if all are equal or all differ."""
    if a == a_again:
        return None if a == b else "b"
    return "a" if b in (a, a_again) else None


def _mean(answers: Answers, keys: Sequence[Key]) -> float:
    scores = [answers[key].score for key in keys]
    return 100 * sum(scores) / len(scores) if scores else 0.0


def _parting(key: Key, a: str, b: str) -> Parting:
    at = 0
    while at < min(len(a), len(b)) and a[at] == b[at]:
        at += 1
    start = max(0, at - EXCERPT_CHARACTERS // 3)
    end = start + EXCERPT_CHARACTERS
    return Parting(config=key[0], index=key[1], at=at, a=a[start:end], b=b[start:end])


def rows_to_confirm(sides: Mapping[str, Answers], keys: Sequence[Key]) -> list[Key]:
    """Return the rows in which B was the odd one out, which are sent again."""
    confirm = []
    for key in keys:
        if _all_count(sides, FIRST_SIDES, key) and odd_one(*_texts(sides, FIRST_SIDES, key)) == "b":
            confirm.append(key)
    return confirm


def judge_tally(tally: Tally, complete: bool) -> Comparison:
    """Return what a tally means; before the last row only "different" is final."""
    p = min(1.0, 1 / evidence_of_difference(tally.odd_b, tally.odd_a) / EARLY_SHARE)
    if complete:
        p = min(p, odd_one_p(tally.odd_b, tally.odd_a) / LAST_SHARE)
    bound = upper_bound(tally.differ + tally.left_out, tally.sent)
    is_compared = upper_bound(tally.left_out, tally.sent) <= MAX_SHARE
    outcome: Outcome = "few"
    if p <= ALPHA or tally.shortened_a or tally.shortened_b:
        outcome = "different"
    elif bound <= MAX_SHARE:
        outcome = "same"
    elif tally.noise and tally.noise >= tally.only_b and is_compared:
        outcome = "noisy"  # else more rows would tell
    return Comparison(outcome=outcome, tally=tally, p=p, bound=bound, complete=complete)


def evidence_of_difference(odd_b: int, odd_a: int) -> float:
    """Return the mixture of likelihood ratios against "B is the odd one as often as by chance"."""
    from scipy.special import betainc, betaln

    log_ratio = odd_b * np.log(1 / ODD_SHARE) + odd_a * np.log(1 / (1 - ODD_SHARE))
    above = 1 - betainc(odd_b + 1, odd_a + 1, ODD_SHARE)
    spread = 0.0
    if above > 0:
        log_spread = log_ratio + betaln(odd_b + 1, odd_a + 1) + np.log(above / (1 - ODD_SHARE))
        spread = float(np.exp(min(log_spread, 600.0)))
    certain = 0.0 if odd_a else float(np.exp(min(log_ratio, 600.0)))
    return (certain + spread) / 2


def odd_one_p(odd_b: int, odd_a: int) -> float:
    """Return the probability of `odd_b` or more of these rows by chance."""
    from scipy.stats import binom

    return float(binom.sf(odd_b - 1, odd_b + odd_a, ODD_SHARE)) if odd_b else 1.0


def upper_bound(count: int, rows: int) -> float:
    """Return the upper Clopper-Pearson bound, one-sided, of a share."""
    from scipy.stats import beta

    return 1.0 if count >= rows else float(beta.ppf(CONFIDENCE, count + 1, rows - count))
