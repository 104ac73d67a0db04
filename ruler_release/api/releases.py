"""Releases from Python: build, verify, load.

build("out", lengths="4k", samples=5, sources="embedded")
rows = load("out", "niah_mk_4k")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ruler_builder.options import BuildOptions, VerifyOptions
from ruler_common.options import Place
from ruler_release.api.calls import takes

if TYPE_CHECKING:
    import datasets

    from ruler_builder.release.build import Built
    from ruler_builder.verify.verify import VerifyReport


@takes(BuildOptions)
def build(options: BuildOptions) -> Built:
    """Build a release into the folder `root`, or extend the one that is there; `ruler build`.

    Stopped anywhere, the same call continues. Returns the release's manifest, and which of its
    files are new. Raises RulerError. With several workers a script needs
    `if __name__ == "__main__":` around its calls.
    """
    from ruler_builder.release.build import build

    return build(options)


@takes(VerifyOptions)
def verify(options: VerifyOptions) -> VerifyReport:
    """Verify the release in the folder `root`: digests, rows, manifest and card; `ruler verify`.

    Returns the problems by file; `ok`: whether there are none; `proved`: whether every row is also
    one of the frozen ones or was built again and is the same. Raises RulerError if there is no
    release, its manifest is damaged, or a given tokenizer differs.
    """
    from ruler_builder.verify.verify import verify

    return verify(options)


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
