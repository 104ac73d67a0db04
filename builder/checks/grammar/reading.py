"""What the grammars share: the result of reading a row, its frame, and what may not hide in text.

    reading = Reading()
    framed(reading, row, head, tail, prefix, question)     # the text around the context, exactly
    reading.fault("line 7 is neither noise nor a needle")  # a sentence for each thing left over

A grammar takes a row and what the manifest says of its task, writes down the text that the row must
have and compares: whatever a row has besides is a fault of the law "accounted for".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from builder.checks.breaches import FileRules
from ruler_dataset import Row

# U+0091 to U+0097 are left out: essays and HotpotQA have them for quotation marks and dashes, by a
# mistake of their makers that the reference code's rows keep.
_CONTROL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x90\x98-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe]"
)
_SPECIAL = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|<(?:s|/s|pad|bos|eos|unk|mask|start_of_turn|end_of_turn)>|"
    r"\[/?INST\]|<</?SYS>>|</?think>|<｜[^<>\n]{1,40}｜>"
)
_SPECIAL_SIGNS = "<["  # with which every special token begins
_SHOWN = 40  # characters
_PIECE = 8  # letters of a template's literal piece that no other text has by chance


@dataclass(kw_only=True)
class Reading:
    """What reading a row back found.

    `faults` has a sentence for each thing that is not accounted for. `text` is the running text of
    an essay or a book without its needles, None where the context has none; `origin` names its
    source. `unit` is the most tokens that the next unit of the haystack can have, None where that
    is unknown. `exhausted` says whether a finite haystack is in the row as a whole, and `repeats`
    how many times it began again; None where that cannot be known without the source.
    """

    faults: list[str] = field(default_factory=list)
    text: str | None = None
    origin: str = ""
    unit: int | None = None
    exhausted: bool | None = False
    repeats: int | None = 0

    def fault(self, sentence: str) -> None:
        """Enter what is not accounted for."""
        self.faults.append(sentence)


Grammar = Callable[[Row, FileRules], Reading]


def framed(
    reading: Reading,
    row: Row,
    head: str,
    tail: str,
    *,
    prefix: str = "",
    question: str = "",
    none_word: str = "",
) -> None:
    """Hold a row's text around the context, its prefix, question and none word to the wording."""
    text = row["input"]
    expected = {
        "the text before the context": (head, text[: row["context_start"]]),
        "the text after the context": (tail, text[row["context_end"] :]),
        "answer_prefix": (prefix, row["answer_prefix"]),
        "question": (question, row["question"]),
        "none_word": (none_word, row["none_word"]),
    }
    for name, (right, found) in expected.items():
        if found != right:
            reading.fault(f"{name} is not the wording's: {difference(right, found)}")


def spans(reading: Reading, row: Row, expected: Iterable[tuple[int, int, bool]]) -> None:
    """Hold the evidence to these spans of `input`: each once, in their order, and none besides."""
    found = [(span["start"], span["end"], span["answer"]) for span in row["evidence"]]
    right = list(expected)
    if found != right:
        first = next((span for span in found if span not in right), None)
        missing = next((span for span in right if span not in found), None)
        what = f"{first} is no such span" if first else f"{missing} is missing"
        if not first and not missing:
            what = "a span is entered twice or out of order"
        reading.fault(f"the evidence is not exactly what the text holds: {what}")


def difference(right: str, found: str) -> str:
    """Where two texts part, in words."""
    pairs = enumerate(zip(right, found, strict=False))
    at = next((i for i, (one, other) in pairs if one != other), min(len(right), len(found)))
    shown, wanted = found[at : at + _SHOWN], right[at : at + _SHOWN]
    return f"at character {at} stands {shown!r}, not {wanted!r}"


def fold(text: str) -> str:
    """A text without differences of case, width, white space and invisible characters."""
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    folded = folded.casefold()
    if not folded.isascii():
        odd = {char for char in set(folded) if unicodedata.category(char) in ("Cf", "Mn", "Cc")}
        folded = folded.translate(dict.fromkeys(map(ord, odd)))
    return " ".join(folded.split())


def hidden(text: str, template: str) -> str | None:
    """A piece of a needle's template that stands in a text, whatever its case or width."""
    folded = fold(text)
    for piece in _pieces(template):
        if piece in folded:
            return piece
    return None


def _pieces(template: str) -> Iterator[str]:
    """The literal pieces of a template that are long enough to be its own."""
    for piece in re.split(r"\{\w+\}", template):
        folded = fold(piece)
        if sum(char.isalpha() for char in folded) >= _PIECE or (
            not folded.isascii() and len(folded) > 3
        ):
            yield folded


def foreign(text: str) -> str | None:
    """A control character or a special token of some model in a text, shown; None if none is."""
    found = None if text.isprintable() else _CONTROL.search(text)  # the first is fast
    if found is None and any(sign in text for sign in _SPECIAL_SIGNS):
        found = _SPECIAL.search(text)
    return repr(found[0]) if found else None
