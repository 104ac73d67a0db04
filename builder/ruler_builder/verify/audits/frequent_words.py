"""Audit a row of fwe: words, their order and distribution."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ruler_builder.verify.audits.shared import AuditInputs, context_of
from ruler_common.rows import Row

NOISE_WORD = "..."
_TOKENS_PER_WORD = 50  # of `max_length`, for each word of the default vocabulary
_MAX_COUNTED_WORDS = 64  # the most frequent words, whose tokens an audit counts


def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Check an fwe row's words and their order, that no ranks tie, and the distribution."""
    params = inputs.params
    tally = Counter(context_of(row).split(" "))
    for word in tally:
        if word != NOISE_WORD and not re.fullmatch(f"[a-z]{{{params.word_letters}}}", word):
            yield f"a word is neither {params.word_letters} letters nor the noise word: {word!r}"
            break
    ranked = [word for word, _ in tally.most_common()]
    if ranked[0] != NOISE_WORD or ranked[1 : params.words + 1] != row["outputs"]:
        yield f"the references {row['outputs']} are not ranks 2 to {params.words + 1}, in order"
    leads = -np.diff([tally[word] for word in ranked[1 : params.words + 2]])
    if len(leads) < params.words or leads.min() < 1:
        yield "a tie: an asked word does not appear more often than the next one"
    if row["evidence"]:
        yield "a coded text has no needles, but there is evidence"
    default = max(inputs.entry["max_length"] // _TOKENS_PER_WORD, params.words + 2)
    shares = _zeta_shares(float(params.alpha), params.vocabulary or default)
    counts = np.array(sorted(tally.values(), reverse=True))
    total = _longest_text(counts, shares)
    if total is None:
        yield f"the words' counts {counts[:8].tolist()} … are not a Zeta distribution"
        return
    words_added = int(np.sum(np.floor((total + 1) * shares) - np.floor(total * shares)))
    max_tokens = max(inputs.count(f" {word}") for word in ranked[:_MAX_COUNTED_WORDS])
    yield from inputs.check_full(row, words_added * max_tokens + 2)


def _zeta_shares(alpha: float, vocabulary: int) -> np.ndarray:
    """Return the share of a text of each rank from 1 on: rank ** -alpha / zeta(alpha)."""
    ranks = np.arange(1, vocabulary + 1)
    if alpha == 2:  # the floors of frozen rows: only operations that IEEE 754 rounds exactly
        return 1 / (ranks * ranks) / (math.pi * math.pi / 6)
    from scipy.special import zeta

    return np.array([math.pow(rank, -alpha) for rank in ranks.tolist()]) / float(zeta(alpha))


def _longest_text(counts: np.ndarray, shares: np.ndarray) -> int | None:
    """Return the largest N for which every rank k appears floor(N * shares[k]) times, or None."""
    min_total = int(counts[0] / shares[0])
    max_total = int((counts[0] + 1) / shares[0]) + 1
    for total in range(max_total, min_total - 1, -1):
        expected = np.floor(total * shares).astype(int)
        if np.array_equal(expected[expected > 0], counts):
            return total
    return None
