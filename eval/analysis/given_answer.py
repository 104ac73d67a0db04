"""A wrong answer as the rules of its kind read it: its text, the items it offers, the row it is to.

read(row, prediction, "niah_multivalue", None, result).wrong        # ["5555555"]
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache

from eval.frozen_release import Row
from eval.ruler_score import ruler_score as rules_of
from eval.score.prediction import Prediction
from eval.score.scoring import RowScore

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID_LIKE = re.compile(r"(?<!\w)[0-9a-fx]{3,}(?:-[0-9a-f]{2,}){2,}")
_BEYOND_ASCII = re.compile(r"([^\x00-\x7f]+)")
_ASCII = bytes(range(128))
_FEW = 600  # characters beyond ASCII that a text may hold, to be normalized one by one
_PLAIN = 0x10000  # beyond these some letters compose that are no marks
_CAPITALS = re.compile(r"\b[A-Z]{2,8}\b")
_UUID_LENGTH = 36
_LEAST_PREFIX = 3  # digits of a number that was broken off


@dataclass(frozen=True, kw_only=True)
class GivenAnswer:
    """A wrong answer: the row, the prediction, and the items that it offers as answers.

    `raw` is the text without reasoning, `text` the same normalized (in ONERULER the answer alone);
    `wanted` are the normalized references, `found` how many of them stand in the answer.
    """

    row: Row
    task: str
    language: str | None
    prediction: Prediction | None
    result: RowScore
    raw: str
    text: str
    items: list[str]
    wanted: set[str]
    found: int

    @property
    def of(self) -> int:
        """How many references there are; alternatives count as one."""
        return 1 if self.is_qa else len(self.wanted)

    @property
    def is_qa(self) -> bool:
        """Whether one of the references is enough."""
        return self.task in rules_of.QA_TASKS

    @property
    def is_list(self) -> bool:
        """Whether a list of words is asked for."""
        return self.task.startswith("cwe") or self.task == "fwe"

    @property
    def wants_uuids(self) -> bool:
        """Whether every reference is a UUID."""
        return bool(self.wanted) and all(map(UUID.fullmatch, self.wanted))

    @property
    def wants_numbers(self) -> bool:
        """Whether every reference is a number."""
        return bool(self.wanted) and all(reference.isdecimal() for reference in self.wanted)

    @cached_property
    def wrong(self) -> list[str]:
        """The items that are no reference and not the key that was asked for."""
        return [item for item in dict.fromkeys(self.items) if item not in self.wanted | self.asked]

    @cached_property
    def asked(self) -> set[str]:
        """The UUIDs that the question names: keys, no answers."""
        question = str(self.row.get("question") or self.row["input"][self.row["context_end"] :])
        return set(UUID.findall(rules_of.normalize(question)))

    @cached_property
    def context(self) -> str:
        """The row's context; empty where it is not known."""
        return str(self.row["input"][self.row["context_start"] : self.row["context_end"]])

    @cached_property
    def folded(self) -> str:
        """The context, normalized."""
        return normalize_long(self.context)

    @cached_property
    def words(self) -> frozenset[str]:
        """The context's words, normalized."""
        return words_of(self.folded)


def read(
    row: Row,
    prediction: Prediction | None,
    task: str,
    language: str | None,
    result: RowScore,
) -> GivenAnswer:
    """What a prediction offers as answers: numbers, UUIDs, names, or the items of a list."""
    raw = rules_of.split_reasoning(prediction.text if prediction else "").answer
    text = rules_of.normalize(raw)
    asked = rules_of.is_oneruler(task, language)
    if asked:
        text = rules_of.read_answer(text, language or "en")
    wanted = {rules_of.normalize(reference) for reference in row["outputs"]}
    references = sorted(set(row["outputs"]))
    return GivenAnswer(
        row=row,
        task=task,
        language=language,
        prediction=prediction,
        result=result,
        raw=raw,
        text=text,
        items=_items(raw, text, task, asked, wanted),
        wanted=wanted,
        found=sum(rules_of.references_found(raw, references, task, language)),
    )


def _items(raw: str, text: str, task: str, asked: bool, wanted: set[str]) -> list[str]:
    if task.startswith("cwe") or task == "fwe":
        return rules_of.listed_items(text if asked else raw)
    if task == "vt":
        return [rules_of.normalize(name) for name in _CAPITALS.findall(raw) if name != "VAR"]
    if wanted and all(map(UUID.fullmatch, wanted)):
        return [str(match[0]) for match in UUID.finditer(text)]
    if task == "niah_none" or all(reference.isdecimal() for reference in wanted):
        numbers = rules_of.numbers(text)
        items = [item for item in re.findall(r"\d{2,}", text) if item in numbers]
        return items + sorted(numbers - set(items))
    return []


@lru_cache(maxsize=4)  # several runs answer one row
def words_of(text: str) -> frozenset[str]:
    """What stands between spaces, digits and punctuation of a normalized text."""
    for separator in "0123456789.,;:":
        text = text.replace(separator, " ")
    return frozenset(text.split())


@lru_cache(maxsize=4)
def normalize_long(text: str) -> str:
    """What `normalize` makes of a text, many times sooner where few characters are beyond ASCII.

    Each of these is normalized once and replaced wherever it stands, in UTF-8. Where some compose
    with others, every run of them is normalized with the ASCII character before it: nothing
    composes with one that follows it.
    """
    if text.isascii():
        return text.casefold()
    data = text.encode("utf-8", "surrogatepass")
    beyond = set(data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    if len(beyond) > _FEW:
        return rules_of.normalize(text)
    if not all(map(_stands_alone, beyond)):
        parts = _BEYOND_ASCII.split(text)
        pairs = zip(parts[::2], [*parts[1::2], ""], strict=True)
        return "".join(
            part for a, b in pairs for part in (a[:-1].casefold(), _normalize_few(a[-1:] + b))
        )
    data = data.lower()
    for character in beyond:
        if (normalized := rules_of.normalize(character)) != character:
            data = data.replace(character.encode(), normalized.encode())
    return data.decode()


@lru_cache(maxsize=4096)
def _normalize_few(text: str) -> str:
    return rules_of.normalize(text)


@lru_cache(maxsize=4096)
def _stands_alone(character: str) -> bool:
    """Whether a character is normalized alike wherever it stands: it composes with none before."""
    first = unicodedata.normalize("NFKD", character)[:1]
    return (
        ord(character) < _PLAIN
        and unicodedata.category(first) not in ("Cs", "Mc", "Me", "Mn")
        and not "\u1160" <= first <= "\u11ff"
        and all(rules_of.normalize(c) == c for c in rules_of.normalize(character))
    )


def find_whole(value: str, text: str) -> int:
    """Where a value stands in a text, not within a longer word or number; -1 if nowhere."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (_of_word(before) or _of_word(after)):
            return at
        at = text.find(value, at + 1)
    return -1


def _of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def candidates(answer: GivenAnswer) -> list[str]:
    """What may be a damaged copy of a value: numbers, names, or strings that look like a UUID."""
    if not answer.wants_uuids:
        return answer.wrong
    known = answer.wanted | answer.asked
    return [text for text in _UUID_LIKE.findall(answer.text) if text not in known]


def resembles(text: str, value: str) -> bool:
    """Whether a text is a value with a few characters lost, added, changed or moved.

    A UUID: its first 8 characters stand there, but for two edits, or most of the whole does. A
    number or a name: two edits or less, or a number broken off after three digits or more.
    """
    if len(value) == _UUID_LENGTH:
        if value[:8] in text or _edits(text[:8], value[:8]) <= 2:
            return True
        matcher = difflib.SequenceMatcher(None, text, value, autojunk=False)
        return matcher.quick_ratio() >= 0.8 and matcher.ratio() >= 0.8  # the first is no smaller
    if value.isdecimal() and len(text) >= _LEAST_PREFIX and value.startswith(text):
        return True
    if abs(len(text) - len(value)) > 2 or len(set(text) ^ set(value)) > 4:  # two for each edit
        return False
    return _edits(text, value) <= 2


def _edits(a: str, b: str) -> int:
    """Edits from a to b, or a number above two where it takes more than two.

    Edits are insertions, deletions, changes, and swaps of neighbours.
    """
    before, row = [0] * (len(b) + 1), list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        new = [i]
        for j, y in enumerate(b, 1):
            cost = row[j - 1] if x == y else 1 + min(row[j], new[j - 1], row[j - 1])
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y and before[j - 2] < cost:
                cost = before[j - 2] + 1
            new.append(cost)
        before, row = row, new
        if min(before) > 2 and min(row) > 2:
            return 3
    return row[-1]
