"""The borders of sentences, as data: a needle's place does not depend on a library's rules.

    text = folded(polish.book())                        # white space folded
    starts = read_borders("book-pl", "canonical", text)
    next(sliced(text, starts))                          # the first sentence

borders/ has a file for each text that is split into sentences and is pinned by its digest: the 26
books, the essays, and the texts of this project. builder/pin_texts.py writes them. A file is
compressed by zlib (RFC 1950) and has two lines: the sha256 of the folded text in UTF-8, and for
each sentence the number of characters from the start of the one before it, or of the text.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import accumulate, chain, pairwise

from ruler_common.errors import RulerError
from ruler_common.manifest import Variant

WHITE_SPACE = "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The white space of Unicode 16 and Python, as a range of a regular expression."""
_RUN = re.compile(f"[{WHITE_SPACE}]+")


def folded(text: str) -> str:
    """Return a text with every run of white space replaced by a space, and none at its ends."""
    return _RUN.sub(" ", text).strip(" ")


def sliced(text: str, starts: Iterable[int]) -> Iterator[str]:
    """Yield the sentences of a folded text, given the offsets at which they start."""
    for start, end in pairwise(chain(starts, [len(text)])):
        yield text[start:end].strip(" ")


def border_file(source: str, variant: Variant) -> str:
    """Return the name of the file with the borders of a source."""
    return f"{source}.{variant}.z"


def packed_borders(text: str, starts: Iterable[int]) -> bytes:
    """Return the file of a folded text's borders."""
    steps = [end - start for start, end in pairwise(chain([0], starts))]
    return zlib.compress(f"{_digest(text)}\n{' '.join(map(str, steps))}\n".encode(), 9)


def read_borders(source: str, variant: Variant, text: str) -> list[int]:
    """Return the offsets at which the sentences of a source's folded text start.

    Raises RulerError if they are missing or damaged, or were made for another text.
    """
    name = border_file(source, variant)
    packed = files("ruler_builder.text") / "borders" / name
    if not packed.is_file():
        raise RulerError(
            f"The sentence borders of '{source}' are missing (borders/{name}): install this "
            "package again. After adding a text, run builder/pin_texts.py."
        )
    try:
        digest, steps = zlib.decompress(packed.read_bytes()).decode("ascii").splitlines()
        starts = list(accumulate(map(int, steps.split(" "))))
    except (zlib.error, ValueError) as error:
        raise RulerError(
            f"The sentence borders of '{source}' are damaged (borders/{name}: {error}): install "
            "this package again."
        ) from error
    if digest != _digest(text):
        raise RulerError(
            f"The sentence borders of '{source}' were made for a text with sha256 {digest}, and "
            f"its text has sha256 {_digest(text)}: install this package again. After changing a "
            "text or its errata, run builder/pin_texts.py."
        )
    return starts


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
