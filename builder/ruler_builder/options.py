"""The options of `ruler build` and `ruler verify`, for the commands and for Python.

BuildOptions("ruler", lengths=("4k", "128k"), tokenizers="qwen2.5")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from ruler_common.errors import RulerError
from ruler_common.options import NameOrNames, Option, Place, check_options, names_in

POOLS = ("processes", "ray")
# The panels in which `ruler build --help` shows the options.
WHAT, LANGUAGES, HOW = "What", "Languages (oneruler)", "How"
SUITES = Path(__file__).parent / "suites"
# Options that several commands have.
MIRROR = Option("Folder that holds the sources; searched first.", envvar="RULER_MIRROR")
_LANGUAGE_FOLDERS = Option(
    "Folder of a language beyond the 26 (docs/languages.md); repeatable.",
    flag="--language-folder",
    repeatable=True,
)


def suite_names() -> list[str]:
    """Return the names of the project's suites, each a TOML file in suites/."""
    return sorted(path.stem for path in SUITES.glob("*.toml"))


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The options of a build. Raises RulerError for an invalid value."""

    root: Annotated[
        Place, Option("Folder of the release; created or extended.", argument=True, metavar="DIR")
    ] = field(kw_only=False)
    suite: Annotated[
        Place,
        Option(
            f"{', '.join(suite_names())}, or the path of a TOML file.",
            panel=WHAT,
            parse=str,
            metavar="NAME|FILE",
        ),
    ] = "ruler"
    lengths: Annotated[
        NameOrNames,
        Option(
            "Context lengths: 4k,128k,1m, 10000, 0k (the control: evidence only), or all. If none "
            "is named, the command asks for confirmation.",
            panel=WHAT,
            parse=names_in,
            metavar="NAMES",
        ),
    ] = "all"
    tasks: Annotated[
        NameOrNames,
        Option(
            "Tasks or groups; `default` is every task.", panel=WHAT, parse=names_in, metavar="NAMES"
        ),
    ] = "default"
    tokenizers: Annotated[
        NameOrNames,
        Option(
            "A name, NAME=hf:ORG/NAME[@REVISION], NAME=FOLDER or NAME=FILE.gguf; repeatable.",
            panel=WHAT,
            flag="--tokenizer",
            repeatable=True,
        ),
    ] = "tekken"
    rows: Annotated[
        int | None,
        Option(
            "Rows per file. Default: 500, as in the papers; oneruler 50.",
            panel=WHAT,
            min=1,
            other_name="samples",
        ),
    ] = None
    seed: Annotated[
        int, Option("Seed of all random draws; published releases use 0.", panel=WHAT)
    ] = 0
    reserve: Annotated[
        int, Option("Tokens of each length kept free for a chat template.", panel=WHAT, min=0)
    ] = 128
    skip_impossible: Annotated[
        bool,
        Option("Skip files that do not fit their window, and build the rest.", panel=WHAT),
    ] = False

    languages: Annotated[
        NameOrNames,
        Option(
            "pl, en-ko (text in English, instruction in Korean), all, or default: all 26, and the "
            "six pairs of en, ko and pl.",
            panel=LANGUAGES,
            parse=names_in,
            metavar="NAMES",
        ),
    ] = "default"
    instruction_language: Annotated[
        str | None,
        Option("Language of the instructions, whatever the language of the text.", panel=LANGUAGES),
    ] = None
    language_folders: Annotated[
        Place | Iterable[Place], replace(_LANGUAGE_FOLDERS, panel=LANGUAGES)
    ] = ()
    skip_restricted: Annotated[
        bool,
        Option("Leave out languages whose book may not be free everywhere.", panel=LANGUAGES),
    ] = False

    workers: Annotated[
        int | None,
        Option(
            "Number of worker processes. Default: one per core, fewer for a small build.",
            panel=HOW,
            min=1,
        ),
    ] = None
    mirror: Annotated[Path | str | None, replace(MIRROR, panel=HOW)] = None
    sources: Annotated[
        NameOrNames,
        Option(
            "embedded (the project's small texts), or NAME=embedded; repeatable.",
            panel=HOW,
            repeatable=True,
        ),
    ] = ()
    pool: Annotated[str, Option("Where workers run.", panel=HOW, choices=POOLS)] = "processes"
    address: Annotated[
        str | None,
        Option(
            "Ray cluster, HOST:PORT. Default: this machine's, or a new one for this build.",
            panel=HOW,
        ),
    ] = None

    # Whether to show a progress bar; the commands always do.
    progress: bool = False

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("lengths", "tasks", "tokenizers", "languages"):
            if getattr(self, name) in ((), []):
                raise RulerError(f"{name} names nothing: give at least one name.")
        if self.address and self.pool != "ray":
            raise RulerError("--address names a Ray cluster: add --pool ray.")


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The options of a verification."""

    root: Annotated[Place, Option("Folder of the release.", argument=True, metavar="DIR")] = field(
        kw_only=False
    )
    audit: Annotated[
        bool, Option("Also check every row with separate code, not the builder's.")
    ] = False
    rebuild: Annotated[bool, Option("Also rebuild frozen rows, which their digests prove.")] = False
    workers: Annotated[
        int | None,
        Option(
            "Number of worker processes. Default: one per core, fewer for a small release.", min=1
        ),
    ] = None
    mirror: Annotated[Path | str | None, MIRROR] = None
    tokenizers: Annotated[
        NameOrNames,
        Option(
            "Where a custom tokenizer is now: NAME=FOLDER or NAME=FILE.gguf; repeatable.",
            flag="--tokenizer",
            repeatable=True,
        ),
    ] = ()
    language_folders: Annotated[Place | Iterable[Place], _LANGUAGE_FOLDERS] = ()

    # Whether to show a progress bar; the commands always do.
    progress: bool = False

    def __post_init__(self) -> None:
        check_options(self)
