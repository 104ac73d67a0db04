"""The registry of task families, and the words and suites of each."""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import fields

import pytest

from ruler_builder.suites import suite_names
from ruler_builder.tasks.registry import FAMILIES, read_suite
from ruler_common.names import TASKS


@pytest.mark.parametrize("dataset", TASKS)
def test_the_benchmarks_own_suites_use_families_as_they_are_worded(dataset):
    for family, templates in read_suite(dataset).families.items():
        assert FAMILIES[family].dataset == dataset
        assert FAMILIES[family].templates == templates


def test_every_family_is_used_by_a_suite():
    assert {family for name in suite_names() for family in read_suite(name).families} == {*FAMILIES}


@pytest.mark.parametrize("family", FAMILIES)
def test_optional_parameters_are_parameters(family):
    params = FAMILIES[family].params
    assert {*params.optional} <= {item.name for item in fields(params)}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_audit_uses_nothing_that_makes_rows(family):
    """Below the line that begins the audit no name of the rows' part or of window/ is used."""
    text = inspect.getsource(sys.modules[FAMILIES[family].task.__module__])
    rows, audit = text.split("# ---- Rows")[1].split("# ---- Audit")
    made = {node.name for node in ast.parse("#" + rows).body if isinstance(node, ast.ClassDef)}
    made |= {node.name for node in ast.parse("#" + rows).body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).endswith(".base"):
            made |= {name.name for name in node.names}
        if isinstance(node, ast.ImportFrom) and "ruler_builder.window" in str(node.module):
            made |= {name.name for name in node.names}
    used = {n.id for n in ast.walk(ast.parse("#" + audit)) if isinstance(n, ast.Name)}
    assert FAMILIES[family].task.__name__ in made
    assert not used & made
