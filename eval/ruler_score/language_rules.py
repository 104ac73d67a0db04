"""The words of a language that scoring needs, as a type; language_table.py has those of the 26."""

from __future__ import annotations

from typing import NamedTuple


class LanguageRules(NamedTuple):
    """The words that scoring reads in the answers of a language."""

    tags: tuple[str, ...]
    """The tags that may enclose an answer; the published one is the first."""
    conjunctions: tuple[str, ...]
    """The words for "and"."""
    none: tuple[str, ...]
    """The prompt's word for "none", in each of its spellings."""
    none_forms: tuple[str, ...]
    """Other sentences that only say "none": its inflections, "none of them", "nothing"."""
    negators: tuple[str, ...] = ()
    """The words for "no", which say "none" only as the whole answer."""
    introductions: tuple[str, ...] = ()
    """What may come before the word for "none" in its sentence: "the answer is"."""
    no_numbers: tuple[str, ...] = ()
    """The sentences that say "there are no such numbers", with {} for one of `numbers`."""
    numbers: tuple[str, ...] = ()
    """What the numbers may be called: "such numbers"."""
    places: tuple[str, ...] = ()
    """What may be added to such a sentence: "in the text"."""
    touching: bool = False
    """Whether words are written without spaces, or with endings attached."""
    may_precede: tuple[str, ...] = ()
    """If `touching`: particles that may touch the word after them."""
    may_follow: tuple[str, ...] = ()
    """If `touching`: particles that may touch the word before them, if no letter follows."""
    fold: tuple[tuple[int, str], ...] = ()
    """Equal letters: a code point, and the letter it is replaced by before case folding."""
