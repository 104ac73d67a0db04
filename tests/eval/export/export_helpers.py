"""What the tests of exports share: answers of every kind, and what `ruler score` makes of them."""

from __future__ import annotations

import json

from tests.eval.scoring_helpers import ruler


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
    _, error, code = ruler("score", folder, "--dataset", release, "--out", out, *more)
    assert code == 0, error
    return scores(out)
