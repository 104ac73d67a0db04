"""The registry of task families fits the suites and their wording."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ruler_builder.options import SUITES, suite_names
from ruler_builder.tasks.registry import FAMILIES, read_suite
from ruler_common.names import TASKS


@pytest.mark.parametrize("dataset", TASKS)
def test_the_benchmark_suites_do_not_reword_families(dataset):
    for family, templates in read_suite(dataset).families.items():
        assert FAMILIES[family].dataset == dataset
        assert FAMILIES[family].templates == templates


@pytest.mark.parametrize("name", suite_names())
def test_the_projects_suites_are_checked_as_a_users_are(name):
    assert read_suite(SUITES / f"{name}.toml").described() == read_suite(name).described()


def test_every_family_is_used_by_a_suite():
    assert {family for name in suite_names() for family in read_suite(name).families} == {*FAMILIES}


@pytest.mark.parametrize("family", FAMILIES)
def test_optional_parameters_are_parameters(family):
    params = FAMILIES[family].params
    assert {*params.optional} <= {item.name for item in fields(params)}
