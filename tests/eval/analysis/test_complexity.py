"""The panels of how scores fall as tasks grow harder, of any release's description of its tasks."""

from __future__ import annotations

from typing import Any

import pytest

from ruler_eval.analysis.complexity import panels
from tests.eval.analysis.test_compare import results
from tests.eval.scoring_helpers import whole_results

NEEDLES = {"key_type": "words", "value_type": "numbers", "haystack": "essay", "values": 1}
TASK: dict[str, Any] = {"family": "niah", **NEEDLES, "queries": 1}


@pytest.mark.parametrize(
    "odd", [{"family": "niah"}, {**TASK, "keys": "four"}, {**TASK, "keys": 4, "key_type": ["?"]}]
)
def test_a_task_without_the_parameters_of_its_family_is_in_no_panel(odd):
    """Another program may have written the release, or a hand."""
    result = whole_results(results("m", one_4k=[1.0], four_4k=[0.5], odd_4k=[0.0]))
    parameters = {"one": {**TASK, "keys": 1}, "four": {**TASK, "keys": 4}}
    result["dataset"]["parameters"] = {**parameters, "odd": odd}
    (panel,) = panels(result)
    assert panel.title == "niah: keys"
    assert [(line.value, line.task) for line in panel.lines] == [("1", "one"), ("4", "four")]
