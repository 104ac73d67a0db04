"""The perfect reader over ONERULER as the builder made it, from the project's own texts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from ruler_builder.oneruler.language_pairs import Languages
from ruler_builder.release.build import build
from ruler_builder.release.order import BuildOrder
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run
from tests import in_process
from tests.conftest import Silent

CANNOT = (
    "The manifest has no nouns of zh: where the question is in one language and the text in "
    "another, the oracle cannot solve niah_multikey."
)
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
    outcome = run(RunOrder(str(dataset), configs, "oracle", out, quiet=True))
    assert set(outcome.total) == {"stop"}
    done = in_process.ruler("score", out)
    assert done.code == 0, done.stderr
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return {name: cell["score"] for name, cell in results["configurations"].items()}


def test_the_oracle_scores_100_in_both_languages(oneruler: Path, tmp_path: Path) -> None:
    files = read_manifest(oneruler)["files"].values()
    mine = [file for file in files if file["language"] == file["instruction_language"]]
    found = scores(oneruler, tuple(file["config"] for file in mine), tmp_path / "run")
    assert found == {file["config"]: 100.0 for file in mine}
    assert len(found) == 2 * 8


def test_across_languages_it_scores_100_too(oneruler: Path, tmp_path: Path) -> None:
    found = scores(oneruler, ("niah_8k_en-zh", "niah_8k_zh-en"), tmp_path / "run")
    assert found == dict.fromkeys(found, 100.0)
    assert {"niah_multikey_8k_en-zh", "niah_multikey_8k_zh-en"} <= found.keys()
    assert len(found) == 2 * 5


def test_without_the_nouns_of_a_language_the_run_says_what_it_cannot_solve(
    oneruler: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(oneruler, bare)
    manifest = read_manifest(bare)
    del manifest["languages"]["zh"]
    (bare / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")

    def shown(configs: str) -> str:
        out = tmp_path / configs
        done = in_process.ruler("run", "-d", bare, "-c", configs, "-b", "oracle", "-o", out)
        assert done.code == 0, done.stderr
        return " ".join(done.stderr.split())

    assert shown("niah_multikey_8k_en-zh,niah_multikey_8k_zh-en").count(CANNOT) == 1
    assert "cannot solve" not in shown("niah_none_8k_en-zh,niah_multikey_8k_zh")


def test_the_ablation_alone_is_scored(oneruler: Path, tmp_path: Path) -> None:
    name = "niah_single_nonone_8k_en"
    assert scores(oneruler, (name,), tmp_path / "run") == {name: 100.0}


def test_tasks_of_ones_own_are_scored_by_their_familys_rule(tmp_path: Path) -> None:
    suite = tmp_path / "own.toml"
    suite.write_text(SUITE, encoding="utf-8")
    order = BuildOrder(
        tmp_path / "own",
        lengths=("8k",),
        languages=Languages(("zh",)),
        samples=3,
        suite=suite,
        sources=("embedded",),
    )
    build(order, Silent())
    assert scores(tmp_path / "own", ("all_8k_zh",), tmp_path / "run") == {
        "two_keys_8k_zh": 100.0,
        "nowhere_8k_zh": 100.0,
        "rare_8k_zh": 100.0,
    }
