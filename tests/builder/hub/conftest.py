"""Fixtures of the Hub's tests: a stand-in, a client of it, and small releases to push."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.release.card import card_files
from ruler_builder.release.metadata import collect_facts
from ruler_common.manifest import MANIFEST
from tests.conftest import Once
from tests.hub.client import Client
from tests.hub.stand_in import StandIn


@pytest.fixture(scope="session")
def hub() -> Iterator[StandIn]:
    """One stand-in for all tests; each uses repositories of its own."""
    server = StandIn()
    yield server
    server.close()


@pytest.fixture(scope="session")
def client(hub: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A process whose HF_ENDPOINT is the stand-in."""
    process = Client(hub.url, tmp_path_factory.mktemp("home"))
    yield process
    process.close()


@pytest.fixture(scope="session")
def small(once: Once) -> Path:
    """Three tasks at 1k, 8 rows. Not to be changed."""

    def make(root: Path) -> None:
        order = BuildOptions(
            root,
            lengths=("1k",),
            tasks=("niah_single_1", "niah_single_2", "niah_single_3"),
            samples=8,
            sources=("embedded",),
        )
        build(order)

    return once("small/ruler", make)


def rewrite(root: Path, manifest: dict[str, Any]) -> None:
    """Write a changed manifest with its card and registration, as a build would."""
    heads = {
        **card_files(collect_facts(manifest, root)),
        MANIFEST: json.dumps(manifest, indent=1, ensure_ascii=False) + "\n",
    }
    for name, text in heads.items():
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def mine(small: Path, tmp_path: Path) -> Path:
    """The small release, to be changed."""
    return Path(shutil.copytree(small, tmp_path / "ruler"))


@pytest.fixture(scope="session")
def extended(small: Path, made: Callable[[str], Path], once: Once) -> Path:
    """The small release with one more tokenizer. Not to be changed."""

    def make(root: Path) -> None:
        shutil.copytree(small, root)
        order = BuildOptions(
            root,
            tokenizers=(f"mine={made('gpt2')}",),
            lengths=("1k",),
            tasks=("niah_single_1",),
            samples=8,
            sources=("embedded",),
        )
        build(order)

    return once("extended/ruler", make)
