"""Windows are full under every tokenizer, also where the tokens of pieces do not add up."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.tokens.counting import TokenCounter
from ruler_common.manifest import read_manifest
from ruler_common.names import TASKS
from ruler_release.api import verify


@pytest.fixture(scope="session")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 13 tasks with room for answers of many tokens."""
    text = (files("ruler_builder.suites") / "ruler.toml").read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("suite") / "roomy.toml"
    path.write_text(re.sub(r"max_new_tokens = \d+", "max_new_tokens = 400", text))
    return path


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["digits", "sentencepiece", "unigram", "single_bytes"])
def test_all_tasks_are_built_and_verified_without_proved_split_points(
    made: Callable[[str], Path],
    counter_made: Callable[[str], TokenCounter],
    roomy: Path,
    tmp_path: Path,
    kind: str,
) -> None:
    assert not counter_made(kind).split_points.proved
    order = BuildOptions(
        tmp_path / "release",
        tokenizers=(f"mine={made(kind)}",),
        lengths=("4k", "16k"),
        samples=1,
        sources=("embedded",),
        suite=roomy,
        skip_impossible=True,
    )
    left_out = build(order).left_out
    manifest = read_manifest(tmp_path / "release")
    built = {entry["config"].split("_mine")[0] for entry in manifest["files"].values()}
    left = {name.split("_mine")[0] for name in left_out}
    assert {name for name in built if name.endswith("_16k")} == {f"{t}_16k" for t in TASKS["ruler"]}
    assert built | left == {f"{task}_{n}" for task in TASKS["ruler"] for n in ("4k", "16k")}
    # 300 words and an example of 190 are too long for 4096 tokens of few letters each
    assert left <= {"cwe_4k"} or kind == "single_bytes"
    report = verify(tmp_path / "release", tokenizers=[f"mine={made(kind)}"])
    assert report.ok, report.files
