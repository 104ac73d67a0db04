"""Write the references of ruler_eval/example without texts that this project may not distribute.

    python -m docs.abridge_example_rows RELEASE       # rewrites example/references

A line has the fields of a row that scoring needs, and the pieces of its prompt that sorting errors
needs for the answers of the example's runs: needles and assignments, each with its offset. These
were written by RULER's authors; no text of an essay, a document or a list is kept.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ruler_eval.example
from ruler_eval.example.write_example import RUNS
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.score.references import ROWS_FILE

EXAMPLE = Path(ruler_eval.example.__file__).parent
COLUMNS = (
    "index",
    "input",
    "outputs",
    "question",
    "context_start",
    "context_end",
    "evidence",
    "none_word",
)
_NEEDLE = re.compile(r"\n?One of the special magic \w+ for [^\n]{1,120}? is: ([\w-]+)\.")


def abridged(row: PartialRow, task: str, answers: Iterable[str]) -> dict[str, Any]:
    """Return the line of a row: its references, and the pieces of its prompt."""
    spans = sorted(set(_needed_spans(row, task, answers)))
    return {
        "index": row["index"],
        "outputs": row["outputs"],
        "question": row["question"],
        "characters": len(row["input"]),
        "context_start": row["context_start"],
        "context_end": row["context_end"],
        "evidence": [
            {**span, "depth": round(span["depth"], 4), "answer": bool(span["answer"])}
            for span in row["evidence"]
        ],
        "pieces": [[start, row["input"][start:end]] for start, end in _merged(spans)],
    }


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans, with overlapping and adjacent ones merged."""
    result: list[tuple[int, int]] = []
    for start, end in spans:
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(result[-1][1], end)
        else:
            result.append((start, end))
    return result


def _needed_spans(row: PartialRow, task: str, answers: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the evidence, and of the needles whose values an answer names."""
    if not task.startswith(("niah", "vt")):
        return
    yield from ((span["start"], span["end"]) for span in row["evidence"])
    for needle in _NEEDLE.finditer(row["input"], row["context_start"], row["context_end"]):
        if any(needle[1] in answer for answer in answers):
            yield needle.span()


def answers_of(runs: Iterable[Path]) -> Mapping[tuple[str, int], list[str]]:
    """Return every answer of the runs' files by configuration and index."""
    result: dict[tuple[str, int], list[str]] = {}
    for run in runs:
        for path in sorted(run.glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                key = (record["config"], record["index"])
                result.setdefault(key, []).append(record["prediction"])
    return result


def write_abridged(release: Release, runs: Iterable[Path], folder: Path) -> None:
    """Write FOLDER/TOKENS/TASK.jsonl with a line for each row that the runs answer, and rows.json.

    rows.json has the digests of the configurations' rows.
    """
    answers = answers_of(runs)
    digests = {}
    for name in dict.fromkeys(config for config, _ in answers):
        config = release.parse(name)
        path = folder / str(config.max_length) / f"{config.task}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            abridged(row, config.task, answers[name, row["index"]])
            for row in release.rows(name, COLUMNS)
            if (name, row["index"]) in answers
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        path.write_text(text, encoding="utf-8")
        digests[name] = release.rows_sha256(name)
    (folder / ROWS_FILE).write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    runs = [EXAMPLE / name for name in RUNS]
    write_abridged(Release.open(sys.argv[1]), runs, EXAMPLE / "references")
