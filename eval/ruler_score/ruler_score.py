"""Every scoring rule of RULER and ONERULER, each one pure function; and the `evaluate` metric.

RULER (arXiv:2404.06654, section 4) asks whether the references stand in the prediction; ONERULER
(arXiv:2503.01996, section 3) whether the answer is exactly what was asked for. One row:

    score_row("The number is 1234567.", ["1234567"], "niah_single_1").score            # 1.0
    score_row("<odpowiedź>brak</odpowiedź>", ["brak"], "niah_none", "pl").score        # 1.0

Scores of rows are 0 … 1, those of the metric 0 … 100. The metric's class exists where `evaluate` is
imported first, as `evaluate.load` does; the rules alone load in milliseconds.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .language_rules import LANGUAGES, LanguageRules

SCORE_VERSION = "1.4.0"
"""Changes with everything that can move a score."""

QA_TASKS = ("qa_1", "qa_2")
RULER_TASKS = (
    *(f"niah_{kind}_{i}" for kind in ("single", "multikey") for i in (1, 2, 3)),
    *("niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe", *QA_TASKS),
)
ONERULER_TASKS = (
    *(f"niah_{kind}" for kind in ("single", "multikey", "multivalue", "multiquery", "none")),
    *("cwe_easy", "cwe_hard", "niah_single_nonone"),
)

ANSWER_TAGS = {language: rules.tags[0] for language, rules in LANGUAGES.items()}
"""The tag each language asks the answer to stand in (its `answer_numbers`)."""
NONE_WORDS = {language: rules.none for language, rules in LANGUAGES.items()}
"""What the prompts ask for when there is no answer, and variants of it that are accepted."""
Language = str | LanguageRules
"""A language: one of the 26 by its ISO 639-1 code, any other by its rules (`read_rules`)."""
AUTHORS_NONE_WORDS = {**NONE_WORDS, "fa": ("هیچ کدام",), "sr": ("nema",)}
"""The variants that the authors' script accepts."""

_CONTROL = re.compile(r"[\x00-\x1f]")
_FORMAT = re.compile("[\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_ARABIC_TO_PERSIAN = (("ك", "ک"), ("ي", "ی"), ("ى", "ی"))
_APOSTROPHES = str.maketrans("‘’ʼ", "'''")
_GROUPED = re.compile(  # 1,234,567 and, as in India, 12,34,567
    r"(?<!\d)(?<!\d[.,٬])\d{1,3}([ ,.'٬])\d{3}(?:\1\d{3})+(?!\d)"
    r"|(?<!\d)(?<!\d[.,])\d{1,2}(?:,\d\d)+,\d{3}(?!,?\d)"
)
_NUMBER = re.compile(r"\d{2,}")
_MAY_BE_GROUPED = re.compile(r"\d[ ,.'٬]\d\d")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARKS = "\u0300-\u036f\u0900-\u0963\u0b80-\u0bcf"  # vowel signs and accents are parts of words
_BEFORE, _AFTER = rf"(?<![^\W_])(?<![{_MARKS}])", rf"(?![^\W_]|[{_MARKS}])"
_WORDS = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+")
_PAIR = re.compile(r"<\s*([^\W\d_][^<>/\n]{0,40}?)\s*>([^<>]*)</\s*\1\s*>")
_ENGLISH_LEAD_IN, _MOST_LEAD_IN, _WORD_BEGINS = ("answer", "final"), 60, re.compile(r"\w")
_NUMBERED = re.compile(r"(?:^|\s)\d{1,3}\s*[.):]\s*(.+?)(?=\s+\d{1,3}\s*[.):]\s|[\n,;]|$)")
_COUNT = re.compile(r"\(\s*[x×]?\s*\d{1,9}[^()\d]{0,20}\)")  # apple (30 times)
_MAY_BE_NUMBERED = re.compile(r"\d\s*[.):]")
_NEW_LINE, _SPACES = re.compile(r"\n\s*"), re.compile(r"[^\S\n](?:[^\S\n]+|(?<! ))")
_DOTS = re.compile(r"\W*(?:\.{3,}|…)\W*")
_LEADING = re.compile(r"^(?:\d{1,3}\s*[.)]|and|&)\s+")
_AROUND = " *_`\"'“”.-()[]"
_SEPARATOR, _OR_SLASH = re.compile("[\n,;|、，،؛·•]"), re.compile(r"[\n,;|、，،؛·•]|\s/\s")


ReasoningState = Literal["none", "ended", "truncated"]


class TextScore(NamedTuple):
    """What a text scores; `score` and `strict` are 0 … 1.

    `reasoning` says whether the text holds reasoning and whether that ended; `found` counts the
    references that stand in the answer.
    """

    score: float
    strict: float
    reasoning: ReasoningState
    found: int


# ---- Reasoning -------------------------------------------------------------------------------


class SplitText(NamedTuple):
    """A model's text as reasoning and answer; without any reasoning it is None, `state` "none"."""

    reasoning: str | None
    answer: str
    state: ReasoningState


_XML = (
    *("think", "thinking", "thought", "seed:think"),  # DeepSeek and Qwen, Claude, EXAONE, Seed-OSS
    *("reasoning", "reason"),  # fine-tuned models; both are in Open WebUI's list of marks
    *("scratchpad", "reflection"),  # Hermes 3 and Reflection-Llama-3.1, by their system prompts
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
"""What models mark reasoning with in their chat templates or system prompts, in any case."""
CHANNEL_TAGS = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>")
"""The marks of gpt-oss's channels."""
REASONING_TAGS = (*(mark for pair in _PAIRS.values() for mark in pair), "<|channel>", *CHANNEL_TAGS)
"""The marks of reasoning, as tokenizers hold them."""
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
    r"""Set the reasoning in a model's text apart from its answer, in time linear in the text.

    Reasoning is what stands between an opening tag and the next closing one of its family (of any
    family if its own closes nowhere); what stands before a closing tag that nothing opened (the
    prompt did); and, in a text that was truncated, what follows an opening tag that nothing closes.
    The rest is the answer. `opened` is the tag with which the prompt ended, see `opened_reasoning`.

        split_reasoning("<think>so it is 42</think>\n42")    # ("so it is 42", "42", "ended")
        split_reasoning("<think>so it is")                    # ("so it is", "", "truncated")
    """
    text = opened + text
    marked = "<" in text or "[" in text or "◁" in text  # most texts hold none: be quick
    if not marked and not text.startswith("analysis"):
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
            absent.add(family)  # what closes nowhere from here closes nowhere later
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
    """The texts that are not blank, without the marks at which gpt-oss's turns meet."""
    for end in ("<|start|>assistant", "<|end|>", "<|return|>", "<|call|>"):
        texts = [text.strip("\n").removesuffix(end) for text in texts]
    return [text for text in texts if text.strip()]


def opened_reasoning(prompt: str) -> str:
    """The opening tag with which a rendered prompt ends, as DeepSeek-R1's does, or ""."""
    found = _OPENED.search(prompt, max(0, len(prompt) - 200))
    return found[0].strip() if found else ""


# ---- RULER -----------------------------------------------------------------------------------


def postprocess(prediction: str) -> str:
    """Stripped, control characters as newlines, stripped again (the reference code's rule)."""
    return _CONTROL.sub("\n", prediction.strip()).strip()


def string_match_all(prediction: str, references: Sequence[str]) -> float:
    """The share of the references that stand in the prediction, case ignored; all tasks but qa."""
    text = postprocess(prediction).lower()
    return sum(reference.lower() in text for reference in references) / len(references)


def string_match_part(prediction: str, references: Sequence[str]) -> float:
    """1 if any of the references stands in the prediction, case ignored; the qa tasks."""
    text = postprocess(prediction).lower()
    return float(any(reference.lower() in text for reference in references))


def whole_word_match(prediction: str, references: Sequence[str]) -> float:
    """1 if any of the references stands there as words of its own: "no" is not in "not"."""
    text = normalize(prediction)
    return float(any(_stands(text, normalize(reference).strip()) for reference in references))


def nothing_else(prediction: str, references: Sequence[str], task: str) -> bool:
    """Whether no other item of the kind asked for stands beside the references (`strict`).

    Kinds are known by the references: numbers (of two digits or more), UUIDs, variable names of
    capitals; for cwe and fwe the items of the list. Other kinds have no closed list: always true.
    """
    wanted = {*map(normalize, references)}
    if all(map(str.isdecimal, references)):
        return numbers(normalize(prediction)) <= wanted
    if all(_UUID.fullmatch(reference) for reference in wanted):
        return set(_UUID.findall(normalize(prediction))) <= wanted
    if task == "vt":
        size = max(map(len, references))
        names = re.findall(rf"\b[A-Z]{{{size}}}\b", prediction)
        return {normalize(name) for name in names} <= wanted
    if task in ("cwe", "fwe"):
        return set(listed_items(prediction)) <= wanted
    return True


# ---- Languages -------------------------------------------------------------------------------


def rules_for(language: Language) -> LanguageRules:
    """The rules of a language; KeyError for a code that is none of the 26."""
    return LANGUAGES[language] if isinstance(language, str) else language


def read_rules(table: Mapping[str, Any]) -> LanguageRules:
    """The rules in a table of a language: its TOML file, or its `facts` in a release's manifest.

    Raises ValueError for a table of another form.
    """
    try:
        none, cwe = table["none"], table["cwe"]
        found = LanguageRules(
            tags=tuple(table["answer_tags"]),
            conjunctions=tuple(table["and"]),
            none=tuple(none["published"]),
            none_alone=tuple(none["inflected"]),
            none_phrases=tuple(dict.fromkeys((*none["prompt"], *none["usual"]))),
            lead_in=" ".join(cwe["lead_in"]),
            counts=" ".join(cwe["counts"]),
            touching=bool(table.get("touching", False)),
            fold=tuple((ord(letter), str(folded)) for letter, folded in table.get("fold", ())),
            not_after=tuple(none.get("not_after", ())),
            may_follow=str(none.get("may_follow", "")),
            may_end_before=tuple(none.get("may_end_before", ())),
            may_begin=str(none.get("may_begin", "")),
        )
        hash(found)  # lists of words, no lists in lists
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"this is no table of a language: {error!r}.") from None
    if any(phrase.count("…") > 2 for phrase in found.none_phrases):
        raise ValueError("a phrase that says none has more than two ….")
    return found


# ---- Text in any language --------------------------------------------------------------------


def normalize(text: str, language: Language | None = None) -> str:
    """NFKC, case folded, no zero-width characters, digits as 0 … 9, apostrophes as '.

    Some languages fold letters in a way of their own, as Turkish I to ı; none of the 26 does.
    """
    folds = rules_for(language).fold if language else ()
    if text.isascii() and not folds:
        return text.casefold()
    text = unicodedata.normalize("NFKC", _FORMAT.sub("", text)).translate(_APOSTROPHES)
    text = unicodedata.normalize("NFKC", text.translate(dict(folds)).casefold())
    for arabic, persian in _ARABIC_TO_PERSIAN:
        text = text.replace(arabic, persian)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


@functools.lru_cache(maxsize=8)
def numbers(text: str) -> frozenset[str]:
    """The numbers of two digits or more in a normalized text; 1,234,567 is 1234567."""
    if _MAY_BE_GROUPED.search(text):  # most texts have none: be quick
        text = _GROUPED.sub(lambda number: re.sub(r"\D", "", number[0]), text)
    return frozenset(_NUMBER.findall(text))


def listed_items(text: str) -> list[str]:
    """The items of a list, normalized: numbered, or set apart by commas or lines, else by spaces.

    Bullets, quotes, counts such as "(30 times)" and a lead-in that ends with a colon are dropped;
    `...` stays.
    """
    text = _NEW_LINE.sub("\n", _SPACES.sub(" ", _COUNT.sub("", normalize(text))))
    items = _NUMBERED.findall(text) if _MAY_BE_NUMBERED.search(text) else []
    if len(items) < 2:
        separator = _OR_SLASH if "/" in text else _SEPARATOR  # the second finds the same, sooner
        items = [item for item in separator.split(text) if item.strip()]
    if len(items) == 1:
        items = items[0].rpartition(":")[2].split()
    cleaned = []
    for item in items:
        words = item.rpartition(":")[2].strip()
        if words.isalpha() and not words.startswith("and"):  # as most are: be quick
            cleaned.append(words)
            continue
        if not words.isalnum():
            if _DOTS.fullmatch(words):
                cleaned.append("...")
                continue
            words = words.strip(_AROUND)
        if words[:1].isdecimal() or words.startswith(("and", "&")):
            words = _LEADING.sub("", words).strip(_AROUND)
        cleaned.append(words)
    return [item for item in cleaned if item and item not in ("and", "&")]


def says_none(text: str, language: Language, none_word: str | None = None) -> bool:
    """Whether the language's none word (or `none_word`) stands in a normalized text as a word."""
    return bool(_none_pattern(language, none_word or "").search(text))


def denies(text: str, language: Language, none_word: str | None = None) -> bool:
    """Whether a normalized text says that there is no number: the none word or its equals."""
    return says_none(text, language, none_word) or bool(_denial_pattern(language).search(text))


def read_answer(text: str, language: Language) -> str:
    """What stands in the last answer tag pair of a normalized text, else all of it without tags.

    Another tag pair is no answer's: its name is dropped, and what stands around it is read too.
    """
    end = None
    for tag in reversed(list(_tag_pattern(language).finditer(text))):
        if tag[1]:
            end = tag.start()
        elif end is not None:
            return text[tag.end() : end]
    return _PAIR.sub(r" \2 ", _tag_pattern(language).sub(" ", text))


# ---- ONERULER --------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)  # the rules of one row read the same answer
def _answer(prediction: str, language: Language) -> str:
    return read_answer(normalize(prediction, language), language)


def exact_numbers(
    prediction: str, references: Sequence[str], language: Language, none_word: str | None = None
) -> float:
    """1 if the answer's numbers are exactly the references and the none word is not there."""
    answer = _answer(prediction, language)
    wanted = {normalize(reference, language) for reference in references}
    return float(numbers(answer) == wanted and not says_none(answer, language, none_word))


def exact_none(prediction: str, language: Language, none_word: str | None = None) -> float:
    """1 if the answer says none and there is no number of two digits or more."""
    answer = _answer(prediction, language)
    return float(denies(answer, language, none_word) and not numbers(answer))


def common_words(
    prediction: str, references: Sequence[str], language: Language
) -> tuple[int, bool]:
    """How many of the words are in the answer's list (Figure 23), and whether nothing else is.

    Separators, numbering, counts, case and the word for "and" are ignored. Words may hold spaces.
    """
    words = {normalize(reference, language).strip() for reference in references} - {""}
    best = _best_list(_answer(prediction, language), words, language)
    return best.found, best.alone


class _List(NamedTuple):
    """A list as it is read, how many of the words stand in it, and whether nothing else does."""

    text: str
    found: int
    alone: bool


def _best_list(text: str, words: Collection[str], language: Language) -> _List:
    """A normalized answer's list, with or without what looks like a lead-in: which fits better.

    Both are tried, since a word of the list may be a word of the lead-in.
    """
    lists = [_read_list(text, words, language)]
    if end := _lead_in_end(text, language):
        lists.append(_read_list(text[end:], words, language))
    return max(lists, key=lambda one: (one.alone and one.found == len(words), one.found, one.alone))


def _read_list(text: str, words: Collection[str], language: Language) -> _List:
    listed = rest = _list_of_words(text, words, language)
    found = 0
    for word in sorted(words, key=len)[::-1]:
        ends = [0, *(place + len(word) for place in _places(rest, word))]
        found += len(ends) > 1
        starts = [*(end - len(word) for end in ends[1:]), len(rest)]
        rest = "\n".join(rest[end:start] for end, start in zip(ends, starts, strict=True))
    known = {*rules_for(language).conjunctions, "and"}
    return _List(listed, found, {*_WORDS.findall(rest)} <= known)


def _list_of_words(text: str, words: Collection[str], language: Language) -> str:
    """A normalized answer without numbers and counts; lines end at "and"s that touch words."""
    rules = rules_for(language)

    def kept(count: re.Match[str]) -> str:
        return count[0] if any(_stands(count[0], word) for word in words) else " "

    text = _COUNT.sub(kept, text)
    if not re.search(r"\d", "".join(words)):
        text = _count_pattern(language).sub(kept, text)
        text = re.sub(r"\d+", " ", text)  # ① touches its word
    text = re.sub(r"[ \t]+", " ", text)
    if not rules.touching:
        return text
    either, between = (
        "|".join(map(re.escape, sorted(items, key=len)[::-1]))
        for items in (words, rules.conjunctions)
    )
    joined = rf"({_BEFORE}(?:{either}))(?:{between})(?=\s?(?:{either})(?:{_AFTER}|{between}))"
    for _ in words:  # the word after an "and" begins a line in the next round
        text = re.sub(joined, r"\1\n", text)
    return text


def exact_words(prediction: str, references: Sequence[str], language: Language) -> float:
    """1 if the listed words are exactly the references."""
    found, alone = common_words(prediction, references, language)
    return float(alone and found == len({normalize(word, language) for word in references}))


# ---- ONERULER as its authors scored it --------------------------------------------------------


def authors_answer(prediction: str, model: str = "") -> str:
    """The text their script reads: all of it, reasoning included.

    Of a model named deepseek it reads the first `<Answer>…</Answer>` on one line, tags included,
    where there is one.
    """
    match = re.search(r"<Answer>.*?</Answer>", prediction) if "deepseek" in model else None
    return match[0] if match else prediction


def authors_numbers(answer: str, references: Sequence[str], language: Language) -> float:
    """Numbers as a set, same count; any none word as a bare substring, even in a word, fails."""
    text = unicodedata.normalize("NFKC", answer)
    if any(word in text or _squeeze(word) in text for word in _authors_none_words(language)):
        return 0.0
    found = dict.fromkeys(number for number in re.findall(r"\d+", text) if len(number) > 1)
    try:
        wanted, given = [int(item) for item in references], {int(number) for number in found}
    except ValueError:  # a reference that is no number, a number of thousands of digits
        return 0.0
    return float(len(found) == len(wanted) and given == set(wanted))


def authors_none(answer: str, language: Language) -> float:
    """A none word as a bare substring is right, whatever numbers stand beside it."""
    text = _squeeze(unicodedata.normalize("NFKC", answer))
    return float(any(_squeeze(word) in text for word in _authors_none_words(language)))


def _authors_none_words(language: Language) -> tuple[str, ...]:
    """What their script accepts; in a language that it does not know, what the prompt asks for."""
    return AUTHORS_NONE_WORDS[language] if isinstance(language, str) else language.none


def authors_words(answer: str, references: Sequence[str]) -> float:
    """Every word as a bare substring, whatever else was listed."""
    text = answer.strip().lower()
    return float(all(reference.strip().lower() in text for reference in references))


def authors_leave_out(prediction: str | None, finish_reason: str | None, model: str = "") -> bool:
    """Whether a row leaves their denominator: nothing came back, or o3 used up its tokens."""
    return prediction is None or ("o3-" in model and finish_reason == "length")


# ---- Which references were found -------------------------------------------------------------


def references_found(
    prediction: str, references: Sequence[str], task: str | None, language: Language | None = None
) -> list[bool]:
    """For each reference whether it stands in the prediction, as its benchmark reads it."""
    answer = split_reasoning(prediction).answer
    if not is_oneruler(task, language):
        text = postprocess(answer).lower()
        return [reference.lower() in text for reference in references]
    language = language or "en"
    answer = _answer(answer, language)
    if task == "niah_none":
        return [denies(answer, language, reference) for reference in references]
    words = [normalize(reference, language).strip() for reference in references]
    if str(task).startswith("cwe"):
        text = _best_list(answer, {*words} - {""}, language).text
        return [_stands(text, word) for word in words]
    return [word in numbers(answer) for word in words]


# ---- A row and many rows ---------------------------------------------------------------------


def is_oneruler(task: str | None, language: Language | None) -> bool:
    """Whether a task name means ONERULER's: two names are in both, and there the language tells."""
    return task in ONERULER_TASKS and (task not in RULER_TASKS or language is not None)


def score_row(
    prediction: str,
    references: Sequence[str],
    task: str | None = None,
    language: Language | None = None,
    none_word: str | None = None,
    compat: str | None = None,
    model: str = "",
) -> TextScore:
    """Score one row by the rule of its task; without a task, RULER's `string_match_all`.

    `language` is that of the instruction; it marks a row of ONERULER. `model` is for `compat`: the
    authors read the answers of deepseek otherwise. Raises ValueError for an unknown task, language
    or `compat`, and for a row without references.
    """
    _check_row(task, language, compat)
    if not len(references):  # they may be an array
        raise ValueError("A row without references cannot be scored.")
    _, answer, reasoning = split_reasoning(prediction)
    if not is_oneruler(task, language):
        return _score_ruler(answer, references, task or "", reasoning)
    language = language or "en"
    whole = authors_answer(prediction, model)
    if str(task).startswith("cwe"):
        found = common_words(answer, references, language)[0]
        strict = exact_words(answer, references, language)
        authors = authors_words(whole, references) if compat else strict
    elif task == "niah_none":
        none_word = none_word or references[0]
        found = int(says_none(_answer(answer, language), language, none_word))
        strict = exact_none(answer, language, none_word)
        authors = authors_none(whole, language) if compat else strict
    else:
        wanted = {normalize(reference, language) for reference in references}
        found = len(wanted & numbers(_answer(answer, language)))
        strict = exact_numbers(answer, references, language, none_word)
        authors = authors_numbers(whole, references, language) if compat else strict
    return TextScore(authors, strict, reasoning, found)


def _score_ruler(
    answer: str, references: Sequence[str], task: str, reasoning: ReasoningState
) -> TextScore:
    text = postprocess(answer).lower()
    found = sum([reference.lower() in text for reference in references])
    if task in QA_TASKS:
        score = float(found > 0)  # string_match_part, without reading the answer again
        return TextScore(score, score * whole_word_match(answer, references), reasoning, found)
    score = found / len(references)  # string_match_all, likewise
    strict = score == 1 and nothing_else(answer, references, task)
    return TextScore(score, float(strict), reasoning, found)


def summarize(rows: Sequence[TextScore], tasks: Sequence[str | None]) -> dict[str, Any]:
    """The metric's result for scored rows: means in percent; of tasks, the mean of their scores.

    Where tasks are mixed, `score` and `strict` are the plain mean of the tasks', as in RULER's
    tables, and `per_task` holds each task's own result.
    """
    groups: dict[str | None, list[TextScore]] = {}
    for task, row in zip(tasks, rows, strict=True):
        groups.setdefault(task, []).append(row)
    result: dict[str, Any] = {
        "score": _mean(100 * _mean(row.score for row in group) for group in groups.values()),
        "strict": _mean(100 * _mean(row.strict for row in group) for group in groups.values()),
        "n": len(rows),
        "thinking": sum(row.reasoning != "none" for row in rows),
        "thinking_cut": sum(row.reasoning == "truncated" for row in rows),
    }
    if groups and set(groups) <= set(QA_TASKS):
        result["whole_word"] = result["strict"]
    if groups and all(str(task).startswith("cwe_") for task in groups):
        result["words_right"] = _mean(row.found for row in rows)
    if len(groups) > 1:
        result["per_task"] = {
            str(task): summarize(group, [task] * len(group)) for task, group in groups.items()
        }
    return result


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


@functools.lru_cache(maxsize=256)
def _check_row(task: str | None, language: Language | None, compat: str | None) -> None:
    _check_names([task], [language], compat)


def _check_names(
    tasks: Iterable[str | None], languages: Iterable[Language | None], compat: str | None
) -> None:
    known = {*RULER_TASKS, *ONERULER_TASKS}
    for task in set(tasks) - known - {None}:
        raise ValueError(f"Unknown task {task!r}; known: {', '.join(sorted(known))}.")
    codes = {language for language in languages if isinstance(language, str)}
    for code in codes - ANSWER_TAGS.keys():
        of = ", ".join(ANSWER_TAGS)
        raise ValueError(f"Unknown language {code!r}; known: {of}; others by language_rules=.")
    if compat not in (None, "authors"):
        raise ValueError(f"Unknown compat {compat!r}; give 'authors' or None.")


def _squeeze(text: str) -> str:
    return text.strip().lower().replace("\u200c", "").replace(" ", "")


def _is_letter(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _places(text: str, words: str) -> Iterable[int]:
    """Where `words` stand in a text and no letter or digit touches them."""
    place = text.find(words) if words else -1
    while place >= 0:
        end = place + len(words)
        before = place > 0 and _is_letter(words[0]) and _is_letter(text[place - 1])
        after = end < len(text) and _is_letter(words[-1]) and _is_letter(text[end])
        if not (touched := before or after):
            yield place
        place = text.find(words, place + 1 if touched else end)


def _stands(text: str, words: str) -> bool:
    return next(iter(_places(text, words)), None) is not None


def _either(texts: Iterable[str], language: Language) -> str:
    """A pattern of any of these texts, normalized, the longest first."""
    words = {normalize(text, language).strip() for text in texts} - {""}
    return "|".join(
        r"\s+".join(map(re.escape, text.split())) for text in sorted(words, key=len)[::-1]
    )


@functools.cache
def _none_pattern(language: Language, none_word: str) -> re.Pattern[str]:
    rules = rules_for(language)
    either = _either((*rules.none, none_word), language)
    before, after = _BEFORE, _AFTER
    if rules.not_after:
        before = "".join(f"(?<!{re.escape(word)})" for word in rules.not_after)
    if rules.may_follow:
        before = f"(?:{_BEFORE}|(?<=[{re.escape(rules.may_follow)}]))"
    if rules.may_end_before:
        after += f"|(?={_either(rules.may_end_before, language)})"
    begins = f"|(?:{either})(?={rules.may_begin})" if rules.may_begin else ""
    return re.compile(f"{before}(?:{either})(?:{after}){begins}")


@functools.cache
def _denial_pattern(language: Language) -> re.Pattern[str]:
    """What says none as the whole answer, or as a phrase in any place."""
    rules = rules_for(language)
    up_to_three = r"(?:[^\W\d]\S{0,40}\s{1,4}){0,3}?"
    phrases = _either((phrase.replace("…", "0") for phrase in rules.none_phrases), language)
    phrases = phrases.replace(r"0\s+", up_to_three)
    before, after = ("(?<![a-z0-9])", "(?![a-z0-9])") if rules.touching else (_BEFORE, _AFTER)
    alone = rf"\A\W*(?:{_either(rules.none_alone, language)})\W*\Z"
    return re.compile(f"{alone}|{before}(?:{phrases}){after}")


@functools.cache
def _lead_in_word(language: Language) -> re.Pattern[str]:
    """A word that may stand before a list, and what follows it up to the next word."""
    rules = rules_for(language)
    known = _either((*rules.lead_in.split(), *rules.tags, *_ENGLISH_LEAD_IN), language)
    after = "" if rules.touching else _AFTER
    return re.compile(rf"(?:{known}){after}[ \t\"'«»„“”*_#()]*")


def _lead_in_end(text: str, language: Language) -> int:
    """Where the list begins, in characters; 0 where nothing stands before it.

    Known words stand before it up to a colon, three of them up to a line's end, or four.
    """
    word, end = _lead_in_word(language), 0
    at, run, comma = _skipped(text, 0), 0, False
    while run < _MOST_LEAD_IN and (match := word.match(text, at)):
        at, run = match.end(), run + 1
        sign = text[at : at + 1]
        if sign == ":" or (sign == "\n" and run >= 3):
            end = at = _skipped(text, at)
            run, comma = 0, False
        elif sign == ",":
            at, comma = _skipped(text, at), True
    return end if run < 4 or comma else at


def _skipped(text: str, at: int) -> int:
    """The next letter, digit or underscore from `at` on."""
    match = _WORD_BEGINS.search(text, at)
    return match.start() if match else len(text)


@functools.cache
def _count_pattern(language: Language) -> re.Pattern[str]:
    """A count beside a word of a list: x30, 30 times, appears 30 times."""
    rules = rules_for(language)
    word = f"(?:{_either((*rules.counts.split(), 'x', '×'), language)})"
    before, after = ("", "") if rules.touching else (_BEFORE, _AFTER)
    in_front = rf"(?:{before}{word}(?:{after}[:\s]{{0,4}}|(?=\d))){{0,4}}"
    behind = rf"(?:\s?{word}{after}){{1,4}}{_AFTER}"
    return re.compile(rf"{in_front}\d{{1,9}}(?:{behind})?")


@functools.cache
def _tag_pattern(language: Language) -> re.Pattern[str]:
    either = _either((*rules_for(language).tags, "answer"), language)
    return re.compile(rf"[<‹]\s*(?:(/)\s*)?(?:{either})\s*[>›]")


# ---- The `evaluate` metric -------------------------------------------------------------------

_DESCRIPTION = """\
The score of RULER (recall of the reference strings) and of ONERULER (exact answers in 26 languages)
for long-context predictions, 0 to 100, with a strict variant beside it.
"""
_KWARGS_DESCRIPTION = """
Args:
    predictions: list of strings, one a row; reasoning (<think>…</think>) is removed and counted.
    references: list of lists of strings, the `outputs` of the rows.
    tasks: the task of every row (one string for all, or a list); None: RULER's string_match_all.
    languages: ISO 639-1 code of each row's instruction; needed for ONERULER, None for RULER.
    none_words: the `none_word` of each row; None: the language's own.
    compat: None, or "authors" for ONERULER's published script, which reads the whole text.
    model: the model's name; with `compat`, deepseek's and o3's answers have rules of their own.
    finish_reasons: why each answer ended; with `compat`, o3's that end with `length` are dropped.
    language_rules: of languages beside the 26, by code: `facts` in the release's manifest.json.
Returns:
    score: the benchmark's rule, 0 … 100 (mean of the tasks' scores where tasks are mixed).
    strict: all references and nothing else of the kind asked for; for qa, as whole words.
    n, thinking, thinking_cut: rows; rows with reasoning; rows that ended within it.
    dropped: with `compat`, rows that the authors' script leaves out of n.
    per_task: the same for each task, where tasks are mixed. whole_word (qa), words_right (cwe_*).
Examples:
    >>> import evaluate
    >>> from ruler_score import ruler_score_path
    >>> metric = evaluate.load(ruler_score_path())
    >>> metric.compute(predictions=["7 is 12345, 67890"], references=[["12345", "67890"]])["score"]
    100.0
    >>> metric.compute(predictions=["not"], references=[["no"]], tasks="qa_2")["strict"]
    0.0
"""
_CITATION = """\
@article{hsieh2024ruler,
  title={RULER: What's the Real Context Size of Your Long-Context Language Models?},
  author={Hsieh, Cheng-Ping and Sun, Simeng and Kriman, Samuel and Acharya, Shantanu and
          Rekesh, Dima and Jia, Fei and Zhang, Yang and Ginsburg, Boris},
  journal={arXiv preprint arXiv:2404.06654}, year={2024}
}
@article{kim2025oneruler,
  title={One ruler to measure them all: Benchmarking multilingual long-context language models},
  author={Kim, Yekyung and Russell, Jenna and Karpinska, Marzena and Iyyer, Mohit},
  journal={arXiv preprint arXiv:2503.01996}, year={2025}
}
"""


def compute(
    predictions: Sequence[str | None],
    references: Sequence[Sequence[str]],
    tasks: str | Sequence[str | None] | None = None,
    languages: Sequence[str | None] | None = None,
    none_words: Sequence[str | None] | None = None,
    compat: str | None = None,
    model: str = "",
    finish_reasons: Sequence[str | None] | None = None,
    language_rules: Mapping[str, Mapping[str, Any]] | None = None,
    **unknown: Any,
) -> dict[str, Any]:
    """What the metric computes; see `_KWARGS_DESCRIPTION`. Raises ValueError for bad input."""
    for name in unknown:
        near = difflib.get_close_matches(name, inspect.signature(compute).parameters, 1)
        meant = f": is it {near[0]}=?" if near else "."
        raise ValueError(f"{name}= is no argument of the metric{meant}")
    check_rows(predictions, references)
    if compat is None and None in predictions:  # the authors leave out what was not answered
        row = list(predictions).index(None)
        raise ValueError(f"predictions[{row}] is None: give '' for an answer that is missing.")
    size = len(predictions)
    given = {
        "tasks": [tasks] * size if isinstance(tasks, str) else tasks,
        "languages": languages, "none_words": none_words, "finish_reasons": finish_reasons,
    }  # fmt: skip
    columns: dict[str, list[str | None]] = {}
    for name, values in given.items():
        if isinstance(values, str):
            raise ValueError(f"{name} is a string; give a list with one item a row.")
        found: list[str | None] = [None] * size if values is None else list(values)
        if len(found) != size:
            raise ValueError(f"{name} has {len(found)} items, predictions {size}: one a row.")
        columns[name] = found
    own = _own_rules(language_rules or {})
    spoken = [own.get(code or "", code) for code in columns.pop("languages")]
    _check_names([tasks] if isinstance(tasks, str) else columns["tasks"], spoken, compat)
    for task, language in set(zip(columns["tasks"], spoken, strict=True)):
        if language is None and is_oneruler(task, None):
            raise ValueError(f"{task} is a task of ONERULER: give languages=, one for each row.")
    rows, kept_tasks = [], []
    for text, wanted, language, task, none_word, ending in zip(
        predictions, references, spoken, *columns.values(), strict=True
    ):
        if compat is None or not authors_leave_out(text, ending, model):
            rows.append(score_row(text or "", wanted, task, language, none_word, compat, model))
            kept_tasks.append(task)
    if not rows:
        warnings.warn("No rows to score: the score is nan.", stacklevel=2)
    result = summarize(rows, kept_tasks)
    return {**result, "dropped": size - len(rows)} if compat else result


def _own_rules(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, LanguageRules]:
    """The rules of languages that the metric does not have; ValueError for one that it has."""
    found = {}
    for code, table in tables.items():
        if code in LANGUAGES:
            raise ValueError(f"language_rules has {code!r}, whose rules the metric has already.")
        try:
            found[code] = read_rules(table)
        except ValueError as error:
            raise ValueError(f"language_rules[{code!r}]: {error}") from None
        if found[code].may_begin:  # a stranger's could take any time
            raise ValueError(f"language_rules[{code!r}] has a regular expression, none.may_begin.")
    return found


def check_rows(predictions: Any, references: Any) -> None:
    """Refuse columns of different lengths and references that are no lists, with a ValueError."""
    for name, values in (("predictions", predictions), ("references", references)):
        if values is None or isinstance(values, str):
            raise ValueError(f"{name} must be a list with one item a row.")
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions, {len(references)} references.")
    for row, (text, wanted) in enumerate(zip(predictions, references, strict=True)):
        if not (text is None or isinstance(text, str)):
            raise ValueError(f"predictions[{row}] is no string but {type(text).__name__}.")
        if isinstance(wanted, str) or not hasattr(wanted, "__len__"):
            raise ValueError(f"references[{row}] must be a list of strings: [['a'], ['b', 'c']].")
        if not len(wanted) or not all(isinstance(reference, str) for reference in wanted):
            raise ValueError(f"references[{row}] must hold one string or more.")


if "evaluate" in sys.modules:  # else nobody can ask for the class, and the rules load at once
    import datasets
    import evaluate

    class RulerScore(evaluate.Metric):
        """The metric as `evaluate.load` finds it."""

        def _info(self) -> evaluate.MetricInfo:
            features = {
                "predictions": datasets.Value("string"),
                "references": datasets.Sequence(datasets.Value("string")),
            }
            return evaluate.MetricInfo(
                description=_DESCRIPTION,
                citation=_CITATION,
                inputs_description=_KWARGS_DESCRIPTION,
                features=datasets.Features(features),
                reference_urls=[
                    "https://arxiv.org/abs/2404.06654",
                    "https://arxiv.org/abs/2503.01996",
                ],
            )

        def add_batch(
            self, *, predictions: Any = None, references: Any = None, **kwargs: Any
        ) -> None:
            """Add rows; a ValueError in one sentence for columns that do not fit."""
            check_rows(predictions, references)
            super().add_batch(predictions=predictions, references=references, **kwargs)

        def _compute(self, *, predictions: Any, references: Any, **kwargs: Any) -> dict[str, Any]:
            return compute(predictions, references, **kwargs)
