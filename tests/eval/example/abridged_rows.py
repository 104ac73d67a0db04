"""Rows of a release without the texts that are not this project's to give, for ruler_eval/example.

    python -m tests.eval.example.abridged_rows RELEASE       # writes example/references anew

A line holds what scoring needs of a row and the pieces of its prompt that sorting errors needs for
the answers of the example's runs: the evidence, and what the answers repeat, each at its offset. Of
a document or an essay that is nothing but words that stand in an answer, too, and of documents
where they begin and their sentences end.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ruler_eval.example
from ruler_eval.families.short_answers import begins_in, content, without_marks
from ruler_eval.frozen_release import PartialRow, Release
from ruler_score.language_text import normalize

RUN = Path(ruler_eval.example.__file__).parent / "run"
COLUMNS = (
    *("index", "input", "outputs", "question", "context_start", "context_end", "evidence"),
    "none_word",
)
_NEEDLE = re.compile(r"\n?One of the special magic \w+ for [^\n]{1,120}? is: [\w-]+\.")
_ASSIGNMENT = re.compile(r"VAR [A-Z]+ = (?:VAR [A-Z]+|\d+)")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_HEAD = re.compile(r"Document \d+:\n")
_SENTENCE_END = re.compile(r"[.!?]\s")
_LONGEST_BEGINNING = 1000  # characters within which an answer may repeat the beginning
_FIRST_WORDS = 250  # characters of the list that a copy of its beginning is held against


def abridged(row: PartialRow, task: str, answers: Iterable[str]) -> dict[str, Any]:
    """The line of a row: its references, and the pieces of its prompt."""
    spans = sorted(set(_kept(row, task, [answer.strip() for answer in answers if answer.strip()])))
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
    """Spans that overlap or touch as one; words of one phrase are no neighbours of each other."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _kept(row: PartialRow, task: str, answers: list[str]) -> Iterator[tuple[int, int]]:
    """What is kept of a prompt, as character offsets."""
    text = row["input"]
    if task.startswith(("niah", "vt")):
        yield from ((span["start"], span["end"]) for span in row["evidence"])
    if task == "cwe":
        yield row["context_start"], row["context_start"] + _FIRST_WORDS
    words = {word.casefold() for answer in answers for word in _WORD.findall(answer)}
    words |= {part for word in words for part in word.split("-")}
    seen: set[tuple[bool, str]] = set()
    own = [match.span() for match in (_NEEDLE if task[0] == "n" else _ASSIGNMENT).finditer(text)]
    gold = [(span["start"], span["end"]) for span in row["evidence"]]
    for match in _WORD.finditer(text):
        start, end = match.span()
        inside = any(a <= start < b for a, b in gold)
        parts = {match[0].casefold(), *match[0].casefold().split("-")}
        for part in parts & words:
            if (inside, part) not in seen:
                seen.add((inside, part))
                yield next(((a, b) for a, b in own if a <= start < b), (start, end))
    folded = text.casefold()
    lacking = words - {part for _, part in seen} if task.startswith(("niah", "qa", "vt")) else set()
    for word in sorted(lacking):  # part of a longer word, maybe
        if len(folded) == len(text) and (at := folded.find(word, row["context_start"])) >= 0:
            whole = next(m for m in _WORD.finditer(text, max(0, at - 60)) if m.end() > at)
            yield whole.span()
    for answer in answers:
        yield from _repeated(text, row["context_start"], answer)
    if task.startswith("qa"):
        yield from _of_documents(row, answers)


def _of_documents(row: PartialRow, answers: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where documents begin; in each the words that an answer has too, and the ends of sentences.

    Words with another ending, and numbers in words, count as the same.
    """
    text, start, end = row["input"], row["context_start"], row["context_end"]
    words = {word for answer in answers for word in content(normalize(answer))}
    held: dict[str, bool] = {}
    heads = [match.span() for match in _HEAD.finditer(text, start, end)]
    yield from heads
    for (_, first), (last, _) in zip(heads, [*heads[1:], (end, end)], strict=True):
        kept = []
        for match in _WORD.finditer(text, first, last):
            if match[0] not in held:
                folded = without_marks(normalize(match[0]))
                held[match[0]] = any(begins_in(folded, word) for word in words)
            if held[match[0]]:
                kept.append(match.span())
        yield from kept
        if kept:
            yield from (match.span() for match in _SENTENCE_END.finditer(text, first, last))


def _repeated(text: str, start: int, answer: str) -> Iterator[tuple[int, int]]:
    """Where the first line of an answer stands, and the beginning if the answer repeats it."""
    folded, first = text.casefold(), answer.splitlines()[0].strip(" .\"'").casefold()
    if len(folded) == len(text) and len(first) >= 4 and (at := folded.find(first, start)) >= 0:
        end = at + len(first)
        while text[at - 1 : at].isalnum():  # whole words
            at -= 1
        while text[end : end + 1].isalnum():
            end += 1
        yield at, end
    beginning = " ".join(normalize(answer).split())[:60]
    for place in (0, start):
        shown = " ".join(normalize(text[place : place + _LONGEST_BEGINNING]).split())
        if len(beginning) >= 20 and 0 <= shown.find(beginning) <= 100:
            yield place, place + 200


def answers_of(runs: Iterable[Path]) -> Mapping[tuple[str, int], list[str]]:
    """Every answer of the runs' files by configuration and index."""
    found: dict[tuple[str, int], list[str]] = {}
    for path in (path for run in runs for path in sorted(run.glob("*.jsonl"))):
        for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            found.setdefault((record["config"], record["index"]), []).append(record["prediction"])
    return found


def write_abridged(release: Release, runs: Iterable[Path], folder: Path) -> None:
    """Write the lines of every row that the runs answer: FOLDER/TOKENS/TASK.jsonl."""
    answers = answers_of(runs)
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


if __name__ == "__main__":
    write_abridged(Release.open(sys.argv[1]), [RUN], RUN.parent / "references")
