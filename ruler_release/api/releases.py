"""Releases from Python: build, verify, load.

build("out", lengths="4k", samples=5, sources="embedded")
rows = load("out", "niah_mk_4k")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ruler_builder.options import BuildOptions, VerifyOptions
from ruler_common.options import Place, paths, several
from ruler_release.api.calls import takes

if TYPE_CHECKING:
    import datasets

    from ruler_builder.release.build import Built
    from ruler_builder.release.plan import BuildOrder
    from ruler_builder.verify.verify import VerifyReport


@takes(BuildOptions)
def build(options: BuildOptions) -> Built:
    """Build a release into the folder `root`, or extend the one that is there; `ruler build`.

    Stopped anywhere, the same call continues. Returns the release's manifest, and which of its
    files are new. Raises RulerError. With several workers a script needs
    `if __name__ == "__main__":` around its calls.
    """
    return build_release(options)


def build_release(options: BuildOptions) -> Built:
    """Build what the options ask for and the release does not have yet."""
    from ruler_builder.release.build import build as build_order
    from ruler_common.terminal import files_bar

    with files_bar("Building", options.progress) as bar:
        return build_order(build_order_of(options), bar)


def build_order_of(options: BuildOptions) -> BuildOrder:
    """Return the order that the options make. Raises RulerError for a folder of a language."""
    from ruler_builder.release.plan import BuildOrder
    from ruler_builder.text.language_choice import LanguageChoice
    from ruler_builder.text.language_folder import language_folders, restrictions

    custom_sources = language_folders(paths(options.language_folders))
    return BuildOrder(
        Path(options.root),
        suite=options.suite,
        tokenizers=several(options.tokenizers),
        lengths=several(options.lengths),
        tasks=several(options.tasks),
        languages=LanguageChoice(
            several(options.languages),
            options.instruction_language,
            options.skip_restricted,
            restrictions(custom_sources),
        ),
        samples=options.samples,
        seed=options.seed,
        reserve=options.reserve,
        workers=options.workers,
        mirror=Path(options.mirror) if options.mirror else None,
        sources=several(options.sources),
        skip_impossible=options.skip_impossible,
        engine=options.engine,
        address=options.address,
        custom_sources=custom_sources,
    )


@takes(VerifyOptions)
def verify(options: VerifyOptions) -> VerifyReport:
    """Verify the release in the folder `root`: digests, rows, manifest and card; `ruler verify`.

    Returns the problems by file; `ok`: whether there are none; `proved`: whether every row is also
    one of the frozen ones or was built again and is the same. Raises RulerError if there is no
    release, its manifest is damaged, or a given tokenizer differs.
    """
    return verify_release(options)


def verify_release(options: VerifyOptions) -> VerifyReport:
    """Verify what the options name."""
    from ruler_builder.verify.verify import verify as verify_folder
    from ruler_common.terminal import files_bar

    with files_bar("Verifying", options.progress) as bar:
        return verify_folder(
            Path(options.root),
            options.workers,
            Path(options.mirror) if options.mirror else None,
            several(options.tokenizers),
            options.audit,
            language_folders=paths(options.language_folders),
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
        tokenizer: Whose rows, if the configuration does not name it.
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
