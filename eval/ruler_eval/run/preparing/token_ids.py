"""The token ids of prompts, by the model's tokenizer or by a faster engine that it checks.

    ids = TokenIds(tokenizer)("…text…", raw=False, row=("vt_4k", 0))

The tokenizer's own library takes half a second for a prompt of 128k, gigatoken (the extra `fast`)
5 ms. Its ids are taken only where they spell the text by the tokenizer's own vocabulary, to the
byte; of each configuration's first row and of one row in a hundred they are compared with the
tokenizer's ids, and at the first difference the engine is not used any more.
"""

from __future__ import annotations

import os
import re
import threading
from functools import cached_property
from importlib.metadata import version
from typing import Any

ENGINE = "gigatoken"
_SAMPLED = 100
_PROBES = (
    "The grass is green.  Here we go\tthere\n\n\nand back again.\r\n 1. VAR ABCDE = 12345 don't ",
    "Zażółć gęślą jaźń; 日本語。한국어 العربية हिन्दी 🙂👩‍👧 8f14e45f-ceea-467f-a1f2-6f2d3c9a1b7e",
)


class TokenIds:
    """Texts to token ids, from any number of threads. `tokenizer` is one of transformers.

    `fast` lets the engine be used, if it is installed.
    """

    def __init__(self, tokenizer: Any, fast: bool = False) -> None:
        # one text a call: the library's own threads take a tenth more, and do nothing
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._library = self._own_library()
        self._engine = _engine(tokenizer) if fast else None
        self._seen: set[str] = set()
        self.problem: str | None = None
        """Why the engine is not used any more, as a sentence."""
        self._spelling = _spelling(tokenizer) if self._engine is not None else {}
        if self._engine is not None and not all(
            self._quick(text, raw) == self.exact(text, raw)
            for text in _PROBES
            for raw in (False, True)
        ):
            self._engine = None

    @property
    def engine(self) -> str | None:
        """The engine in use and its version; None where the tokenizer's library does all."""
        return None if self._engine is None else f"{ENGINE} {version(ENGINE)}"

    def __call__(self, text: str, raw: bool, row: tuple[str, int]) -> list[int]:
        """The ids of a row's prompt; a `raw` text gets the tokenizer's special tokens."""
        quick = self._quick(text, raw)
        if quick is None:
            return self.exact(text, raw)
        config, index = row
        if config in self._seen and index % _SAMPLED:
            return quick
        self._seen.add(config)
        exact = self.exact(text, raw)
        if quick != exact and self._engine is not None:
            self.problem = (
                f"{self.engine} gives other token ids than the tokenizer's own library to row "
                f"{index} of {config}: it is no longer used. Rows of this session before it may "
                "have had other ids than the tokenizer's."
            )
            self._engine = None
        return exact

    def exact(self, text: str, raw: bool) -> list[int]:
        """The ids that the tokenizer's own library gives."""
        if self._library is not None:  # the same without places in the text, which take time
            return list(self._library.encode_batch_fast([text], add_special_tokens=raw)[0].ids)
        with self._lock:
            return list(self._tokenizer(text, add_special_tokens=raw, verbose=False)["input_ids"])

    def _own_library(self) -> Any:
        """The library below a tokenizer, where it gives the ids that the tokenizer gives."""
        library: Any = getattr(self._tokenizer, "backend_tokenizer", None)
        if not hasattr(library, "encode_batch_fast"):
            return None
        for raw in (False, True):  # a call sets the library to neither truncate nor pad
            found = self._tokenizer(list(_PROBES), add_special_tokens=raw, verbose=False)
            own = library.encode_batch_fast([*_PROBES], add_special_tokens=raw)
            if [list(one.ids) for one in own] != [list(one) for one in found["input_ids"]]:
                return None
        return library

    def _quick(self, text: str, raw: bool) -> list[int] | None:
        """The ids by the engine; None where they do not spell the text."""
        engine = self._engine
        if engine is None:
            return None
        try:
            ids: list[int] = engine.encode(text).tolist()
            data = b"".join(map(self._spelling.__getitem__, ids))
        except (KeyError, ValueError, RuntimeError):
            return None
        if data != text.encode("utf-8", "surrogatepass"):
            return None
        if not raw:
            return ids
        before, after = self._special
        return [*before, *ids, *after]

    @cached_property
    def _special(self) -> tuple[list[int], list[int]]:
        """The special tokens before and after a raw text."""
        whole, bare = self.exact("a", True), self.exact("a", False)
        at = next((i for i in range(len(whole)) if whole[i : i + len(bare)] == bare), 0)
        return whole[:at], whole[at + len(bare) :]


def _engine(tokenizer: Any) -> Any:
    """Gigatoken's tokenizer of the same vocabulary; None where it is missing or takes it not."""
    library = getattr(tokenizer, "backend_tokenizer", None)
    if library is None:
        return None
    try:
        import gigatoken

        engine = gigatoken.Tokenizer.from_json(library.to_str())
        return getattr(engine, "backend", engine)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # but not what the library in Rust raises where it stumbles
        return None


def _spelling(tokenizer: Any) -> dict[int, bytes]:
    """The bytes of each token, as byte-level and SentencePiece's vocabularies write them."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    library = tokenizer.backend_tokenizer
    signs = {sign: byte for byte, sign in bytes_to_unicode().items()}
    byte_level = '"ByteLevel"' in library.to_str()
    found = {}
    for token, number in library.get_vocab(with_added_tokens=False).items():
        if byte_level and all(sign in signs for sign in token):
            found[number] = bytes(signs[sign] for sign in token)
        elif match := re.fullmatch("<0x([0-9A-F]{2})>", token):
            found[number] = bytes.fromhex(match[1])
        else:
            found[number] = token.replace("\u2581", " ").encode()
    for number, added in tokenizer.added_tokens_decoder.items():
        found[number] = added.content.encode()
    return found
