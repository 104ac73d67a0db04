r"""Split a model's reasoning from its answer, by the marks around it.

split_reasoning("<think>so it is 42</think>\n42")    # ("so it is 42", "42", "ended")

The marks are recognised by their shape (reasoning_marks.py). A mark that the text quotes is none:
`<think>` in backquotes or quotation marks, or opened in a block of code that does not close it.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from .reasoning_marks import Mark, find_marks

ReasoningState = Literal["none", "ended", "truncated"]


class SplitText(NamedTuple):
    """A model's text as reasoning (None if it has none) and answer."""

    reasoning: str | None
    answer: str
    state: ReasoningState


_SENTENCES = (
    # gpt-oss, special tokens removed
    (r"analysis(?=[A-Z]|.*assistantfinal)", "assistantfinal"),
    # Granite 3
    (r"\s*Here(?:['’]s| is) my thought process:", r"Here(?:['’]s| is) my response:"),
    # `ollama run`
    (r"\s*Thinking\.\.\.\n(?=.*\.\.\.done thinking\.)", r"\.\.\.done thinking\."),
)
"""What begins a text with reasoning without a mark, and what ends that reasoning."""
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "「": "」", "『": "』"}
_TURN_ENDS = (
    *("<|start|>assistant", "<|begin|>assistant", "<|end|>", "<|return|>", "<|call|>"),
    *("<|eom|>", "<|eot|>", "<|message_model|>", "<|end_message|>", "<|im_end|>"),
)
"""Tokens between turns and channels, in the order in which they are removed from a text's end."""
_CODE_SPAN = re.compile(r"(?<![\w`])(`{1,2})(?=[<＜&\[{【◁⟨])[^`\n]{1,300}\1(?!`)")
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
Span = tuple[int, int]


def split_reasoning(text: str, opened: str = "") -> SplitText:
    r"""Split the reasoning in a model's text from its answer, in time linear in the text.

    Reasoning is the text between an opening mark and the next closing mark of its family (of any
    family if its own is never closed); the text before a closing mark that was not opened, because
    the prompt opened it; and, in a truncated text, the text after an opening mark that is not
    closed. The rest is the answer. `opened` is the mark at the end of the prompt
    (`opened_reasoning`).

        split_reasoning("<think>so it is 42</think>\n42")    # ("so it is 42", "42", "ended")
        split_reasoning("<think>so it is")                    # ("so it is", "", "truncated")
    """
    text = _with_marks(opened + text)
    if re.search(r"[<＜&\[{【◁⟨]|```", text) is None:  # a quick test
        return SplitText(None, text, "none")
    marks = _unquoted(text, find_marks(text))
    closings = _closings(marks)
    blocks = _code_blocks(text)
    reasoning: list[str] = []
    answer: list[str] = []
    begin = 0
    state: ReasoningState = "none"
    for mark, closing in zip(marks, closings, strict=True):
        if mark.start < begin:
            continue
        block_end = _end_of_span(blocks, mark.start)
        if mark.element:
            closing = _end_of_element(text, mark, block_end or len(text))
        if closing is None and mark.needs_pair:
            continue
        if mark.opens and block_end and (closing is None or closing[1] > block_end):
            continue  # code
        before, begin = text[begin : mark.start], mark.end
        if not mark.opens:  # the prompt opened it
            reasoning += [*answer, before]
            answer, state = [], "ended"
            continue
        answer.append(before)
        if closing is None:
            reasoning.append(text[begin:])
            begin, state = len(text), "truncated"
            break
        reasoning.append(text[begin : closing[0]])
        begin, state = closing[1], "ended"
    if state == "none":
        return SplitText(None, text, "none")
    reasoning, answer = _pieces(reasoning), _pieces([*answer, text[begin:]])
    return SplitText("\n".join(reasoning), "\n".join(answer).strip(), state)


def opened_reasoning(prompt: str) -> str:
    """Return the opening mark at the end of a rendered prompt, such as DeepSeek-R1's, or ""."""
    end = prompt[-300:].rstrip()  # longer than any mark
    last = max(find_marks(end), default=None)
    if last is None or not last.opens or last.needs_pair or last.end < len(end):
        return ""
    return end[last.start :]


def _with_marks(text: str) -> str:
    """Return a text with marks in place of the sentences that some models write for them."""
    for opening, closing in _SENTENCES:
        if begins := re.match(opening, text, re.DOTALL):
            reasoning, answer = text[begins.end() :], ""
            if ends := re.search(closing, reasoning):
                reasoning, answer = reasoning[: ends.start()], reasoning[ends.end() :]
                return f"<think>{reasoning}</think>{answer}"
            return f"<think>{reasoning}"
    return text


def _unquoted(text: str, marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks outside quotation marks and spans of code."""
    spans = [match.span() for match in _CODE_SPAN.finditer(text)]
    real = []
    for mark in marks:
        before, after = _character(text, mark.start - 1), _character(text, mark.end)
        is_quoted = before != "" and _QUOTES.get(before) == after
        if is_quoted and before == after:  # it may end the reasoning's last quotation
            outer = _character(text, mark.start - 2)
            is_quoted = outer.isspace() or outer in "([{,;:/—–-"  # or the beginning of the text
        if not is_quoted and not _end_of_span(spans, mark.start):
            real.append(mark)
    return real


def _character(text: str, place: int) -> str:
    return text[place] if 0 <= place < len(text) else ""


def _closings(marks: Sequence[Mark]) -> list[Span | None]:
    """Return for each opening mark where the mark stands that closes it; None without one.

    It is the next closing mark of its family, or of any family without one.
    """
    next_of_family: dict[str, Span] = {}
    next_of_any: Span | None = None
    closings: list[Span | None] = [None] * len(marks)
    for place in range(len(marks) - 1, -1, -1):
        mark = marks[place]
        if mark.opens:
            default = None if mark.needs_pair else next_of_any
            closings[place] = next_of_family.get(mark.family, default)
        else:
            next_of_family[mark.family] = (mark.start, mark.end)
            if not mark.is_empty:
                next_of_any = (mark.start, mark.end)
    return closings


def _end_of_element(text: str, mark: Mark, limit: int) -> Span | None:
    """Return where the closing tag of an element stands before a place, or the end of a fence."""
    if mark.element == "```":
        match = re.compile(r"^```[ \t]*$", re.MULTILINE).search(text, mark.end, limit)
        return match.span() if match else None
    depth = 1
    for match in re.compile(rf"<(/?){mark.element}\b[^<>]*>", re.I).finditer(text, mark.end, limit):
        depth += -1 if match[1] else 1
        if depth == 0:
            return match.span()
    return None


def _code_blocks(text: str) -> list[Span]:
    """Return where the fenced blocks of code stand that are closed."""
    blocks: list[Span] = []
    opening: re.Match[str] | None = None
    for match in _FENCE_LINE.finditer(text):
        if opening is None:
            opening = match
        elif match[1].startswith(opening[1]) and not match[2].strip():
            blocks.append((opening.start(), match.end()))
            opening = None
    return blocks


def _end_of_span(spans: Sequence[Span], place: int) -> int:
    """Return the end of the span that contains a place; 0 if none does."""
    index = bisect(spans, (place, place)) - 1
    return spans[index][1] if index >= 0 and place < spans[index][1] else 0


def _pieces(texts: Iterable[str]) -> list[str]:
    """Return the texts that are not blank, without the tokens between turns and channels."""
    for end in _TURN_ENDS:
        texts = [text.strip("\n").removesuffix(end) for text in texts]
    return [text for text in texts if text.strip()]
