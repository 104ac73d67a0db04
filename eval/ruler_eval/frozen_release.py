"""A frozen release as the evaluation reads it: a few columns at a time, without the long texts.

    release = Release.open("ruler")
    for row in release.rows("vt_4k", ("index", "outputs")): …

    release.languages.rules("pl")          # "pl"; for a custom language its rules
    release.languages.facts("tr").script   # "Latin"

The texts of a configuration at 128k take 300 MB, its references a few KB. The digest of a file is
checked before it is read.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_common.files import open_parquet
from ruler_common.hub import hub_file, is_repository
from ruler_common.languages import LanguageFacts, custom_facts, custom_languages, language_facts
from ruler_common.manifest import MANIFEST, FileEntry, Manifest, read_manifest
from ruler_common.names import DEFAULT_TOKENIZER, LANGUAGES, Config, Names
from ruler_common.options import Place
from ruler_common.rows import indices_of, refuse_nulls
from ruler_common.text import command_line
from ruler_score.language_rules import LanguageRules
from ruler_score.language_text import Language, read_rules

BATCH_ROWS, BATCH_ROWS_WITHOUT_TEXT = 50, 1000
"""Rows read at a time: a row group of the release, or more without their texts."""
PartialRow = dict[str, Any]


@dataclass(frozen=True)
class ReleaseLanguages:
    """The languages of rows: the 26, and the custom languages of a release."""

    custom: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The table of facts of each custom language, by its code."""

    @classmethod
    def joined(cls, tables: Iterable[Mapping[str, Mapping[str, Any]]]) -> ReleaseLanguages:
        """Return the languages of several results. Raises RulerError if two of a code differ."""
        joined: dict[str, Mapping[str, Any]] = {}
        for custom in tables:
            for code, table in custom.items():
                if joined.setdefault(code, table) != table:
                    raise RulerError(
                        f"The results have rows of two different languages named '{code}': name "
                        "results of one release."
                    )
        return cls(joined)

    @cached_property
    def _custom_facts(self) -> dict[str, LanguageFacts]:
        return {
            code: custom_facts(table, f"the language {code}") for code, table in self.custom.items()
        }

    @cached_property
    def _custom_rules(self) -> dict[str, LanguageRules]:
        return {code: read_rules(table) for code, table in self.custom.items()}

    def __iter__(self) -> Iterator[str]:
        """Yield the codes of the 26 languages, then those of the custom ones."""
        return iter((*LANGUAGES, *self.custom))

    def rules(self, code: str) -> Language:
        """Return a language as the metric takes it: a code, or the rules of a custom language."""
        return self._custom_rules.get(code, code)

    def facts(self, code: str) -> LanguageFacts:
        """Return the facts of a language. Raises RulerError for an unknown one."""
        return self._custom_facts.get(code) or language_facts(code)


@dataclass(frozen=True)
class Release:
    """A release folder, or a Hub repository at one commit."""

    source: str
    root: Path
    manifest: Manifest
    revision: str | None = None
    _checked: set[str] = field(default_factory=set)

    @classmethod
    def open(cls, place: Place, revision: str | None = None) -> Release:
        """Open a folder or a repository (ORG/NAME). Raises RulerError."""
        source, root = str(place), Path(place)
        if root.exists() or not is_repository(source):
            return cls(source, root, read_manifest(root))
        path = hub_file(source, MANIFEST, revision)
        manifest = read_manifest(path.parent)
        return cls(source, path.parent, manifest, revision=path.parent.name)

    @property
    def dataset(self) -> str:
        """`ruler` or `oneruler`."""
        return str(self.manifest["dataset"])

    @cached_property
    def names(self) -> Names:
        """The task and group names of the release."""
        return Names.from_manifest(self.manifest)

    @cached_property
    def languages(self) -> ReleaseLanguages:
        """The languages, including those that the release defines."""
        return ReleaseLanguages(custom_languages(self.manifest))

    @cached_property
    def configs(self) -> dict[str, str]:
        """The single-task configurations and their files."""
        return {file["config"]: path for path, file in self.manifest["files"].items()}

    def parse(self, name: str) -> Config:
        """Read a configuration name."""
        return self.names.parse(name)

    def entry(self, config: str) -> FileEntry:
        """Return what the manifest says about the file of a configuration."""
        return self.manifest["files"][self.configs[config]]

    def size(self, config: str) -> int:
        """Return how many rows a configuration has."""
        return int(self.entry(config)["rows"])

    def order(self, config: str) -> list[int]:
        """Return the indices of a configuration in the frozen random order."""
        return indices_of(self.manifest, self.entry(config))

    def rows_sha256(self, config: str) -> str:
        """Return the digest of a configuration's rows, which does not depend on the file format."""
        if config not in self.configs:
            raise RulerError(f"'{self.source}' has no '{config}': name another release.")
        return str(self.entry(config)["rows_sha256"])

    def family(self, task: str) -> str | None:
        """Return the family of a task; None if the manifest does not name it."""
        tasks = self.manifest["tasks"]
        return tasks[task].get("family") if isinstance(tasks, Mapping) else None

    def rows(self, config: str, columns: Sequence[str]) -> Iterator[PartialRow]:
        """Yield the rows of a configuration in file order. Raises RulerError on a wrong digest."""
        path = self.path(config)
        size = BATCH_ROWS if "input" in columns else BATCH_ROWS_WITHOUT_TEXT
        with open_parquet(path) as file:
            # threads cost more than they save for a file of a few columns
            for batch in file.iter_batches(size, columns=list(columns), use_threads=False):
                refuse_nulls(batch, path)
                yield from batch.to_pylist()

    def some_rows(
        self, config: str, columns: Sequence[str], indices: Collection[int]
    ) -> Iterator[PartialRow]:
        """Yield the rows with these indices, in file order. Raises RulerError on a wrong digest.

        Only row groups with such rows are read.
        """
        wanted, path = set(indices), self.path(config)
        with open_parquet(path) as file:
            for group in range(file.num_row_groups):
                in_group = file.read_row_group(group, columns=["index"])["index"].to_pylist()
                places = [place for place, index in enumerate(in_group) if index in wanted]
                if not places:
                    continue
                table = file.read_row_group(group, columns=["index", *columns])
                refuse_nulls(table, path)
                for place in places:
                    yield from table.slice(place, 1).to_pylist()

    def path(self, config: str) -> Path:
        """Return the file of a configuration, its digest checked once. Raises RulerError."""
        if config not in self.configs:
            raise RulerError(
                f"The release '{self.source}' has no '{config}'. "
                f"To list what it has: ruler list {self.source}"
            )
        name, at = self.configs[config], self.revision
        path = self.root / name if at is None else hub_file(self.source, name, at)
        if name not in self._checked:
            ruler_dataset.check_files([path], [name], self.manifest["files"], verify=True)
            self._checked.add(name)
        return path


def place_of(source: str) -> str:
    """Return a source that opens the release from any folder: an absolute path or repository."""
    return str(Path(source).absolute()) if Path(source).is_dir() else source


def chosen_files(
    names: Iterable[str],
    manifest: Manifest,
    tokenizer: str | None = None,
    skip_missing: bool = False,
    where: str | Path = "DIR",
) -> list[str]:
    """Return the files of the configurations that a user names, each once.

    `all` means every configuration, and a shell wildcard (`*_4k`, `niah_*_pl`) all that match. In
    oneruler a wildcard without a language (`niah_*_8k`) means every language and pair. Other names
    are those of ruler_dataset.files_of. With `skip_missing` a group means those of its tasks that
    the release has. Raises RulerError if a name matches nothing; it names `where`, the folder or
    repository of the release.
    """
    files = manifest["files"]
    chosen: dict[str, None] = {}
    for name in names:
        if name == "all" or re.search(r"[*?\[]", name):
            pattern = "*" if name == "all" else name
            matching = [
                p for p, file in files.items() if fnmatch.fnmatchcase(file["config"], pattern)
            ]
            if not matching and manifest["dataset"] == "oneruler":
                places = {(file["task"], file["length"]) for file in files.values()}
                wanted = {place for place in places if fnmatch.fnmatchcase("_".join(place), name)}
                matching = _in_every_language(wanted, files, tokenizer)
        else:
            matching = ruler_dataset.files_of(name, manifest, tokenizer, skip_missing, where)
        if tokenizer is not None:
            matching = [path for path in matching if files[path]["tokenizer"] == tokenizer]
        if not matching:
            see = command_line("ruler", "list", where)
            raise RulerError(f"No configuration matches '{name}'. To list them: {see}")
        chosen.update(dict.fromkeys(matching))
    return list(chosen)


def _in_every_language(
    wanted: Collection[tuple[str, str]], files: Mapping[str, FileEntry], tokenizer: str | None
) -> list[str]:
    """Return the files of tasks at lengths, those of the default tokenizer if it has any."""
    tokenizers = {}
    for path, file in files.items():
        if (file["task"], file["length"]) in wanted:
            tokenizers[path] = file["tokenizer"]
    chosen = tokenizer or DEFAULT_TOKENIZER
    if chosen not in tokenizers.values():
        return list(tokenizers)
    return [path for path, name in tokenizers.items() if name == chosen]
