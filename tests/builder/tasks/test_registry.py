"""The registry of task families, and the words and suites of each."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ruler_builder.release.suite import read_suite
from ruler_builder.suites.wording import own_wording, read_suite_file, suite_names
from ruler_builder.tasks.registry import FAMILIES
from ruler_common.names import TASKS


def test_the_project_words_every_family() -> None:
    worded = [family for dataset in TASKS for family in own_wording(dataset)]
    assert sorted(worded) == sorted(FAMILIES)


@pytest.mark.parametrize("dataset", TASKS)
def test_the_benchmarks_own_suite_words_its_families_first(dataset: str) -> None:
    own = read_suite_file(dataset)["families"]
    assert list(own_wording(dataset).items())[: len(own)] == list(own.items())


@pytest.mark.parametrize("family", FAMILIES)
def test_optional_parameters_are_parameters(family: str) -> None:
    params = FAMILIES[family].params
    assert {*params.optional} <= {item.name for item in fields(params)}


@pytest.mark.parametrize("name", suite_names())
def test_every_task_of_the_projects_suites_can_be_read(name: str) -> None:
    for params in read_suite(name).params.values():
        assert params.max_new_tokens > 0
