"""One answer to one row, as any prediction file holds it."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

FAILED = ("error", "does_not_fit")
"""The finish reasons of rows without an answer (ruler_eval/run/records.py)."""
FINISH_REASONS = {"max_tokens": "length", "model_length": "does_not_fit"}
"""What other tools' finish reasons mean here."""
DIGEST_BYTES = 4


def row_number(value: Any) -> int:
    """Return a row's index, or a number of tokens, as JSON or CSV has it; ValueError otherwise."""
    if type(value) is int and 0 <= value < 10**10:
        return value
    text = str(value).removesuffix(".0")
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise ValueError(f"{str(value)[:40]!r} is not a valid row index")
    return int(text)


def digest(text: str) -> str:
    """Return a short digest of a text: 8 hex digits."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()


def read_references(outputs: Any, printed: bool = False) -> tuple[str, ...] | None:
    """Return references as a tuple of strings; one string is one reference, None is none.

    In a CSV file a list is `printed`: `['a', 'b']`, or `['a' 'b']` as numpy prints one. Raises
    TypeError for anything else.
    """
    if outputs is None:
        return None
    if isinstance(outputs, str):
        if not printed or not outputs.startswith("["):
            return (outputs,)
        strings = re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", outputs)
        return tuple(str(ast.literal_eval(string)) for string in strings)
    is_list = isinstance(outputs, list | tuple)
    if not is_list or any(type(one) not in (str, int) for one in outputs):  # null would be "None"
        raise TypeError(f"the references are {str(outputs)[:40]!r}, not a list of texts")
    return tuple(map(str, outputs))


@dataclass(slots=True)
class Prediction:
    """One answer, whatever file it came from; a field is None if the format has none.

    `sample` numbers the answers to one row of a run with --repeats.

    `outputs` are the references of a self-contained file; `question` only the question and
    `asked` the digest of the whole prompt; `prompt` the prompt itself and `columns` other columns
    of the row, if they were asked for; `thinking_tokens` and `prompt_tokens` the tokens of the
    reasoning and of the prompt, as the model counts them. `asked_row` says that the prompt is the
    release's, `by_line` that its references were found only by the number of its line.
    """

    config: str
    index: int
    text: str
    _: KW_ONLY
    finish_reason: str | None = None
    thinking: str | None = None
    thinking_ended: bool | None = None
    thinking_tokens: int | None = None
    prompt_tokens: int | None = None
    error: str | None = None
    outputs: tuple[str, ...] | None = None
    question: str | None = None
    asked: str | None = None
    prompt: str | None = None
    columns: Mapping[str, Any] | None = None
    where: str = ""
    sample: int = 0
    asked_row: bool = False
    by_line: bool = False

    @property
    def known_prompt(self) -> str | None:
        """The prompt; if only pieces of it are known, each at its offset, and dots between them.

        Such `columns` hold `pieces`, [[offset, text], …] in characters, and `characters`, a size.
        """
        if self.prompt is not None or self.columns is None or "pieces" not in self.columns:
            return self.prompt
        text, end = [], 0
        for start, piece in self.columns["pieces"]:
            text += ["." * (start - end), piece]
            end = start + len(piece)
        return "".join([*text, "." * (self.columns["characters"] - end)])

    @property
    def failed(self) -> bool:
        """Whether there is no answer to score: an error, or a prompt that did not fit."""
        return self.error is not None or self.finish_reason in FAILED
