"""Files of every form that is read, with something wrong in them: rows, or one sentence.

What may be wrong: values of other kinds, keys that lack or stand there twice, deep nests, NaN,
bytes cut off, changed or put between, a byte-order mark, another encoding, NUL, other columns.
"""

from __future__ import annotations

import csv
import io
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from ruler_common.errors import RulerError
from ruler_eval.analysis.errors import collect
from ruler_eval.score.cells.row_score import ScoringRules
from ruler_eval.score.prediction_files import Predictions
from ruler_eval.score.prediction_source import PredictionSource
from ruler_eval.score.scoring import score
from tests.eval.score.formats.test_forms import CASES, A, documented
from tests.fuzz.hostile import NAMES, VALUES, changed, changes, damage, damaged, written
from tests.shares import TURN, examples

TWICE = re.compile(r'"([a-z_]+)": ')
CELLS = [*NAMES, *VALUES, "['A", '["A" ', "[]", "nan"]
OF_ONE_TYPE = [7, -1, 0.5, float("nan"), "x", None, [1], ["A"], {"a": 1}, b"\xff", True]


def text_of(held: Any, suffix: str, rng: random.Random) -> str:
    """A JSON document or lines of JSON after some changes, now and then a key twice."""
    records = held if isinstance(held, list) else [held]
    if suffix == ".json":
        text = written(changed(held, changes(rng)))
    else:
        place = rng.randrange(len(records))
        lines = [
            written(changed(one, changes(rng)) if i == place else one)
            for i, one in enumerate(records)
        ]
        text = "\n".join(lines) + "\n"
    if rng.random() < 0.1:
        text = TWICE.sub(lambda key: key[0] + f'1, "{key[1]}": ', text, count=1)
    return text.replace("ABC", "AB\\u0000C") if rng.random() < 0.05 else text


def table_of(held: list[list[Any]], rng: random.Random) -> str:
    """A table with commas after some changes of its cells, columns and rows."""
    rows = [list(row) for row in held]
    for _ in range(rng.randint(1, 3)):
        row = rng.choice(rows)
        if rng.random() < 0.2 and row:
            row.pop(rng.randrange(len(row)))
        elif row:
            row[rng.randrange(len(row))] = rng.choice(
                [*NAMES, *VALUES, "['A", '["A" ', "[]", "nan"]
            )
    made = io.StringIO()
    csv.writer(made).writerows(rows)
    text = made.getvalue()
    return text.replace("ABC", "AB\x00C") if rng.random() < 0.1 else text


def parquet_of(held: list[dict[str, Any]], rng: random.Random) -> bytes:
    """A Parquet file whose columns are of other types, or lack, or stand there twice."""
    table = pa.Table.from_pylist(held)
    for _ in range(rng.randint(1, 2)):
        place, name = rng.randrange(table.num_columns), rng.choice(table.column_names)
        values = rng.choice(
            [7, -1, 0.5, float("nan"), "x", None, [1], ["A"], {"a": 1}, b"\xff", True]
        )
        new = pa.array([values] * len(table))
        if rng.random() < 0.2 and table.num_columns > 1:
            table = table.remove_column(place)
        elif rng.random() < 0.2:
            table = table.append_column(name, new)
        else:
            table = table.set_column(place, table.column_names[place], new)
    made = io.BytesIO()
    pq.write_table(table, made)
    return made.getvalue()


def hostile(held: Any, suffix: str, rng: random.Random) -> bytes:
    """The bytes of a file that is not as its tool writes it."""
    if suffix == ".csv":
        data = table_of(held, rng).encode("utf-8", "surrogatepass")
    elif suffix == ".parquet":
        data = parquet_of(held, rng)
    else:
        data = text_of(held, suffix, rng).encode("utf-8", "surrogatepass")
    return damaged(data, damage(rng))


def outcome(path: Path, **given: Any) -> str:
    """Read, score and sort a file: whether it is read, or refused in one sentence."""
    found: list[Predictions] = []
    steps: tuple[Callable[[], object], ...] = (
        lambda: found.append(PredictionSource(**given).open([path], keep_prompts=True)[0]),
        lambda: [row.check() for row in found[0].rows],
        lambda: score(found[0]),  # of files without references: refused
        lambda: collect(found[0], None, ScoringRules()),  # of files without prompts: refused
    )
    for step in steps:
        try:
            step()
        except RulerError as refused:
            said = str(refused)
            assert said == said.strip() != ""
            assert len(said) < 1000
            if not found:
                return "refused"
    return "read"


PLAIN = [{"index": 0, "prediction": "ABC", "outputs": A}, {"index": 1, "prediction": "GHI"}]
FILES = {
    **{form: (place, CASES[form][0]) for form, place in documented().items()},
    **{f"plain {suffix}": (f"vt_4k{suffix}", PLAIN) for suffix in (".json", ".jsonl", ".parquet")},
}


@pytest.mark.parametrize("form", FILES)
def test_a_broken_file_of_any_form_gives_rows_or_one_sentence(form: str) -> None:
    place, held = FILES[form]
    seen = Counter[str]()

    @settings(max_examples=examples(150), database=None)
    @seed(TURN)
    @given(rng=st.randoms(use_true_random=True))
    def try_one(rng: random.Random) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(hostile(held, path.suffix, rng))
            seen[outcome(path)] += 1
            if rng.random() < 0.2:
                outcome(path, config="vt_4k")

    try_one()
    assert seen["read"]
    assert seen["refused"]
