"""What the proofs share: the result of reading a row, its frame, and what may not hide in text.

    reading = Reading()
    framed(reading, row, frame)                            # the text around the context, exactly
    reading.fault("line 7 is neither noise nor a needle")  # a sentence for each thing left over

A proof takes a row and what the manifest says of its task, writes down the text that the row must
have and compares: whatever a row has besides is a breach of the law "accounted for", unless another
law says what is wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ruler_builder.reading.breaches import Breach, FileRules, Law, context_of
from ruler_builder.suites.wording import Frame
from ruler_common.rows import Row

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
    is unknown, and `unit_least` the fewest. `exhausted` says whether a finite haystack is in the
    row as a whole, and `repeats` how many times it began again; None where that cannot be known
    without the source.

    `asked` is what the row asks, where that is not its question and references; rows of one index
    and `scope` must ask the same, with needles at about the same `depths`. `places` are those of
    documents: how many come before each in the evidence, and how many there are in all.
    """

    faults: list[Breach] = field(default_factory=list)
    text: str | None = None
    origin: str = ""
    unit: int | None = None
    unit_least: int = 0
    exhausted: bool | None = False
    repeats: int | None = 0
    asked: Any = None
    scope: str = ""
    depths: list[float] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)

    def fault(self, sentence: str, law: Law = Law.ACCOUNTED) -> None:
        """Enter what is wrong."""
        self.faults.append(Breach(law, sentence))

    def ambiguous(self, sentence: str) -> None:
        """Enter why the context does not support exactly the references."""
        self.fault(sentence, Law.UNAMBIGUOUS)

    def misplaced(self, sentence: str) -> None:
        """Enter what the evidence does not hold, or where it should not stand."""
        self.fault(sentence, Law.POSITIONS)


Proof = Callable[[Row, FileRules], Reading]


def framed(
    reading: Reading, row: Row, frame: Frame, none_word: str = "", law: Law = Law.ACCOUNTED
) -> None:
    """Hold a row's text around the context, its prefix, question and none word to the wording.

    `law` is the one that another text around the context breaks.
    """
    text = row["input"]
    expected = {
        "the text before the context": (frame.head, text[: row["context_start"]], law),
        "the text after the context": (frame.tail, text[row["context_end"] :], law),
        "answer_prefix": (frame.prefix, row["answer_prefix"], law),
        "question": (frame.question, row["question"], Law.UNAMBIGUOUS),
        "none_word": (none_word, row["none_word"], Law.UNAMBIGUOUS),
    }
    for name, (right, found, broken) in expected.items():
        if found != right:
            reading.fault(f"{name} is not the wording's: {difference(right, found)}", broken)


def spans(reading: Reading, row: Row, expected: Iterable[tuple[int, int, bool]]) -> None:
    """Hold the evidence to these spans of `input`: each once, in their order, and none besides."""
    found = [(span["start"], span["end"], span["answer"]) for span in row["evidence"]]
    right = list(expected)
    if len(found) != len(right):
        reading.ambiguous(f"there are {len(found)} spans in evidence, the text has {len(right)}")
    if found != right:
        first = next((span for span in found if span not in right), None)
        missing = next((span for span in right if span not in found), None)
        what = f"{first} is no such span" if first else f"{missing} is missing"
        if not first and not missing:
            what = "a span is entered twice or out of order"
        reading.misplaced(f"the evidence is not exactly what the text holds: {what}")


def only_in_evidence(reading: Reading, row: Row) -> None:
    """Every reference stands in the evidence that carries it, and nowhere else in the context."""
    context, text = context_of(row), row["input"]
    carrying = [text[span["start"] : span["end"]] for span in row["evidence"] if span["answer"]]
    for output in row["outputs"]:
        there, known = context.count(output), sum(part.count(output) for part in carrying)
        if there != known or not known:
            reading.ambiguous(f"reference '{output}' occurs {there} times, {known} in evidence")


def difference(right: str, found: str) -> str:
    """Where two texts part, in words."""
    pairs = enumerate(zip(right, found, strict=False))
    at = next((i for i, (one, other) in pairs if one != other), min(len(right), len(found)))
    shown, wanted = found[at : at + _SHOWN], right[at : at + _SHOWN]
    return f"at character {at} stands {shown!r}, not {wanted!r}"


@lru_cache(maxsize=1 << 17)  # the words of a dictionary stand in every row
def fold_width(word: str) -> str:
    """A word without differences of case and width."""
    return unicodedata.normalize("NFKC", word).casefold()


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
    return next((piece for piece in _pieces(template) if piece in folded), None)


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
