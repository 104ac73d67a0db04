"""Whatever files a stranger gives, a command ends with its result or one sentence.

Thousands of manifests, runs, predictions, scores and Parquet files with something wrong in them:
the exit code is 0, 1, 2 or 3, there is no traceback, no byte is written outside the folders that
the command was given, and nothing is printed that a terminal obeys.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ruler_dataset import COLUMNS, MANIFEST, sha256_of
from tests.fuzz.conftest import KEPT
from tests.fuzz.hostile import CHANGES, DAMAGES, NAMES, Change, Damage, changed, damaged, written
from tests.fuzz.sandbox import Sandbox

DATASETS = st.sampled_from(["ruler", "ruler", "oneruler"])
CASES = {
    "manifests": 1300,
    "tasks": 400,
    "runs": 600,
    "predictions": 900,
    "results": 800,
    "columns": 150,
    "bytes": 10,
    "command lines": 900,
}


def cases(kind: str) -> settings:
    return settings(
        max_examples=CASES[kind],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


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
    damage: Damage,
    command: tuple[str, ...],
    folder: str | None = None,
) -> list[str]:
    """What is wrong with how a command ends that reads a damaged JSON file of a sound folder."""
    sandbox.new(*([folder] if folder else []))
    sandbox.write(file, damaged(written(document).encode(), damage))
    return sandbox.run(*command).faults()


def for_dataset(command: tuple[str, ...], dataset: str) -> tuple[str, ...]:
    return tuple(part.replace("{0}", dataset) for part in command)


ANSWERING = ("--configs", "all", "--backend", "oracle")
QUICK = 3
"""How much more often those commands are tried that take a tenth of a run's time."""
READS_A_RELEASE = st.sampled_from(
    [
        *[("list", "case/{0}")] * 6 * QUICK,
        *[("score", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/a.json")] * QUICK,
        *[("errors", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/a.jsonl")] * QUICK,
        ("run", "--dataset", "case/{0}", *ANSWERING, "--out", "case/R"),
        ("run", "--dataset", "case/{0}", *ANSWERING, "--out", "case/R", "--dry-run"),
        *[("export", "case/{0}", "--format", "upstream", "--to", "case/OUT")] * QUICK,
        *[("freeze", "case/{0}", "--to", "case/OUT")] * QUICK,
    ]
)


@cases("manifests")
@given(dataset=DATASETS, changes=CHANGES, damage=DAMAGES, command=READS_A_RELEASE)
def test_a_strangers_manifest(
    sandbox: Sandbox,
    dataset: str,
    changes: list[Change],
    damage: Damage,
    command: tuple[str, ...],
) -> None:
    document = changed(sound(sandbox.base / dataset / MANIFEST), changes)
    line, file = for_dataset(command, dataset), f"{dataset}/{MANIFEST}"
    assert faults(sandbox, file, document, damage, line, dataset) == []


READS_TASKS = st.sampled_from(
    [
        *[("verify", "case/{0}", "--workers", "1")] * 2 * QUICK,
        *[("score", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/a.json")] * QUICK,
        ("run", "--dataset", "case/{0}", *ANSWERING, "--out", "case/R", "--dry-run"),
    ]
)


@cases("tasks")
@given(
    dataset=DATASETS,
    within=st.sampled_from(["tasks", "tasks", "families", "languages", "groups", "files"]),
    changes=CHANGES,
    own=st.booleans(),
    command=READS_TASKS,
)
def test_a_strangers_tasks_and_wording(
    sandbox: Sandbox,
    dataset: str,
    within: str,
    changes: list[Change],
    own: bool,
    command: tuple[str, ...],
) -> None:
    """Where the suite is a user's own, nothing else tells that its tasks are not as they were."""
    document = changed(sound(sandbox.base / dataset / MANIFEST), changes, within)
    document = {**document, "suite": "own"} if own else document
    line, file = for_dataset(command, dataset), f"{dataset}/{MANIFEST}"
    assert faults(sandbox, file, document, ("none", 0, b""), line, dataset) == []


READS_A_RUN = st.sampled_from(
    [
        *[("score", "case/RUN-{0}", "--dataset", "base/{0}")] * QUICK,
        *[("score", "case/RUN-{0}"), ("errors", "case/RUN-{0}")] * QUICK,
        ("run", "--dataset", "base/{0}", *ANSWERING, "--out", "case/RUN-{0}"),
    ]
)


@cases("runs")
@given(dataset=DATASETS, changes=CHANGES, damage=DAMAGES, command=READS_A_RUN)
def test_a_strangers_run(
    sandbox: Sandbox,
    dataset: str,
    changes: list[Change],
    damage: Damage,
    command: tuple[str, ...],
) -> None:
    folder = f"RUN-{dataset}"
    document = changed(sound(sandbox.base / folder / "run.json"), changes)
    line = for_dataset(command, dataset)
    assert faults(sandbox, f"{folder}/run.json", document, damage, line, folder) == []


READS_RESULTS = st.sampled_from(
    [
        ("compare", "case/results.json", "base/RUN-{0}", "--out", "case/OUT"),
        ("compare", "base/RUN-{0}", "case/results.json", "--markdown", "--max-drop", "1"),
        ("correlate", "case/results.json", "base/RUN-{0}", "case/results.json"),
        ("analyze", "case/results.json", "--out", "case/OUT"),
        (
            *("results", "case/results.json", "--model", "org/model"),
            *("--dataset-repo", "org/data", "--out", "case/OUT", "--allow-missing"),
        ),
    ]
)


@cases("results")
@given(dataset=DATASETS, changes=CHANGES, damage=DAMAGES, command=READS_RESULTS)
def test_a_strangers_results(
    sandbox: Sandbox,
    dataset: str,
    changes: list[Change],
    damage: Damage,
    command: tuple[str, ...],
) -> None:
    document = changed(sound(sandbox.base / f"RUN-{dataset}" / "results.json"), changes)
    line = for_dataset(command, dataset)
    assert faults(sandbox, "results.json", document, damage, line) == []


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
SCORES = st.sampled_from(
    [
        ("score", "case/in"),
        ("score", "case/in", "--dataset", "base/ruler"),
        ("score", "case/in", "--partial", "--cut", "wrong", "--length", "4k"),
        ("score", "case/in", "--compat", "authors"),
        ("errors", "case/in"),
        ("errors", "case/in", "--dataset", "base/ruler", "--strict"),
        ("score", "case/in", "--references", "case/in"),
    ]
)


@cases("predictions")
@given(
    kind=st.sampled_from([*LINES, "own", "own"]), changes=CHANGES, damage=DAMAGES, command=SCORES
)
def test_a_strangers_predictions(
    sandbox: Sandbox,
    kind: str,
    changes: list[Change],
    damage: Damage,
    command: tuple[str, ...],
) -> None:
    path, line = LINES[kind]
    sandbox.new()
    text = f"{json.dumps(line)}\n{written(changed(line, changes))}\n"
    sandbox.write(f"in/{path}", damaged(text.encode(), damage))
    assert sandbox.run(*command).faults() == []


COLUMN_CHANGES = st.sampled_from(
    ["drop", "rename", "null", "all null", "text", "number", "more", "twice", "reorder", "shorter"]
)


@cases("columns")
@given(
    change=COLUMN_CHANGES,
    column=st.integers(0, len(COLUMNS) - 1),
    name=st.sampled_from(NAMES),
    command=st.one_of(READS_A_RELEASE, READS_TASKS),
)
def test_a_strangers_columns(
    sandbox: Sandbox, change: str, column: int, name: str, command: tuple[str, ...]
) -> None:
    sandbox.new("ruler")
    path = KEPT["ruler"][0]
    table = pq.read_table(sandbox.base / "ruler" / path)
    (sandbox.case / "ruler" / path).unlink()
    pq.write_table(changed_table(table, change, column, name), sandbox.case / "ruler" / path)
    manifest = sound(sandbox.base / "ruler" / MANIFEST)
    entry = {**manifest["files"][path], "sha256": sha256_of(sandbox.case / "ruler" / path)}
    manifest = {**manifest, "files": {**manifest["files"], path: entry}}
    sandbox.write(f"ruler/{MANIFEST}", json.dumps(manifest))
    assert sandbox.run(*for_dataset(command, "ruler")).faults() == []


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


@cases("bytes")
@given(
    path=st.sampled_from(["ruler/eval.yaml", "ruler/README.md", "ruler/.build/plan.json"]),
    data=st.one_of(st.binary(max_size=40), st.sampled_from([b"{}", b"[]", b"null", b"\xff\xfe"])),
    command=st.sampled_from([("list", "case/ruler"), ("build", "case/ruler", *SMALLEST)]),
)
def test_a_strangers_card_and_plan(
    sandbox: Sandbox, path: str, data: bytes, command: tuple[str, ...]
) -> None:
    sandbox.new("ruler")
    sandbox.write(path, data)
    assert sandbox.run(*command).faults() == []


WORDS = st.sampled_from(
    [
        *NAMES,
        *("4k", "vt", "all", "ruler", "oneruler", "0", "-1", "nan", "1/2", "a=b", ",,"),
        *("base/ruler", "base/RUN-ruler", "base", "case/OUT", "org/name", "oracle") * 3,
    ]
)
OTHERS = ("export", "verify", "freeze", "tokenizers", "sources", "nope")
COMMANDS = ("list", "score", "errors", "compare", "correlate", "analyze", "results", "run")


@cases("command lines")
@given(
    command=st.sampled_from([*COMMANDS, *OTHERS]),
    words=st.lists(WORDS, max_size=3),
    flags=st.lists(st.tuples(st.integers(0, 99), WORDS), max_size=4),
)
def test_any_command_line(
    sandbox: Sandbox, command: str, words: list[str], flags: list[tuple[int, str]]
) -> None:
    sandbox.new()
    line = [command, *(word for word in words if not word.startswith("-"))]
    options = sandbox.options(command)
    for number, value in flags if options else ():
        option, takes_value = options[number % len(options)]
        line += [option, value] if takes_value else [option]
    if "--create-pr" in line or command in ("verify", "sources"):
        line = [*line, "--help"]
    if command in ("score", "errors", "results", "run", "export", "freeze"):
        line += ["--to" if command in ("export", "freeze") else "--out", "case/OUT"]
    assert sandbox.run(*(word.replace("\x00", "") for word in line)).faults() == []
