"""Check a row of RULER's fwe without the code that makes rows (section 3.3, footnote 4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ruler_builder.families.audit import AuditContext, context_of
from ruler_builder.families.frequent_words.params import FrequentParams, zeta
from ruler_common.rows import Row

_NOISE_WORD = "..."
_TOKENS_A_WORD = 50  # of the window, for each word of the vocabulary
_COUNTED = 64  # words whose tokens are counted


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with an fwe row: words, their order, a tie, the distribution."""
    params: FrequentParams = about.params
    tally = Counter(context_of(row).split(" "))
    for word in tally:
        if word != _NOISE_WORD and not re.fullmatch(f"[a-z]{{{params.word_letters}}}", word):
            yield f"a word is neither {params.word_letters} letters nor the noise word: {word!r}"
            break
    ranked = [word for word, _ in tally.most_common()]
    if ranked[0] != _NOISE_WORD or ranked[1 : params.words + 1] != row["outputs"]:
        yield f"the references {row['outputs']} are not ranks 2 to {params.words + 1}, in order"
    leads = -np.diff([tally[word] for word in ranked[1 : params.words + 2]])
    if len(leads) < params.words or leads.min() < 1:
        yield "a tie: an asked word does not appear more often than the next one"
    if row["evidence"]:
        yield "a coded text has no needles, but there is evidence"
    usual = max(about.entry["max_length"] // _TOKENS_A_WORD, params.words + 2)
    ranks = np.arange(1, (params.vocabulary or usual) + 1, dtype=float)
    shares = ranks**-params.alpha / zeta(params.alpha)
    counts = np.array(sorted(tally.values(), reverse=True))
    total = _total(counts, shares)
    if total is None:
        yield f"the words' counts {counts[:8].tolist()} … are not a Zeta distribution"
        return
    more = int(np.sum(np.floor((total + 1) * shares) - np.floor(total * shares)))
    longest = max(about.count(f" {word}") for word in ranked[:_COUNTED])
    yield from about.not_full(row, more * longest + 2)


def _total(counts: np.ndarray, shares: np.ndarray) -> int | None:
    """Return the greatest N of which rank k has floor(N * share of k) words; None if no N does."""
    first = int(counts[0] / shares[0])
    for total in range(int((counts[0] + 1) / shares[0]) + 1, first - 1, -1):
        right = np.floor(total * shares).astype(int)
        if np.array_equal(right[right > 0], counts):
            return total
    return None
