"""The form of manifest.json: what a release says of itself and of each of its files."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

FORMAT_VERSION = 1  # version of the manifest and of the row schema; a reader refuses a newer one
MANIFEST = "manifest.json"
OWN_SUITE = "own"  # what a manifest names as its suite where that is a user's


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
    # As many rows as there can be (questions of a corpus); None if there is no end
    most_rows: int | None
    tokens: TokenFigures
    fill: float  # mean `length` as a share of `max_length` - reserve
    unit: int  # tokens of the largest haystack unit that did not fit
    exhausted: int  # rows that hold all there is of a finite haystack
    # The most times that a haystack began again; `row_repeats` has the rows' if any did
    repeats: int
    row_repeats: NotRequired[list[int]]
    # What counted the tokens: the reference library, or gigatoken, checked by it; with version
    counted_by: NotRequired[str]
    bytes: int
    sha256: str
    rows_sha256: str  # a digest of the rows, whatever wrote the file
    # True at `0k`: no haystack, so no window is full, by design; `max_length` and `fill` are 0
    evidence_alone: NotRequired[bool]


Variant = Literal["canonical", "embedded", "given"]
"""A source's own file; the text that the project ships to stand in for it; a file of a language's
folder that the builder was given."""


class BookRights(TypedDict):
    """A book of ONERULER and its rights, as far as they are known."""

    title: str
    author: str
    died: int | None  # year of the author's death
    published: str  # years of the first publication
    status: str
    restricted: bool  # whether it may not be free everywhere
    editor: str


class SourceEntry(TypedDict):
    """What the manifest says of a source that was read."""

    variant: Variant
    title: str
    sha256: str
    bytes: int
    licence: str
    citation: str
    urls: list[str]  # where from: addresses, or a package URL (`pkg:pypi/NAME@VERSION#PATH`)
    book: NotRequired[BookRights]


class TokenizerEntry(TypedDict):
    """What the manifest says of a tokenizer: how to load it, its library, its files' digests."""

    spec: str
    title: str
    library: str
    version: str
    sha256: NotRequired[dict[str, str]]
    backend_sha256: NotRequired[str]
    # Of tokenizers, which counts for transformers and has Unicode tables of its own
    backend_version: NotRequired[str]
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
    # Of a language that is none of the 26: what scoring, analysis and proof need to know of it, in
    # the form of ruler_common/languages/*.toml
    facts: NotRequired[dict[str, Any]]


class Manifest(TypedDict):
    """manifest.json: how a release was made, and every file of it."""

    format: int
    dataset: str
    data_version: str
    canary: str  # a GUID of this data set and data version, in every row (rows.py)
    builder_version: str
    seed: int
    reserve: int
    # The name of one of the builder's suites, such as the dataset's, or OWN_SUITE
    suite: NotRequired[str]
    families: dict[str, dict[str, Any]]  # the wording of each task family, as the suite has it
    tasks: dict[str, dict[str, Any]]  # each task's family and parameters
    groups: dict[str, list[str]]
    sources: dict[str, SourceEntry]
    words: dict[str, str]  # sha256 of each word list
    languages: dict[str, LanguageEntry]
    tokenizers: dict[str, TokenizerEntry]
    files: dict[str, FileEntry]
