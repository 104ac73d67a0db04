"""The nine conditions that must not change an answer.

    CONDITIONS["cache"].sides                   # the two ways to send a request
    CONDITIONS["cache"].judge(answers)         # the finding from the answers

Six conditions are pairs of sides. Three more are judged from the same answers: whether identical
requests get the same score (repeat), whether evidence is lost beyond some distance (depth), and
whether the server read as many tokens as were sent (tokens). Each has a section below, and a
section of the same name in docs/doctor.md.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from ruler_common.text import number_of
from ruler_eval.doctor.answers import AllAnswers, Pairs
from ruler_eval.doctor.condition import COLD, MIN_ROWS, Condition, Finding, Pair, Side
from ruler_eval.doctor.options import GROUP_SIZE
from ruler_eval.doctor.paired_test import anytime_p

# ---- cache ---------------------------------------------------------------------------------------

CACHED = Side(name="cached", words="from the prefix cache", after="cold")
LOADED = Side(name="loaded", words="under load", together=0)
RARELY = 0.01
"""The probability below which cold requests differ too rarely to be as noisy as cache hits."""


class Cache(Pair):
    """Hits are confirmed by each answer's `cached_tokens`, or by the server's /metrics."""

    def usable(self, pairs: Pairs) -> tuple[Pairs, str]:
        """Leave out pairs whose second request did not hit the cache, or whose first one did."""
        if all((b.cached_tokens or 0) == 0 for _, _, b in pairs):
            if any(b.cached_tokens == 0 for _, _, b in pairs):
                return [], "the server reports no cache hits"
            return pairs, ""
        hits = [
            (row, a, b)
            for row, a, b in pairs
            if b.cached_tokens is None or b.cached_tokens > 2 * (a.cached_tokens or 0)
        ]
        return hits, "the first request of each row hit the cache too: name a new --out"

    def judge(self, answers: AllAnswers) -> Finding:
        """Test the pairs; if no hits are reported, only changed answers are conclusive."""
        finding = super().judge(answers)
        cached = [answer.cached_tokens for _, answer in answers.answered(CACHED.name)]
        if not finding.rows or any(cached) or answers.cache_hits:
            return finding
        if answers.cache_hits == 0:
            return self.unchecked("the server's /metrics show no cache hits")
        reason = (
            "the server does not report whether its cache was hit (vLLM: "
            "--enable-prompt-tokens-details)"
        )
        return replace(
            finding,
            state="unchecked",
            sentence=f"Not checked: {reason}. The second answer of a row was as good as the first.",
            smallest_loss=None,
        )

    def blame(self, finding: Finding, repeat: Finding, answers: AllAnswers) -> Finding:
        """Return the finding that the cache is at fault if scores differ only on cache hits.

        All repeats hit the cache. If the engine were noisy everywhere, answers without cache hits
        (COLD and LOADED) would differ as often as `repeat.flips`.
        """
        from scipy.stats import binom

        pairs = answers.pairs(COLD.name, LOADED.name)
        pairs = [pair for pair in pairs if pair[1].counts and pair[2].counts]
        differ = sum(cold.score != loaded.score for _, cold, loaded in pairs)
        if not pairs or binom.cdf(differ, len(pairs), repeat.flips) > RARELY:
            return finding
        return replace(
            finding,
            state="engine",
            holm_p=repeat.holm_p,
            sentence="Answers change on cache hits: the scores of identical requests that hit it "
            f"differ in {100 * repeat.flips:.1f} % of the pairs (p = {repeat.holm_p:.2g}), those "
            f"of cold requests in {differ} of {number_of(len(pairs), 'row')}; "
            f"{finding.only_a} have a better answer cold, {finding.only_b} from the cache.",
        )


CACHE = Cache(
    name="cache",
    title="Cold against cached",
    sides=(COLD, CACHED),
    if_worse="Answers get worse on cache hits",
    remedy="Try `--no-enable-prefix-caching`",
)

# ---- load ----------------------------------------------------------------------------------------

LOAD = Pair(
    name="load",
    title="One at a time against under load",
    sides=(COLD, LOADED),
    if_worse="Answers get worse under load",
    remedy="Try a smaller `--max-num-seqs`, and without CUDA graphs (`--enforce-eager`)",
    explained_by="neighbours",
)

# ---- neighbours ----------------------------------------------------------------------------------

NEIGHBOURS = Pair(
    name="neighbours",
    title="With short against with full prompts",
    sides=(
        Side(name="beside_short", words="with short prompts", short_neighbours=GROUP_SIZE - 1),
        Side(name="beside_full", words="with full prompts", together=GROUP_SIZE),
    ),
    if_worse="Answers get worse in a batch with long prompts",
    remedy="Try `--no-enable-chunked-prefill`, or another attention backend",
    quick=False,
)

# ---- chunks --------------------------------------------------------------------------------------

BOUNDARY_MARGIN = 16
"""Tokens from a boundary at which the prompts just below and just above it end."""
MIN_BOUNDARY = 1024
"""The smallest boundary, in tokens; the others are its doublings."""


class Chunks(Pair):
    """The same row just below and just above a boundary: a power of two of tokens."""

    def usable(self, pairs: Pairs) -> tuple[Pairs, str]:
        """Leave out pairs of prompts that did not end on both sides of a boundary."""
        crossing = [
            (row, a, b)
            for row, a, b in pairs
            if a.tokens is not None
            and b.tokens is not None
            and (a.tokens - 1).bit_length() < (b.tokens - 1).bit_length()
        ]
        return crossing, "no prompt could be padded to both sides of a boundary"


def next_boundary(tokens: int) -> int:
    """Return the smallest boundary below which a prompt of `tokens` tokens can be padded."""
    boundary = MIN_BOUNDARY
    while boundary < tokens + BOUNDARY_MARGIN:
        boundary *= 2
    return boundary


CHUNKS = Chunks(
    name="chunks",
    title="Whole against chunked",
    sides=(
        Side(name="below", words="just below a boundary", margin=-BOUNDARY_MARGIN),
        Side(name="above", words="just above a boundary", margin=BOUNDARY_MARGIN),
    ),
    if_worse="Answers get worse just above a boundary of length",
    if_not_sent="the server does not report the tokens of a prompt",
    remedy="Try another `--max-num-batched-tokens` or `--block-size`",
    quick=False,
)

# ---- text ----------------------------------------------------------------------------------------

TEXT = Pair(
    name="text",
    title="Token ids against text",
    sides=(COLD, Side(name="text", words="as text", form="text")),
    if_worse="Answers get worse if the prompt is sent as text",
    remedy="Compare the tokens of the server's /tokenize with your tokenizer's",
    quick=False,
)

# ---- template ------------------------------------------------------------------------------------

TEMPLATE = Pair(
    name="template",
    title="Template rendered by ruler against by the server",
    sides=(
        COLD,
        Side(name="server_template", words="with the server's template", form="server"),
    ),
    if_worse="Answers get worse with the server's chat template",
    remedy="Start the server with the model's template: `--chat-template FILE`",
    quick=False,
)

# ---- depth ---------------------------------------------------------------------------------------

CLIFF = 0.2
"""A cliff: recall of evidence beyond a distance is below this share of the nearer recall."""
DISTANCES = 20
"""The number of distances, evenly spread over the rows, that are tested for a cliff."""


class Depth(Condition):
    """Whether evidence beyond some distance from the prompt's end is lost altogether.

    Fisher's exact test, one-sided, Bonferroni over the distances and lengths.
    """

    def judge(self, answers: AllAnswers) -> Finding:
        """Find a distance beyond which recall falls to less than CLIFF of the nearer recall."""
        from scipy.stats import fisher_exact

        by_length: dict[str, list[tuple[float, bool]]] = {}
        for row, answer in answers.answered(COLD.name):
            if row.depth is not None and answer.counts:
                distance = (1 - row.depth) * (answer.tokens or row.row_tokens)
                by_length.setdefault(row.length, []).append((distance, answer.score >= 0.5))
        if not any(len(places) >= 2 * MIN_ROWS for places in by_length.values()):
            return self.unchecked("too few rows have one piece of evidence")
        rows = sum(len(places) for places in by_length.values())
        if not answers.complete:
            return self.finding("unchecked", "Not decided when it stopped.", rows)
        sentence = "Evidence is found at every distance from the prompt's end."
        finding = self.finding("same", sentence, rows)
        for length, places in by_length.items():
            places.sort()
            right = np.array([is_right for _, is_right in places])
            splits = sorted({round(len(places) * k / DISTANCES) for k in range(1, DISTANCES)})
            for split in splits:
                near, far = right[:split], right[split:]
                if min(len(near), len(far)) < MIN_ROWS or far.mean() >= CLIFF * near.mean():
                    continue
                table = [[far.sum(), (~far).sum()], [near.sum(), (~near).sum()]]
                p = float(fisher_exact(table, alternative="less").pvalue)
                p = min(1.0, p * len(splits) * len(by_length))
                if p < finding.p:
                    fault = (
                        f"At {length}, evidence farther than {places[split][0]:,.0f} tokens from "
                        f"the prompt's end is lost: {far.sum()} of {number_of(len(far), 'row')} "
                        f"right, nearer {near.sum()} of {len(near)}"
                    )
                    finding = replace(finding, p=p, fault=fault)
        return finding


DEPTH = Depth(
    name="depth",
    title="Depth of the evidence",
    sides=(COLD,),
    remedy="Look for a sliding window, or a context length set too small, in the server's log",
)

# ---- repeat --------------------------------------------------------------------------------------

REPEATS = tuple(
    Side(name=f"repeat_{number}", words=f"sent for the {number}th time", after="cold")
    for number in (3, 4, 5)
)
"""With CACHED, four identical requests under identical conditions."""
MAX_FLIPS = 0.05
"""The share of pairs of identical requests whose scores may differ."""


class Repeat(Condition):
    """Whether identical requests get different scores more often than MAX_FLIPS allows."""

    def judge(self, answers: AllAnswers) -> Finding:
        """Test the share of pairs of identical requests whose scores differ."""
        sides = [answers.by_side.get(side.name, {}) for side in self.sides]
        shares = []
        for row in answers.rows:
            of_row = [side[row.key] for side in sides if row.key in side]
            if len(of_row) == len(sides) and all(answer.counts for answer in of_row):
                scores = [answer.score for answer in of_row]
                differ = [first != second for first, second in combinations(scores, 2)]
                shares.append(sum(differ) / len(differ))
        if not shares:
            return self.unchecked("no row has all repeated answers")
        share = 100 * sum(shares) / len(shares)
        changed = sum(share > 0 for share in shares)
        fault = (
            f"{share:.1f} % of the pairs of identical requests get different scores, in {changed} "
            f"of {number_of(len(shares), 'row')}"
        )
        return replace(
            self.finding("same", f"{fault}.", len(shares)),
            flips=share / 100,
            p=min(1.0, anytime_p(shares, MAX_FLIPS)[0]),
            fault=fault,
        )


REPEAT = Repeat(
    name="repeat",
    title="The same request again",
    sides=(CACHED, *REPEATS),
    remedy="Try one request at a time (`--max-num-seqs 1`), without speculative decoding; "
    "if answers still change, suspect the kernels",
)

# ---- tokens --------------------------------------------------------------------------------------

SECOND_BOS_REMEDY = "Do not send a BOS, or stop the server from adding one (`add_special_tokens`)"


class Tokens(Condition):
    """Whether the server read as many tokens as were sent: a fact, which needs no test."""

    def judge(self, answers: AllAnswers) -> Finding:
        """Compare the server's count of the tokens of each prompt with ours."""
        counted = [
            (side, row, answer, answer.prompt_tokens)
            for side in answers.by_side
            for row, answer in answers.answered(side)
            if answer.prompt_tokens is not None
        ]
        if not counted:
            return self.unchecked("the server does not report the tokens of a prompt")
        rows = len({row.key for _, row, _, _ in counted})
        shortened = [
            (row, answer, read)
            for side, row, answer, read in counted
            # as text or with the server's template, another tokenizer would explain it too
            if answer.shortened and side not in (TEXT.b.name, TEMPLATE.b.name)
        ]
        if shortened:
            row, answer, read = shortened[0]
            return self._fault(
                f"The server shortens prompts: it read {read:,} of "
                f"{answer.counted_tokens or row.row_tokens:,} tokens; this happened to "
                f"{number_of(len({row.key for row, _, _ in shortened}), 'row')}.",
                rows,
            )
        if capped := self._capped(answers):
            return self._fault(capped, rows)
        extra: dict[str, list[int]] = {}
        for side, _, answer, read in counted:
            if answer.counted_tokens is not None:
                extra.setdefault(side, []).append(read - answer.counted_tokens)
        for side, counts in extra.items():
            one_more = len(counts) >= MIN_ROWS and set(counts) == {1}
            if one_more and answers.has_bos and side != TEMPLATE.b.name:
                finding = self._fault(
                    f"Every prompt has one more token on the server than was sent ({side}): a "
                    "second BOS.",
                    rows,
                )
                return replace(finding, remedy=SECOND_BOS_REMEDY)
        others = [f"{np.median(n):+.0f} ({side})" for side, n in extra.items() if any(n)]
        if others:
            sentence = (
                f"The server counts tokens differently from --tokenizer: {', '.join(others)} in "
                "the median. Its template or tokenizer differs: check --tokenizer."
            )
        elif extra:
            sentence = "The server read as many tokens as were sent."
        else:
            sentence = (
                "The server read prompts of a plausible length; add --tokenizer to compare exactly."
            )
        return self.finding("same", sentence, rows)

    def _fault(self, sentence: str, rows: int) -> Finding:
        return replace(self.finding("engine", sentence, rows), p=0.0, holm_p=0.0)

    def _capped(self, answers: AllAnswers) -> str:
        """Return a sentence if the server read prompts of different sizes as the same size."""
        cold = [
            (row, answer)
            for row, answer in answers.answered(COLD.name)
            if answer.prompt_tokens is not None
        ]
        if not cold or any(answer.counted_tokens is not None for _, answer in cold):
            return ""
        largest = max(answer.prompt_tokens or 0 for _, answer in cold)
        at_cap = [row for row, answer in cold if answer.prompt_tokens == largest]
        sizes = {row.row_tokens for row in at_cap}
        if len(sizes) < MIN_ROWS or len(at_cap) < len(cold) / 5:
            return ""
        return (
            f"The server shortens prompts: {len(sizes)} prompts of different sizes were all read "
            f"as {largest:,} tokens."
        )


TOKENS = Tokens(
    name="tokens",
    title="Counted tokens",
    sides=(),
    remedy="Raise the server's context length (vLLM: `--max-model-len`; Ollama: `num_ctx`)",
)

CONDITIONS: dict[str, Condition] = {
    condition.name: condition
    for condition in (
        CACHE, LOAD, NEIGHBOURS, CHUNKS, TEXT, TEMPLATE, DEPTH, REPEAT, TOKENS,
    )
}  # fmt: skip
"""All conditions, in the order in which they are tested and shown."""
