"""The folder `.build` of a release that is being built: what is planned, and what is made.

    .build/plan.json       the manifest without its files, and the paths to make under `todo`
    .build/journal.jsonl   a line for each file that was made

It is gone when the build is complete. `ruler verify` and `ruler push` ask here what is unfinished.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from ruler_dataset import MANIFEST, Manifest, RulerError, read_manifest

BUILD_FOLDER = ".build"
PLAN, JOURNAL = "plan.json", "journal.jsonl"


class BuildPlan(Manifest):
    """An unfinished build: its manifest without files, and the paths of the files to make."""

    todo: list[str]


def read_plan(root: Path) -> BuildPlan | None:
    """The plan of an unfinished build; None if none is under way. Raises RulerError if damaged."""
    plan = root / BUILD_FOLDER / PLAN
    try:
        text = plan.read_text(encoding="utf-8") if plan.exists() else None
        return cast(BuildPlan, json.loads(text)) if text is not None else None
    except json.JSONDecodeError:
        raise RulerError(f"'{plan}' is damaged: remove it and build again.") from None


def unfinished(root: Path) -> int:
    """How many files of a build under way are not in the manifest yet."""
    plan = read_plan(root)
    if plan is None:
        return 0
    listed = read_manifest(root)["files"] if (root / MANIFEST).exists() else {}
    return sum(path not in listed for path in plan["todo"])
