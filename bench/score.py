"""Measure how long scoring takes: `python -m bench.score [ROWS]`.

`ruler score` on 39,000 rows (13 tasks x 6 lengths x 500), files read and results written, in
seconds of the processor; then the metric by `evaluate`, for each kind of rule. The ratio is to the
time that `json.loads` takes for the lines of the same files in the same run.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from ruler_common.text import end_if_unread

os.environ["HF_HUB_OFFLINE"] = "1"
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 39_000
METRIC = Path(__file__).parents[1] / "eval/ruler_score"
WORDS = ["slovo" + letter for letter in "abcdefghij"]


def cases(rng: random.Random) -> dict[str, dict[str, object]]:
    """Return predictions of every kind, all different."""
    values = [[str(rng.randrange(10**6, 10**7)) for _ in range(4)] for _ in range(ROWS)]
    listed = [" ".join(f"{i}. {word}" for i, word in enumerate(WORDS, 1)) for _ in range(ROWS)]
    return {
        "ruler niah, 4 values": {
            "predictions": [f" {', '.join(row)}. What else?" * 4 for row in values],
            "references": values,
            "tasks": "niah_multivalue",
        },
        "ruler cwe": {
            "predictions": [f"{text} {number}" for number, text in enumerate(listed)],
            "references": [WORDS] * ROWS,
            "tasks": "cwe",
        },
        "oneruler niah, Korean": {
            "predictions": [f"{'생각 ' * 60}<답변> {', '.join(row)} </답변>" for row in values],
            "references": values,
            "tasks": "niah_multivalue",
            "languages": ["ko"] * ROWS,
        },
        "oneruler cwe, Russian": {
            "predictions": [f"<Ответ>{', '.join(WORDS)} и {n}</Ответ>" for n in range(ROWS)],
            "references": [WORDS] * ROWS,
            "tasks": "cwe_easy",
            "languages": ["ru"] * ROWS,
        },
        "with a thought of 2,000 characters": {
            "predictions": [f"<think>{'hm, ' * 500}</think> {row[0]}" for row in values],
            "references": [row[:1] for row in values],
            "tasks": "niah_single_1",
        },
    }


def from_files_to_results(folder: Path, rng: random.Random) -> tuple[float, float]:
    """Return seconds from 78 files of the reference code to results.json, and of json.loads."""
    from ruler_common.names import LENGTHS, TASKS, parse_length
    from ruler_eval.score.options import PredictionOptions
    from ruler_eval.score.predictions import open_predictions
    from ruler_eval.score.results import write
    from ruler_eval.score.scoring import score

    for length in LENGTHS["ruler"]:
        pred = folder / str(parse_length(length)) / "pred"
        pred.mkdir(parents=True)
        for task in TASKS["ruler"]:
            with (pred / f"{task}.jsonl").open("w") as file:
                for index in range(ROWS // 78):
                    values = [str(rng.randrange(10**6, 10**7)) for _ in range(4)]
                    outputs = WORDS if task in ("cwe", "fwe") else values
                    text = f" {', '.join(outputs)}. What else?" * 4
                    line = {"index": index, "pred": text, "outputs": outputs, "others": {}}
                    file.write(json.dumps(line) + "\n")
    start = time.process_time()
    write(*score(*open_predictions(PredictionOptions(folder))), folder / "results.json")
    seconds = time.process_time() - start
    start = time.process_time()
    for path in folder.glob("*/pred/*.jsonl"):
        for line in path.open():
            json.loads(line)
    return seconds, time.process_time() - start


def main() -> None:
    """Print a line for each case."""
    import evaluate

    with tempfile.TemporaryDirectory() as folder:
        seconds, json_seconds = from_files_to_results(Path(folder), random.Random(0))
    print(
        f"{'files to results.json':36} {ROWS:7,} rows {seconds:6.2f} s of the processor, "
        f"{seconds / json_seconds:5.1f} times json.loads"
    )

    metric = evaluate.load(str(METRIC))
    for name, inputs in cases(random.Random(0)).items():
        start = time.process_time()
        result = metric.compute(**inputs)
        seconds = time.process_time() - start
        print(
            f"{name:36} {result['n']:7,} rows {seconds:6.2f} s, {seconds / json_seconds:5.1f} times"
            f" json.loads   score {result['score']:5.1f}"
        )


if __name__ == "__main__":
    end_if_unread(main)
