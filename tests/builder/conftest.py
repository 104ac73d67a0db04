"""Shared fixtures: an empty cache and mirror, releases, and their manifests and cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ruler_common.manifest import read_manifest
from tests.conftest import Once
from tests.embedded_release import build_embedded

EVERY_LANGUAGES_TASKS = ("niah_none", "niah_single", "cwe_easy")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache and no mirror."""
    monkeypatch.delenv("RULER_MIRROR", raising=False)
    monkeypatch.setenv("RULER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path, cache: Path) -> Path:
    """Make an empty mirror."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    return mirror


@pytest.fixture(scope="session")
def every_language(mirror: Path, once: Once) -> Path:
    """Build ONERULER at 8k from the published files: 26 languages and four pairs, 2 rows.

    It has one task of each kind. Tests must not change it.
    """

    def make(root: Path) -> None:
        build_embedded(
            root,
            sources=(),
            suite="oneruler",
            tokenizers=("cl100k_base",),
            lengths=("8k",),
            tasks=EVERY_LANGUAGES_TASKS,
            languages=("all", "en-ko", "ko-en", "pl-en", "zh-sw"),
            rows=2,
            mirror=mirror,
        )

    return once("every_language/oneruler", make)


@pytest.fixture(params=["release", "oneruler"])
def root(request: pytest.FixtureRequest) -> Path:
    """Return each of the two releases from embedded texts."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def manifest(root: Path) -> dict[str, Any]:
    """Return the release's manifest."""
    return read_manifest(root)


@pytest.fixture
def text(root: Path) -> str:
    """Return the release's card."""
    return (root / "README.md").read_text(encoding="utf-8")
