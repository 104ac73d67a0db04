from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run.options import RunOptions
from tests.in_process import ruler_command

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a tiny model: threads would only wait
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that load a model `hf`: CI runs them in an environment that has torch."""
    for item in items:
        if "tiny" in getattr(item, "fixturenames", ()):
            item.add_marker("hf")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hand-written release: 4 tasks, 5 rows each."""
    from tests.eval.run import small_release

    return small_release.write(tmp_path_factory.mktemp("small") / "ruler")


@pytest.fixture(scope="session")
def mirror_tokenizer() -> Callable[[str], Any]:
    """Load a tokenizer of the mirror by its folder name."""
    mirror = os.environ.get("RULER_MIRROR")
    if not mirror:
        pytest.skip("RULER_MIRROR is not set: the models' own chat templates are not here")
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        from ruler_eval.run.prompts import load_tokenizer

        if name not in loaded:
            loaded[name] = load_tokenizer(str(Path(mirror) / "tokenizers/hf" / name))
        return loaded[name]

    return load


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny seeded chat model with a window of 8192 tokens."""
    pytest.importorskip("torch", reason="the hf extra is not installed")
    from tests.eval.run import tiny_model

    return tiny_model.make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer of the tiny model, which needs no torch."""
    from tests.eval.run import tiny_model

    folder = tmp_path_factory.mktemp("tokenizer")
    tiny_model.write_tokenizer(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_tokenizer(tokenizer_folder: Path) -> Any:
    from ruler_eval.run.prompts import load_tokenizer

    return load_tokenizer(str(tokenizer_folder))


@pytest.fixture
def ruler_run() -> Callable[..., subprocess.Popen[str]]:
    """Start `ruler run FLAGS` as a process."""

    def start(*flags: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ruler_command("run", *flags),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    return start


@pytest.fixture
def options(small: Path, tmp_path: Path) -> RunOptions:
    """Options of a run of the oracle on the hand-written release."""
    return RunOptions(small, configs="all_4k", backend="oracle", out=tmp_path / "RUN")
