"""The configuration of an answer in a prediction file.

    configs = FileConfigs(Path("4096/pred/vt.jsonl"), options, names, release)
    configs.find(task="vt", length="4096")             # "vt_4k"

It comes from the answer's record, else from --config, else from the path of its file. If two of
them disagree, the file is refused. Files of other tools may have any length; one without a name
such as `4k` is written as its number of tokens.
"""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import DEFAULT_TOKENIZER, Names, check_name, parse_length
from ruler_eval.frozen_release import Release
from ruler_eval.prediction import row_number
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.paths import (
    config_in_name,
    facts_of_folders,
    name_of_tokens,
    stem_of,
    task_named,
    tokens_in,
)


class FileConfigs:
    """The configurations of the answers in a file."""

    def __init__(
        self, file: Path, options: PredictionOptions, names: Names, release: Release | None
    ) -> None:
        self.file, self.options, self.names, self.release = file, options, names, release
        self.checks_name = True
        """Whether a file is refused whose name contradicts its records; those of a run have any."""
        self.records_name_config = False
        """Whether the records name their configuration, so that the file may have any name."""
        self.unusual_lengths: set[int] = set()
        """The lengths in tokens that have no name such as 4k."""
        self._configs: dict[tuple[Any, ...], str] = {}

    def find(
        self,
        config: Any = None,
        task: Any = None,
        length: Any = None,
        languages: Any = None,
    ) -> str:
        """Return the configuration of an answer, by what its record and the file's path say.

        `length` is a name or a number of tokens. Raises RulerError if the configuration is unknown,
        or not the one of --config or --length.
        """
        key = config, task, length, languages
        try:
            is_new = key not in self._configs
        except TypeError as error:  # a list or an object has no hash
            raise RulerError(
                f"'{self.file}' has a list or an object as the name of a configuration: write a "
                "record for each answer, such as pandas' to_json(orient='records') does."
            ) from error
        if is_new:
            name = self._find(config, task, length, languages)
            parsed = None
            with suppress(RulerError):  # an unknown name, which is refused later
                parsed = self.names.parse(name)
            if parsed is not None:
                self._check_name_of_file(parsed.task, parsed.length)
            self._configs[key] = name
        return self._configs[key]

    def of_record(self, config: Any) -> str:
        """Return the configuration that a record names."""
        self.records_name_config = True
        return self.find(config)

    def by_name(self, task: str | None, length: Any) -> str:
        """Return the configuration by the task and length, else by the file's name or folders.

        The name of a file may be that of a configuration (`cwe_4k.csv`), and the task of a tool may
        be one too (`ruler_qa_squad_4k`).
        """
        key = "by name", task, length
        if key not in self._configs:
            self._configs[key] = self._by_name(task, length)
        return self._configs[key]

    def _by_name(self, task: str | None, length: Any) -> str:
        for text in (task, stem_of(self.file)):
            config = config_in_name(self.names, text) if text else None
            if config is not None and self.options.config is None:
                if text != task:
                    self._check_name_of_file(task, length)
                self._check_name_of_file(None, self.options.length)
                parsed = self.names.parse(config)
                if self.options.tokenizer is not None and parsed.tokenizer == DEFAULT_TOKENIZER:
                    return self.find(None, parsed.task, parsed.length, parsed.languages)
                return self.find(config)
        if task is not None and task_named(task, self.names) in self.names.tasks:
            return self.find(task=task, length=length)
        facts = facts_of_folders(self.file, self.names)
        return self.find(
            task=facts.get("task") or task,
            length=facts.get("length") or length,
            languages=facts.get("languages"),
        )

    def _check_name_of_file(self, task: str | None, length: Any) -> None:
        """Raise RulerError if a task or length is not the one in the file's name."""
        name = config_in_name(self.names, stem_of(self.file))
        if name is None or not self.checks_name:
            return
        parsed = self.names.parse(name)
        task = None if task is None else task_named(task, self.names)
        is_other_task = task in self.names.tasks and task != parsed.task
        if is_other_task or (length is not None and self._is_other_length(length, parsed.length)):
            fact = task if is_other_task else length
            raise RulerError(
                f"'{self.file}' is called '{name}', but its records or the options say '{fact}': "
                "correct the file's name, or the option."
            )

    def _find(self, config: Any, task: Any, length: Any, languages: Any) -> str:
        wanted = self.options.config
        if config is not None:
            if wanted is not None and str(config) not in (wanted, self.names.parse(wanted).name):
                raise self._contradiction(f"'{config}'", "--config", wanted)
            self._check_length_of(str(config))
            self._check_tokenizer_of(str(config))
            return str(config)
        if length is not None:
            is_name = re.fullmatch(r"\d+[kmKM]", str(length))
            length = str(length).lower() if is_name else row_number(length)
        if task is not None:
            task = task_named(str(task), self.names)
        if wanted is not None:
            parsed = self.names.parse(wanted)
            if task in self.names.tasks and task != parsed.task:
                raise self._contradiction(f"'{task}'", "--config", wanted)
            if self._is_other_length(length, parsed.length):
                raise self._contradiction(f"{length} tokens", "--config", wanted)
            self._check_tokenizer_of(parsed.name)
            return parsed.name
        if task is None or self._is_only_name_of_file(task):
            raise RulerError(
                f"'{self.file}' does not name its configuration: add --config, such as vt_4k or "
                "niah_none_64k_pl, or call the file so (vt_4k.csv), or keep it in folders "
                "LANGUAGE, LENGTH and TASK."
            )
        return self._name_config(task, length, languages)

    def _is_only_name_of_file(self, task: str) -> bool:
        """Return whether a word is a file's name (`answers`) and no task, nor one misspelled."""
        tasks = self.names.tasks
        return task == stem_of(self.file) and not get_close_matches(task, tasks, 1, cutoff=0.7)

    def _check_length_of(self, config: str) -> None:
        """Raise RulerError if --length is not the length of a configuration that a record names."""
        asked = self.options.length
        length = None
        with suppress(RulerError):  # an unknown name, which is refused later
            length = self.names.parse(config).length
        if asked is not None and self._is_other_length(length, asked):
            raise self._contradiction(f"'{config}'", "--length", asked)

    def _check_tokenizer_of(self, config: str) -> None:
        """Raise RulerError if --tokenizer is not that of a configuration with a whole name."""
        asked = self.options.tokenizer
        tokenizer = None
        with suppress(RulerError):  # an unknown name, which is refused later
            tokenizer = self.names.parse(config).tokenizer
        if asked is not None and tokenizer not in (asked, None):
            raise RulerError(
                f"'{self.file}' has answers for '{config}', whose tokenizer is {tokenizer}, but "
                f"--tokenizer is {asked}: leave --tokenizer out, or name the configuration as "
                "the release does, with --config."
            )

    def _name_config(self, task: str, length: str | int | None, languages: str | None) -> str:
        """Return the configuration of a task, at the length that the file gives or --length."""
        dataset = self.names.dataset
        check_name("task", task, self.names.tasks, "ruler score --help")
        if dataset == "oneruler" and languages is None:
            raise RulerError(f"'{self.file}' does not name its language: add --config NAME.")
        if self.options.length is not None:
            if self._is_other_length(length, self.options.length):
                raise self._contradiction(f"{length} tokens", "--length", self.options.length)
            length = self.options.length
        if length is None:
            raise RulerError(
                f"'{self.file}' does not give the length of '{task}': add --length, such as 4k."
            )
        if isinstance(length, int):
            length = name_of_tokens(length, dataset)
            if length.isdigit():
                self.unusual_lengths.add(int(length))
        parts = [task, length]
        if dataset == "oneruler" and languages:
            parts.append(languages)
        tokenizer = self.options.tokenizer or self._find_tokenizer(task, length, languages)
        if tokenizer != DEFAULT_TOKENIZER:
            parts.append(tokenizer)
        return "_".join(parts)

    def _is_other_length(self, file_length: str | int | None, length: str) -> bool:
        """Return whether a file gives another length; a number such as a year is not a length."""
        tokens = tokens_in(str(file_length), self.names.dataset)
        return tokens is not None and tokens != parse_length(length, self.names.dataset)

    def _contradiction(self, answers: str, flag: str, value: str) -> RulerError:
        return RulerError(
            f"'{self.file}' has answers for {answers}, but {flag} is {value}: leave {flag} out."
        )

    def _find_tokenizer(self, task: str, length: str, languages: str | None) -> str:
        """Return the only tokenizer for which the release has such rows.

        Raises RulerError if there are several; without a release it is the default tokenizer.
        """
        if self.release is None:
            return DEFAULT_TOKENIZER
        configs = [self.release.parse(name) for name in self.release.configs]
        candidates = set()
        for config in configs:
            same_languages = languages is None or languages == config.languages
            if config.task == task and config.length == length and same_languages:
                candidates.add(config.tokenizer)
        tokenizers = sorted(candidates or {config.tokenizer for config in configs})
        if len(tokenizers) > 1:
            raise RulerError(
                f"The release has these rows under {' and '.join(tokenizers)}: add --tokenizer."
            )
        return tokenizers[0]
