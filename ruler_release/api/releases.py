"""Releases from Python: build, verify, load.

build("out", lengths="4k", samples=5, sources="embedded")
rows = load("out", "niah_mk_4k")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ruler_release.api.arguments import Names, Place, filled, path, paths, several

if TYPE_CHECKING:
    import datasets

    from ruler_builder.release.build import Built
    from ruler_builder.release.plan import BuildSize
    from ruler_builder.verify.verify import VerifyReport


def build(
    root: Place,
    *,
    suite: Place = "ruler",
    tokenizers: Names = "tekken",
    lengths: Names = "all",
    tasks: Names = "default",
    languages: Names = "default",
    instruction_language: str | None = None,
    language_folders: Place | Iterable[Place] = (),
    skip_restricted: bool = False,
    samples: int | None = None,
    seed: int = 0,
    reserve: int = 128,
    workers: int | None = 1,
    mirror: Place | None = None,
    sources: Names | None = None,
    skip_impossible: bool = False,
    engine: str = "processes",
    address: str | None = None,
    on_size: Callable[[BuildSize], None] | None = None,
    progress: bool = False,
) -> Built:
    """Build a release into the folder `root`, or extend the one that is there; `ruler build`.

    Args:
        root: The folder. Stopped anywhere, the same call goes on.
        suite: What to make: a suite by its name (`ruler`, `oneruler`, `ruler_2024`, …), or a TOML
            file of one's own.
        tokenizers: `qwen2.5`, `NAME=hf:ORG/NAME[@REVISION]` or `NAME=FOLDER`.
        lengths: Windows by name: `4k` is 4 x 1024 tokens, `10000` that many, `0k` the evidence
            alone, `all` what a full release has.
        tasks: Tasks and groups, or `default`: every task of the suite.
        languages: Of oneruler: `pl`, `en-ko` (text English, instruction Korean), `all`, `default`.
        instruction_language: The language of the instructions, whatever the text's.
        language_folders: Folders of languages that are none of the 26; with them `default` is
            these, and each crossed with English (docs/languages.md).
        skip_restricted: Leave out the languages whose book may not be free everywhere.
        samples: Rows a file; None is the papers' number, 500 (oneruler: 50).
        seed: Draws other rows; published releases use 0.
        reserve: Tokens of each window that are kept for a chat template.
        workers: Processes that work at a time; None: one a core, where the rows repay it.
        mirror: A folder that holds the sources; default: $RULER_MIRROR, the cache, the network.
        sources: `embedded` for the project's own small texts, or `NAME=embedded`.
        skip_impossible: Leave out what its window cannot hold, instead of building nothing.
        engine: Where workers run: `processes`, or `ray`.
        address: Of a Ray cluster, HOST:PORT; default: this machine's, or one made for the work.
        on_size: Is given what is to be made, before any work; what it raises ends the build.
        progress: Show a bar.

    Returns:
        The release's manifest, and which of its files are new. Raises RulerError.
    """
    from ruler_builder.release.build import build as build_release
    from ruler_builder.release.plan import BuildOrder, size_of
    from ruler_builder.text.language_choice import LanguageChoice
    from ruler_builder.text.language_folder import language_folders as read_folders
    from ruler_builder.text.language_folder import restrictions
    from ruler_common.terminal import files_bar

    folders = read_folders(paths(language_folders))
    custom = restrictions(folders)
    order = filled(
        BuildOrder,
        locals(),
        root=Path(root),
        tokenizers=several(tokenizers),
        lengths=several(lengths),
        tasks=several(tasks),
        languages=LanguageChoice(several(languages), instruction_language, skip_restricted, custom),
        custom_sources=folders,
        mirror=path(mirror),
        sources=several(sources),
    )
    if on_size is not None:
        on_size(size_of(order))
    with files_bar("Building", progress) as bar:
        return build_release(order, bar)


def verify(
    root: Place,
    *,
    workers: int | None = 1,
    mirror: Place | None = None,
    tokenizers: Names | None = None,
    language_folders: Place | Iterable[Place] = (),
    audit: bool = False,
    progress: bool = False,
) -> VerifyReport:
    """Verify the release in the folder `root`: digests, rows, manifest and card; `ruler verify`.

    Args:
        root: The folder.
        workers: Processes that work at a time; None: one a core, where the rows repay it.
        mirror: A folder that holds the sources; default: $RULER_MIRROR, the cache.
        tokenizers: Where unnamed tokenizers lie now, `NAME=FOLDER`.
        language_folders: Folders of the release's languages that are none of the 26.
        audit: Check every row without the code that makes rows, too.
        progress: Show a bar.

    Returns:
        The problems by file; `ok`: whether there are none; `proved`: whether every row is also one
        of the frozen ones or was built again and is the same. Raises RulerError if there is no
        release, its manifest is damaged, or a given tokenizer differs.
    """
    from ruler_builder.verify.verify import verify as verify_release
    from ruler_common.terminal import files_bar

    specs = several(tokenizers)
    with files_bar("Verifying", progress) as bar:
        return verify_release(
            Path(root),
            workers,
            path(mirror),
            specs,
            audit,
            language_folders=paths(language_folders),
            bar=bar,
        )


def load(
    dataset: Place,
    config: str,
    *,
    tokenizer: str | None = None,
    revision: str | None = None,
    verify: bool = True,
    progress: bool = False,
) -> datasets.Dataset:
    """Load a configuration, as `datasets.load_dataset(dataset, config, split="test")` does.

    Args:
        dataset: A release folder, or a repository of the Hub, ORG/NAME.
        config: A task or a group at a length: `vt_4k`, `niah_128k`, `niah_none_64k_pl`.
        tokenizer: Whose rows, where the configuration does not name it.
        revision: The repository's tag or commit.
        verify: Compare each file with its sha256 in the manifest before it is read.
        progress: Let `datasets` show its bars.

    Returns:
        The rows. Raises RulerError for an unknown configuration, a missing or a changed file.
    """
    from contextlib import nullcontext

    from ruler_dataset import load as load_rows

    with nullcontext() if progress else _no_bars():
        return load_rows(dataset, config, tokenizer, revision, verify)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Keep the progress bars of `datasets` from the terminal."""
    import datasets

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()
