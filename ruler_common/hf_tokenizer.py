"""A Hugging Face tokenizer from a folder or the Hub.

    tokenizer = auto_tokenizer("Qwen/Qwen2.5-0.5B-Instruct")

The code that a folder may bring along runs only if that is asked for.
"""

from __future__ import annotations

from typing import Any

from ruler_common.extras import missing
from ruler_common.text import one_line

FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("tokenizer.model", "vocab.json", "merges.txt", "vocab.txt"),
)
"""What makes a tokenizer, in its folder."""


def auto_tokenizer(where: str, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """What transformers' AutoTokenizer loads from a folder or the Hub.

    Raises ValueError, whose text says why it cannot be loaded; RulerError without transformers.
    """
    try:
        from transformers import AutoTokenizer
    except ModuleNotFoundError as error:
        raise missing("tokenizers", "A model's tokenizer") from error
    try:
        # where it is unset, transformers asks on the terminal
        return AutoTokenizer.from_pretrained(
            where, revision=revision, trust_remote_code=trust_remote_code
        )
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # but not what the library in Rust raises where it stumbles
        lines = str(error).strip().splitlines()
        raise ValueError(one_line(lines[0] if lines else type(error).__name__) + ".") from error
