"""What the tests of exports share: answers of every kind, and what `ruler score` makes of them."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

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


def answers_of(config, release):
    """An answer of every kind to the rows of a configuration, and what the metric gives it."""
    columns = ("index", "task", "outputs", "instruction_language", "none_word")
    known = list(release.rows(config, columns))
    return [({**row}, answer(row)) for row in known]


@contextmanager
def serving(**plan):
    """An OpenAI-compatible server on loopback that answers as the oracle does; its base URL."""
    script = Path(__file__).parents[1] / "run/failing_server.py"
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, str(script), json.dumps(plan)], stdout=subprocess.PIPE, text=True, cwd=root
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()
