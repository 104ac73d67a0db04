r"""Split a model's reasoning from its answer, by the marks of chat templates.

split_reasoning("<think>so it is 42</think>\n42")    # ("so it is 42", "42", "ended")
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

ReasoningState = Literal["none", "ended", "truncated"]


class SplitText(NamedTuple):
    """A model's text as reasoning (None if it has none) and answer."""

    reasoning: str | None
    answer: str
    state: ReasoningState


_XML = (
    "think",  # DeepSeek, Qwen
    "thinking",  # Claude
    "thought",  # EXAONE
    "seed:think",  # Seed-OSS
    "reasoning",  # fine-tuned models; Open WebUI has this mark and the next
    "reason",
    "scratchpad",  # Hermes 3, by its system prompt
    "reflection",  # Reflection-Llama-3.1, by its system prompt
)
_PAIRS = {
    **{name: (f"<{name}>", f"</{name}>") for name in _XML},
    "magistral": ("[THINK]", "[/THINK]"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command R7B, Command A Reasoning
    "kimi": ("◁think▷", "◁/think▷"),  # Kimi-VL-Thinking, Kimi-Dev
    "openthoughts": ("<|begin_of_thought|>", "<|end_of_thought|>"),  # Sky-T1 too
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "gemma": ("<|channel>thought", "<channel|>"),  # Gemma 4
}
"""The marks of reasoning in chat templates and system prompts; case makes no difference."""
CHANNEL_TAGS = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>")
"""The marks of gpt-oss's channels."""
REASONING_TAGS = (*(mark for pair in _PAIRS.values() for mark in pair), "<|channel>", *CHANNEL_TAGS)
"""The marks of reasoning as tokens."""
_CHANNEL = r"<\|channel\|>(?:analysis|commentary)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
_FINAL = r"<\|channel\|>final[^<]*<\|message\|>"
_CASE = re.IGNORECASE | re.ASCII
_ENDS = {**{name: re.escape(end) for name, (_, end) in _PAIRS.items()}, "channel": _FINAL}
_CLOSINGS = {name: re.compile(end, _CASE) for name, end in _ENDS.items()}
_CLOSING = re.compile("|".join(_ENDS.values()), _CASE)
_FAMILIES = {begin.lower(): name for name, (begin, _) in _PAIRS.items()}
_OPENING = "|".join([*map(re.escape, _FAMILIES), _CHANNEL])
_TAG = re.compile(f"(?P<opens>{_OPENING})|{_CLOSING.pattern}", _CASE)
_OPENED = re.compile(rf"(?:{_OPENING})\s*\Z", _CASE)


def split_reasoning(text: str, opened: str = "") -> SplitText:
    r"""Split the reasoning in a model's text from its answer, in time linear in the text.

    Reasoning is the text between an opening tag and the next closing tag of its family (of any
    family if its own is never closed); the text before a closing tag that was not opened, because
    the prompt opened it; and, in a truncated text, the text after an opening tag that is not
    closed. The rest is the answer. `opened` is the tag at the end of the prompt
    (`opened_reasoning`).

        split_reasoning("<think>so it is 42</think>\n42")    # ("so it is 42", "42", "ended")
        split_reasoning("<think>so it is")                    # ("so it is", "", "truncated")
    """
    text = opened + text
    may_have_tags = "<" in text or "[" in text or "◁" in text  # a quick test
    if not may_have_tags and not text.startswith("analysis"):
        return SplitText(None, text, "none")
    if text.startswith("analysis") and "assistantfinal" in text:  # gpt-oss, special tokens removed
        analysis, _, final = text.removeprefix("analysis").partition("assistantfinal")
        text = (
            f"<|channel|>analysis<|message|>{analysis}<|end|><|start|>assistant"
            f"<|channel|>final<|message|>{final}"
        )
    reasoning: list[str] = []
    answer: list[str] = []
    begin, absent, state = 0, set[str](), "none"
    while state != "truncated" and (tag := _TAG.search(text, begin)):
        before, begin = text[begin : tag.start()], tag.end()
        if not tag["opens"]:  # the prompt opened it
            reasoning += [*answer, before]
            answer, state = [], "ended"
            continue
        family = _FAMILIES.get(tag[0].lower(), "channel")
        closing = None if family in absent else _CLOSINGS[family].search(text, begin)
        if closing is None:
            absent.add(family)  # the rest of the text has no such closing tag
            closing = _CLOSING.search(text, begin)
        answer.append(before)
        reasoning.append(text[begin : closing.start() if closing else len(text)])
        begin = closing.end() if closing else len(text)
        state = "ended" if closing else "truncated"
    if state == "none":
        return SplitText(None, text, "none")
    reasoning, answer = _pieces(reasoning), _pieces([*answer, text[begin:]])
    ended: ReasoningState = "ended" if state == "ended" else "truncated"
    return SplitText("\n".join(reasoning), "\n".join(answer).strip(), ended)


def _pieces(texts: Iterable[str]) -> list[str]:
    """Return the texts that are not blank, without the marks between gpt-oss's turns."""
    for end in ("<|start|>assistant", "<|end|>", "<|return|>", "<|call|>"):
        texts = [text.strip("\n").removesuffix(end) for text in texts]
    return [text for text in texts if text.strip()]


def opened_reasoning(prompt: str) -> str:
    """Return the opening tag at the end of a rendered prompt, such as DeepSeek-R1's, or ""."""
    tag = _OPENED.search(prompt, max(0, len(prompt) - 200))  # longer than any tag
    return tag[0].strip() if tag else ""
