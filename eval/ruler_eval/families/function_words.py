"""The commonest function words of a language: what a model says that counts from memory.

RULER (arXiv:2404.06654, section 5) saw "the", "an", "a" as answers to common words extraction, and
ONERULER (arXiv:2503.01996, Table 1) "the, and, of, to": words of the language, not of the list.
"""

from __future__ import annotations

from functools import cache

from ruler_common.languages import facts


@cache
def frequent(language: str) -> frozenset[str]:
    """The words, in lower case; `language` is ISO 639-1."""
    return frozenset(facts(language).function_words)
