"""What `ruler run` prints at its end: configurations with other rows than ended ones."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ruler_common.text import COLUMNS
from ruler_release.tables.run_tables import show_states


def shown(states: dict[str, Counter[str]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    missing = sum(not counts for counts in states.values())
    summary = SimpleNamespace(states=states, unfinished=Counter[str](), missing=missing)
    show_states(cast(Any, summary))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= COLUMNS
    return lines


def test_a_run_without_trouble_is_one_line(capsys):
    states = {"vt_4k": Counter(stop=5), "cwe_4k": Counter(stop=5)}
    assert shown(states, capsys) == ["All rows of 2 configurations were answered to the end."]


def test_states_that_no_row_has_take_no_column(capsys):
    lines = shown({"vt_4k": Counter(error=5), "cwe_4k": Counter(stop=3, length=2)}, capsys)
    assert lines[0].split() == ["configuration", "ended", "truncated", "failed"]
    assert [line.split() for line in lines[2:]] == [
        ["vt_4k", "0", "0", "5"],
        ["cwe_4k", "3", "2", "0"],
    ]


def test_configurations_in_trouble_are_listed_and_the_others_counted(capsys):
    states = {f"niah_single_32k_{number}": Counter(stop=5) for number in range(9)}
    states["niah_single_nonone_128k_en-pl_qwen2.5"] = Counter(stop=4, does_not_fit=1)
    lines = shown(states, capsys)
    assert lines[2].split() == ["niah_single_nonone_128k_en-pl_qwen2.5", "4", "1"]
    assert lines[3] == "All rows of 9 other configurations were answered to the end."


def test_a_shard_of_very_many_configurations_says_what_others_have_to_answer(capsys):
    states = {f"vt_{number}": Counter({"stop": 1} if number % 2 else {}) for number in range(202)}
    assert shown(states, capsys) == [
        "The rows so far of 101 configurations were answered to the end.",
        "No row of 101 configurations was answered yet.",
    ]
