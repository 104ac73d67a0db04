"""One answer to one row, and the configuration of the row.

read_name(Names.standard("ruler"), "vt_10000").max_length            # 10000
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import DEFAULT_TOKENIZER, GROUPS, TASKS, Names, languages_of, parse_length
from ruler_common.text import shortened

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
    if not is_list or any(
        type(output) not in (str, int) for output in outputs
    ):  # null would be "None"
        raise TypeError(f"the references are {str(outputs)[:40]!r}, not a list of texts")
    return tuple(map(str, outputs))


@dataclass(slots=True)
class Prediction:
    """One answer, whatever file it came from; a field is None if the format has none.

    `sample` numbers the answers to one row of a run with --repeats.

    `outputs` are the references of a self-contained file; `question` only the question and
    `asked` the digest of the whole prompt; `prompt` the prompt itself and `columns` other columns
    of the row, if they were asked for; `thinking_tokens` and `prompt_tokens` the tokens of the
    reasoning and of the prompt, as the model counts them; `seconds` how long a server took.
    `asked_row` says that the prompt is the release's, `by_line` that its references were found only
    by the number of its line.
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
    seconds: float | None = None
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
"""The task of ONERULER's Figure 14, which is in none of its groups."""


@dataclass(frozen=True, kw_only=True)
class ScoredConfig:
    """The configuration of scored rows."""

    dataset: str
    task: str
    length: str  # a name (`4k`) or a number of tokens (`10000`)
    max_length: int  # tokens
    tokenizer: str | None  # the one that the rows were fitted with; None if unknown
    language: str  # of the text
    instruction_language: str

    @property
    def languages(self) -> str:
        """`pl`, or `en-ko` if the languages of text and instruction differ."""
        return languages_of(vars(self))


def read_name(names: Names, name: str, of_release: bool = True) -> ScoredConfig:
    """Read a configuration name, whose length may also be a number of tokens.

    Args:
        names: the names of the data set.
        name: the configuration name.
        of_release: whether the rows are those of a release. In files of other tools a name without
            a tokenizer does not mean the default tokenizer: it is unknown.

    Raises:
        RulerError: for a name that is not a configuration.
    """
    tasks = "|".join(map(re.escape, names.tasks))
    match = re.fullmatch(rf"(?P<task>{tasks})_(?P<tokens>\d{{1,10}})(?P<rest>(?:_.+)?)", name)
    if match and names.dataset == "ruler" and is_length(match["tokens"], names.dataset):
        match = None  # a length such as 4096, which has a name (4k)
    config = names.parse(f"{match['task']}_4k{match['rest']}" if match else name)
    facts = {**vars(config), "max_length": config.max_length}
    if match:
        facts |= {"length": match["tokens"], "max_length": int(match["tokens"])}
    if not of_release and config.tokenizer == DEFAULT_TOKENIZER:
        facts["tokenizer"] = None
    return ScoredConfig(**facts)


def dataset_of(name: str) -> str:
    """Return the data set of a configuration name, "ruler" or "oneruler".

    The names of ONERULER have a language: `niah_single_8k_bg` and `cwe_easy_8k_en-ko_cl100k` are
    ONERULER's, `vt_4k_qwen2.5` is RULER's.
    """
    match = re.fullmatch(r"(.+?)_\d+[km]?_[a-z]{2}(?:-[a-z]{2})?(?:_.+)?", name)
    tasks = {*TASKS["oneruler"], *GROUPS["oneruler"], ABLATION}
    return "oneruler" if match and match[1] in tasks else "ruler"


def is_length(name: str, dataset: str) -> bool:
    """Return whether a text is a name of a length."""
    try:
        return parse_length(name, dataset) >= 0
    except RulerError:
        return False
