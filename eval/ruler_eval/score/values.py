"""Read the values in other tools' files: references however they were printed, answers in objects.

    read_references("['1234567', '7654321']", is_free_text=False)   # ("1234567", "7654321")
    read_answers([{"message": {"content": "It is 42."}}])           # [Answer("It is 42.")]

A list of references may have become a text (by str(), JSON, pandas or numpy), and a number another
number (1234567.0). What cannot be read without a guess is refused, because a reference that is not
the right one gives every right answer 0.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

_MAX_SHOWN = 40  # characters of a value in a message

# ---- References --------------------------------------------------------------------------------

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_WRAPPED = re.compile(r"[A-Za-z_][\w.]*\((?P<list>[\[({].*[\])}])(?:,\s*\w+=.*)?\)", re.DOTALL)
"""A type around a printed list: `array([…], dtype=object)`, `dict_values([…])`."""
_NUMPY_ITEM = re.compile(r"(?:np|numpy)\.\w+\(([^()]*)\)")
_LIST = re.compile(r"\[.*\]|\(.*,.*\)|\{.*\}", re.DOTALL)
_QUOTED_LIST = re.compile(r"\s*\[\s*(['\"]).*\1\s*\]\s*", re.DOTALL)
"""A list of texts that became one text."""
_LONG_NUMBER = re.compile(r"[-+]?\d{4,}\.0+")
"""A number or a year that pandas read as a float; shorter ones may be version numbers."""
_WHOLE_NUMBER = re.compile(r"\d{5,}(?:\.0*|,0+)")
"""The same, as numpy and spreadsheets print it."""
_THOUSANDS = re.compile(r"\d{1,3}(?:(?:[,’'_ \u00a0\u202f]\d{3})+|(?:\.\d{3}){2,})")
_ROUNDED = re.compile(r"\d(?:[.,](?P<digits>\d+))?[eE]\+?(?P<exponent>\d+)")
_DIGITS = re.compile(r"\d{4,}(?:\s+\d{4,})+")
_FORMULA = re.compile(r"""="(?P<text>.*)"|'(?P<number>\d+)""")
"""Excel's ways to keep a number as a text."""
_UNSURE = tuple("0123456789='+-")
"""The first characters of references that a spreadsheet may have changed."""
_OTHER_NUMBER = re.compile(r"(?=.*\d{4})(?=.*[^A-Za-z0-9-]).*", re.DOTALL)
"""A text with more than one number or identifier."""
_PRINTED = re.compile(
    r"""[A-Za-z_.]*[\[({<"'‘“`].*[\])}>"'’”`]|.*(?:[\n\t]|\s\.\.\.\s).*|(?:\d+[.)]|[-*•])\s.*""",
    re.DOTALL,
)
"""A text in brackets or quotation marks, of several lines, or with the mark of a list."""
_SEVERAL = re.compile(r".+(?:[/、，؛،；]|\s(?:and|&)\s).+|\S+(?:\s+\S+){3,}|[A-Z]+(?:\s+[A-Z]+)+")
"""A single reference that may be several; a word for "none" has up to three parts."""
_NULLS = ("nan", "NaN", "<NA>")
_NULLS_OF_WORDS = ("None", "null", "NULL", "NA", "N/A")
"""How programs print a value that is missing; a word for "none" is in small letters."""


@lru_cache
def are_free_text(name: str) -> bool:
    """Return whether references of a configuration or task may be any text, as in qa.

    Those of the other tasks are numbers and words.
    """
    return re.match("(?:niah|vt|cwe|fwe)(?:_|$)", name) is None


def read_references(value: Any, is_free_text: bool) -> tuple[str, ...] | None:
    """Return references as a tuple of strings: a single string is one reference.

    Args:
        value: A string, a number, a list of them, the text of such a list, or None.
        is_free_text: Whether a reference may be any text (`are_free_text`); else it is a number or
            a word, and a text with commas is a list.

    Raises TypeError or ValueError, with the reason, for anything else.
    """
    if type(value) is list and all(type(item) is str and item.isalnum() for item in value):
        return tuple(value)  # as most are
    value = _without_nan(value)
    if value is None or (isinstance(value, str) and _is_null(value.strip(), is_free_text)):
        return None
    if isinstance(value, list | tuple):
        while len(value) == 1 and isinstance(value[0], list | tuple):
            value = value[0]
        items: Sequence[Any] = value
        if len(value) == 1 and isinstance(value[0], str) and _QUOTED_LIST.fullmatch(value[0]):
            items = _items_of_text(value[0], is_free_text)
    elif isinstance(value, str):
        items = _items_of_text(value, is_free_text)
    else:
        items = [value]
    references = tuple(_reference(item, value, is_free_text) for item in items)
    if not all(reference.strip() for reference in references):
        raise ValueError(f"a reference of {_shown(value)} is empty, which every answer has in it")
    if len(references) == 1 and not is_free_text and _SEVERAL.fullmatch(references[0]):
        raise ValueError(f"the references are {_shown(value)}: write a list of texts")
    return references


def _is_null(text: str, is_free_text: bool) -> bool:
    return text in ("", *_NULLS) or (not is_free_text and text in _NULLS_OF_WORDS)


def _items_of_text(text: str, is_free_text: bool) -> Sequence[Any]:
    """Return the items of a text that may be a printed list; the text itself if it is not one."""
    stripped = text.strip()
    if stripped.startswith('"[') and stripped.endswith(']"'):  # JSON in JSON
        with suppress(ValueError):
            return _items_of_text(json.loads(stripped), is_free_text)
    while wrapped := _WRAPPED.fullmatch(stripped):
        stripped = wrapped["list"]
    if _LIST.fullmatch(stripped):
        return _items_of_list(stripped)
    if re.search(r"[;|\n]", stripped):
        if is_free_text:
            raise ValueError(
                f"the references are {_shown(text)}, which may be one text or several: write a "
                "list of texts"
            )
        return [part.strip() for part in re.split(r"[;|\n]", stripped) if part.strip()]
    if is_free_text or _THOUSANDS.fullmatch(stripped) or _ROUNDED.fullmatch(stripped):
        return [text]
    if re.search(r"(?<!\d)\d{1,3},\d{3}(?!\d)", stripped):  # 1,234,567, 2,345,678
        numbers = re.split(r",?\s+", stripped)
        if all(_THOUSANDS.fullmatch(number) for number in numbers):
            return numbers
        raise ValueError(f"the references are {_shown(text)}: write a list of texts")
    if "," in stripped:
        return [part.strip() for part in stripped.split(",") if part.strip()]
    return stripped.split() if _DIGITS.fullmatch(stripped) else [text]


def _items_of_list(text: str) -> Sequence[Any]:
    """Return the items of a printed list: of JSON, Python, numpy (without commas) or others."""
    text = _NUMPY_ITEM.sub(r"\1", text)
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, Mapping):
            raise TypeError(f"the references are {_shown(text)}, not a list of texts")
        items = list(value) if isinstance(value, list | tuple | set) else [value]
        # Python joins strings without a comma between them, as numpy prints them
        if not items:
            return []
        if len(items) == len(_QUOTED.findall(text)) or not isinstance(items[0], str):
            return items if len(items) != 1 or not isinstance(items[0], list) else items[0]
    if "..." in _QUOTED.sub("", text):
        raise ValueError(f"the references are {_shown(text)}, of which some are left out")
    if quoted := _QUOTED.findall(text):
        if re.search(r"[^\s,;]", _QUOTED.sub("", text)[1:-1]):  # ['O'Neil']
            raise ValueError(f"the references are {_shown(text)}, not a list of texts")
        return [str(ast.literal_eval(string)) for string in quoted]
    inside = text[1:-1].strip()
    separator = r"\s*[,;]\s*" if re.search("[,;]", inside) else r"\s+"
    return [part for part in re.split(separator, inside) if part]


def _reference(item: object, value: Any, is_free_text: bool) -> str:
    """Return a reference as a text; raise TypeError or ValueError if it is not one."""
    if isinstance(item, float) and item.is_integer():
        item = int(item)
    if type(item) is int:
        return str(item)
    if not isinstance(item, str):
        raise TypeError(f"the references are {_shown(value)}, not a list of texts")
    if not is_free_text:
        return _number_or_word(item.strip(), value)
    if item[:1] not in _UNSURE:
        return item
    if formula := _FORMULA.fullmatch(item):
        item = str(formula["text"] or formula["number"])
    return item.partition(".")[0] if _LONG_NUMBER.fullmatch(item) else item


def _number_or_word(item: str, value: Any) -> str:
    """Return a number without separators, or a word; raise ValueError for any other text."""
    text = item
    if formula := _FORMULA.fullmatch(text):
        text = str(formula["text"] or formula["number"])
    if text[:1] in _UNSURE:
        text = _number(text)
    if _OTHER_NUMBER.fullmatch(text) or _PRINTED.fullmatch(text):
        raise ValueError(
            f"the reference {_shown(item)} is not a number or a word (of {_shown(value)}): write "
            "the references as a list of texts"
        )
    return text


def _number(text: str) -> str:
    """Return a number without separators, if a text is one; other texts unchanged."""
    if _WHOLE_NUMBER.fullmatch(text):
        return re.split("[.,]", text)[0]
    if _THOUSANDS.fullmatch(text):
        return re.sub(r"\D", "", text)
    rounded = _ROUNDED.fullmatch(text)
    if rounded is None:
        return text
    if len(rounded["digits"] or "") < int(rounded["exponent"]):
        raise ValueError(
            f"the reference {_shown(text)} was rounded by a spreadsheet: export the column as text"
        )
    return str(int(float(text.replace(",", "."))))


def _without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _shown(value: Any) -> str:
    return repr(str(value)[:_MAX_SHOWN])


# ---- Answers -----------------------------------------------------------------------------------


class Answer(NamedTuple):
    """The text of an answer, None if the file has a null; and what an object around it says."""

    text: str | None
    finish_reason: str | None = None


_TEXT_KEYS = (
    *("text", "generated_text", "output_text", "content", "response", "answer", "value"),
    "refusal",
)
"""Where an object has its text."""
_INNER_KEYS = (
    "message",
    "choices",
    "candidates",
    "outputs",
    "output",
    "parts",
    "messages",
    "delta",
)
"""Where an object has another one with the text."""
_REASON_KEYS = (
    "finish_reason",
    "finishReason",
    "stop_reason",
    "stopReason",
    "done_reason",
    "stop_type",
)
"""Where an object says why its answer ended."""
_REASON_OBJECTS = ("incomplete_details", "meta_info", "details")
"""Where it has another object that says so."""
_TEXT_PARTS = ("text", "output_text", "refusal", None)
"""The `type` of parts of a message that are its text."""
_OF_API = {
    *("role", "choices", "candidates", "finish_reason", "stop_reason", "reasoning_content"),
    *("generated_text", "output_text", "logprobs", "done_reason"),
}
"""Keys that only an API's object has, and no JSON that a model writes as its answer."""
_ANSWER_ROLES = ("assistant", "model", "BOT", "bot", "gpt", "ai")
"""Roles of turns that are answers, and not part of a prompt."""


def read_answers(value: Any) -> list[Answer]:
    """Return the texts in a value that holds one answer, or several samples of it.

    The value may be a text, a number, a list of samples, or an object of an API: a response, its
    choices, a message or its parts. Raises TypeError if it has no text.
    """
    value = _without_nan(value)
    if isinstance(value, str) and (printed := _printed_object(value)) is not None:
        with suppress(TypeError):  # JSON that a model wrote
            return read_answers(printed)
    if value is None or isinstance(value, str):
        return [Answer(value)]
    if value in ([], ()):
        return [Answer(None)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [Answer(str(int(value)) if float(value).is_integer() else str(value))]
    if isinstance(value, Mapping):
        return _answers_of_object(value)
    if isinstance(value, list | tuple):
        choices = [_choice_of_piece(item) for item in value]
        if all("delta" in choice for choice in choices):  # of one stream
            pieces = [read_answers(choice["delta"] or [])[0].text or "" for choice in choices]
            ends = [reason for reason in map(read_finish_reason, choices) if reason]
            return [Answer("".join(pieces), ends[-1] if ends else None)]
        if not isinstance(value[0], Mapping):
            return [answer for item in value for answer in read_answers(item)]
        return _answers_of_objects(value)
    raise TypeError(_no_text(value))


def _printed_object(text: str) -> Any:
    """Return the object of an API that a text is, as JSON or str() write it; else None."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("{}", "[]") or not any(key in text for key in _OF_API):
        return None
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = parse(stripped)
            items = value if isinstance(value, list) else [value]
            is_of_api = [isinstance(item, Mapping) and item.keys() & _OF_API for item in items]
            return value if items and all(is_of_api) else None
    return None


def _choice_of_piece(piece: Any) -> Mapping[str, Any]:
    """Return the choice in a piece of a streamed answer; the piece itself without choices."""
    if not isinstance(piece, Mapping):
        return {}
    choices = piece.get("choices")
    if "object" in piece and choices in ([], None):  # the last one has only the token counts
        return {"delta": None}
    return choices[0] if isinstance(choices, list) and choices else piece


def _answers_of_object(value: Mapping[str, Any]) -> list[Answer]:
    if _is_thought(value):
        return [Answer("")]
    reason = read_finish_reason(value)
    for key in (*_TEXT_KEYS, *_INNER_KEYS):
        inner = value.get(key)
        if inner is None or inner == []:
            continue
        answers = read_answers(inner)
        if key in ("parts", "content") and isinstance(inner, list | tuple):  # of one message
            answers = [Answer("".join(answer.text or "" for answer in answers))]
        return [answer._replace(finish_reason=answer.finish_reason or reason) for answer in answers]
    if value.keys() & {*_TEXT_KEYS, *_INNER_KEYS}:
        return [Answer(None, reason)]
    raise TypeError(_no_text(value))


def _is_thought(part: Mapping[str, Any]) -> bool:
    """Whether a part is Gemini's or Bedrock's reasoning, which has no `type`."""
    return part.get("thought") is True or part.get("reasoningContent") is not None


def read_finish_reason(value: Mapping[str, Any]) -> str | None:
    """Return why the answer in an object ended; None if the object does not say it.

    It is a text, or an object with a type or a reason: `{"type": "length", "length": 128}`.
    """
    if value.get("stopped_limit") is True:  # llama.cpp's, before it wrote stop_type
        return "length"
    for key in _REASON_KEYS:
        reason = value.get(key)
        if isinstance(reason, Mapping):
            reason = reason.get("type", reason.get("reason"))
        if isinstance(reason, str) and reason:
            return reason
    for key in _REASON_OBJECTS:
        inner = value.get(key)
        if isinstance(inner, Mapping):
            return read_finish_reason({"finish_reason": inner, **inner})
    return None


def _answers_of_objects(value: Sequence[Any]) -> list[Answer]:
    """Return the answers in a list of turns, of a message's parts, of an API's items or choices."""
    items = [item for item in value if isinstance(item, Mapping)]
    roles = [item.get("role", item.get("from")) for item in items]
    if any(roles) and not any("index" in item for item in items):
        turns = [item for item, role in zip(items, roles, strict=True) if role in _ANSWER_ROLES]
        if not turns:
            raise TypeError(f"the turns {_shown(value)} have none of the assistant")
        if roles[-1] in ("user", "human", "HUMAN"):
            raise TypeError(
                f"the turns {_shown(value)} end with one of the user, and not an answer"
            )
        return read_answers(turns[-1].get("content") if "content" in turns[-1] else turns[-1])
    if all("type" in item for item in items):
        parts = [item for item in items if item.get("type") in (*_TEXT_PARTS, "message")]
        if parts:
            texts = [answer.text or "" for part in parts for answer in read_answers(part)]
            return [Answer("".join(texts))]
        if all(item["type"] in ("reasoning", "thinking") for item in items):
            return [Answer(None)]  # the reasoning alone
        raise TypeError(_no_text(value))
    items = [item for item in items if not _is_thought(item)] or items
    return [answer for item in items for answer in read_answers(item)]


def _no_text(value: Any) -> str:
    return (
        f"the prediction is {_shown(value)}, in which no text is found: name the text, such as "
        "--columns prediction=choices.0.text"
    )


def read_prompt(prompt: Any) -> str | None:
    """Return the text of a prompt, which may be a list of turns; a turn may be a list of parts."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Mapping):
        if prompt.get("role") in _ANSWER_ROLES:
            return ""
        return read_prompt(prompt.get("content", prompt.get("prompt", prompt.get("text"))))
    if isinstance(prompt, float):
        return None
    return "".join(read_prompt(part) or "" for part in prompt)
