"""Fixtures of the builder's tests: empty places, and the releases whose cards are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ruler_dataset import read_manifest


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
