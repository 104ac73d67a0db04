"""An answer to a row, and the row's configuration.

read_name(Names.standard("ruler"), "vt_10000").max_length            # 10000
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import DEFAULT_TOKENIZER, GROUPS, TASKS, Names, languages_of
from ruler_common.text import shortened
from ruler_eval.run.records import FAILED_STATES, Record
from ruler_eval.run.reply_rules import end_of

DIGEST_BYTES = 4


def row_number(value: Any) -> int:
    """Return a row index or a number of tokens from JSON or CSV. Raises ValueError."""
    if type(value) is int and 0 <= value < 10**10:
        return value
    text = str(value).removesuffix(".0")
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise ValueError(f"{str(value)[:40]!r} is not a valid row index")
    return int(text)


@lru_cache
def finish_reason_of(reason: str | None) -> str | None:
    """Return what the finish reason of a run or of another tool means: stop, length, does_not_fit.

    None if there is none, also a printed one: "null". Any other one is returned as it is: it is not
    known whether the answer is complete.
    """
    end = end_of(reason)
    if end is None:
        return None
    return {"stop": "stop", "length": "length", "too_long": "does_not_fit"}.get(end, reason)


def digest(text: str) -> str:
    """Return a short digest of a text: 8 hex digits."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()


@dataclass(slots=True, kw_only=True)
class Prediction:
    """An answer from a file of any format; a field is None if the format does not have it."""

    config: str = field(kw_only=False)
    index: int = field(kw_only=False)
    text: str = field(kw_only=False)
    finish_reason: str | None = None
    thinking: str | None = None
    """The model's reasoning."""
    thinking_ended: bool | None = None
    thinking_tokens: int | None = None
    """The tokens of the reasoning, as the model counts them."""
    prompt_tokens: int | None = None
    """The tokens of the prompt, as the model counts them."""
    error: str | None = None
    seconds: float | None = None
    """How long a server took."""
    outputs: tuple[str, ...] | None = None
    """The references in a self-contained file."""
    question: str | None = None
    """The question at the end of the prompt."""
    prompt_digest: str | None = None
    """The digest of the whole prompt."""
    prompt: str | None = None
    """The whole prompt, if the reader was asked to keep it."""
    columns: Mapping[str, Any] | None = None
    """Other columns of the row, if the reader was asked to keep them."""
    where: str = ""
    """The file and line."""
    sample: int = 0
    """The number of the sample of this row (`--repeats`)."""
    has_prompt_of_row: bool = False
    """Whether the prompt is the one in the release."""
    is_matched_by_line: bool = False
    """Whether only the number of its line links it to its references."""

    @classmethod
    def from_record(cls, record: Record) -> Prediction:
        """Return the answer in a record of `ruler run`."""
        return cls(
            record["config"],
            record["index"],
            record["prediction"],
            finish_reason=record["finish_reason"],
            thinking=record.get("thinking"),
            thinking_ended=record.get("thinking_ended"),
            error=record.get("error"),
        )

    @property
    def known_prompt(self) -> str | None:
        """The prompt; if only pieces of it are stored, those pieces with dots between them.

        `columns` then has `pieces`, [[offset, text], …] in characters, and `characters`, the
        length of the whole prompt.
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
        return self.error is not None or self.finish_reason in FAILED_STATES


MAX_REASON = 120  # characters of the error of a failed row


def state_of(prediction: Prediction | None) -> str:
    """Return how an answer ended: missing, does not fit, failed, truncated or ended."""
    if prediction is None:
        return "missing"
    if prediction.finish_reason == "does_not_fit":
        return "does not fit"
    if prediction.failed:
        return "failed: " + shortened(prediction.error or "no reason given", MAX_REASON)
    return "truncated" if prediction.finish_reason == "length" else "ended"


# ---- Configurations ---------------------------------------------------------------------------

ABLATION = "niah_single_nonone"
"""The task of ONERULER's Figure 14, which belongs to no group."""


@dataclass(frozen=True, kw_only=True)
class ScoredConfig:
    """The configuration of scored rows."""

    dataset: str
    task: str
    length: str
    """A name (`4k`) or a number of tokens (`10000`)."""
    max_length: int
    """Tokens."""
    tokenizer: str | None
    """The tokenizer that counted the rows; None if unknown."""
    language: str
    """The language of the text."""
    instruction_language: str

    @property
    def languages(self) -> str:
        """`pl`, or `en-ko` if the languages of text and instruction differ."""
        return languages_of(vars(self))


def read_name(names: Names, name: str, of_release: bool = True) -> ScoredConfig:
    """Read a configuration name, whose length may also be a number of tokens.

    Args:
        names: The names of the data set.
        name: The configuration name.
        of_release: Whether the rows are those of a release. In files of other tools a name without
            a tokenizer does not mean the default tokenizer: the tokenizer is unknown.

    Raises:
        RulerError: for a name that is not a configuration.
    """
    try:
        config = names.parse(name)
        facts = {**vars(config), "max_length": config.max_length}
    except RulerError:
        # The longest task first: `vt_2_500` is the task vt_2 if there is one.
        tasks = "|".join(map(re.escape, sorted(names.tasks, key=len, reverse=True)))
        match = re.fullmatch(rf"(?P<task>{tasks})_(?P<tokens>\d{{1,10}})(?P<rest>(?:_.+)?)", name)
        if match is None or re.search("_[0-9]+[kmKM](?:_|$)", match["rest"]):
            raise  # `vt_2_4k` has a length, but no task
        config = names.parse(f"{match['task']}_4k{match['rest']}")
        tokens = match["tokens"]
        facts = {**vars(config), "length": tokens, "max_length": int(tokens)}
    if not of_release and config.tokenizer == DEFAULT_TOKENIZER:
        facts["tokenizer"] = None
    return ScoredConfig(**facts)


def dataset_of(name: str) -> str:
    """Return the data set of a configuration name, "ruler" or "oneruler".

    Names of ONERULER contain a language, such as `niah_single_8k_bg` or
    `cwe_easy_8k_en-ko_cl100k`.
    """
    match = re.fullmatch(r"(.+?)_\d+[km]?_[a-z]{2}(?:-[a-z]{2})?(?:_.+)?", name)
    tasks = {*TASKS["oneruler"], *GROUPS["oneruler"], ABLATION}
    return "oneruler" if match and match[1] in tasks else "ruler"
