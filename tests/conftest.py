"""Fixtures of every test: the mirror, the stores, the counters. Nothing here reaches a network."""

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
from hypothesis import settings

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.text.sources import Sources, Store, parse_choice
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.tokens.tokenizers import load_counter
from ruler_builder.window.haystacks import CountedSources
from tests.in_process import ruler

MOST_WORKERS = 8
"""Each loads the tokenizers it needs: some hundred MB."""
_home = tempfile.TemporaryDirectory(prefix="ruler-tests-")

# a busy machine fails no test by its speed; `--hypothesis-profile nightly` tries more examples
settings.register_profile("ci", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=150, deadline=None)
settings.load_profile("ci")


def pytest_configure() -> None:
    """Give this run caches of its own, before huggingface_hub is imported and reads these.

    What is imported is compiled once, not by each worker and by each program that a test starts.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.environ.setdefault("RULER_TESTS_HOME", _home.name)  # this process's or its controller's
    os.environ["RULER_CACHE"] = f"{_home.name}/cache"
    os.environ["HF_HOME"] = f"{_home.name}/hf"
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker more than cores for a folder or everything: tests wait for servers and browsers.

    Each reads all tests and loads its own tokenizers. A file or a test alone runs in this process.
    """
    if all(arg.partition("::")[0].endswith(".py") for arg in config.args):
        return 0
    return min(len(os.sched_getaffinity(0)) + 1, MOST_WORKERS)


def pytest_collection_finish() -> None:
    """Leave what all tests share out of every later collection of garbage, which takes time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Generator[None, Any, Any]:
    """Let one worker compile a module of tests; the others wait, and read what it compiled."""
    if not isinstance(collector, pytest.Module) or "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    done = Path(os.environ["RULER_TESTS_HOME"], collector.nodeid.replace("/", "."))
    if done.exists():
        return (yield)
    with FileLock(f"{done}.lock"):
        report = yield
        done.touch()
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    """Mark what needs the public sources: `pytest -m mirror` runs it."""
    for item in items:
        if "mirror" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.mirror)


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Make something once for all processes of this run: `once("small/ruler", make)`.

    `make` is given the path to make, in a folder that is there. Nothing made so may be changed.
    """
    top = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        top = top.parent

    def path_of(name: str, make: Callable[[Path], object]) -> Path:
        path = top / "once" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        done = path.with_name(f".{path.name}.done")
        with FileLock(path.with_name(f".{path.name}.lock")):
            if not done.exists():
                make(path)
                done.touch()
        return path

    return path_of


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of public sources."""
    if not os.environ.get("RULER_MIRROR"):
        pytest.skip("RULER_MIRROR is not set: the public sources are not here")
    return Path(os.environ["RULER_MIRROR"])


@pytest.fixture(scope="session")
def store() -> Store:
    """The mirror if there is one, then an empty cache."""
    return Store(None)


@pytest.fixture(scope="session")
def tekken(store: Store) -> TokenCounter:
    """The default tokenizer's counter; its file comes with mistral-common."""
    return load_counter("tekken", store)


@pytest.fixture(scope="session")
def embedded(store: Store, tekken: TokenCounter) -> CountedSources:
    """The project's own texts, counted by tekken."""
    return CountedSources(Sources(store, parse_choice(["embedded"])), tekken)


@pytest.fixture(scope="session")
def counter_of(mirror: Path) -> Callable[[str], TokenCounter]:
    """Load a named tokenizer from the mirror, once a session."""
    return cache(lambda name: load_counter(name, Store(mirror)))


@pytest.fixture(scope="session")
def embedded_text(embedded: CountedSources) -> str:
    """The essays as the project ships them."""
    return embedded.sources.read("essays").decode("utf-8")


@pytest.fixture(scope="session")
def made(once: Once, embedded_text: str) -> Callable[[str], Path]:
    """The folder of a tokenizer of a kind of trained_tokenizers.py."""

    def train(kind: str) -> Path:
        from tests.trained_tokenizers import train_tokenizer

        return once(f"tokenizers/{kind}", lambda path: train_tokenizer(kind, embedded_text, path))

    return train


@pytest.fixture(scope="session")
def release(once: Once) -> Path:
    """A real release: 13 tasks at 4k, 20 rows, from the embedded sources. Not to be changed."""

    def make(root: Path) -> None:
        build(BuildOptions(root, lengths=("4k",), samples=20, sources=("embedded",)))

    return once("release/ruler", make)


SUITE_LENGTHS = {
    "ruler_2024": ("0k", "4k"),
    "ruler_complexity": ("0k", "4k"),
    "ruler_correlation": ("4k",),
    "ruler_decimal": ("4000",),
}
"""At which lengths the project's other suites are built here."""
OPTIONAL = """
[tasks.needles]
family = "niah"
keys = 3
values = 2
queries = 2

[tasks.noisy]
family = "niah"
haystack = "noise"
key_type = "uuids"
value_type = "uuids"
keys = 5

[tasks.lines]
family = "niah"
haystack = "needles"
key_type = "numbers"
value_type = "words"
keys = 2
values = 3

[tasks.vt_in_essays]
family = "variable_tracking"
haystack = "essay"
chains = 2

[tasks.vt_long_names]
family = "variable_tracking"
name_letters = 8
examples = 0
max_new_tokens = 60

[tasks.vt_three_examples]
family = "variable_tracking"
examples = 3

[tasks.vt_chains_old]
family = "variable_tracking"
layout = "2024"
chains = 3
hops = 2

[tasks.cwe_many]
family = "common_words"
num_cw = 25
freq_cw = 6
freq_ucw = 2
max_new_tokens = 300

[tasks.cwe_two_examples]
family = "common_words"
num_cw = 3
examples = 2

[tasks.fwe_long_words]
family = "frequent_words"
vocabulary = 30
word_letters = 8
words = 5

[tasks.fwe_steep]
family = "frequent_words"
alpha = 3
words = 1

[tasks.qa_few]
family = "question_answering"
dataset = "hotpotqa"
documents = 12
max_new_tokens = 8
"""
"""A custom suite that sets every optional parameter, and unusual values of others."""


@pytest.fixture(scope="session")
def suite_release(once: Once) -> Callable[[str], Path]:
    """A release of another suite of the project's, by name: 2 rows per file, from embedded texts.

    `optional` is that of OPTIONAL. Not to be changed.
    """

    def make(root: Path) -> None:
        name = root.parent.name
        suite: str | Path = name
        lengths = SUITE_LENGTHS.get(name, ("0k", "4k"))
        if name == "optional":
            suite = root.with_name("optional.toml")
            suite.write_text(OPTIONAL, encoding="utf-8")
        sources = ("embedded",)
        order = BuildOptions(root, lengths=lengths, samples=2, sources=sources, suite=suite)
        build(order)

    return lambda name: once(f"{name}/ruler", make)


@pytest.fixture(scope="session")
def oneruler(once: Once) -> Path:
    """ONERULER at 8k in English, Chinese and across both, from the embedded texts; 6 rows per file.

    Not to be changed.
    """

    def make(root: Path) -> None:
        order = BuildOptions(
            root,
            suite="oneruler",
            lengths=("8k",),
            languages=("en", "zh", "en-zh", "zh-en"),
            samples=6,
            sources=("embedded",),
        )
        build(order)

    return once("oneruler/oneruler", make)


@pytest.fixture(scope="session")
def answered(once: Once, release: Path, oneruler: Path) -> Path:
    """A folder with both releases, and a scored run of the oracle on two files of each.

    Not to be changed.
    """
    configs = {
        "ruler": "vt_4k,qa_1_4k",
        "oneruler": "niah_none_8k_en,niah_single_8k_en-zh",
    }

    def make(folder: Path) -> None:
        folder.mkdir()
        for name, root in {"ruler": release, "oneruler": oneruler}.items():
            (folder / name).symlink_to(root)
            asked = ("--dataset", name, "--configs", configs[name], "--backend", "oracle")
            for command in (("run", *asked, "--out", f"run-{name}"), ("score", f"run-{name}")):
                assert ruler(*command, cwd=folder).code == 0

    return once("answered", make)


@pytest.fixture(scope="session")
def counter_made(made: Callable[[str], Path], store: Store) -> Callable[[str], TokenCounter]:
    """The counter of a tokenizer trained here."""
    return cache(lambda kind: load_counter(f"mine={made(kind)}", store))
