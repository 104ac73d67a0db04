"""Measure how long `ruler report` takes: `python -m bench.page [ROWS] [RELEASE]`.

The whole command, start-up included, in seconds of the processor and of the clock, with the size
of its page, and how soon Chromium, if it is installed, paints it; the ratio is to the time that
`json.loads` takes for the same results.json in the same run. Three models x 13 tasks x 6
lengths, ROWS in all (70,200), are the real answers of example at 4k, repeated; the second's are
those with a quantised KV cache, of the third every second one is right and the others the first's,
as near models often give the same answer: once with their references, once with results.json only.
With RELEASE, a folder of the frozen rows, a model answers every row of it, and a third of its
answers are wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ruler_eval.example
from bench.commands import measure
from ruler_common.names import LENGTHS, parse_length
from ruler_common.text import end_if_unread
from ruler_eval.example.write_example import RUNS, write_example
from ruler_eval.frozen_release import Release
from tests.in_process import ruler_output

os.environ["HF_HUB_OFFLINE"] = "1"
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 70_200
RELEASE = Path(sys.argv[2]) if len(sys.argv) > 2 else None
EXAMPLE = Path(ruler_eval.example.__file__).parent


def write_lines(path: Path, lines: Iterator[Mapping[str, Any]]) -> None:
    """Write a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def repeated(lines: Sequence[Mapping[str, Any]], rows: int) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a task repeatedly, with new indices."""
    for index in range(rows):
        yield {**lines[index % len(lines)], "index": index}


def answers_by_task(run: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the example's answers to each task at 4k."""
    answers: dict[str, list[dict[str, Any]]] = {}
    for line in (run / "answers.jsonl").open(encoding="utf-8"):
        record = json.loads(line)
        if record["config"].endswith("_4k"):
            answers.setdefault(record["config"].removesuffix("_4k"), []).append(record)
    return answers


def write_runs(folder: Path) -> list[Path]:
    """Write three scored runs on the example's rows, and their references."""
    write_example(folder / "example")
    rows, runs = ROWS // (3 * 13 * len(LENGTHS["ruler"])), []
    for path in sorted((EXAMPLE / "references/4096").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.open(encoding="utf-8")]
        for length in LENGTHS["ruler"]:
            data = folder / f"data/{parse_length(length)}/{path.name}"
            write_lines(data, repeated(lines, rows))
    for number, name in enumerate((*RUNS, RUNS[0])):
        runs.append(folder / f"model-{number}")
        runs[-1].mkdir()
        for task, records in answers_by_task(folder / "example" / name).items():
            if number == 2:
                data = (EXAMPLE / f"references/4096/{task}.jsonl").open(encoding="utf-8")
                for record, line in list(zip(records, map(json.loads, data), strict=True))[::2]:
                    record["prediction"] = ", ".join(line["outputs"])
            for length in LENGTHS["ruler"]:
                config = f"{task}_{length}"
                named = [{**record, "config": config} for record in records]
                write_lines(runs[-1] / f"{config}.jsonl", repeated(named, rows))
        settings = json.loads((EXAMPLE / RUNS[0] / "run.json").read_text(encoding="utf-8"))
        new = {"model": f"Model {number}", "mode": settings["mode"], "dataset": "ruler"}
        (runs[-1] / "run.json").write_text(json.dumps(new))
        ruler_output("score", runs[-1], "--references", folder / "data")
    return runs


def write_run(folder: Path, release: Release) -> Path:
    """Write a scored run on every row of a release."""
    real = {
        task: [record["prediction"] for record in records]
        for task, records in answers_by_task(EXAMPLE / RUNS[0]).items()
    }
    run = folder / "on-release"
    for name in release.configs:
        texts = real[release.parse(name).task]

        def record(row: Mapping[str, Any], name: str = name, texts: list[str] = texts) -> Any:
            index, right = row["index"], ", ".join(row["outputs"])
            partial = ", ".join(row["outputs"][:2]) + ", 7654321 and more"
            text = (right, partial, right, texts[index % len(texts)])[index % 4]
            answer = {"config": name, "index": index, "prediction": text, "finish_reason": "stop"}
            return {
                **answer,
                "thinking": None,
                "usage": None,
                "error": None,
                "thinking_ended": None,
            }

        write_lines(run / f"{name}.jsonl", map(record, release.rows(name, ("index", "outputs"))))
    (run / "run.json").write_text(json.dumps({"model": "On a release", "dataset": "ruler"}))
    ruler_output("score", run, "--dataset", release.source)
    return run


def first_paint(page: Path) -> str:
    """Return the time until a browser first draws something of a page: the median of five."""
    if (chromium := shutil.which("chromium")) is None:
        return ""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        times = []
        for _ in range(5):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_function("() => performance.getEntriesByType('paint').length > 1")
            first = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            times.append(tab.evaluate(first))
            tab.close()
        browser.close()
    return f", first paint after {sorted(times)[2] / 1000:.2f} s"


def measured(name: str, folder: Path, runs: Sequence[Path], *arguments: object) -> None:
    """Print a line with rows, seconds, bytes of the page and memory."""
    out = folder / "report.html"
    took = measure("report", *runs, "--out", out, *arguments)
    start = time.process_time()
    results = [json.loads((run / "results.json").read_bytes()) for run in runs]
    floor = time.process_time() - start
    rows = sum(cell["n"] for r in results for cell in r["configurations"].values())
    print(
        f"{name:40} {rows:7,} rows {took.cpu:6.2f} s of the processor, "
        f"{took.cpu / floor:6.0f} times json.loads, {took.clock:6.2f} s by the clock, "
        f"{out.stat().st_size:9,} bytes {1000 * took.memory:5,.0f} MB{first_paint(out)}",
        flush=True,
    )


def main() -> None:
    """Print a line for each case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = write_runs(folder)
        measured("three models, with references", folder, runs, "--references", folder / "data")
        for run in runs:
            shutil.copytree(run, folder / "results" / run.name, ignore=shutil.ignore_patterns("*l"))
            shutil.rmtree(run)
        results = [folder / "results" / run.name for run in runs]
        measured("three models, results.json only", folder, results)
        if RELEASE is not None:
            release = Release.open(str(RELEASE))
            run = write_run(folder, release)
            measured("a model, with the release", folder, [run], "--dataset", RELEASE)


if __name__ == "__main__":
    end_if_unread(main)
