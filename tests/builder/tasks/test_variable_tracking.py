"""vt: its solved examples."""

from __future__ import annotations

import re

import pytest

from ruler_builder.tasks.registry import read_suite
from tests.builder.tasks.row_reading import NOISE, task_of

TRACK = "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"


FIND = "Find all variables that are assigned the value {} in the text above."


TRACKED = (
    " Answer: According to the chain(s) of variable assignment in the text above, {} variables "
    "are assigned the value {}, they are: "
)


def test_variable_tracking_begins_with_a_solved_example_of_the_same_form(embedded):
    row = task_of(embedded, "vt", "2k").row(0).columns
    example = row["input"][: row["context_start"]].removesuffix(TRACK)
    value = re.search(r"= (\d{5})\n", example)[1]  # type: ignore[index]
    names = re.findall(r"^VAR ([A-Z]{3}) = ", example, re.MULTILINE)
    lines = [
        f"VAR {name} = {source}"
        for name, source in zip(names, [value, *(f"VAR {n} " for n in names)], strict=False)
    ]
    context = example.removeprefix(TRACK).split("\nQuestion: ")[0]
    assert len(names) == 5
    assert [line for line in context.split("\n") if line != NOISE] == lines
    assert 500 - embedded.counter.count(NOISE + "\n") < embedded.counter.count(example) <= 500
    assert value not in row["input"][row["context_start"] :]
    assert example == (
        f"{TRACK}{context}\nQuestion: {FIND.format(value)}{TRACKED.format(5, value)}"
        f" {' '.join(names)}\n\n"
    )


@pytest.mark.parametrize("layout", ["2025", "2024"])
def test_no_name_of_an_example_is_part_of_a_reference(embedded, tmp_path, layout):
    """Otherwise a model that repeats the example's answer would name it."""
    (tmp_path / "my.toml").write_text(
        f'[tasks.vt]\nfamily = "variable_tracking"\nhops = 30\nlayout = "{layout}"\n'
    )
    task = task_of(embedded, "vt", "0k", read_suite(tmp_path / "my.toml"))
    for index in range(30):
        row = task.row(index).columns
        names = re.findall(r"VAR ([A-Z]{3}) = ", row["input"])
        assert len(names) == 31
        assert not [name for name in names for output in row["outputs"] if name in output]
