"""Whatever files a stranger gives, a command ends with its result or one sentence.

Manifests, runs, predictions, scores and Parquet files with something wrong in them, thousands with
RULER_TESTS=all and others every day:
the exit code is 0, 1, 2 or 3, there is no traceback, no byte is written outside the folders that
the command was given, and nothing is printed that a terminal obeys.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from ruler_common.files import sha256_of
from ruler_common.manifest_form import MANIFEST
from ruler_common.rows import COLUMNS
from tests.fuzz.conftest import KEPT
from tests.fuzz.hostile import NAMES, Damage, changed, changes, damage, damaged, written
from tests.fuzz.sandbox import Sandbox
from tests.shares import TURN, examples

DATASETS = ("ruler", "ruler", "oneruler")
CASES = {
    "manifests": 1300,
    "tasks": 600,
    "runs": 600,
    "predictions": 900,
    "results": 800,
    "columns": 150,
    "bytes": 10,
    "command lines": 900,
}


def fuzz(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Try a kind's cases, each with a generator `rng` of its own, whose seed hypothesis draws.

    One draw a case: every other draw of hypothesis would take longer than what is drawn.
    """
    cases = settings(max_examples=examples(CASES[kind]), database=None)
    return lambda test: seed(TURN)(cases(given(rng=st.randoms(use_true_random=True))(test)))


def test_there_are_five_thousand_cases() -> None:
    assert sum(CASES.values()) >= 5000


@cache
def sound(path: Path) -> Any:
    """What a JSON file holds that nobody has damaged; not to be changed."""
    return json.loads(path.read_bytes())


def faults(
    sandbox: Sandbox,
    file: str,
    document: Any,
    how: Damage,
    command: tuple[str, ...],
    folder: str | None = None,
) -> list[str]:
    """What is wrong with how a command ends that reads a damaged JSON file of a sound folder."""
    sandbox.new(*([folder] if folder else []))
    sandbox.write(file, damaged(written(document).encode(), how))
    return sandbox.run(*command).faults()


WHOLE: Damage = ("none", 0, b"")


def for_dataset(command: tuple[str, ...], dataset: str) -> tuple[str, ...]:
    return tuple(part.replace("{0}", dataset) for part in command)


ANSWERING = ("--configs", "all", "--backend", "oracle")
QUICK = 3
"""How much more often those commands are tried that take a tenth of a run's time."""
READS_A_RELEASE = (
    *[("list", "case/{0}")] * 6 * QUICK,
    *[("score", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/a.json")] * QUICK,
    *[("errors", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/a.jsonl")] * QUICK,
    ("run", "--dataset", "case/{0}", *ANSWERING, "--out", "case/R"),
    ("run", "--dataset", "case/{0}", *ANSWERING, "--out", "case/R", "--dry-run"),
    *[("export", "case/{0}", "--format", "upstream", "--to", "case/OUT")] * QUICK,
    *[("freeze", "case/{0}", "--to", "case/OUT")] * QUICK,
)


@fuzz("manifests")
def test_a_strangers_manifest(sandbox: Sandbox, rng: random.Random) -> None:
    dataset = rng.choice(DATASETS)
    line = for_dataset(rng.choice(READS_A_RELEASE), dataset)
    done = line, changes(rng), damage(rng)
    document = changed(sound(sandbox.base / dataset / MANIFEST), done[1])
    assert faults(sandbox, f"{dataset}/{MANIFEST}", document, done[2], line, dataset) == [], done


READS_TASKS = (
    *[("verify", "case/{0}", "--workers", "1")] * 2 * QUICK,
    *[("score", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/a.json")] * QUICK,
    ("run", "--dataset", "case/{0}", *ANSWERING, "--out", "case/R", "--dry-run"),
)


WITHIN = ("tasks", "tasks", "families", "languages", "groups", "files")


@fuzz("tasks")
def test_a_strangers_tasks_and_wording(sandbox: Sandbox, rng: random.Random) -> None:
    """Where the suite is a user's own, nothing else tells that its tasks are not as they were."""

    dataset = rng.choice(DATASETS)
    line = for_dataset(rng.choice(READS_TASKS), dataset)
    done = line, changes(rng), rng.choice(WITHIN), rng.random() < 0.5
    document = changed(sound(sandbox.base / dataset / MANIFEST), done[1], done[2])
    document = {**document, "suite": "own"} if done[3] else document
    assert faults(sandbox, f"{dataset}/{MANIFEST}", document, WHOLE, line, dataset) == [], done


READS_A_RUN = (
    *[("score", "case/RUN-{0}", "--dataset", "base/{0}")] * QUICK,
    *[("score", "case/RUN-{0}"), ("errors", "case/RUN-{0}")] * QUICK,
    ("run", "--dataset", "base/{0}", *ANSWERING, "--out", "case/RUN-{0}"),
)


@fuzz("runs")
def test_a_strangers_run(sandbox: Sandbox, rng: random.Random) -> None:
    dataset = rng.choice(DATASETS)
    line, folder = for_dataset(rng.choice(READS_A_RUN), dataset), f"RUN-{dataset}"
    done = line, changes(rng), damage(rng)
    document = changed(sound(sandbox.base / folder / "run.json"), done[1])
    assert faults(sandbox, f"{folder}/run.json", document, done[2], line, folder) == [], done


READS_RESULTS = (
    ("compare", "case/results.json", "base/RUN-{0}", "--out", "case/OUT"),
    ("compare", "base/RUN-{0}", "case/results.json", "--markdown", "--max-drop", "1"),
    ("correlate", "case/results.json", "base/RUN-{0}", "case/results.json"),
    ("analyze", "case/results.json", "--out", "case/OUT"),
    (
        *("results", "case/results.json", "--own-rows", "--model", "org/model"),
        *("--dataset-repo", "org/data", "--out", "case/OUT", "--allow-missing"),
    ),
)


@fuzz("results")
def test_a_strangers_results(sandbox: Sandbox, rng: random.Random) -> None:
    dataset = rng.choice(DATASETS)
    line = for_dataset(rng.choice(READS_RESULTS), dataset)
    done = line, changes(rng), damage(rng)
    document = changed(sound(sandbox.base / f"RUN-{dataset}" / "results.json"), done[1])
    assert faults(sandbox, "results.json", document, done[2], line) == [], done


_DOC = {"index": 1, "outputs": ["a"], "max_length": 4096, "input": "x", "question": "?"}
LINES: dict[str, tuple[str, Any]] = {
    "own": (
        "vt_4k.jsonl",
        {
            "config": "vt_4k",
            "index": 0,
            "prediction": "ABCDE",
            "thinking": "so",
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 9, "completion_tokens": 3, "thinking_tokens": 1},
            "error": None,
            "thinking_ended": True,
        },
    ),
    "reference": (
        "4096/pred/vt.jsonl",
        {"index": 0, "pred": "A", "input": "x", "outputs": ["A"], "others": {"id": 0}},
    ),
    "lm-eval": (
        "samples_ruler_vt_2026-01-01T00-00-00.jsonl",
        {"doc_id": 0, "doc": _DOC, "filtered_resps": ["a"], "resps": [["a"]]},
    ),
    "authors": (
        "en/niah_none/8000/prediction_o3.jsonl",
        {"index": 0, "outputs": ["none"], "response-o3": "<answer>none</answer>", "input": "x"},
    ),
}
SCORES = (
    ("score", "case/in"),
    ("score", "case/in", "--dataset", "base/ruler"),
    ("score", "case/in", "--partial", "--cut", "wrong", "--length", "4k"),
    ("score", "case/in", "--compat", "authors"),
    ("errors", "case/in"),
    ("errors", "case/in", "--dataset", "base/ruler", "--strict"),
    ("score", "case/in", "--references", "case/in"),
)


@fuzz("predictions")
def test_a_strangers_predictions(sandbox: Sandbox, rng: random.Random) -> None:
    path, line = LINES[rng.choice([*LINES, "own", "own"])]
    done = rng.choice(SCORES), path, changes(rng), damage(rng)
    text = f"{json.dumps(line)}\n{written(changed(line, done[2]))}\n"
    sandbox.new()
    sandbox.write(f"in/{path}", damaged(text.encode(), done[3]))
    assert sandbox.run(*done[0]).faults() == [], done


COLUMN_CHANGES = (
    *("drop", "rename", "null", "all null", "text", "number", "more", "twice", "reorder"),
    "shorter",
)


@fuzz("columns")
def test_a_strangers_columns(sandbox: Sandbox, rng: random.Random) -> None:
    path = KEPT["ruler"][0]
    table = pq.read_table(sandbox.base / "ruler" / path)

    change, column = rng.choice(COLUMN_CHANGES), rng.randrange(len(COLUMNS))
    name, command = rng.choice(NAMES), rng.choice(rng.choice((READS_A_RELEASE, READS_TASKS)))
    line = for_dataset(command, "ruler")
    sandbox.new("ruler")
    (sandbox.case / "ruler" / path).unlink()
    pq.write_table(changed_table(table, change, column, name), sandbox.case / "ruler" / path)
    manifest = sound(sandbox.base / "ruler" / MANIFEST)
    entry = {**manifest["files"][path], "sha256": sha256_of(sandbox.case / "ruler" / path)}
    manifest = {**manifest, "files": {**manifest["files"], path: entry}}
    sandbox.write(f"ruler/{MANIFEST}", json.dumps(manifest))
    assert sandbox.run(*line).faults() == [], (line, change, column, name)


def changed_table(table: pa.Table, change: str, column: int, name: str) -> pa.Table:
    """A file of a release with one column that is not as it should be."""
    rows, old = len(table), table.schema.names[column]
    nulls = pa.nulls(rows, table.schema.field(column).type)
    name = name.encode("utf-8", "replace").decode()
    if change == "drop":
        return table.remove_column(column)
    if change == "rename":
        return table.rename_columns([name if n == old else n for n in table.schema.names])
    if change == "null":
        mixed = pa.concat_arrays([table.column(column).combine_chunks()[1:], nulls[:1]])
        return table.set_column(column, old, mixed)
    if change == "more":
        return table.append_column(name, pa.array(range(rows)))
    if change == "twice":
        return table.append_column(old, table.column(column))
    if change == "reorder":
        return table.select([*table.schema.names[column:], *table.schema.names[:column]])
    if change == "shorter":
        return table.slice(0, column % rows)
    values = {"all null": nulls, "text": pa.array([name] * rows), "number": pa.array([0.5] * rows)}
    return table.set_column(column, old, values[change])


SMALLEST = ("--sources", "embedded", "--lengths", "4k", "--tasks", "vt", "--samples", "3")
BUILD = ("build", "case/ruler", *SMALLEST)


@fuzz("bytes")
def test_a_strangers_card_and_plan(sandbox: Sandbox, rng: random.Random) -> None:
    path = rng.choice(("ruler/eval.yaml", "ruler/README.md", "ruler/.build/plan.json"))
    noise = rng.randbytes(rng.randint(0, 40))
    data = rng.choice((noise, rng.choice((b"{}", b"[]", b"null", b"\xff\xfe"))))
    line = rng.choice((("list", "case/ruler"), BUILD))
    sandbox.new("ruler")
    sandbox.write(path, data)
    assert sandbox.run(*line).faults() == [], (line, path, data)


WORDS = (
    *NAMES,
    *("4k", "vt", "all", "ruler", "oneruler", "0", "-1", "nan", "1/2", "a=b", ",,"),
    *("base/ruler", "base/RUN-ruler", "base", "case/OUT", "org/name", "oracle") * 3,
)
OTHERS = ("export", "verify", "freeze", "tokenizers", "sources", "nope")
COMMANDS = ("list", "score", "errors", "compare", "correlate", "analyze", "results", "run")


@fuzz("command lines")
def test_any_command_line(sandbox: Sandbox, rng: random.Random) -> None:
    command = rng.choice((*COMMANDS, *OTHERS))
    words = rng.choices(WORDS, k=rng.randint(0, 3))
    line = [command, *(word for word in words if not word.startswith("-"))]
    options = sandbox.options(command)
    for _ in range(rng.randint(0, 4) if options else 0):
        option, takes_value = rng.choice(options)
        word = "case/OUT" if option in ("--out", "--to") else rng.choice(WORDS)
        line += [option, word] if takes_value else [option]
    if "--create-pr" in line or command in ("verify", "sources"):
        line = [*line, "--help"]
    if command in ("score", "errors", "results", "run", "export", "freeze"):
        line += ["--to" if command in ("export", "freeze") else "--out", "case/OUT"]
    line = [word.replace("\x00", "") for word in line]
    sandbox.new()
    assert sandbox.run(*line).faults() == [], line
