"""The folder `.build` of a release that is being built: what is planned, and what is made.

    .build/plan.json       the manifest without its files, and the paths to make under `todo`
    .build/journal.jsonl   a line for each file that was made

It is gone when the build is complete. `ruler verify` and `ruler push` ask here what is unfinished.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ruler_dataset import MANIFEST, RulerError, read_manifest

BUILD_FOLDER = ".build"
PLAN, JOURNAL = "plan.json", "journal.jsonl"


def read_plan(root: Path) -> dict[str, Any]:
    """The manifest header of an unfinished build, with its `todo`; empty if none is under way."""
    plan = root / BUILD_FOLDER / PLAN
    try:
        return json.loads(plan.read_text(encoding="utf-8")) if plan.exists() else {}
    except json.JSONDecodeError:
        raise RulerError(f"'{plan}' is damaged: remove it and build again.") from None


def unfinished(root: Path) -> int:
    """How many files of a build under way are not in the manifest yet."""
    listed = read_manifest(root)["files"] if (root / MANIFEST).exists() else {}
    return sum(path not in listed for path in read_plan(root).get("todo", []))
