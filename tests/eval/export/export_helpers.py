"""What the tests of exports share: answers of every kind, and what `ruler score` makes of them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tests.in_process import ruler_output

BUDGET = {"niah": 128, "vt": 30, "cwe": 120, "fwe": 50, "qa": 32}
"""The reference code's `tokens_to_generate` by the beginning of a task's name."""


def answer(row):
    """All references, none, the first alone, or all in capitals behind a control character."""
    kind = row["index"] % 4
    if kind == 1:
        return ""
    references = row["outputs"][:1] if kind == 2 else row["outputs"]
    text = ", ".join(references)
    return f"\x00{text.upper()}" if kind == 3 else f" {text}."


def scores(results):
    """The scores of a results.json, by configuration."""
    cells = json.loads(results.read_text(encoding="utf-8"))["configurations"]
    return {name: cell["score"] for name, cell in cells.items()}


def scored(folder, release, out, *more):
    """The scores `ruler score` gives a folder of predictions."""
    ruler_output("score", folder, "--dataset", release, "--out", out, *more)
    return scores(out)


def in_hub_cache(release, repo, revision="main"):
    """Put a release into the Hub's cache as a repository at a commit, named by a tag or branch."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    place = Path(os.environ["HF_HOME"]) / "hub" / f"datasets--{repo.replace('/', '--')}"
    shutil.copytree(release, place / "snapshots" / commit)
    (place / "refs").mkdir()
    (place / "refs" / revision).write_text(commit)
    return commit


def answers_of(config, release):
    """An answer of every kind to the rows of a configuration, and what the metric gives it."""
    columns = ("index", "task", "outputs", "instruction_language", "none_word")
    rows = list(release.rows(config, columns))
    return [({**row}, answer(row)) for row in rows]
