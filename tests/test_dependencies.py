"""Every package that the product imports is declared, and every declared one is imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions
from pathlib import Path

import pytest

from ruler_builder.sources.download import Store
from ruler_builder.tokens import tokenizers
from ruler_common.errors import RulerError
from ruler_eval.run.prompts import load_tokenizer
from tests.test_architecture import EVERY, PACKAGES, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUN_ELSEWHERE = {
    "gradio": "eval/ruler_score/app.py runs on the metric's Space, which brings it",
    "lighteval": "an export is a file that lighteval loads",
    "nemo-evaluator": "an export is a file that NeMo Evaluator loads",
}
"""Imported by files that another program runs, and therefore not declared."""
NOT_IMPORTED = {
    "accelerate": "transformers reads a GGUF file with it, and spreads a model by device_map",
    "gguf": "transformers reads a GGUF file with it",
    "lm-eval": "reads what `ruler export --format lm-eval` writes",
    "mistral-common": "its file tekken.json is read, without the package",
    "wonderwords": "its lists of words are read, without the package",
}
"""Declared for another use than an import."""
OF_TESTS = "test"
"""The extra of what tests and checks need, which the product does not import."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node, but for what stands under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from at_run_time(child)


def packages_of(path: Path) -> Iterator[str]:
    """The packages outside the project and the standard library that a file imports anywhere."""
    for node in at_run_time(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        tops = {name.partition(".")[0] for name in names}
        yield from tops - {*PACKAGES, *sys.stdlib_module_names}


def declared(extras: bool = True) -> set[str]:
    """The distributions of the base and of all extras but that of the tests."""
    lines = [*PROJECT["dependencies"]]
    for extra, more in PROJECT["optional-dependencies"].items():
        lines += more if extras and extra != OF_TESTS else []
    names = {normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines}
    return names - {normal(PROJECT["name"])}


@cache
def imported() -> dict[str, Path]:
    """Each distribution, by its package's own name if not installed here, and one importer."""
    distributions = packages_distributions()
    return {
        normal(distributions.get(name, [name])[0]): path
        for path in EVERY.values()
        for name in packages_of(path)
    }


def test_every_imported_package_is_declared() -> None:
    missing = {name: path for name, path in imported().items() if name not in RUN_ELSEWHERE}
    assert {name: path for name, path in missing.items() if name not in declared()} == {}


def test_every_declared_package_is_imported() -> None:
    assert declared() - {*imported()} == {*NOT_IMPORTED}


def test_the_exceptions_are_needed() -> None:
    assert {*RUN_ELSEWHERE} <= {*imported()} - declared()


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_no_extra_repeats_what_the_base_brings(extra: str) -> None:
    lines = PROJECT["optional-dependencies"][extra]
    names = {normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines}
    assert names & declared(extras=False) == set()


def test_what_needs_an_extra_names_it_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`.ci/wheel` tries the commands where the packages are really missing."""

    def missing(library: str) -> str:
        raise PackageNotFoundError(library)

    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(tokenizers, "version", missing)
    monkeypatch.setattr(Store, "get", lambda *_: pytest.fail("fetched"))
    with pytest.raises(RulerError, match=r"pip install 'ruler-release\[tokenizers\]'"):
        tokenizers.load_counter("qwen2.5", Store(None))
    with pytest.raises(RulerError, match=r"pip install 'ruler-release\[tokenizers\]'"):
        tokenizers.load_counter(f"mine={tmp_path}", Store(None))
    with pytest.raises(RulerError, match=r"pip install 'ruler-release\[tokenizers\]'"):
        load_tokenizer(str(tmp_path))
