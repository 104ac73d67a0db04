"""Find a prompt in the text that came back for it, where every reference is found.

text_after_prompt(text, prompt)        # the answer alone; None without the prompt
has_most_of(text, prompt)              # whether at least half of the prompt is in it
"""

from __future__ import annotations

import re

MIN_PROMPT = 200  # characters; an answer may have the words of a shorter prompt
_MAX_MARKUP = 300  # characters of a chat template between a prompt and its answer prefix
_PIECES, _LETTERS = 8, 60  # pieces of a prompt that are looked for, and their letters
_MARKUP, _BEGINNING = 60, 200  # letters of a chat template, and of the beginning of a text


def text_after_prompt(text: str, prompt: str, prefix: str = "") -> str | None:
    """Return the part of a text after the prompt that it holds; None if it does not hold it.

    White space makes no difference, because a tokenizer may have changed it. The prompt may be in
    a chat template, and `prefix` (the answer prefix) may follow it.
    """
    body = prompt.strip()
    if len(body) < MIN_PROMPT:
        return None
    at = text.find(body)
    if at >= 0:
        rest = text[at + len(body) :]
    else:
        dense, place = "".join(body.split()), "".join(text.split())
        at = place.find(dense)
        if at < 0:
            return None
        rest, remaining = "", at + len(dense)
        for word in re.finditer(r"\S+", text):
            if remaining <= len(word[0]):
                rest = text[word.start() + remaining :]
                break
            remaining -= len(word[0])
    prefix = prefix.strip()
    at = rest.find(prefix)
    return rest[at + len(prefix) :] if prefix and 0 <= at <= _MAX_MARKUP else rest


def has_most_of(text: str, prompt: str) -> bool:
    """Return whether a text has at least half of a prompt, or begins with a part of it.

    Half is measured by pieces spread over the prompt. A prompt that was shortened may be a small
    part. Punctuation, white space and case make no difference.
    """
    dense, place = (re.sub(r"[\W_]+", "", whole.casefold()) for whole in (prompt, text))
    if len(dense) < MIN_PROMPT:
        return False
    beginning = place[_MARKUP : _MARKUP + _BEGINNING]
    if len(beginning) == _BEGINNING and beginning in dense:
        return True
    step = (len(dense) - _LETTERS) / (_PIECES - 1)
    pieces = [dense[int(number * step) :][:_LETTERS] for number in range(_PIECES)]
    return sum(piece in place for piece in pieces) >= _PIECES // 2
