"""Keep keys and passwords out of stored options, log lines and error messages.

    hide_keys("HTTP 401: bad key sk-proj-0123456789abcdef")     # "HTTP 401: bad key ***"

Answers of a model are not changed: a prediction is stored exactly as the model gave it.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ruler_common.errors import RulerError

KEY_VARIABLES = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""The environment variables that hold keys."""
MIN_KEY_LENGTH = 20
"""Characters. A shorter value is a placeholder for a local server (`EMPTY`) and is not hidden."""
SECRET_NAME = re.compile(
    r"(key|token|secret|password|passwd|credentials?|auth|authorization|bearer|cookies?|headers?)$",
    re.IGNORECASE,
)
"""What the name of an argument ends with if its value is a secret."""
TEXT_TOKEN = re.compile(r"(bos|eos|pad|unk|sep|mask)_?token$", re.IGNORECASE)
"""Names of special tokens of a text, which are not secrets."""


def hide_keys(text: str, max_characters: int | None = None) -> str:
    """Return a log line or error message with `***` in place of this process's keys.

    `max_characters` bounds the length after the keys are hidden.
    """
    for key in _keys():
        text = text.replace(key, "***")
    return text[:max_characters]


def _keys() -> list[str]:
    """Return the keys in this process's environment, the longest first."""
    keys = set()
    for name in KEY_VARIABLES:
        key = os.environ.get(name, "").strip()
        if len(key) >= MIN_KEY_LENGTH:
            keys.add(key)
    return sorted(keys, key=len, reverse=True)


def check_key(variable: str) -> None:
    """Raise RulerError if a key has a character that no HTTP header can hold."""
    key = os.environ.get(variable, "")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise RulerError(
            f"{variable} contains a space, a line break or a letter such as é: set it again."
        )


def check_address(url: str) -> None:
    """Raise RulerError if a base URL is malformed or contains a secret, which is not shown."""
    if "@" in url:
        raise RulerError("--base-url contains a user name: put the key into OPENAI_API_KEY.")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # "[::1", or port 99999
        valid = False
    if not valid or re.search(r"[^!-~]|#", url):
        text = "--base-url takes http://HOST:PORT/v1 or https://…, and nothing else."
        if re.fullmatch(r"[\w.-]+:\d+(?:/[\w./-]*)?", url):
            text += f" Did you mean http://{url}?"
        raise RulerError(text)
    for name, _ in parse_qsl(urlsplit(url).query):
        if SECRET_NAME.search(name):
            raise RulerError("--base-url contains a key: put it into OPENAI_API_KEY.")


def check_argument(name: str, value: Any) -> None:
    """Raise RulerError for an argument that run.json cannot or must not store.

    Refused are values that JSON cannot hold, such as NaN, and secrets.
    """
    try:
        text = json.dumps({name: value}, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError):
        raise RulerError(
            f"The value of --engine-arg '{name}' is not a finite number or not valid Unicode: "
            "give another value."
        ) from None
    for inner_name in re.findall(r'"([^"]+)":', text):  # also names within the value
        if SECRET_NAME.search(inner_name) and not TEXT_TOKEN.search(inner_name):
            raise RulerError(
                f"'{inner_name}' looks like a secret, and run.json keeps every argument: "
                "set OPENAI_API_KEY or HF_TOKEN in the environment instead."
            )
    if any(key in text for key in _keys()):
        raise RulerError(
            f"The value of '{name}' contains one of your keys, and run.json keeps every argument: "
            "leave it out."
        )
