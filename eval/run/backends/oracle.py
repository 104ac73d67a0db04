r"""The perfect reader: no model, it answers from `input` alone, by regular expressions.

The upper bound of the whole pipeline: 100 on every synthetic task of RULER, on release after
release; on qa it quotes the sentence that shares most with the question, which is a guess. It
never sees `outputs` or `evidence`. If it misses, the data or the scoring is wrong.

    solve("…One of the special magic numbers for apt-fox is: 1234567. …\nWhat is the special "
          "magic number for apt-fox mentioned in the provided text?")      # "1234567"

The wording is RULER's (arXiv:2404.06654, Tables 7-9); what is none of it goes to the reader of
ONERULER, oracle_oneruler.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from eval.run.backends import oracle_oneruler
from eval.run.backends.backend import Backend, Completion
from eval.run.backends.oracle_oneruler import most_common, numbered
from eval.run.prompts import Prompt

_NIAH = re.compile(
    r"\nWhat (?:is|are all) the special magic \w+ for (?P<query>[^\n]+) "
    r"mentioned in the provided text\?$"
)
_VT_HEAD = "Memorize and track the chain(s) of variable assignment hidden in the following text."
_VT = re.compile(
    r"\nQuestion: Find all variables that are assigned the value (\d+) in the text above\.$"
)
_ASSIGNMENT = re.compile(r"VAR (\w+) = (?:VAR )?(\w+)")
_CWE_HEAD = "Below is a numbered list of words."
_CWE = re.compile(r"\nQuestion: What are the (\d+) most common words in the above list\?$")
_FWE_HEAD = re.compile(r"Find the (?P<count>\w+) most frequently appeared coded words\.")
_FWE = "\nQuestion: Do not provide any explanation. Please ignore the dots"
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_QA = re.compile(r"\n\nQuestion: (?P<question>.+)$", re.DOTALL)


class Oracle(Backend):
    """Answers every prompt at once, in order, from its text alone."""

    name = "oracle"

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Answer each prompt from the user's turn alone."""
        for prompt in prompts:
            asked = prompt.messages[0]["content"] if prompt.messages else str(prompt.text)
            yield Completion(prompt, solve(asked))

    def default_mode(self) -> str:
        """`chat`: it reads the user's turn and nothing else."""
        return "chat"

    def settings(self) -> dict[str, Any]:
        """Nothing can move its score but its own code."""
        return {"backend_version": "3"}


def solve(text: str) -> str:
    """The answer to one row's `input`; the empty string if the wording is none of the tasks'."""
    if match := _NIAH.search(text):
        return _needles(text[: match.start()], match["query"])
    if match := _VT.search(text):
        return _chain(text[text.rindex(_VT_HEAD) : match.start()], match[1])
    if match := _CWE.search(text):
        words = numbered(text[text.rindex(_CWE_HEAD) + len(_CWE_HEAD) : match.start()])
        common = most_common(words, int(match[1]))
        return " ".join(f"{i}. {word}" for i, word in enumerate(common, 1))
    if (match := _FWE_HEAD.search(text)) and match["count"] in _NUMBERS and _FWE in text:
        coded = text[match.end() : text.rindex(_FWE)].split()
        words = [word for word in coded if word.strip(".")]
        return ", ".join(most_common(words, _NUMBERS.index(match["count"])))
    if (match := _QA.search(text)) and "\n\nDocument 1:\n" in text:
        return _sentence(text[: match.start()], match["question"])
    return oracle_oneruler.answer(text)


def _needles(context: str, query: str) -> str:
    keys = re.split(r",? and |, ", query)
    values = []
    for key in keys:
        needle = rf"special magic \w+ for {re.escape(key)} is: (.+?)\.(?=\s|$)"
        values += re.findall(needle, context)
    return ", ".join(values)


def _chain(context: str, value: str) -> str:
    holds = {value}
    names = []
    for name, source in _ASSIGNMENT.findall(context):  # a hop comes after what it refers to
        if source in holds:
            holds.add(name)
            names.append(name)
    return " ".join(names)


def _sentence(documents: str, question: str) -> str:
    """The sentence that shares the rarest words with the question, plus its document's title."""
    sentences = re.split(r"(?<=[.!?])\s+|\n+", documents)
    bags = [set(re.findall(r"\w+", sentence.lower())) for sentence in sentences]
    seen = Counter(word for bag in bags for word in bag)
    asked = {word for word in re.findall(r"\w+", question.lower()) if word in seen}

    def overlap(position: int) -> float:
        near = bags[position] | bags[max(0, position - 1)]  # the title or the sentence before
        shared = [*(asked & near), *(asked & bags[position])]
        return math.fsum(math.log(len(bags) / seen[word]) for word in shared)  # in any order

    return " ".join(sentences[max(range(len(bags)), key=overlap)].split()[:24])
