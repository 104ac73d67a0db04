"""Read and change the answers of a run folder, as somebody with an editor would."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ruler_eval.run.records import ANSWERS


def answers(run: Path, config: str | None = None) -> list[dict[str, Any]]:
    """Return the lines of a run, or of one of its configurations, sorted by row."""
    lines = (run / ANSWERS).read_text(encoding="utf-8-sig").splitlines()
    records = [json.loads(line) for line in lines]
    chosen = [record for record in records if config in (None, record["config"])]
    return sorted(chosen, key=lambda r: (r["config"], r["index"], r.get("sample", 0)))


def write_answers(run: Path, records: Iterable[Any]) -> None:
    """Replace the lines of a run."""
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    (run / ANSWERS).write_text("".join(lines), encoding="utf-8")


def edit_answers(run: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Replace each line of a run by what `edit` returns; None removes it."""
    edited = [edit(record) for record in answers(run)]
    write_answers(run, [record for record in edited if record is not None])


def without(run: Path, *configs: str) -> None:
    """Remove the answers to configurations."""
    edit_answers(run, lambda record: None if record["config"] in configs else record)
