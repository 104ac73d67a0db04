"""Fixtures of the builder's tests: an empty cache and an empty mirror."""

from __future__ import annotations

from pathlib import Path

import pytest


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
