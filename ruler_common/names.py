"""The names of a release: what may be one, and how a configuration's name is written and read.

    check_new_name("task", "vt_4k")              # refused: a length would end the task's name
    Names.standard("oneruler").parse("cwe_hard_8k_pl").path    # data/tekken/8k/pl/cwe_hard.parquet

The builder, the reader of manifests and the commands all use this module, so that whatever is built
can be read. A configuration is `{task or group}_{length}`, then `_{language}` in oneruler, then
`_{tokenizer}` if that is not the default one.

Sources: RULER (arXiv:2404.06654), Table 5; ONERULER (arXiv:2503.01996), section 2.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.manifest_fields import FileEntry, Manifest
from ruler_common.text import command_line, printable

SPLIT = "test"
DEFAULT_TOKENIZER = "tekken"
# fmt: off
LANGUAGES = (  # the 26 of ONERULER, ISO 639-1
    "cs", "da", "de", "en", "es", "fa", "fi", "fr", "hi", "hu", "it", "ja", "ko",
    "nl", "no", "pl", "pt", "ru", "sr", "st", "sv", "sw", "ta", "uk", "vi", "zh",
)
CODE = "[a-z]{2,3}"
"""A language's code: ISO 639-1, or 639-3 if that has none. A regular expression."""
NIAH = (
    "niah_single_1", "niah_single_2", "niah_single_3",
    "niah_multikey_1", "niah_multikey_2", "niah_multikey_3",
    "niah_multivalue", "niah_multiquery",
)
TASKS: dict[str, tuple[str, ...]] = {
    "ruler": (*NIAH, "vt", "cwe", "fwe", "qa_1", "qa_2"),
    "oneruler": (
        "niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "niah_none",
        "cwe_easy", "cwe_hard", "niah_single_nonone",
    ),
}
"""The tasks of each dataset, in the order of the papers' tables; ONERULER's ablation is last."""
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "ruler": {
        "niah_s": NIAH[:3], "niah_mk": NIAH[3:6], "niah": NIAH,
        "ag": ("cwe", "fwe"), "qa": ("qa_1", "qa_2"), "all": TASKS["ruler"],
    },
    "oneruler": {
        "niah": TASKS["oneruler"][:5], "cwe": TASKS["oneruler"][5:7], "all": TASKS["oneruler"][:7],
    },
}
LENGTHS: dict[str, tuple[str, ...]] = {  # of a full release; others can be built
    "ruler": ("4k", "8k", "16k", "32k", "64k", "128k"),
    "oneruler": ("8k", "32k", "64k", "128k"),
}
# fmt: on

CONTROL_LENGTH = "0k"
"""The length of RULER's control: the same question with its evidence and no haystack around it.

Its `max_length` is 0: there is no window to fill."""
_THOUSAND = {"ruler": 1024, "oneruler": 1000}
_MAX_LISTED = 40  # names that an error lists: all languages, not all sources


def check_name(kind: str, name: str, names: Collection[str], see: str = "") -> str:
    """Return `name` if it is one of `names`, else raise a RulerError that suggests a similar one.

    Args:
        kind: What the name is of, such as "task".
        name: The name to check.
        names: The names that exist.
        see: A command or document that lists the names, for the error.
    """
    if name in names:
        return name
    similar = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    message = f"Unknown {kind} '{name}'."
    if similar:
        message += f" Did you mean '{similar[0]}'?"
    elif len(names) <= _MAX_LISTED:
        message += f" Known: {', '.join(names)}."
    raise RulerError(f"{message} See: {see}" if see else message)


# ---- What may be a name --------------------------------------------------------------------------

# A name becomes a part of a path, of a configuration's name and of an option.
_NO_LENGTH = "(?!(?:.*_)?(?:[0-9]+[kmKM]|[0-9]{4,7})(?:_|$))"  # between two underscores
_NO_DEVICE = r"(?!(?i:aux|con|nul|prn|(?:com|lpt)[0-9])(?:\.|$))"  # Windows has no such files
_NO_LANGUAGE = "(?![a-z]{2}(?:-[a-z]{2})?(?:_|$))"  # which a tokenizer follows in oneruler
# `--tasks default` means every task
_TASK = f"{_NO_LENGTH}{_NO_DEVICE}(?!default$)[A-Za-z0-9][A-Za-z0-9_]{{0,79}}"
_TOKENIZER = (
    f"{_NO_LENGTH}{_NO_DEVICE}{_NO_LANGUAGE}"
    r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){0,79}"
)
_RULES = {  # the kind of a name: its pattern, and the rule in words
    "task": (
        _TASK,
        "begin with a letter or digit, and use at most 80 letters, digits and '_', as in "
        "'niah_multikey_1'; no length (4k, 4000), 'default' or device of Windows (con)",
    ),
    "tokenizer": (
        _TOKENIZER,
        "begin with a letter or digit, and use at most 80 letters, digits, '_', '-' and single "
        "dots between them, as in 'qwen2.5'; no length (4k, 4000), no two letters at the beginning "
        "that could be a language ('my_tokens'), and no device of Windows (con)",
    ),
    "language": (
        f"{_NO_DEVICE}(?!all$){CODE}",
        "use its ISO 639 code of two or three small letters, such as 'tr', and not a word with "
        "another meaning ('all', 'con')",
    ),
    "source": ("[a-z0-9_-]{1,80}", "use at most 80 small letters, digits, '-' and '_'"),
}
_RULES["group"] = (_TASK, _RULES["task"][1].replace("niah_multikey_1", "niah_mk"))


def check_new_name(kind: str, name: str) -> None:
    """Raise RulerError, with the rule and an example, if a name is not allowed.

    Args:
        kind: "task", "group", "tokenizer", "language" (beyond the 26) or "source".
        name: The name, from a suite, an option or a manifest.
    """
    pattern, rule = _RULES[kind]
    if not re.fullmatch(pattern, name):
        raise RulerError(f"'{printable(name)}' cannot name a {kind}: {rule}.")


def check_release_names(
    tasks: Collection[str],
    groups: Mapping[str, Sequence[str]],
    tokenizers: Collection[str],
    languages: Collection[str],
) -> None:
    """Raise RulerError if the names of a release are not allowed, or not together.

    Args:
        tasks: The names of its tasks.
        groups: The tasks of each group.
        tokenizers: The names of its tokenizers.
        languages: The codes of all languages that it may have.
    """
    for kind, names in (("task", tasks), ("group", groups), ("tokenizer", tokenizers)):
        for name in names:
            check_new_name(kind, name)
    for group, members in groups.items():
        _check_group(group, members, tasks)
    _refuse_same_file([*tasks, *groups])
    _refuse_same_file(tokenizers)
    for tokenizer in tokenizers:
        if {*tokenizer.partition("_")[0].split("-")} <= {*languages}:
            raise RulerError(
                f"The tokenizer '{tokenizer}' would be read as a language of the release: give it "
                f"another name, such as 'tokenizer-{tokenizer}'."
            )


def _check_group(group: str, members: Sequence[str], tasks: Collection[str]) -> None:
    """Raise RulerError for a group that is also a task, or whose members are not its tasks."""
    if group in tasks:
        raise RulerError(f"'{group}' names both a task and a group: rename one of them.")
    if not members:
        raise RulerError(f"The group '{group}' has no task: list its tasks, or remove it.")
    for task in members:
        if task not in tasks:
            raise RulerError(f"The group '{group}' has '{printable(task)}', which is not a task.")
        if members.count(task) > 1:
            raise RulerError(f"The group '{group}' has '{task}' more than once: list it once.")


def _refuse_same_file(names: Collection[str]) -> None:
    """Raise RulerError for names that differ only in case: one file on some systems."""
    by_folded: dict[str, str] = {}
    for name in names:
        first = by_folded.setdefault(name.casefold(), name)
        if first != name:
            raise RulerError(
                f"'{first}' and '{name}' differ only in case, and would be one file on some "
                "systems: rename one of them."
            )


# ---- Lengths -------------------------------------------------------------------------------------

_MIN_TOKENS, _MAX_TOKENS = 1000, 1 << 22
_LENGTH_RULES = {
    "ruler": "Write thousands of 1024 tokens, such as 4k, 128k or 1m, or a number of tokens, such "
    "as 10000: from 1000 to 4194304 tokens. 0k is the control: the evidence without a haystack.",
    "oneruler": "Write thousands of 1000 tokens, such as 8k, 10k or 1m: from 1k to 4194k.",
}


def parse_length(name: str, dataset: str = "ruler") -> int:
    """Return the tokens of a length: `128k` is 131072 in ruler (binary) and 128000 in oneruler.

    In ruler a length may also be a number of tokens, `128000`, and `0k` is the control without a
    haystack. `4K` is read as `4k`. Raises RulerError.
    """
    check_name("dataset", dataset, TASKS)
    if dataset == "ruler" and name.lower() == CONTROL_LENGTH:
        return 0
    match = re.fullmatch("([1-9][0-9]{0,3})([kmKM])", name)
    thousand = _THOUSAND[dataset]
    tokens = 0
    if match:
        tokens = int(match[1]) * thousand ** (1 if match[2] in "kK" else 2)
    elif dataset == "ruler" and re.fullmatch("[1-9][0-9]{3,6}", name):
        tokens = int(name)
    if not _MIN_TOKENS <= tokens <= _MAX_TOKENS:
        raise RulerError(f"Unknown length '{printable(name)}'. {_LENGTH_RULES[dataset]}")
    return tokens


def length_name(tokens: int, dataset: str = "ruler") -> str:
    """Return the name of a length in tokens, the inverse of parse_length. Raises RulerError.

    In ruler 131072 is `128k`. A multiple of 1000 keeps its number, so that 128000 is not taken for
    `128k`, and so does a number that is not a multiple of 1024.
    """
    if dataset == "ruler":
        if tokens == 0:
            return CONTROL_LENGTH
        if _MIN_TOKENS <= tokens <= _MAX_TOKENS and (tokens % 1000 == 0 or tokens % 1024):
            return str(tokens)
    thousand = _THOUSAND[dataset]
    for letter, size in (("m", thousand**2), ("k", thousand)):
        if tokens % size == 0:
            return f"{tokens // size}{letter}"
    raise RulerError(f"A length of {dataset} is a multiple of {thousand} tokens, not {tokens}.")


def languages_of(entry: Mapping[str, Any]) -> str:
    """Return the languages of a file or score: `pl`, or `en-ko` if text and instruction differ."""
    return "-".join(dict.fromkeys((entry["language"], entry["instruction_language"])))


@dataclass(frozen=True)
class Config:
    """A configuration: a task or group of a dataset at a length, in a language, for a tokenizer."""

    dataset: str
    task: str
    length: str
    tokenizer: str = field(default=DEFAULT_TOKENIZER, kw_only=True)
    language: str = field(default="en", kw_only=True)
    instruction_language: str = field(default="en", kw_only=True)

    @classmethod
    def from_entry(cls, dataset: str, entry: FileEntry) -> Config:
        """Return the configuration of one file of a manifest."""
        return cls(
            dataset,
            entry["task"],
            entry["length"],
            tokenizer=entry["tokenizer"],
            language=entry["language"],
            instruction_language=entry["instruction_language"],
        )

    @property
    def languages(self) -> str:
        """`pl`, or `en-ko` if the text and the instruction differ in language."""
        return languages_of(vars(self))

    @property
    def name(self) -> str:
        """The name for `load_dataset`: `vt_4k`, `cwe_easy_8k_pl`, `niah_mk_128k_qwen2.5`."""
        parts = [self.task, self.length]
        if self.dataset == "oneruler":
            parts.append(self.languages)
        if self.tokenizer != DEFAULT_TOKENIZER:
            parts.append(self.tokenizer)
        return "_".join(parts)

    @property
    def path(self) -> str:
        """The Parquet file of a single task, relative to the release, with forward slashes."""
        languages = f"/{self.languages}" if self.dataset == "oneruler" else ""
        return f"data/{self.tokenizer}/{self.length}{languages}/{self.task}.parquet"

    @property
    def max_length(self) -> int:
        """The token budget."""
        return parse_length(self.length, self.dataset)


@dataclass(frozen=True)
class Names:
    """The names of tasks, groups and languages of one dataset.

    A custom suite has its own tasks and groups, and a release may have more than the 26 languages.
    """

    dataset: str
    tasks: tuple[str, ...]
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    languages: tuple[str, ...] = LANGUAGES
    # Of the release whose names these are; its configurations are suggested for a wrong name
    manifest: Manifest | None = field(default=None, repr=False, compare=False)
    # The command that lists the names, for the error about a wrong one
    see: str = field(default="ruler build --help", repr=False, compare=False)

    @classmethod
    def standard(cls, dataset: str) -> Names:
        """Return the standard names of `ruler` or `oneruler`."""
        check_name("dataset", dataset, TASKS)
        return cls(dataset, TASKS[dataset], GROUPS[dataset])

    @classmethod
    def from_manifest(cls, manifest: Manifest, where: str | Path = "DIR") -> Names:
        """Return the names in the manifest of a release, which an error calls `where`."""
        languages = tuple(dict.fromkeys((*LANGUAGES, *manifest.get("languages", ()))))
        return cls(
            manifest["dataset"],
            tuple(manifest["tasks"]),
            manifest["groups"],
            languages,
            manifest,
            command_line("ruler", "list", where),
        )

    def expand(self, name: str) -> Sequence[str]:
        """Return the tasks of a group, or the task itself."""
        if name in self.groups:
            return self.groups[name]
        return (check_name("task", name, [*self.tasks, *self.groups], self.see),)

    def whole_groups(self, configs: Iterable[Config]) -> list[tuple[Config, list[Config]]]:
        """Return each complete group as a configuration, with the configurations of its tasks.

        A group is complete if all of its tasks are among `configs` at one length, tokenizer and
        language. The groups are in the order of `configs`.
        """
        # the configurations by task, for each length, tokenizer and language
        tasks_of_place: dict[Config, dict[str, Config]] = {}
        for config in configs:
            place = replace(config, task="")
            tasks_of_place.setdefault(place, {})[config.task] = config
        groups = []
        for place, by_task in tasks_of_place.items():
            for group, tasks in self.groups.items():
                if by_task.keys() >= set(tasks):
                    members = [by_task[task] for task in tasks]
                    groups.append((replace(place, task=group), members))
        return groups

    def available(self, manifest: Manifest) -> list[str]:
        """Return a release's configurations: its complete groups, then its single tasks."""
        return [config.name for config in self._available(manifest)]

    def _available(self, manifest: Manifest) -> list[Config]:
        files = manifest["files"].values()
        tasks = [Config.from_entry(manifest["dataset"], file) for file in files]
        groups = [group for group, _ in self.whole_groups(tasks)]
        return [*groups, *tasks]

    def whole_languages(
        self, groups: Iterable[tuple[Config, list[Config]]]
    ) -> list[tuple[str, list[Config]]]:
        """Return ONERULER's means over languages, such as `all_8k`, with their configurations.

        A mean exists only if all 26 languages are complete, because one over other languages would
        be a different score. `groups` is the result of `whole_groups`.
        """
        if self.dataset != "oneruler":
            return []
        languages: dict[str, list[Config]] = {}
        for group, members in groups:
            if group.task == "all" and group.languages in LANGUAGES:
                suffix = group.name.removeprefix(f"all_{group.length}_{group.language}")
                languages.setdefault(f"all_{group.length}{suffix}", []).extend(members)
        complete = len(LANGUAGES) * len(self.groups.get("all", ()))
        return [pair for pair in languages.items() if len(pair[1]) == complete]

    def configs(
        self, name: str, tokenizers: Collection[str] = (), tokenizer: str | None = None
    ) -> list[Config]:
        """Return the single-task configurations of a name: of a task, or of a group's tasks.

        In oneruler a name without a language (`all_8k`, `niah_none_8k_qwen2.5`) stands for all 26
        languages, without pairs.

        Args:
            name: The name of a configuration.
            tokenizers: The release's tokenizers, to tell the suffix `_qwen2.5` from a language.
            tokenizer: The tokenizer of a name without a suffix, instead of the default one.

        Raises RulerError for a wrong name, and for a suffix that is not `tokenizer`.
        """
        names = [name]
        without_language = re.fullmatch("(.+?_[0-9]+[kmKM])(?:_(.+))?", name)
        if self.dataset == "oneruler" and without_language:
            task_and_length, suffix = without_language.groups()
            if suffix is None:
                names = [f"{task_and_length}_{code}" for code in LANGUAGES]
            elif suffix in tokenizers:
                names = [f"{task_and_length}_{code}_{suffix}" for code in LANGUAGES]
        configs = []
        for config in [self.parse(name, tokenizer) for name in names]:
            for task in self.expand(config.task):
                configs.append(replace(config, task=task))
        return configs

    def parse(self, name: str, tokenizer: str | None = None) -> Config:
        """Read a configuration name, `niah_mk_128k_qwen2.5` or `cwe_easy_8k_pl`.

        The task may be a group. `tokenizer` is that of a name without a suffix, instead of the
        default one. Raises RulerError.
        """
        if self.dataset == "oneruler":
            length = "[0-9]+[kmKM]"
            languages = rf"_(?P<language>{CODE})(?:-(?P<instruction>{CODE}))?"
        else:
            length = "[0-9]+[kmKM]|[0-9]{4,7}"
            languages = ""
        pattern = rf"(?P<task>.+?)_(?P<length>{length}){languages}(?:_(?P<tokenizer>.+))?"
        match = re.fullmatch(pattern, name)
        if match is None:
            raise RulerError(f"'{name}' is not a {self.dataset} configuration{self._hint(name)}")
        parts = match.groupdict()
        self.expand(parts["task"])  # refuses an unknown task
        language = parts.get("language") or "en"
        instruction_language = parts.get("instruction") or language
        for code in (language, instruction_language):
            check_name("language", code, self.languages)
        suffix = parts["tokenizer"]
        if suffix and tokenizer and suffix != tokenizer:
            raise RulerError(
                f"'{name}' names the tokenizer '{suffix}', not '{tokenizer}': name only one."
            )
        return Config(
            self.dataset,
            parts["task"],
            length_name(parse_length(parts["length"], self.dataset), self.dataset),
            tokenizer=suffix or tokenizer or DEFAULT_TOKENIZER,
            language=language,
            instruction_language=instruction_language,
        )

    def _hint(self, name: str) -> str:
        """Return the end of an error about a name: a similar configuration, or an example."""
        if name.lower() in LENGTHS[self.dataset]:
            return f". Did you mean 'all_{name.lower()}'?"
        similar = [config for config in self._known if config.task.lower() == name.lower()]
        if not similar:
            names = {config.name: config for config in self._known}
            for match in difflib.get_close_matches(name, names, n=1, cutoff=0.8):
                similar.append(names[match])
        if similar:
            return f". Did you mean '{min(similar, key=_usual_first).name}'?"
        if not self._known:
            return "."
        return f"; an example is '{min(self._known, key=_usual_first).name}'."

    @cached_property
    def _known(self) -> list[Config]:
        """The configurations of the release, else those that a full release has."""
        if self.manifest is not None:
            return self._available(self.manifest)
        known = []
        for task in (*self.groups, *self.tasks):
            for length in LENGTHS[self.dataset]:
                for code in self.languages if self.dataset == "oneruler" else ("en",):
                    config = Config(
                        self.dataset, task, length, language=code, instruction_language=code
                    )
                    known.append(config)
        return known


def _usual_first(config: Config) -> tuple[object, ...]:
    """Return a key that sorts configurations: default tokenizer, a haystack, short, English."""
    return (
        config.tokenizer != DEFAULT_TOKENIZER,
        config.max_length == 0,
        config.max_length,
        config.languages != "en",
        config.languages,
    )
