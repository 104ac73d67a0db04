"""Shared fixtures: sources, tokenizers and small releases. No test needs a network."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.sources import Sources
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.tokens.tokenizers import load_counter
from tests.embedded_release import build_embedded
from tests.in_process import ruler_output

MAX_WORKERS = 8  # each worker loads tokenizers that take a few hundred MB
_home = tempfile.TemporaryDirectory(prefix="ruler-tests-")

# No deadline: a slow machine must not fail a test. No test changes a fixture that it shares with
# a property. `--hypothesis-profile nightly` tries more examples.
_SHARED = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
settings.register_profile("ci", max_examples=20, derandomize=True, **_SHARED)
settings.register_profile("nightly", max_examples=150, **_SHARED)
settings.load_profile("ci")


def pytest_configure() -> None:
    """Give this run its own caches, before huggingface_hub is imported and reads these variables.

    Also let Python write bytecode, so that workers and subprocesses do not compile again.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.environ.setdefault("RULER_TESTS_HOME", _home.name)  # workers inherit the controller's
    os.environ["RULER_CACHE"] = f"{_home.name}/cache"
    os.environ["HF_HOME"] = f"{_home.name}/hf"
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use one worker more than there are cores, because tests wait for servers and browsers.

    Single files and tests run in this process: a worker would first collect all tests.
    """
    if all(arg.partition("::")[0].endswith(".py") for arg in config.args):
        return 0
    return min(len(os.sched_getaffinity(0)) + 1, MAX_WORKERS)


def pytest_collection_finish() -> None:
    """Exclude what all tests share from later garbage collections, which saves time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Generator[None, Any, Any]:
    """Let one worker compile a test module while the others wait and then read its bytecode."""
    if not isinstance(collector, pytest.Module) or "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    compiled = Path(os.environ["RULER_TESTS_HOME"], collector.nodeid.replace("/", "."))
    if compiled.exists():
        return (yield)
    with FileLock(f"{compiled}.lock"):
        report = yield
        compiled.touch()
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    """Mark the tests that need the public sources, for `pytest -m mirror`."""
    for item in items:
        if "mirror" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.mirror)


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Return a function that makes a file or folder once for all workers of this run.

    `once("small/ruler", make)` calls `make` with the path, whose parent folder exists, and returns
    the path. Tests must not change what it made.
    """
    top = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        top = top.parent

    def path_of(name: str, make: Callable[[Path], object]) -> Path:
        path = top / "once" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        marker = path.with_name(f".{path.name}.done")
        with FileLock(path.with_name(f".{path.name}.lock")):
            if not marker.exists():
                make(path)
                marker.touch()
        return path

    return path_of


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Return the folder of public sources."""
    if not os.environ.get("RULER_MIRROR"):
        pytest.skip("RULER_MIRROR is not set: this test needs the public sources")
    return Path(os.environ["RULER_MIRROR"])


@pytest.fixture(scope="session")
def store() -> Store:
    """Return a store that reads the mirror, if there is one, and an empty cache."""
    return Store(None)


@pytest.fixture(scope="session")
def tekken(store: Store) -> TokenCounter:
    """Return the default tokenizer's counter; mistral-common, which tests install, has its file."""
    return load_counter("tekken", store)


@pytest.fixture(scope="session")
def embedded(store: Store, tekken: TokenCounter) -> CountedSources:
    """Return the project's own texts, counted by tekken."""
    return CountedSources(Sources(store, parse_sources_option(["embedded"])), tekken)


@pytest.fixture(scope="session")
def named_counter(mirror: Path) -> Callable[[str], TokenCounter]:
    """Return a function that loads a named tokenizer from the mirror, once a session."""
    return cache(lambda name: load_counter(name, Store(mirror)))


@pytest.fixture(scope="session")
def embedded_text(embedded: CountedSources) -> str:
    """Return the essays that come with the project."""
    return embedded.sources.read("essays").decode("utf-8")


@pytest.fixture(scope="session")
def trained_tokenizer(once: Once, embedded_text: str) -> Callable[[str], Path]:
    """Return a function that trains a tokenizer of a kind in trained_tokenizers.py."""

    def train(kind: str) -> Path:
        from tests.trained_tokenizers import train_tokenizer

        return once(f"tokenizers/{kind}", lambda path: train_tokenizer(kind, embedded_text, path))

    return train


@pytest.fixture(scope="session")
def trained_counter(
    trained_tokenizer: Callable[[str], Path], store: Store
) -> Callable[[str], TokenCounter]:
    """Return a function that gives the counter of such a tokenizer."""
    return cache(lambda kind: load_counter(f"mine={trained_tokenizer(kind)}", store))


@pytest.fixture(scope="session")
def release(once: Once) -> Path:
    """Build 13 tasks at 4k, 20 rows, from the embedded sources. Tests must not change it."""
    return once("release/ruler", lambda root: build_embedded(root, lengths=("4k",), rows=20))


# The lengths at which tests build the project's other suites
SUITE_LENGTHS = {
    "ruler_2024": ("0k", "4k"),
    "ruler_complexity": ("0k", "4k"),
    "ruler_correlation": ("4k",),
    "ruler_decimal": ("4000",),
}


@pytest.fixture(scope="session")
def suite_release(once: Once) -> Callable[[str], Path]:
    """Return a function that builds 2 rows per file of a suite. Tests must not change them.

    `optional` is the suite of optional_parameters.toml.
    """

    def make(root: Path) -> None:
        suite: str | Path = root.parent.name
        lengths = SUITE_LENGTHS.get(root.parent.name, ("0k", "4k"))
        if suite == "optional":
            suite = Path(__file__).with_name("optional_parameters.toml")
        build_embedded(root, lengths=lengths, rows=2, suite=suite)

    return lambda name: once(f"{name}/ruler", make)


@pytest.fixture(scope="session")
def oneruler(once: Once) -> Path:
    """Build 6 rows of ONERULER at 8k in English, Chinese and across. Tests must not change it."""

    def make(root: Path) -> None:
        languages = ("en", "zh", "en-zh", "zh-en")
        build_embedded(root, suite="oneruler", lengths=("8k",), languages=languages, rows=6)

    return once("oneruler/oneruler", make)


@pytest.fixture(scope="session")
def oracle_runs(once: Once, release: Path, oneruler: Path) -> Path:
    """Make a folder with both releases, and a scored run of the oracle on two files of each.

    Tests must not change it.
    """

    def make(folder: Path) -> None:
        folder.mkdir()
        for name, root, configs in (
            ("ruler", release, "vt_4k,qa_1_4k"),
            ("oneruler", oneruler, "niah_none_8k_en,niah_single_8k_en-zh"),
        ):
            (folder / name).symlink_to(root)
            flags = ("--dataset", name, "--configs", configs, "--backend", "oracle")
            ruler_output("run", *flags, "--out", f"run-{name}", cwd=folder)
            ruler_output("score", f"run-{name}", cwd=folder)

    return once("oracle_runs", make)
