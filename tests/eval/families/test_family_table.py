"""Every task of the benchmarks has its family and its own rule; a name of both has two families."""

from __future__ import annotations

import pytest

from ruler_eval.families import multilingual_niah, niah
from ruler_eval.families.table import FAMILIES, family_of, rule_task
from ruler_score.ruler_score import ONERULER_TASKS, RULER_TASKS

BENCHMARKS = {"ruler": RULER_TASKS, "oneruler": ONERULER_TASKS}


@pytest.mark.parametrize("dataset", BENCHMARKS)
def test_every_task_of_a_benchmark_has_one_family_and_its_own_rule(dataset: str) -> None:
    families = [family for family in FAMILIES.values() if family.dataset == dataset]
    held = [task for family in families for task in family.tasks]
    assert sorted(held) == sorted(BENCHMARKS[dataset])
    assert all(rule_task(task, dataset) == task for task in held)


def test_a_name_that_both_benchmarks_have_is_of_the_family_of_its_own() -> None:
    assert family_of("niah_multivalue", "ruler") is niah.FAMILY
    assert family_of("niah_multivalue", "oneruler") is multilingual_niah.FAMILY
