r"""A prompt under construction, in pieces, so that it is counted without being tokenised again.

    prompt = PromptBuilder(counter)
    prompt.add("A special magic number …\n")              # counted when asked for
    prompt.add(text, tokens=131_000)             # a long piece whose count is known
    prompt.add_evidence(" One of the special magic numbers …", answer=True, lead=1)
    prompt.tokens                                        # exact: pieces meet at split points

Pieces that do not meet at a split point are counted as one; if the tokenizer has no split points,
the whole text is. So `tokens` is always what the reference tokenizer gives for `text`.
"""

from __future__ import annotations

from ruler_builder.tokens.counting import TokenCounter
from ruler_common.rows import Evidence


class PromptBuilder:
    """Text under construction; offsets are in characters, counts in tokens."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.context_start = self.context_end = self._length = 0
        self._texts: list[str] = []
        # Texts that meet at split points, with their tokens if these are known.
        self._pieces: list[tuple[str, int | None]] = []
        self._spans: list[tuple[int, int, bool]] = []
        self._counted: int | None = None  # `tokens`, until something is added

    def add_evidence(self, text: str, answer: bool, lead: int = 0, trail: int = 0) -> PromptBuilder:
        """Append a short piece that is evidence, but for its first `lead` and last `trail`.

        These two are numbers of characters.
        """
        self.mark_evidence(lead, len(text) - trail, answer)
        return self.add(text)

    def add(self, text: str, tokens: int | None = None) -> PromptBuilder:
        """Append a piece.

        `tokens` is the reference's count of this piece by itself. Pass it for a long piece; a piece
        without it is counted when the prompt's `tokens` are asked for.
        """
        if not text:
            return self
        self._texts.append(text)
        self._counted = None
        self._length += len(text)
        if self._pieces and not self.counter.split_points.between(self._pieces[-1][0], text):
            text, tokens = self._pieces.pop()[0] + text, None
        self._pieces.append((text, tokens))
        return self

    def mark_evidence(self, start: int, end: int, answer: bool) -> PromptBuilder:
        """Characters start … end of the piece to come are evidence."""
        self._spans.append((self._length + start, self._length + end, answer))
        return self

    def begin_context(self, lead: int = 0) -> PromptBuilder:
        """Return the context starts here, or `lead` characters on."""
        self.context_start = self._length + lead
        return self

    def end_context(self, trail: int = 0) -> PromptBuilder:
        """Return the context ended `trail` characters ago."""
        self.context_end = self._length - trail
        return self

    @property
    def at_context_start(self) -> bool:
        """Whether nothing of the context has been added yet."""
        return self._length == self.context_start

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._texts)

    @property
    def tokens(self) -> int:
        """Exact number of tokens of `text`, no special tokens."""
        if self._counted is not None:
            return self._counted
        split_points = self.counter.split_points
        if split_points.crossing and not split_points.hold_in(whole := self.text):
            self._counted = self.counter.count(whole)
            return self._counted
        total, uncounted = 0, []
        for text, tokens in self._pieces:
            if tokens is None:
                uncounted.append(text)
            else:
                total += tokens
        self._counted = total + sum(self.counter.counts(uncounted))
        return self._counted

    @property
    def evidence(self) -> list[Evidence]:
        """The marked spans with their depth in the context, in text order."""
        width = max(1, self.context_end - self.context_start)
        return [
            Evidence(
                start=start, end=end, depth=(start - self.context_start) / width, answer=answer
            )
            for start, end, answer in sorted(self._spans)
        ]
