"""Configuration names of prediction files: what a file gives, what the caller adds.

    Naming(Names.of("ruler")).of("vt", 4096, Path("4096/pred/vt.jsonl"))      # "vt_4k"
    Naming(Names.of("ruler")).of("vt", 128000, Path("samples_vt.jsonl"))      # "vt_128000"

A release names lengths in its own thousands (`4k` is 4096 tokens in ruler, `8k` 8000 in oneruler).
Files of other tools have any length; one that is no such name is kept as its number of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    GROUPS,
    TASKS,
    Config,
    Names,
    check_name,
    languages_of,
    length_name,
    parse_length,
)

ABLATION = "niah_single_nonone"
"""ONERULER's Figure 14: a task that is in none of its groups."""


@dataclass(frozen=True, kw_only=True)
class ScoredConfig:
    """The configuration of scored rows; `length` is a name (`4k`) or a number of tokens (`10000`).

    `tokenizer` is None where it is not known under which one the rows were fitted.
    """

    dataset: str
    task: str
    length: str
    max_length: int
    tokenizer: str | None
    language: str
    instruction_language: str

    @property
    def languages(self) -> str:
        """`pl`, or `en-ko` where text and instruction differ in language."""
        return languages_of(vars(self))


def read_name(names: Names, name: str, of_release: bool = True) -> ScoredConfig:
    """Read a configuration name, also one whose length is any number of tokens.

    Raises RulerError for a name that does not belong to a configuration. `of_release` is False for
    files of other tools: then the default tokenizer, which the name leaves out, is not known.
    """
    tasks = "|".join(map(re.escape, names.tasks))
    match = re.fullmatch(rf"(?P<task>{tasks})_(?P<tokens>\d{{1,10}})(?P<rest>(?:_.+)?)", name)
    if match and names.dataset == "ruler" and _is_length(match["tokens"], names.dataset):
        match = None  # 4096 is 4k
    config = names.parse(f"{match['task']}_4k{match['rest']}" if match else name)
    facts = {**vars(config), "max_length": config.max_length}
    if match:
        facts |= {"length": match["tokens"], "max_length": int(match["tokens"])}
    if not of_release and config.tokenizer == DEFAULT_TOKENIZER:
        facts["tokenizer"] = None
    return ScoredConfig(**facts)


def dataset_of(name: str) -> str:
    """Return the data set a configuration name belongs to: those of ONERULER name a language.

    `niah_single_8k_bg` and `cwe_easy_8k_en-ko_cl100k` are ONERULER's, `vt_4k_qwen2.5` is RULER's.
    """
    match = re.fullmatch(r"(.+?)_\d+[km]?_[a-z]{2}(?:-[a-z]{2})?(?:_.+)?", name)
    tasks = {*TASKS["oneruler"], *GROUPS["oneruler"], ABLATION}
    return "oneruler" if match and match[1] in tasks else "ruler"


@dataclass(frozen=True, kw_only=True)
class Naming:
    """What the caller adds where a format does not name the configuration.

    `held` are the configurations of the release, if there is one: the tokenizer is looked up there.
    """

    names: Names = field(default_factory=lambda: Names.of("ruler"))
    length: str | None = None
    tokenizer: str | None = None
    config: str | None = None
    held: Collection[Config] = ()

    def of(
        self, task: str, length: str | int | None, where: Path, languages: str | None = None
    ) -> str:
        """Return the name of a task's configuration.

        A RulerError where length or language is unknown.

        Also where the file says otherwise than the caller: answers of all tasks would be of one.
        """
        if self.config is not None:
            asked = self.names.parse(self.config)
            other = task in self.names.tasks and task != asked.task
            if other or self._is_other(length, asked.length):
                what = f"'{task}'" if other else f"{length} tokens"
                raise RulerError(
                    f"'{where}' holds answers of {what}, and --config says {self.config}: leave "
                    "--config out."
                )
            return asked.name
        check_name("task", task, self.names.tasks, "ruler score --help")
        many = self.names.dataset == "oneruler"
        if many and languages is None:
            raise RulerError(f"'{where}' does not name its language: add --config NAME.")
        if self.length is not None:
            parse_length(self.length, self.names.dataset)
            if self._is_other(length, self.length):
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
        parts = [task, length, *([languages] if many and languages else [])]
        tokenizer = self.tokenizer or self._guess(task, length, languages)
        return "_".join(parts + [tokenizer] * (tokenizer != DEFAULT_TOKENIZER))

    def _is_other(self, told: str | int | None, asked: str) -> bool:
        """Whether a file tells another length; a number that is none, as a year, tells none."""
        known = _tokens(str(told), self.names.dataset)
        return known is not None and known != parse_length(asked, self.names.dataset)

    def _guess(self, task: str, length: str, languages: str | None) -> str:
        """Return the only tokenizer under which the release has such rows."""
        these = [c for c in self.held if (c.task, c.length) == (task, length)]
        same = {c.tokenizer for c in these if languages in (None, c.languages)}
        found = sorted(same or {config.tokenizer for config in self.held})
        if len(found) > 1:
            raise RulerError(
                f"The release has these rows under {' and '.join(found)}: add --tokenizer."
            )
        return found[0] if found else DEFAULT_TOKENIZER


def tokens_name(tokens: int, dataset: str) -> str:
    """Return a number of tokens as a length: its name in the data set's thousands, else the number.

    In ruler 4096 is `4k` and 128000 stays 128000, though it is 125 times 1024.
    """
    try:
        name = length_name(tokens, dataset)
    except RulerError:
        return str(tokens)
    return name if _is_length(name, dataset) else str(tokens)


def _is_length(name: str, dataset: str) -> bool:
    try:
        return parse_length(name, dataset) >= 0
    except RulerError:
        return False


def config_at_end(names: Names, text: str) -> str | None:
    """Return the longest configuration name that a text is or ends in.

    `vt_4k` of `general_qa_vt_4k`.
    """
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
    """Task, tokens and languages that the folders and the name of a file tell, nearest first.

    `en-ko/niah_none/64000/prediction_o3.jsonl` gives ("niah_none", 64000, "en-ko"), in whatever
    order the folders stand. Many folders have two letters: one that tells the language is no more
    than a step above those that tell task and tokens.
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
    known = sorted((*names.tasks, ABLATION), key=len, reverse=True)
    return next((t for t in known if re.search(rf"(?<![a-z]){t}(?![a-z_]*[a-z])", part)), None)


def _tokens(word: str, dataset: str) -> int | None:
    if re.fullmatch(r"[1-9]\d{3,6}", word):  # a year is not a length
        return int(word) if int(word) % 1000 == 0 or int(word) % 1024 == 0 else None
    try:
        return parse_length(word, dataset) if re.fullmatch(r"\d+[km]", word) else None
    except RulerError:
        return None
