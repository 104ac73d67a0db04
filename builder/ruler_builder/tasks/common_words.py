"""Common words extraction: which words of a numbered list appear most often (section 3.3).

    1. garden 2. river 3. garden …

Common words appear `freq_cw` times each, uncommon ones `freq_ucw` times, all in random order; no
common word is part of any other word of the list. A short solved example comes first; in layout
`2024`, the layout of the paper's code, the answer follows without a space.

ONERULER's cwe_easy and cwe_hard (section 2, Table 2; Figure 10) have the same list of words from a
dictionary of each of its 26 languages:

    <List> 1. garden 2. river 3. garden … </List>

Their prompts are published files and have no solved example. If a small dictionary runs out before
the window is full, the row is shorter than the window.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ruler_builder.tasks.base import LAYOUTS, NewRow, Task, TaskParams, between_tags
from ruler_builder.tasks.draws import Draws, all_but
from ruler_builder.tasks.templates import CONTEXT, Frame, fill_templates
from ruler_builder.text import corpora
from ruler_builder.text.counted import CountedTexts
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.prompt import PromptBuilder
from ruler_common.errors import RulerError

# ---- Parameters --------------------------------------------------------------------------------


class ListCounts(NamedTuple):
    """How many times a common and an uncommon word appear."""

    common: int
    uncommon: int


@dataclass(frozen=True, kw_only=True)
class ListParams(TaskParams):
    """Number of common words and the counts."""

    longest_short: ClassVar[int]
    """The longest context, in tokens, that has the short counts."""

    num_cw: int = 10
    freq_cw: int = 30
    freq_ucw: int = 3
    short_freq_cw: int = 6
    short_freq_ucw: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(
            self.freq_cw > self.freq_ucw >= 1,
            "freq_cw must be greater than freq_ucw, which is at least 1",
        )
        self.need(
            self.short_freq_cw > self.short_freq_ucw >= 1,
            "short_freq_cw must be greater than short_freq_ucw, which is at least 1",
        )

    @classmethod
    def is_short(cls, max_length: int) -> bool:
        """Whether rows of `max_length` tokens have the short counts."""
        return max_length <= cls.longest_short

    def counts(self, max_length: int) -> ListCounts:
        """Return the counts in rows of `max_length` tokens."""
        if self.is_short(max_length):
            return ListCounts(self.short_freq_cw, self.short_freq_ucw)
        return ListCounts(self.freq_cw, self.freq_ucw)


_MAX_COMMON = 200  # words of every vocabulary, at least, that no other word contains


@dataclass(frozen=True, kw_only=True)
class CommonParams(ListParams):
    """Number of common words and the counts (Table 5); the short ones apply below 4096 tokens."""

    optional = ("layout", "examples")
    longest_short = 4095

    layout: str = "2025"
    examples: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.num_cw <= _MAX_COMMON, f"num_cw must be 1 to {_MAX_COMMON}")
        self.need(self.layout in LAYOUTS, f"layout must be one of {', '.join(LAYOUTS)}")
        self.need(0 <= self.examples <= 5, "examples must be 0 to 5")

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """Return the words, as in the solved example."""
        return ["".join(f" {number}. {word}" for number, word in enumerate(references, 1))]


@dataclass(frozen=True, kw_only=True)
class MultilingualWordsParams(ListParams):
    """The counts of ONERULER's ten common words; the short ones apply up to 8000 tokens."""

    longest_short = 8000

    short_freq_cw: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.num_cw == 10, "num_cw must be 10: the published prompts ask for ten words")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the sources of the words and of the prompts."""
        if text.words is None:  # English words come with the wonderwords package
            return instruction.prompts
        return (text.words, *instruction.prompts)

    right_answers = staticmethod(between_tags)


def example_words(num_cw: int, max_length: int) -> int:
    """Return how many different words the solved example has: 40, below 4096 tokens 20.

    If the common words would leave no place for others, there are twice as many as common ones.
    """
    usual = 20 if CommonParams.is_short(max_length) else 40
    return usual if num_cw < usual else 2 * num_cw


# ---- Wording -----------------------------------------------------------------------------------

TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 120,
    "input": (
        "Below is a numbered list of words. In these words, some appear more often than others. "
        "Memorize the ones that appear most often.\n{context}\nQuestion: {question}"
    ),
    "question": "What are the {n} most common words in the above list?",
    "prefix": " Answer: The top {n} words that appear most often in the list are:",
}

# The prompts of ONERULER are published files, one per language. Ten words in Tamil, which needs the
# most tokens, take about 190 tokens of cl100k_base; the limit leaves space for a sentence.
MULTILINGUAL_TEMPLATES: dict[str, Any] = {"max_new_tokens": 512}


# ---- Rows --------------------------------------------------------------------------------------


MIN_ITEM_TOKENS = 3  # of one item, " 17. word"
_ITEM_TOKENS = 6  # about

P = TypeVar("P", bound=ListParams)


class NumberedWords(Task[P]):
    """A list task; subclasses bring the words and the frame."""

    words: CountedTexts
    """The words a list is made of, counted with the space before each."""
    safe: np.ndarray
    """The places in `words` of the words that are not part of another word."""
    unfit: frozenset[int] = frozenset()
    """Those of these places whose words occur in the text around the list."""
    further: Sequence[str] = ()
    """The words at the end that are taken only when the others have run out."""
    extra_words: int = 0
    """How many words are drawn besides the common ones, for solved examples."""
    words_file: str = "The list of words"
    """What an error calls the list of words."""

    def prepare(self) -> None:
        """Count the numbers of the list; subclasses bring the words."""
        self.times = self.params.counts(self.key.max_length)
        min_items = self.params.num_cw * sum(self.times)  # in the control
        self._labels = self.counted_sources.labels(
            self.key.max_length // MIN_ITEM_TOKENS + 1000 + min_items
        )
        # Tokens of the first n numbers, each with the space before it
        self._label_tokens = np.cumsum([0, *self._labels.tokens])

    @abstractmethod
    def frame(self, draws: Draws, extra: np.ndarray) -> Frame:
        """Return the text around the list; `extra` are words that it may use.

        The list's first number, or the space before it, begins where `head` ends.
        """

    def row(self, index: int) -> NewRow:
        """Make row `index`: the same common words at every length."""
        draws, num = self.key.question_draws(index), self.params.num_cw
        picked = self._picked(draws)
        common = picked[:num]
        uncommon = self._uncommon(index, picked)
        frame = self.frame(draws, picked[num:])
        lead = " " if frame.head.endswith(" ") else ""  # the first number's, then
        before, after = frame.head.removesuffix(" "), frame.tail + frame.prefix
        first = 0 if lead else self.counter.count("1.") - self.counter.count(" 1.")
        tokens = self._tokens(common, uncommon, first)

        def draft(units: int, context: str) -> PromptBuilder:
            prompt = PromptBuilder(self.counter).add(before)
            prompt.context_start = prompt.length + len(lead)
            prompt.add(lead + context, tokens(units))
            prompt.context_end = prompt.length
            return prompt.add(after)

        def text(units: int) -> str:
            items = self.repeated(common, uncommon[:units], self.times)
            return self.listed(self.key.filling_draws(index, "order"), items)

        def step(units: int, more_tokens: int) -> int:
            return units + more_tokens // (_ITEM_TOKENS * self.times.uncommon)

        min_units = num if self.is_control else 0  # as many other words as common ones
        fitted = self.fit_counted(draft, "1. word", text, step, len(uncommon), min_units)
        outputs = self.words.texts[common].tolist()
        return self.new_row(index, fitted.draft, frame, outputs, fitted.next_unit_tokens)

    def references(self, index: int) -> list[str]:
        """Return the common words."""
        picked = self._picked(self.key.question_draws(index))[: self.params.num_cw]
        common: list[str] = self.words.texts[picked].tolist()
        return common

    def _picked(self, draws: Draws) -> np.ndarray:
        """Return the common words, and those for an example.

        None is part of another word or `unfit`.
        """
        safe, unfit, count = self.safe, self.unfit, self.params.num_cw + self.extra_words
        if len(safe) < count:
            raise RulerError(
                f"{self.words_file} has {len(safe)} words that are not part of another word: "
                f"{count} are needed."
            )
        picked: np.ndarray = safe[draws.distinct(len(safe), count)]
        if unfit.isdisjoint(picked.tolist()):
            return picked
        more = safe[draws.distinct(len(safe), count + len(unfit))]  # enough without those
        fit: np.ndarray = more[[place not in unfit for place in more.tolist()]]
        return fit[:count]

    def _uncommon(self, index: int, picked: np.ndarray) -> np.ndarray:
        """Return the other words in random order; none that has a common word in it."""
        draws, further = self.key.filling_draws(index, "words"), self.further
        vocabulary = len(self.words.texts) - len(further)
        near, far = all_but(vocabulary, picked), np.arange(0)
        if further:
            common = self.words.texts[picked[: self.params.num_cw]]
            far = np.flatnonzero(~corpora.words_with(further, common.tolist())) + vocabulary
        return np.concatenate([draws.shuffled(near), draws.shuffled(far)])

    def _tokens(self, common: np.ndarray, uncommon: np.ndarray, first: int) -> Callable[[int], int]:
        """Return a function: the tokens of a list with n uncommon words, whatever its order."""
        of_word, of_label = self.words.tokens, self._label_tokens
        fixed = self.times.common * int(of_word[common].sum()) + first
        sums = self.times.uncommon * np.cumsum(np.concatenate([[0], of_word[uncommon]]))
        items = self.times.common * len(common)
        return lambda n: fixed + int(sums[n]) + int(of_label[items + n * self.times.uncommon])

    def repeated(self, common: np.ndarray, uncommon: np.ndarray, times: ListCounts) -> np.ndarray:
        """Return every word as often as it appears."""
        return np.concatenate([common.repeat(times.common), uncommon.repeat(times.uncommon)])

    def listed(self, draws: Draws, items: np.ndarray) -> str:
        """Return the numbered list, in random order."""
        return self.numbered(draws.shuffled(items))

    def numbered(self, items: np.ndarray) -> str:
        """Return the numbered list, in this order."""
        parts = np.empty(2 * len(items), dtype=object)
        parts[0::2] = self._labels.texts[: len(items)]
        parts[1::2] = self.words.texts[items]
        return "".join(parts.tolist())[1:]


_LONG = 131072  # tokens; above it wonderwords' words do not suffice


class CommonWords(NumberedWords[CommonParams]):
    """One cwe task of RULER for one window."""

    cost = 3

    def prepare(self) -> None:
        """Take the words of wonderwords and, beyond 128k, the most frequent other words."""
        vocabulary = corpora.vocabulary()
        if self.key.max_length > _LONG:
            self.further = corpora.extension()[: self.key.max_length // MIN_ITEM_TOKENS]
        self.words = self.counted_sources.counted([*vocabulary, *self.further], before=" ")
        self.safe = corpora.maximal_places()
        wording = "\n".join(self.templates[part] for part in ("input", "question", "prefix"))
        wording = wording.casefold()
        self.unfit = frozenset(
            place for place in self.safe.tolist() if vocabulary[place].casefold() in wording
        )
        # The same words are drawn for the solved examples at every length.
        num_cw = self.params.num_cw
        self._max_example_words = max(example_words(num_cw, 0), example_words(num_cw, _LONG))
        self.extra_words = self.params.examples * self._max_example_words
        super().prepare()

    def frame(self, draws: Draws, extra: np.ndarray) -> Frame:
        """Return the solved example, then the instruction; the list's own question after it."""
        frame = fill_templates(self.templates, n=self.params.num_cw)
        each = self._max_example_words
        drawn = [extra[i * each : (i + 1) * each] for i in range(self.params.examples)]
        examples = "".join(self._example(draws, words, frame) for words in drawn)
        return frame._replace(head=examples + frame.head)

    def _example(self, draws: Draws, extra: np.ndarray, frame: Frame) -> str:
        """Return a solved list of 40 new words (20 below 4,096 tokens), some of them common."""
        num, times = self.params.num_cw, ListCounts(10, 3)
        count = example_words(num, self.key.max_length)
        if self.params.is_short(self.key.max_length):
            times = ListCounts(3, 1)
        listed = self.listed(draws, self.repeated(extra[:num], extra[num:count], times))
        lead = "" if self.params.layout == "2024" else " "
        return f"{frame.head}{listed}{frame.tail}{frame.prefix}{lead}{self.numbered(extra[:num])}\n"


class MultilingualWords(NumberedWords[MultilingualWordsParams]):
    """cwe_easy or cwe_hard of ONERULER for one window."""

    def prepare(self) -> None:
        """Read the language of the words, which is also that of the prompt."""
        language = self.counted_sources.language(self.key.language)
        self.languages = (language,)
        self.words_file = language.quoted_name("words")
        self.words, self.safe = self.counted_sources.dictionary(self.key.language)
        self._frame = list_frame(language.cwe)
        self.prompt_end = self._frame.tail
        super().prepare()

    def frame(self, draws: Draws, extra: np.ndarray) -> Frame:
        """Return the published prompt around the list."""
        return self._frame


def list_frame(template: str) -> Frame:
    """Split a prompt around its list; the question is in the first pair of tags after the list."""
    head, _, tail = template.partition(CONTEXT)
    tagged = re.search(r"<([^<>/]+)>(.*?)</\1>", tail, re.DOTALL)
    return Frame(head, tail, "", tagged[2].strip() if tagged else "")
