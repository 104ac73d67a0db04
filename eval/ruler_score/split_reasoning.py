r"""Split a model's reasoning from its answer, by the marks around it.

split_reasoning("<think>so it is 42</think>\n42")    # ("so it is 42", "42", "ended")

A mark is recognised by its shape: a tag or a special token with a name that speaks of thinking,
whatever else the name holds and whatever stands around it.

    <think> </think>   <mm:think>   <longcat_think>   <|begin_of_thought|>   <|START_THINKING|>
    <|think:end|>   [THINK]   ◁think▷   <|channel|>analysis<|message|>   <|channel>thought

The few marks whose names say nothing are in `_PAIRS`. Words without a tag are never marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

ReasoningState = Literal["none", "ended", "truncated"]


class SplitText(NamedTuple):
    """A model's text as reasoning (None if it has none) and answer."""

    reasoning: str | None
    answer: str
    state: ReasoningState


class Mark(NamedTuple):
    """A mark in a text that opens or closes reasoning."""

    start: int
    end: int
    opens: bool
    family: str
    """What it has in common with its counterpart: `think` for `<think>` and `</think>`."""


_WORDS = (
    r"think|thought|reason|reflect|scratch[_-]?pad|monologue|analy[sz]|ponder|deliberat|rationale|"
    r"contemplat|(?<![a-z])cot(?![a-z])|思考|推理"
)
"""What the name of a mark contains if it speaks of thinking."""
_PART = r"[\w:.|｜▁-]{0,60}"
"""Whatever else a name holds."""
_ATTRIBUTE = r"""\s{1,9}[\w-]{1,40}=(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[^\s<>"'/]{1,200})"""
_TAG = (
    rf"(?:[<＜◁⟨]|&lt;)(?P<name>[|｜]?/?{_PART}(?:{_WORDS}){_PART})(?:{_ATTRIBUTE})*"
    r"\s?(?P<empty>/?)(?:[>＞▷⟩]|&gt;)"
)
# in square brackets, which people write as well, a name has capital letters or a slash
_BRACKETS = (
    r"\[(?P<bracket>(?-i:(?:[A-Z]+[_ ]){0,3}(?:THINK|THINKING|THOUGHT|THOUGHTS)(?:[_ ][A-Z]+)?)"
    rf"|think|/{_PART}(?:{_WORDS}){_PART})\]"
)
_CHANNEL = (
    r"(?P<channel><(?:\|channel|unused\d+)>\s?(?:thought|thinking|reasoning|analysis)"
    rf"|<\|channel\|>\s?(?:{_WORDS}|commentary)[^<\n]{{0,200}}"
    r"(?:<\|constrain\|>[^<]{0,200})?(?:<\|message\|>|\Z))"
)
# a name between two tokens, such as Kimi K3's <|open|>think<|sep|>
_BETWEEN = (
    rf"<\|(?P<direction>open|close|begin|end|start|stop)\|>\s?(?P<between>\w{{0,20}}(?:{_WORDS})"
    r"\w{0,20})<\|\w{1,20}\|>"
)
_FINAL = (
    r"(?P<final><\|channel\|>\s?(?:final|answer|response)[^<\n]{0,200}<\|message\|>"
    r"|<channel\|>|<unused95>|\[BEGIN FINAL RESPONSE\])"
)
_PAIRS = {
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus
    "[unused16]": "[unused17]",  # openPangu
}
"""Marks with names that say nothing."""
_OPENINGS, _CLOSINGS = list(_PAIRS), list(_PAIRS.values())
_ODD = (
    f"(?P<opening>{'|'.join(map(re.escape, _OPENINGS))})"
    f"|(?P<closing>{'|'.join(map(re.escape, _CLOSINGS))})"
)
_MARK = re.compile("|".join((_CHANNEL, _FINAL, _BETWEEN, _ODD, _TAG, _BRACKETS)), re.IGNORECASE)
_BEGIN_WORDS = {"begin", "start", "open", "of"}
_END_WORDS = {"end", "close", "stop", "finish"}
_SWITCH_WORDS = {"no", "non", "not", "never", "without", "on", "off", "mode", "nothink"}
"""Words of a token that turns reasoning on or off and encloses none, such as `<think_off>`."""
CHANNEL_TOKENS = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>")
"""The tokens of gpt-oss's channels, which are marks together with a channel's name."""
NAMED_TOKENS = ("<|channel>", "<unused94>", "<|open|>", "<|close|>", "<|sep|>")
"""Tokens that are a mark together with a name: Gemma 4's, MedGemma's, Kimi K3's."""


def find_marks(text: str) -> Iterator[Mark]:
    """Yield the marks in a text, in order and in time linear in the text."""
    for match in _MARK.finditer(text):
        mark = _mark_of(match)
        if mark is not None:
            yield mark


def _mark_of(match: re.Match[str]) -> Mark | None:
    """Return the mark that matched; None for a token that turns reasoning on or off."""
    start, end = match.span()
    if match["channel"] or match["final"]:
        return Mark(start, end, opens=bool(match["channel"]), family="channel")
    for name, pair in (("opening", _OPENINGS), ("closing", _CLOSINGS)):
        if match[name]:
            lower = [mark.lower() for mark in pair]
            place = lower.index(match[name].lower())
            return Mark(start, end, opens=name == "opening", family=_OPENINGS[place])
    if match["between"]:
        direction, family = match["direction"].lower(), match["between"].lower()
        return Mark(start, end, opens=direction in _BEGIN_WORDS, family=family)
    name = match["name"] or match["bracket"]
    words = re.findall(r"[^\W_▁]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    words = [word.lower() for word in words]
    if not _SWITCH_WORDS.isdisjoint(words):
        return None
    closes = "/" in name or bool(match["empty"]) or not _END_WORDS.isdisjoint(words)
    family = "_".join(word for word in words if word not in _BEGIN_WORDS | _END_WORDS)
    return Mark(start, end, opens=not closes, family=family)


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
    text = opened + text
    if text.startswith("analysis") and "assistantfinal" in text:  # gpt-oss, special tokens removed
        analysis, _, final = text.removeprefix("analysis").partition("assistantfinal")
        text = (
            f"<|channel|>analysis<|message|>{analysis}<|end|><|start|>assistant"
            f"<|channel|>final<|message|>{final}"
        )
    may_have_marks = re.search(r"[<＜&\[◁⟨]", text) is not None  # a quick test
    marks = list(find_marks(text)) if may_have_marks else []
    if not marks:
        return SplitText(None, text, "none")
    closings = _closing_places(marks)
    reasoning: list[str] = []
    answer: list[str] = []
    begin, place = 0, 0
    state: ReasoningState = "ended"
    while place < len(marks):
        mark = marks[place]
        before, begin = text[begin : mark.start], mark.end
        if not mark.opens:  # the prompt opened it
            reasoning += [*answer, before]
            answer = []
            place += 1
            continue
        answer.append(before)
        closing = closings[place]
        if closing is None:
            reasoning.append(text[begin:])
            begin, state = len(text), "truncated"
            break
        reasoning.append(text[begin : marks[closing].start])
        begin, place = marks[closing].end, closing + 1
    reasoning, answer = _pieces(reasoning), _pieces([*answer, text[begin:]])
    return SplitText("\n".join(reasoning), "\n".join(answer).strip(), state)


def _closing_places(marks: Sequence[Mark]) -> list[int | None]:
    """Return for each opening mark the place of the mark that closes it, in the list of marks.

    It is the next closing mark of its family, or of any family without one; None without any.
    """
    next_of_family: dict[str, int] = {}
    next_of_any: int | None = None
    places: list[int | None] = [None] * len(marks)
    for place in range(len(marks) - 1, -1, -1):
        mark = marks[place]
        if mark.opens:
            places[place] = next_of_family.get(mark.family, next_of_any)
        else:
            next_of_family[mark.family] = next_of_any = place
    return places


def _pieces(texts: Iterable[str]) -> list[str]:
    """Return the texts that are not blank, without the marks between gpt-oss's turns."""
    for end in ("<|start|>assistant", "<|end|>", "<|return|>", "<|call|>"):
        texts = [text.strip("\n").removesuffix(end) for text in texts]
    return [text for text in texts if text.strip()]


def opened_reasoning(prompt: str) -> str:
    """Return the opening mark at the end of a rendered prompt, such as DeepSeek-R1's, or ""."""
    end = prompt[-300:].rstrip()  # longer than any mark
    last = max(find_marks(end), default=None)
    if last is None or not last.opens or last.end < len(end):
        return ""
    return end[last.start :]


def token_mark(token: str) -> Literal["opens", "closes"] | None:
    """Return what a special token, as text, does to the reasoning; None if it is not a mark."""
    match = _MARK.fullmatch(token)
    mark = None if match is None else _mark_of(match)
    if mark is None:
        return None
    return "opens" if mark.opens else "closes"
