r"""Find the marks that models, servers and front ends put around reasoning.

    list(find_marks("<think>so it is 42</think>\n42"))     # <think>, which opens, and </think>

A mark is recognised by its shape: a tag or a special token with a name that speaks of thinking,
whatever else the name holds and whatever stands around it; or an element with an attribute or a
summary that does.

    <think> </think>   <mm:think>   <longcat_think>   <|begin_of_thought|>   <|START_THINKING|>
    <|think:end|>   [THINK]   ◁think▷   <|channel|>analysis<|message|>   <|channel>thought
    <!-- REASONING_START -->   <details type="reasoning">   <details><summary>Thought for 2 seconds

The few marks whose names say nothing are in `_PAIRS`. Words without a tag are never marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple


class Mark(NamedTuple):
    """A mark in a text that opens or closes reasoning."""

    start: int
    end: int
    opens: bool
    family: str
    """What it has in common with its counterpart: `think` for `<think>` and `</think>`."""
    needs_pair: bool = False
    """Whether it is a mark only if its counterpart is in the text too."""
    is_empty: bool = False
    """Whether it is an empty element such as `<think/>`, which closes only its own family."""
    element: str = ""
    """The name of an element, such as `details`, which its own closing tag ends."""


_STEMS = (
    r"think|thought|reason|reflect|scratch|monologue|analy[sz]|ponder|deliberat|rationale|"
    r"contemplat|introspect|cot|思考|推理"
)
"""What a name contains that may speak of thinking; `_speaks_of_thinking` decides."""
_WORD = re.compile(
    r"\w*(?:think(?:ing|s)?|thoughts?|(?<!t)reason(?:ings?|s)?|reflect(?:ions?|ing)?|"
    r"scratch(?:pad)?|monologues?|analys[ei]s|analy[sz](?:e|ing)|ponder(?:ing)?|"
    r"deliberat(?:e|ions?|ing)|rationales?|contemplat(?:e|ions?|ing)|introspect(?:ion)?|"
    r"(?<![a-z])cot)|(?:thinking|reasoning|思考|推理)\w*|thoughtprocess"
)
"""A word that speaks of thinking: `deepthink` does; `analyst`, `treason` and `cotton` do not."""
_GLUED = re.compile(r"(?<![a-z])(start|begin|end)(?:of)?(?=think|thought|reason)", re.IGNORECASE)
"""Where a name joins two words: `startthink`, `endofthought`."""
_PART = r"[\w:.|｜▁-]{0,60}"
"""Whatever else a name holds."""
_VALUE = r"""(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[^\s<>"'/]{1,200})"""
_ATTRIBUTE = rf"\s{{1,9}}[\w-]{{1,40}}={_VALUE}"
_TAG = (
    rf"(?:[<＜◁⟨]|&lt;)(?P<name>[|｜]?/?{_PART}(?:{_STEMS}){_PART})(?:{_ATTRIBUTE})*"
    r"\s?(?P<empty>/?)(?:[>＞▷⟩]|&gt;)"
    rf"|[<＜](?P<spaced>\s?/\s?{_PART}(?:{_STEMS}){_PART})\s?[>＞]"  # < / think >
)
# its words are checked, because people write comments in words too
_COMMENT = rf"<!--\s?(?P<comment>/?[\w -]{{0,40}}(?:{_STEMS})[\w -]{{0,40}})-->"
# such as Open WebUI's <details type="reasoning" done="true"> and <details><summary>Thinking…
_ELEMENT = (
    rf"<(?P<element>[a-z][\w-]{{0,30}})"
    rf"(?P<attributes>(?:\s{{1,9}}[\w-]{{1,40}}(?:={_VALUE})?){{0,12}})\s{{0,9}}>"
    r"(?:\s{0,9}<summary(?:\s[^<>]{0,200})?>(?P<summary>(?:(?!</summary).){0,60})(?:</summary>)?)?"
)
# people write square brackets as well: a name has capital letters or its counterpart
_BRACKETS = (
    r"\[(?P<capitals>(?-i:(?:[A-Z]+[_ ]){0,3}(?:THINK|THINKING|THOUGHT|THOUGHTS)(?:[_ ][A-Z]+)?)"
    rf"|think)\]|[\[{{【](?P<bracket>/?{_PART}(?:{_STEMS}){_PART})[\]}}】]"
)
_CHANNEL = (
    r"(?P<channel><(?:\|channel|unused\d+|ctrl\d+)>\s?(?:thought|thinking|reasoning|analysis)"
    rf"|<\|channel\|>\s?(?:{_STEMS}|commentary)[^<\n]{{0,200}}"
    r"(?:<\|constrain\|>[^<]{0,200})?(?:<\|message\|>|\Z)"
    r"|(?:<\|start\|>assistant\s)?to=self<\|message\|>"
    r"|<\|(?:im_start|start_header_id)\|>\s?(?:think|thinking|reasoning)\b(?:<\|\w{1,20}\|>)?)"
)
# a name between two tokens, such as Kimi K3's <|open|>think<|sep|>
_BETWEEN = (
    rf"<\|(?P<direction>open|close|begin|end|start|stop)\|>\s?(?P<between>\w{{0,20}}(?:{_STEMS})"
    r"\w{0,20})<\|\w{1,20}\|>"
)
_FINAL = (
    r"(?P<final><\|channel\|>\s?(?:final|answer|response)[^<\n]{0,200}<\|message\|>"
    r"|<\|begin\|>\s?assistant<\|content\|>"  # Solar Open's
    r"|<channel\|>|<(?:unused|ctrl)95>|\[BEGIN FINAL RESPONSE\])"
)
# the next part of a message ends open reasoning, and is a mark only then
_NEXT = (
    r"(?P<next><\|(?:content_)?(?:final|answer|response|text|assistant)\|>"
    r"|(?:<\|start\|>assistant\s)?to=[\w.-]{1,80}<\|message\|>"
    r"|<\|(?:im_start|start_header_id)\|>\s?(?:final|answer|response|assistant)\b"
    r"(?:<\|\w{1,20}\|>)?)"
)
_FENCE = r"(?:\A|(?<=\n))(?P<fence>```)(?:think|thinking|thoughts?|reasoning)[ \t]{0,9}\n"
_PAIRS = {
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus
    "[unused16]": "[unused17]",  # openPangu
    "<start_working_out>": "<end_working_out>",  # models trained with Unsloth's GRPO notebooks
}
"""Marks with names that say nothing."""
_OPENINGS, _CLOSINGS = list(_PAIRS), list(_PAIRS.values())
_ODD = (
    f"(?P<opening>{'|'.join(map(re.escape, _OPENINGS))})"
    f"|(?P<closing>{'|'.join(map(re.escape, _CLOSINGS))})"
)
_ANY = (_CHANNEL, _FINAL, _NEXT, _BETWEEN, _ODD, _TAG, _COMMENT, _ELEMENT, _BRACKETS, _FENCE)
_MARK = re.compile("|".join(_ANY), re.IGNORECASE | re.DOTALL)
_BEGIN_WORDS = {"begin", "start", "open", "of"}
_END_WORDS = {"end", "close", "stop", "finish"}
_SWITCH_WORDS = {"no", "non", "not", "never", "without", "on", "off", "mode", "nothink"}
"""Words of a token that turns reasoning on or off and encloses none, such as `<think_off>`."""
_ANSWER_WORDS = {
    "answer",
    "answers",
    "final",
    "output",
    "response",
    "result",
    "results",
    "solution",
}
"""Words of an element that holds an answer, whatever else they stand with."""
_COMMENT_WORDS = _BEGIN_WORDS | _END_WORDS | {"block", "content", "process", "section", "trace"}
_NAMING_ATTRIBUTES = {"type", "class", "kind", "role", "channel", "name", "id"}
_VOID_ELEMENTS = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"}
"""HTML's elements without a closing tag."""
CHANNEL_TOKENS = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>")
"""The tokens of gpt-oss's channels, which are marks together with a channel's name."""
NAMED_TOKENS = (
    *("<|channel>", "<unused94>", "<ctrl94>"),  # Gemma 4's, MedGemma's, Gemini's
    *("<|open|>", "<|close|>", "<|sep|>"),  # Kimi K3's
    "<|content_text|>",  # Inkling's
)
"""Tokens that are a mark together with a name, or with another token."""


def find_marks(text: str) -> Iterator[Mark]:
    """Yield the marks in a text, in order and in time linear in the text."""
    for match in _MARK.finditer(text):
        mark = _mark_of(match)
        if mark is not None:
            yield mark


def token_mark(token: str) -> Literal["opens", "closes"] | None:
    """Return what a special token, as text, does to the reasoning; None if it is not a mark."""
    match = _MARK.fullmatch(token)
    mark = None if match is None else _mark_of(match)
    if mark is None or mark.needs_pair:
        return None
    return "opens" if mark.opens else "closes"


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case: begin and thinking of `BeginThinking`.

    A capital letter at the end does not begin a word: `CoT` is one.
    """
    separate = re.sub(r"(?<=[a-z])(?=[A-Z]\w)", "_", name)
    separate = _GLUED.sub(r"\1_", separate)
    return [word.lower() for word in re.findall(r"[^\W\d_▁]+", separate)]


def _speaks_of_thinking(name: str) -> bool:
    return any(_WORD.fullmatch(word) for word in _words(name))


def _mark_of(match: re.Match[str]) -> Mark | None:
    """Return the mark that matched; None for anything that only looks like one."""
    start, end = match.span()
    if match["channel"] or match["final"]:
        return Mark(start, end, opens=bool(match["channel"]), family="channel")
    if match["next"]:
        return Mark(start, end, opens=False, family="channel", needs_pair=True)
    if match["fence"]:
        return Mark(start, end, opens=True, family="fence", element=match["fence"])
    if match["element"]:
        return _element_mark(match)
    for name, pair in (("opening", _OPENINGS), ("closing", _CLOSINGS)):
        if match[name]:
            lower = [mark.lower() for mark in pair]
            place = lower.index(match[name].lower())
            return Mark(start, end, opens=name == "opening", family=_OPENINGS[place])
    if match["between"]:
        direction, family = match["direction"].lower(), match["between"].lower()
        return Mark(start, end, opens=direction in _BEGIN_WORDS, family=family)
    return _named_mark(match)


def _named_mark(match: re.Match[str]) -> Mark | None:
    """Return the mark of a tag, a comment or brackets, whose name speaks of thinking."""
    name = (
        match["name"]
        or match["spaced"]
        or match["comment"]
        or match["capitals"]
        or match["bracket"]
    )
    words = _words(name)
    if not _SWITCH_WORDS.isdisjoint(words) or not _speaks_of_thinking(name):
        return None
    if match["comment"]:
        others = [word for word in words if not _speaks_of_thinking(word)]
        if not _COMMENT_WORDS.issuperset(others):
            return None
    is_empty = bool(match["empty"])
    closes = "/" in name or is_empty or not _END_WORDS.isdisjoint(words)
    family = "_".join(word for word in words if word not in _BEGIN_WORDS | _END_WORDS)
    needs_pair = is_empty or (bool(match["bracket"]) and not match[0].startswith("[/"))
    return Mark(
        *match.span(), opens=not closes, family=family, needs_pair=needs_pair, is_empty=is_empty
    )


def _element_mark(match: re.Match[str]) -> Mark | None:
    """Return the opening mark of an element whose attributes or summary speak of thinking."""
    name = match["element"].lower()
    if name in _VOID_ELEMENTS or name in _ANSWER_WORDS:
        return None
    texts = [match["summary"] or ""] if name == "details" else []
    for key, value in re.findall(rf"([\w-]+)=({_VALUE})", match["attributes"]):
        if key.lower() in _NAMING_ATTRIBUTES:
            texts.append(value)
    for text in texts:
        if _speaks_of_thinking(text) and _ANSWER_WORDS.isdisjoint(_words(text)):
            return Mark(*match.span(), opens=True, family=name, element=name)
    return None
