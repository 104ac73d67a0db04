"""A chat template from a file, used instead of the tokenizer's own (RULER's Table 6).

    template = ChatTemplate.read("llama2.jinja")
    template.put_into(tokenizer, {"enable_thinking": False})

Such a file is what transformers calls `chat_template.jinja`: a jinja2 template of `messages`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.text import one_line

MOST_BYTES = 1 << 20
_ASKED = "@@asked@@"


@dataclass(frozen=True)
class ChatTemplate:
    """A template's text, and the name of its file."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path | str) -> ChatTemplate:
        """Read a file. Raises RulerError for one that is missing, empty or no text in UTF-8."""
        path = Path(path).expanduser()
        if not path.is_file():
            raise RulerError(
                f"There is no chat template '{path}': name a jinja2 file with --chat-template."
            )
        text = read_text(path, MOST_BYTES)
        if not text.strip():
            raise RulerError(f"The chat template '{path}' is empty: name another file.")
        return cls(path.name, text)

    def facts(self) -> dict[str, str]:
        """The file's name and the sha256 of its text, for run.json."""
        return {"name": self.name, "sha256": hashlib.sha256(self.text.encode()).hexdigest()}

    def put_into(self, tokenizer: Any, arguments: Mapping[str, Any]) -> None:
        """Make it the chat template of a transformers tokenizer, and try it with a user's turn.

        `arguments` are what a template is given beside the messages. Raises RulerError for a
        template that cannot be rendered, or leaves out what the user asks.
        """
        tokenizer.chat_template = self.text
        turns = [{"role": "user", "content": _ASKED}]
        try:
            shown = str(
                tokenizer.apply_chat_template(
                    turns, tokenize=False, add_generation_prompt=True, **arguments
                )
            )
        except Exception as error:  # a template is a program, and a stranger wrote it
            raise RulerError(
                f"The chat template '{self.name}' cannot be used: {one_line(error)}. Mend the file "
                "of --chat-template."
            ) from error
        if _ASKED not in shown:
            raise RulerError(
                f"The chat template '{self.name}' leaves out what the user asks: it has to render "
                "each message's `content`. Mend the file of --chat-template."
            )
