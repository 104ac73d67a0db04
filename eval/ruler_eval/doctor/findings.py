"""What the answers show under each condition: tests, and the sentences that say what they found.

    judge_pairs(CONDITIONS["cache"], pairs, complete=True).p       # before Holm's adjustment

Paired conditions. The pairs in which A's score is higher are counted, and those in which B's is;
equal pairs say nothing. If the condition changes nothing, both are equally likely, whatever the
rows are and however noisy the engine is. The test is McNemar's exact one. Both directions are
tested, "B is worse" with B_WORSE of the error and "A is worse" with A_WORSE. After every wave of
rows a bet that is valid however often one looks (ruler_eval/gate/betting.py) may end the
examination before the last row: a condition's p is the smaller of the bet's p / EARLY and, after
the last row, the exact p / LAST. As both pairs of shares add up to 1, p <= x has a chance of x at
most.

Repeats: whether the score of a row changes in more than MAX_FLIPS of the pairs of identical
requests (one-sided, by the same bet). Depth: whether evidence farther than some distance from the
prompt's end is found in less than CLIFF of the share of nearer evidence (Fisher's exact test,
one-sided, Bonferroni over the distances). Tokens: whether the server read as many tokens as were
sent, which is a fact and not a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from ruler_common.text import number_of
from ruler_eval.doctor.conditions import (
    CACHED,
    COLD,
    DOCS,
    REPEATS,
    SERVER_TEMPLATE,
    TEXT,
    Condition,
)
from ruler_eval.gate.betting import evidence
from ruler_eval.score.intervals import POWER, mcnemar

ALPHA = 0.05
"""The chance that a sound server is called broken, over all conditions."""
EARLY, LAST = 0.2, 0.8
"""The shares of ALPHA that looks before the last row and the exact test after it may use up."""
B_WORSE, A_WORSE = 0.8, 0.2
"""The shares of ALPHA for the two directions of a condition."""
MAX_FLIPS = 0.05
"""The share of pairs of identical requests whose scores may differ."""
CLIFF = 0.2
"""Evidence beyond the distance is found in less than this share of the nearer evidence's recall."""
DISTANCES = 20
"""Places, evenly spread over the rows, at which recall may fall off a cliff."""
MIN_BEYOND = 10
"""Rows on either side of the cliff."""

Key = tuple[str, int]
"""A configuration and the index of a row in it."""
State = Literal["engine", "same", "unchecked"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the judgement needs to know about a row."""

    key: Key
    length: str
    row_tokens: int
    """Tokens of the prompt by the release's own tokenizer."""
    depth: float | None
    """Where the only piece of gold evidence is, as a share of the prompt; None if not one piece."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back for a row under one condition."""

    score: float
    fits: bool = True
    """False if the prompt was not sent, or was shortened by the server."""
    shortened: bool = False
    """Whether the token counts show that the server shortened the prompt."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    counted_tokens: int | None = None
    """Tokens of the prompt as they were counted before it was sent."""


Answers = Mapping[str, Mapping[Key, Answer]]
"""The answers of each side, by the side's name."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found under one condition; losses are in points."""

    name: str
    title: str
    state: State
    sentence: str
    remedy: str = ""
    rows: int = 0
    only_a: int = 0
    only_b: int = 0
    exact_p: float | None = None
    """Of McNemar's test by itself, two-sided: what `ruler compare` gives for the two sides."""
    p: float = 1.0
    holm_p: float = 1.0
    smallest_loss: float | None = None
    flips: float = 0.0
    """Repeats: the share of pairs of identical requests whose scores differ."""

    @property
    def docs(self) -> str:
        """Where it is explained."""
        return f"{DOCS}#{self.name}"


# ---- paired conditions --------------------------------------------------------------------------


def anytime_p(values: Sequence[float], limit: float) -> tuple[float, float]:
    """Return p values of "the mean is `limit`", however often one looks.

    The first is small if the mean is larger, the second if it is smaller.
    """
    if not values:
        return 1.0, 1.0
    smaller, larger = evidence(np.array(values, dtype=float)[:, None], limit)
    return 1 / float(larger[-1]), 1 / float(smaller[-1])


def exact_p(fewer: int, more: int) -> float:
    """Return the one-sided p of McNemar's exact test that `more` is larger only by chance."""
    from scipy.special import bdtr

    return float(bdtr(fewer, fewer + more, 0.5)) if fewer + more else 1.0


def judge_pairs(
    condition: Condition, pairs: Sequence[tuple[Row, Answer, Answer]], complete: bool
) -> Finding:
    """Count in which pairs one side is better, and test it; Holm's p is added later."""
    signs = [float(np.sign(a.score - b.score)) for _, a, b in pairs]
    only_a, only_b = signs.count(1.0), signs.count(-1.0)
    b_worse, a_worse = anytime_p(signs, 0.0)
    p = min(b_worse / B_WORSE, a_worse / A_WORSE) / EARLY
    if complete:
        b_worse, a_worse = exact_p(only_b, only_a), exact_p(only_a, only_b)
        p = min(p, min(b_worse / B_WORSE, a_worse / A_WORSE) / LAST)
    return Finding(
        name=condition.name,
        title=condition.title,
        state="same",
        sentence="",
        remedy=condition.remedy,
        rows=len(pairs),
        only_a=only_a,
        only_b=only_b,
        exact_p=mcnemar(only_a, only_b),
        p=min(1.0, p),
    )


def pairs_of(
    condition: Condition, rows: Sequence[Row], answers: Answers
) -> tuple[list[tuple[Row, Answer, Answer]], str]:
    """Return the pairs in which the condition is known to have happened, and why there are none.

    Which pairs these are follows from token counts, never from the answers.
    """
    a, b = answers.get(condition.a.name, {}), answers.get(condition.b.name, {})
    pairs = [(row, a[row.key], b[row.key]) for row in rows if row.key in a and row.key in b]
    if not pairs:
        return [], "no rows were asked"
    pairs = [pair for pair in pairs if pair[1].fits and pair[2].fits]
    if not pairs:
        return [], "the rows do not fit the model's context length"
    if condition.name == "chunks":
        pairs = [pair for pair in pairs if _crosses_border(pair[1], pair[2])]
        return pairs, "the server does not report the tokens of a prompt"
    if condition.name == "cache":
        pairs = [pair for pair in pairs if _hit(pair[1], pair[2]) is not False]
        return pairs, "the server reports no cache hits"
    return pairs, ""


def _crosses_border(below: Answer, above: Answer) -> bool:
    """Whether two padded prompts ended on both sides of a border (a power of two)."""
    if below.prompt_tokens is None or above.prompt_tokens is None:
        return False
    return (below.prompt_tokens - 1).bit_length() < (above.prompt_tokens - 1).bit_length()


def _hit(cold: Answer, cached: Answer) -> bool | None:
    """Whether the second request hit the cache and the first did not; None if it is not known."""
    if cached.cached_tokens is None:
        return None
    return cached.cached_tokens > 2 * (cold.cached_tokens or 0)


def from_tokens(pairs: Sequence[tuple[Row, Answer, Answer]], worse_is_b: bool) -> int | None:
    """Return the tokens of the shortest prompt that lost, if there are many shorter ones."""
    sizes, losing = [], []
    for _, a, b in pairs:
        size = (b if worse_is_b else a).prompt_tokens
        if size is None:
            return None
        sizes.append(size)
        if a.score != b.score and (a.score > b.score) == worse_is_b:
            losing.append(size)
    if not losing:
        return None
    first = min(losing)
    shorter = sum(size < first for size in sizes)
    return first if shorter >= MIN_BEYOND and shorter >= len(sizes) / 10 else None


def describe_pairs(
    condition: Condition, finding: Finding, pairs: Sequence[tuple[Row, Answer, Answer]]
) -> str:
    """Return the sentence of a condition that changes answers."""
    a, b = condition.a.words, condition.b.words
    worse_is_b = finding.only_a >= finding.only_b
    what = condition.if_worse
    if not worse_is_b:
        what = f"Answers are worse {a} than {b}"
    better, worse = (a, b) if worse_is_b else (b, a)
    many, few = sorted((finding.only_a, finding.only_b), reverse=True)
    start = from_tokens(pairs, worse_is_b)
    start_words = f", from {start:,} tokens on" if start else ""
    return (
        f"{what}: {many} of {number_of(finding.rows, 'row')} have a better answer {better}, {few} "
        f"{worse} (p = {finding.holm_p:.2g}){start_words}."
    )


def smallest_loss(rows: int, differing: int, tests: int) -> float:
    """Return the loss, in points, that is seen in a share of POWER of examinations like this one.

    `differing` of the rows differ by noise, half of them either way; the test is the exact one
    after the last row that B is worse, at Holm's first step of `tests`.
    """
    from scipy.stats import binom

    if not rows:
        return 100.0
    counts = np.arange(rows + 1)
    total = counts[:, None] + counts[None, :]
    p_values = binom.cdf(counts[None, :], np.maximum(total, 1), 0.5)
    seen = (p_values <= ALPHA * LAST * B_WORSE / tests) & (total > 0)
    noise = differing / 2 / rows
    by_noise = binom.pmf(counts, rows, noise)

    def power(loss: float) -> float:
        lost = binom.pmf(counts, rows, min(1.0, noise + loss))
        return float(lost @ seen @ by_noise)

    if power(1.0) < POWER:
        return 100.0
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return 100 * high


# ---- repeats, depth, tokens ---------------------------------------------------------------------


def judge_repeats(rows: Sequence[Row], answers: Answers) -> Finding:
    """Test how often identical requests get different scores."""
    sides = [answers.get(side.name, {}) for side in (CACHED, *REPEATS)]
    shares = []
    for row in rows:
        if all(row.key in side for side in sides):
            scores = [side[row.key].score for side in sides]
            both = [left != right for left, right in combinations(scores, 2)]
            shares.append(sum(both) / len(both))
    share = 100 * sum(shares) / len(shares) if shares else 0.0
    changed = sum(share > 0 for share in shares)
    return Finding(
        name="repeat",
        title="The same request again",
        state="same" if shares else "unchecked",
        sentence=f"Of identical requests, {share:.1f} % of the pairs get different scores "
        f"({changed} of {number_of(len(shares), 'row')} change)."
        if shares
        else "Not checked: no row was asked again.",
        remedy="Ask with one request at a time (`--max-num-seqs 1`) and without speculative "
        "decoding; if answers still change, suspect the kernels",
        rows=len(shares),
        flips=share / 100,
        p=min(1.0, anytime_p(shares, MAX_FLIPS)[0]),
    )


def judge_depth(rows: Sequence[Row], answers: Answers, complete: bool) -> Finding:
    """Test whether evidence beyond some distance from the prompt's end is lost altogether."""
    from scipy.stats import fisher_exact

    cold = answers.get(COLD.name, {})
    by_length: dict[str, list[tuple[float, bool]]] = {}
    for row in rows:
        answer = cold.get(row.key)
        if row.depth is None or answer is None or not answer.fits:
            continue
        distance = (1 - row.depth) * (answer.prompt_tokens or row.row_tokens)
        by_length.setdefault(row.length, []).append((distance, answer.score >= 0.5))
    found = Finding(
        name="depth",
        title="Depth of the evidence",
        state="same",
        sentence="Answers do not fall off a cliff at any distance of the evidence.",
        remedy="Look for a sliding window, or a context length set too small, in the server's log",
        rows=sum(map(len, by_length.values())),
    )
    if not any(len(places) >= 2 * MIN_BEYOND for places in by_length.values()):
        sentence = "Not checked: too few rows have one piece of evidence."
        return replace(found, state="unchecked", sentence=sentence)
    if not complete:
        return found
    for length, places in by_length.items():
        places.sort()
        right = np.array([is_right for _, is_right in places])
        cuts = sorted({round(len(places) * k / DISTANCES) for k in range(1, DISTANCES)})
        for cut in cuts:
            near, far = right[:cut], right[cut:]
            if min(len(near), len(far)) < MIN_BEYOND or far.mean() >= CLIFF * near.mean():
                continue
            table = [[far.sum(), (~far).sum()], [near.sum(), (~near).sum()]]
            p = float(fisher_exact(table, alternative="less").pvalue)
            p = min(1.0, p * len(cuts) * len(by_length))
            if p < found.p:
                sentence = (
                    f"At {length}, evidence farther than {places[cut][0]:,.0f} tokens from the "
                    f"prompt's end is lost: {far.sum()} of {number_of(len(far), 'row')} right, "
                    f"nearer {near.sum()} of {len(near)}."
                )
                found = replace(found, p=p, sentence=sentence)
    return found


def judge_tokens(rows: Sequence[Row], answers: Answers, has_bos: bool) -> Finding:
    """Compare the tokens that the server read with those that were sent.

    `has_bos` says whether the prompts, as they are tokenized here, begin with a BOS.
    """
    found = Finding(
        name="tokens",
        title="Counted tokens",
        state="same",
        sentence="The server read as many tokens as were sent.",
        remedy="Raise the server's context length (vLLM: `--max-model-len`; Ollama: `num_ctx`)",
    )
    read = {
        name: [(row, side[row.key]) for row in rows if row.key in side]
        for name, side in answers.items()
    }
    known = [
        (row, answer, answer.prompt_tokens)
        for side in read.values()
        for row, answer in side
        if answer.prompt_tokens is not None
    ]
    if not known:
        return replace(
            found, state="unchecked", sentence="Not checked: the server counts no tokens."
        )
    found = replace(found, rows=len({row.key for row, _, _ in known}))
    short = [
        (row, answer, answer.prompt_tokens)
        for name, side in read.items()
        if name not in (TEXT.name, SERVER_TEMPLATE.name)  # there another tokenizer explains it, too
        for row, answer in side
        if answer.shortened and answer.prompt_tokens is not None
    ]
    if short:
        row, answer, seen = short[0]
        sent = answer.counted_tokens or row.row_tokens
        sentence = (
            f"The server shortens prompts: it read {seen:,} of {sent:,} tokens, and so in "
            f"{number_of(len({row.key for row, _, _ in short}), 'row')}."
        )
        return replace(found, state="engine", sentence=sentence, p=0.0, holm_p=0.0)
    capped = _capped(known)
    if capped:
        return replace(found, state="engine", sentence=capped, p=0.0, holm_p=0.0)
    others = []
    for name, side in read.items():
        extra = [
            answer.prompt_tokens - answer.counted_tokens
            for _, answer in side
            if answer.prompt_tokens is not None and answer.counted_tokens is not None
        ]
        if extra and has_bos and all(more == 1 for more in extra):
            sentence = (
                f"Every prompt has one token more on the server than it was sent with ({name}): "
                "a second BOS."
            )
            remedy = "Send no BOS yourself, or have the server add none (`add_special_tokens`)"
            return replace(
                found, state="engine", sentence=sentence, remedy=remedy, p=0.0, holm_p=0.0
            )
        if any(extra):
            others.append(f"{np.median(extra):+.0f} ({name})")
    if others:
        sentence = (
            f"The server counts other tokens than the tokenizer here: {', '.join(others)} in the "
            "median. Its template or tokenizer is another one; check --tokenizer."
        )
        return replace(found, sentence=sentence)
    if all(answer.counted_tokens is None for _, answer, _ in known):
        sentence = (
            "The server read prompts of a plausible length; give --tokenizer to compare exactly."
        )
        return replace(found, sentence=sentence)
    return found


def _capped(known: Sequence[tuple[Row, Answer, int]]) -> str:
    """Return a sentence if prompts of different sizes were all read as one size, the largest."""
    largest = max(seen for _, _, seen in known)
    at_cap = [row for row, answer, seen in known if seen == largest]
    sizes = {row.row_tokens for row in at_cap}
    uncounted = all(answer.counted_tokens is None for _, answer, _ in known)
    if uncounted and len(sizes) >= MIN_BEYOND and len(at_cap) >= len(known) / 5:
        return (
            f"The server shortens prompts: {len(sizes)} prompts of different sizes were all read "
            f"as {largest:,} tokens."
        )
    return ""
