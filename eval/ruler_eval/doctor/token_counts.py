"""Compare the tokens that a server says it read with those that were sent.

judge_tokens(evidence).kind          # "equal", "shortened", "bos", …
"""

from __future__ import annotations

import numpy as np

from ruler_eval.doctor.conditions import COLD, PLAIN
from ruler_eval.doctor.verdict import MIN_ROWS, Evidence, TokenFacts, TokenKind


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
    cold = [pair for pair in evidence.answered(COLD) if pair[1].prompt_tokens is not None]
    if not cold:
        return None
    largest = max(answer.prompt_tokens or 0 for _, answer in cold)
    at_cap = [key for key, answer in cold if answer.prompt_tokens == largest]
    sizes = {evidence.facts[key].tokens for key in at_cap}
    if len(sizes) < MIN_ROWS or len(at_cap) < len(cold) / 5:
        return None
    return TokenFacts(state="engine", kind="capped", rows=len(sizes), read=largest)
