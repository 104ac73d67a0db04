"""Name the configurations of other tools' files, by what a file says and what the caller adds.

    naming = Naming(names=Names.standard("ruler"))
    naming.config_name("vt", 4096, Path("4096/pred/vt.jsonl"))          # "vt_4k"
    naming.config_name("vt", 128000, Path("samples_vt.jsonl"))          # "vt_128000"

Lengths are named in thousands, which are binary in ruler (`4k` is 4096 tokens) and decimal in
oneruler (`8k` is 8000). Files of other tools may have any length; a length without such a name is
written as its number of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    Config,
    Names,
    check_name,
    length_name,
    parse_length,
)
from ruler_eval.prediction import ABLATION, is_length


@dataclass(frozen=True, kw_only=True)
class Naming:
    """What the caller says about prediction files that do not name their configurations.

    The fields are the options --length, --tokenizer and --config of `ruler score`.
    """

    names: Names = field(default_factory=lambda: Names.standard("ruler"))
    length: str | None = None
    tokenizer: str | None = None
    config: str | None = None
    held: Collection[Config] = ()
    """The configurations of the release, if there is one, in which the tokenizer is looked up."""

    def config_name(
        self, task: str, length: str | int | None, where: Path, languages: str | None = None
    ) -> str:
        """Return the configuration name of the answers to a task.

        Args:
            task: the task that the file names.
            length: the length that the file gives, as a name or in tokens; None if it gives none.
            where: the file, for error messages.
            languages: the languages that the file names, if any.

        Raises:
            RulerError: if the length or language is unknown, or if the file contradicts the
                caller (a --config that is applied to files of several tasks).
        """
        if self.config is not None:
            config = self.names.parse(self.config)
            other_task = task in self.names.tasks and task != config.task
            if other_task or self._is_other_length(length, config.length):
                what = f"'{task}'" if other_task else f"{length} tokens"
                raise RulerError(
                    f"'{where}' holds answers of {what}, and --config says {self.config}: leave "
                    "--config out."
                )
            return config.name
        check_name("task", task, self.names.tasks, "ruler score --help")
        is_oneruler = self.names.dataset == "oneruler"
        if is_oneruler and languages is None:
            raise RulerError(f"'{where}' does not name its language: add --config NAME.")
        if self.length is not None:
            parse_length(self.length, self.names.dataset)
            if self._is_other_length(length, self.length):
                raise RulerError(
                    f"'{where}' holds answers of {length} tokens, and --length says {self.length}: "
                    "leave --length out."
                )
            length = self.length
        if length is None:
            raise RulerError(
                f"'{where}' does not give the length of '{task}': add --length, such as 4k."
            )
        if isinstance(length, int):
            length = tokens_name(length, self.names.dataset)
        parts = [task, length]
        if is_oneruler and languages:
            parts.append(languages)
        tokenizer = self.tokenizer or self._find_tokenizer(task, length, languages)
        if tokenizer != DEFAULT_TOKENIZER:
            parts.append(tokenizer)
        return "_".join(parts)

    def _is_other_length(self, file_length: str | int | None, length: str) -> bool:
        """Return whether a file gives another length; a number such as a year is not a length."""
        tokens = _tokens(str(file_length), self.names.dataset)
        return tokens is not None and tokens != parse_length(length, self.names.dataset)

    def _find_tokenizer(self, task: str, length: str, languages: str | None) -> str:
        """Return the only tokenizer for which the release has such rows.

        Raises RulerError if there are several; without a release it is the default tokenizer.
        """
        candidates = set()
        for config in self.held:
            same_languages = languages is None or languages == config.languages
            if config.task == task and config.length == length and same_languages:
                candidates.add(config.tokenizer)
        tokenizers = sorted(candidates or {config.tokenizer for config in self.held})
        if len(tokenizers) > 1:
            raise RulerError(
                f"The release has these rows under {' and '.join(tokenizers)}: add --tokenizer."
            )
        return tokenizers[0] if tokenizers else DEFAULT_TOKENIZER


def tokens_name(tokens: int, dataset: str) -> str:
    """Return the name of a length in tokens, or the number if the data set has no name for it.

    In ruler 4096 is `4k`. 128000 stays 128000: it is 125 times 1024, but is not called 125k.
    """
    try:
        name = length_name(tokens, dataset)
    except RulerError:
        return str(tokens)
    return name if is_length(name, dataset) else str(tokens)


def config_at_end(names: Names, text: str) -> str | None:
    """Return the longest configuration name at the end of a text: `vt_4k` of `general_qa_vt_4k`."""
    words = text.split("_")
    for start in range(len(words) - 1):
        try:
            config = names.parse("_".join(words[start:]))
        except RulerError:
            continue
        if config.task in names.tasks:
            return config.name
    return None


def path_facts(file: Path, names: Names) -> tuple[str | None, int | None, str | None]:
    """Return the task, length in tokens and languages that a file's path names.

    `en-ko/niah_none/64000/prediction_o3.jsonl` gives ("niah_none", 64000, "en-ko"); the folders may
    be in any order, and the one nearest to the file counts. As many folders have names of two
    letters, a language has to be at most one folder above those of the task and the length.
    """
    parts = [re.sub(r"\.[a-z]+$", "", file.name), *(folder.name for folder in file.parents)]
    tasks = [_task_in(part, names) for part in parts]
    task = next(filter(None, tasks), None)
    words = [re.split(r"[_.\s]+", part.replace(task or "", "")) for part in parts]
    tokens = [next(filter(None, (_tokens(word, names.dataset) for word in w)), None) for w in words]
    length = next(filter(None, tokens), None)
    last = max(tasks.index(task), tokens.index(length) if length else 0) if task else -1
    code = "|".join(names.languages)
    near = (word for some in words[: last + 2] for word in some)
    languages = (w for w in near if re.fullmatch(rf"(?:{code})(?:-(?:{code}))?", w))
    return task, length, next(languages, None)


def _task_in(part: str, names: Names) -> str | None:
    """Return the longest task name that a part of a path has as whole words."""
    tasks = sorted((*names.tasks, ABLATION), key=len, reverse=True)
    return next((t for t in tasks if re.search(rf"(?<![a-z]){t}(?![a-z_]*[a-z])", part)), None)


def _tokens(word: str, dataset: str) -> int | None:
    if re.fullmatch(r"[1-9]\d{3,6}", word):  # a year is not a length
        return int(word) if int(word) % 1000 == 0 or int(word) % 1024 == 0 else None
    try:
        return parse_length(word, dataset) if re.fullmatch(r"\d+[km]", word) else None
    except RulerError:
        return None
