"""Others' published scores made again: `python -m bench.published FOLDER ...`.

Every folder below that holds kvpress's `predictions.csv` and `metrics.json` is scored by
`ruler_release.score`, and each task's score is held to the published one (two digits). Prints the
cells that differ, then how many are equal, and the processor's time.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import ruler_release as ruler

LENGTH = re.compile(r"ruler__(\d+)__")
TOLERANCE = 0.0051
"""Published scores have two digits."""


def main(folders: list[str]) -> None:
    """Score every run below `folders` and say where a published score is not met."""
    equal, cells, rows = 0, 0, 0
    runs = sorted(path.parent for folder in folders for path in Path(folder).rglob("metrics.json"))
    start = time.process_time()
    for run in runs:
        if not (run / "predictions.csv").is_file():
            continue
        published = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        length = LENGTH.search(run.as_posix())  # a repetition's folder is a mere number
        told = {"length": length[1]} if length else {}
        results = ruler.score(run / "predictions.csv", **told)
        found = {cell["task"]: cell for cell in results["configurations"].values()}
        for task, values in published.items():
            score, cell = values["string_match"], found.get(task)
            cells += 1
            rows += cell["n"] if cell else 0
            if cell and abs(cell["score"] - score) < TOLERANCE:
                equal += 1
            else:
                print(f"{run.name} {task}: published {score}, here {cell and cell['score']}")
    spent = time.process_time() - start
    print(f"{equal} of {cells} published scores are met ({rows} rows, {spent:.0f} s of CPU).")


if __name__ == "__main__":
    main(sys.argv[1:])
