"""Sentence starts in a long text, by sentencex.

sentencex keeps quoted text together, so one unbalanced quotation mark in a long text without line
breaks would make a sentence of many pages. The text is therefore read through a window that moves
on by whole sentences, and a window that is one sentence is read again without its quotation marks.
"""

from __future__ import annotations

_WINDOW = 1500  # characters; longer than nearly every sentence
_QUOTES = str.maketrans(dict.fromkeys("\"'“”„«»‘’()[]", "-"))


def sentence_starts(text: str, language: str) -> list[int]:
    """Character offsets at which sentences start, ascending; the first is 0."""
    starts = [0]
    at = 0
    while at + _WINDOW < len(text):
        window = text[at : at + _WINDOW]
        inner = _inner_starts(window, language) or _inner_starts(
            window.translate(_QUOTES), language
        )
        if inner:
            starts += [at + offset for offset in inner]
            at += inner[-1]
        else:
            at += _WINDOW // 2
    starts += [at + offset for offset in _inner_starts(text[at:], language)]
    return starts


def _inner_starts(window: str, language: str) -> list[int]:
    from sentencex import get_sentence_boundaries

    found = get_sentence_boundaries(language, window)
    return [bound["start_index"] for bound in found if bound["start_index"] > 0]
