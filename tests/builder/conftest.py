"""Fixtures of the builder's tests: empty places, and the releases whose cards are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_common.manifest import read_manifest
from tests.conftest import Once

EVERY_LANGUAGES_TASKS = ("niah_none", "niah_single", "cwe_easy")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no mirror."""
    monkeypatch.delenv("RULER_MIRROR", raising=False)
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path, cache: Path) -> Path:
    """An empty mirror."""
    made = tmp_path / "mirror"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def every_language(mirror: Path, once: Once) -> Path:
    """ONERULER from the published files: 26 languages and four pairs, 2 rows per file at 8k.

    Of the tasks by turns one of each kind. Not to be changed.
    """

    def make(root: Path) -> None:
        order = BuildOptions(
            root,
            suite="oneruler",
            tokenizers=("cl100k_base",),
            lengths=("8k",),
            tasks=EVERY_LANGUAGES_TASKS,
            languages=("all", "en-ko", "ko-en", "pl-en", "zh-sw"),
            samples=2,
            mirror=mirror,
        )
        build(order)

    return once("every_language/oneruler", make)


@pytest.fixture(params=["release", "oneruler"])
def root(request: pytest.FixtureRequest) -> Path:
    """Either release, from embedded texts."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def manifest(root: Path) -> dict[str, Any]:
    """What the card is rendered from."""
    return read_manifest(root)


@pytest.fixture
def text(root: Path) -> str:
    """The card."""
    return (root / "README.md").read_text(encoding="utf-8")
