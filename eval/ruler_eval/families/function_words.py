"""The commonest function words of 26 languages: what a model says that counts from memory.

RULER (arXiv:2404.06654, section 5) saw "the", "an", "a" as answers to common words extraction, and
ONERULER (arXiv:2503.01996, Table 1) "the, and, of, to": words of the language, not of the list.
"""

from __future__ import annotations

from ruler_common.languages import facts
from ruler_common.names import LANGUAGES

FREQUENT = {language: frozenset(facts(language).function_words) for language in LANGUAGES}
