"""What `ruler errors` prints: nothing wider than 80 columns, an example below each kind."""

from __future__ import annotations

from ruler_common.text import width
from ruler_eval.figures.errors import error_figures
from ruler_eval.report.render import render

CONFIG = "niah_single_nonone_128k_en-ko_qwen2.5"


def error(config, kind, index=0, prediction="Nothing of the kind.", **more):
    expected = {"config": config, "kind": kind, "index": index, "gap": None, "found": 0, "of": 4}
    return {**expected, "outputs": ["1234567"], "prediction": prediction, **more}


FOUND = [
    error(CONFIG, "distractor", gap=0.25),
    error(CONFIG, "incomplete", 3, "한국어 답 " * 30, found=1, outputs=["7654321"] * 4),
    error("vt_4k", "incomplete", 4, None, found=3),
]


def test_a_row_a_kind_with_an_example_below_in_80_columns():
    lines = render(error_figures(FOUND), "text").splitlines()
    examples = [line for line in lines if line.startswith("  row ")]
    sentences = [line for line in lines if ": " in line and line not in examples]
    assert max(width(line) for line in lines if line not in examples + sentences) <= 80
    assert lines.count(CONFIG) + sum(line.startswith(f"{CONFIG} ") for line in lines) == 2
    (place,) = [i for i, line in enumerate(lines) if line.startswith("vt_4k ")]
    assert lines[place].split() == [
        *("vt_4k", "incomplete", "1", "100", "%", "3.0", "of", "4.0", "-")
    ]
    assert lines[place + 1] == "  row 4: 1234567 <- nothing"
    assert any(line.startswith("  row 3: ") and line.endswith("…'") for line in lines)


def test_in_markdown_the_example_is_a_column():
    lines = render(error_figures(FOUND), "markdown").splitlines()
    lines = lines[lines.index("") + 1 :]
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        *("configuration", "kind", "rows", "of the wrong", "right", "away", "an example"),
    ]
    assert sum(line.startswith("|") for line in lines) == 2 + len(FOUND)
