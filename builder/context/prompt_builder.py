r"""A row's text in pieces, so that it is counted without being tokenised again.

    prompt = PromptBuilder(counter)
    prompt.add("A special magic number …\n")          # counted when asked for
    prompt.run(text, tokens=131_000)                   # a long piece whose count is known
    prompt.add(" One of the special magic numbers for able-cat is: 1234567.", answer=True)
    prompt.tokens                                    # exact: pieces meet at split points

Where two pieces do not meet at a seam they are counted as one; where the tokenizer has no seams the
whole text is. So `tokens` is always what the reference tokenizer gives for `text`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from builder.tokens.tokenizers import TokenCounter


@dataclass(frozen=True)
class Evidence:
    """A needle, assignment or gold passage: character span in the input, relative depth in it.

    `answer` says whether it carries a reference (a distractor does not).
    """

    start: int
    end: int
    depth: float
    answer: bool


@dataclass
class PromptBuilder:
    """Text under construction; offsets are characters, counts tokens."""

    counter: TokenCounter
    context_start: int = 0
    context_end: int = 0
    _texts: list[str] = field(default_factory=list)
    _known: list[tuple[str, int | None]] = field(default_factory=list)  # (text, tokens) cells
    _spans: list[tuple[int, int, bool]] = field(default_factory=list)
    _length: int = 0

    def add(
        self, text: str, answer: bool | None = None, lead: int = 0, trail: int = 0
    ) -> PromptBuilder:
        """Append a short piece; with `answer` it is evidence.

        Its first `lead` and last `trail` characters are not part of the evidence.
        """
        if answer is not None:
            start, end = self._length + lead, self._length + len(text) - trail
            self._spans.append((start, end, answer))
        return self.run(text, None)

    def run(self, text: str, tokens: int | None) -> PromptBuilder:
        """Append a piece of known count (of the piece alone, as the reference counts it)."""
        if not text:
            return self
        self._texts.append(text)
        self._length += len(text)
        if self._known and not self.counter.split_points.between(self._known[-1][0], text):
            text, tokens = self._known.pop()[0] + text, None
        self._known.append((text, tokens))
        return self

    def mark(self, start: int, end: int, answer: bool) -> PromptBuilder:
        """Characters start … end of the piece to come are evidence."""
        self._spans.append((self._length + start, self._length + end, answer))
        return self

    def begin_context(self, lead: int = 0) -> PromptBuilder:
        """The context starts here, or `lead` characters on."""
        self.context_start = self._length + lead
        return self

    def end_context(self, trail: int = 0) -> PromptBuilder:
        """The context ended `trail` characters ago."""
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
        if self.counter.split_points.crossing and not self.counter.split_points.hold_in(
            text := self.text
        ):
            return self.counter.count(text)
        unknown = [text for text, tokens in self._known if tokens is None]
        return sum(tokens or 0 for _, tokens in self._known) + sum(self.counter.counts(unknown))

    @property
    def evidence(self) -> list[Evidence]:
        """The marked spans with their depth in the context, in text order."""
        width = max(1, self.context_end - self.context_start)
        return [
            Evidence(start, end, (start - self.context_start) / width, answer)
            for start, end, answer in sorted(self._spans)
        ]
