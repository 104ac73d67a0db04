"""Whatever files a stranger gives, a command ends with its result or one sentence.

Thousands of manifests, runs, predictions, scores and Parquet files with something wrong in them:
the exit code is 0, 1, 2 or 3, there is no traceback, and no byte is written outside the folders
that the command was given.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.conftest import Workshop
from tests.fuzz.hostile import CHANGES, DAMAGES, Change, changed, damaged

DATASETS = st.sampled_from(["ruler", "ruler", "oneruler"])
CASES = {"manifests": 400, "runs": 500, "predictions": 500, "results": 500}


def cases(kind: str) -> settings:
    return settings(
        max_examples=CASES[kind],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


READS_A_RELEASE = st.sampled_from(
    [
        *[("list", "case/{0}")] * 6,
        ("score", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/results.json"),
        ("errors", "base/RUN-{0}", "--dataset", "case/{0}", "--out", "case/OUT/errors.jsonl"),
        (
            "run",
            "--dataset",
            "case/{0}",
            "--configs",
            "all",
            "--backend",
            "oracle",
            "--out",
            "case/R",
        ),
        ("export", "case/{0}", "--format", "upstream", "--to", "case/OUT"),
        ("freeze", "case/{0}", "--to", "case/OUT"),
    ]
)


@cases("manifests")
@given(dataset=DATASETS, changes=CHANGES, damage=DAMAGES, command=READS_A_RELEASE)
def test_a_strangers_manifest(
    workshop: Workshop,
    dataset: str,
    changes: list[Change],
    damage: tuple[str, int, bytes],
    command: tuple[str, ...],
) -> None:
    workshop.new(dataset)
    text = changed(workshop.json[f"{dataset}/manifest.json"], changes)
    workshop.write(f"{dataset}/manifest.json", damaged(text.encode(), damage))
    workshop.run(*(part.format(dataset) for part in command)).check()


READS_A_RUN = st.sampled_from(
    [
        ("score", "case/RUN-{0}", "--dataset", "base/{0}"),
        ("score", "case/RUN-{0}"),
        ("errors", "case/RUN-{0}"),
        (
            "run",
            "--dataset",
            "base/{0}",
            "--configs",
            "all",
            "--backend",
            "oracle",
            "--out",
            "case/RUN-{0}",
        ),
    ]
)


@cases("runs")
@given(dataset=DATASETS, changes=CHANGES, damage=DAMAGES, command=READS_A_RUN)
def test_a_strangers_run(
    workshop: Workshop,
    dataset: str,
    changes: list[Change],
    damage: tuple[str, int, bytes],
    command: tuple[str, ...],
) -> None:
    workshop.new(f"RUN-{dataset}")
    text = changed(workshop.json[f"{dataset}/run.json"], changes)
    workshop.write(f"RUN-{dataset}/run.json", damaged(text.encode(), damage))
    workshop.run(*(part.format(dataset) for part in command)).check()


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
    workshop: Workshop,
    kind: str,
    changes: list[Change],
    damage: tuple[str, int, bytes],
    command: tuple[str, ...],
) -> None:
    path, line = LINES[kind]
    workshop.new()
    text = f"{json.dumps(line)}\n{changed(line, changes)}\n"
    workshop.write(f"in/{path}", damaged(text.encode(), damage))
    workshop.run(*command).check()


@cases("results")
@given(
    dataset=DATASETS,
    changes=CHANGES,
    damage=DAMAGES,
    command=st.sampled_from(
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
    ),
)
def test_a_strangers_results(
    workshop: Workshop,
    dataset: str,
    changes: list[Change],
    damage: tuple[str, int, bytes],
    command: tuple[str, ...],
) -> None:
    workshop.new()
    text = changed(workshop.json[f"{dataset}/results.json"], changes)
    workshop.write("results.json", damaged(text.encode(), damage))
    workshop.run(*(part.format(dataset) for part in command)).check()
