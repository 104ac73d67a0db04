"""Shared fixtures: a fake Hub, a client process, and small releases to push."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Once
from tests.embedded_release import build_embedded
from tests.hub.client import Client
from tests.hub.fake_hub import FakeHub

SMALL_TASKS = ("niah_single_1", "niah_single_2", "niah_single_3")


@pytest.fixture(scope="session")
def hub() -> Iterator[FakeHub]:
    """Start one fake Hub for all tests; each test uses its own repositories."""
    server = FakeHub()
    yield server
    server.close()


@pytest.fixture(scope="session")
def client(hub: FakeHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a process whose HF_ENDPOINT is the fake Hub."""
    process = Client(hub.url, tmp_path_factory.mktemp("home"))
    yield process
    process.close()


@pytest.fixture(scope="session")
def small(once: Once) -> Path:
    """Build three tasks at 1k, 8 rows. Tests must not change it."""

    def make(root: Path) -> None:
        build_embedded(root, lengths=("1k",), tasks=SMALL_TASKS, rows=8)

    return once("small/ruler", make)


@pytest.fixture
def small_copy(small: Path, tmp_path: Path) -> Path:
    """Return a copy of the small release, which a test may change."""
    return Path(shutil.copytree(small, tmp_path / "ruler"))


@pytest.fixture(scope="session")
def extended(small: Path, trained_tokenizer: Callable[[str], Path], once: Once) -> Path:
    """Build the small release with a second tokenizer, `mine`. Tests must not change it."""

    def make(root: Path) -> None:
        shutil.copytree(small, root)
        spec = f"mine={trained_tokenizer('gpt2')}"
        build_embedded(root, tokenizers=(spec,), lengths=("1k",), tasks=SMALL_TASKS[:1], rows=8)

    return once("extended/ruler", make)
