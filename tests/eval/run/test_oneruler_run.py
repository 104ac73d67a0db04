"""The oracle on ONERULER, built from the embedded texts."""

from __future__ import annotations

import json
from pathlib import Path

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_common.manifest import read_manifest
from ruler_common.names import LANGUAGES
from ruler_eval.run.options import RunOptions
from ruler_eval.run.runner import run
from tests import in_process
from tests.eval.scoring_helpers import write_oneruler

SUITE = """
dataset = "oneruler"
[tasks.two_keys]
family = "multilingual_niah"
keys = 3
queries = 2
[tasks.nowhere]
family = "multilingual_niah"
keys = 2
absent = true
[tasks.rare]
family = "multilingual_words"
freq_cw = 12
"""


def scores(dataset: Path, configs: tuple[str, ...], out: Path) -> dict[str, float]:
    outcome = run(RunOptions(dataset=str(dataset), configs=configs, backend="oracle", out=out))
    assert set(outcome.total) == {"stop"}
    done = in_process.ruler("score", out)
    assert done.code == 0, done.stderr
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return {name: cell["score"] for name, cell in results["configurations"].items()}


def test_the_oracle_scores_100_in_both_languages(oneruler, tmp_path):
    files = read_manifest(oneruler)["files"].values()
    our_scores = [file for file in files if file["language"] == file["instruction_language"]]
    result = scores(oneruler, tuple(file["config"] for file in our_scores), tmp_path / "run")
    assert result == {file["config"]: 100.0 for file in our_scores}
    assert len(result) == 2 * 8


def test_it_scores_100_in_every_language(tmp_path):
    """With the answer tag and the none word of each."""
    release = write_oneruler(tmp_path / "oneruler", LANGUAGES, rows=2)
    result = scores(release, ("all",), tmp_path / "run")
    assert len(result) == 4 * 26
    assert result == dict.fromkeys(result, 100.0)


def test_custom_tasks_are_scored_by_the_rule_of_their_family(tmp_path):
    suite = tmp_path / "own.toml"
    suite.write_text(SUITE, encoding="utf-8")
    order = BuildOptions(
        tmp_path / "own",
        lengths=("8k",),
        languages=("zh",),
        rows=3,
        suite=suite,
        sources=("embedded",),
    )
    build(order)
    assert scores(tmp_path / "own", ("all_8k_zh",), tmp_path / "run") == {
        "two_keys_8k_zh": 100.0,
        "nowhere_8k_zh": 100.0,
        "rare_8k_zh": 100.0,
    }
