"""A mini release: the first rows of the frozen order, proved, run and scored as the full ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.card.card_files import eval_yaml
from ruler_builder.release.build import build
from ruler_builder.release.freeze import freeze
from ruler_builder.release.order import BuildOrder
from ruler_builder.verify.verify import verify
from ruler_common import frozen_rows
from ruler_common.errors import RulerError
from ruler_common.frozen_rows import read_frozen
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.rows import MINI_ROWS, row_order
from ruler_eval.analysis.sequential.sequential_test import LookPlan
from ruler_eval.report.score_report import report
from ruler_eval.score.results_file import rows_of
from ruler_release import api
from tests.builder.proof import planting
from tests.conftest import Once, Silent

FIRST = row_order("1.0.0", "ruler", "vt", "4k", 500)[:MINI_ROWS]


@pytest.fixture(scope="module")
def mini(once: Once) -> Path:
    """vt at 4k. Not to be changed."""

    def make(root: Path) -> None:
        order = BuildOrder(root, lengths=("4k",), tasks=("vt",), mini=True, sources=("embedded",))
        build(order, Silent())

    return once("mini/ruler", make)


@pytest.fixture(scope="module")
def scored(mini: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the oracle on it."""
    out = tmp_path_factory.mktemp("mini") / "run"
    api.run(dataset=mini, configs="vt_4k", model="oracle", backend="oracle", out=out)
    return api.score(out)


def test_it_holds_the_first_rows_of_the_frozen_order_as_the_full_release_has_them(
    mini: Path, release: Path
) -> None:
    rows = {row["index"]: row for row in api.load(mini, "vt_4k")}
    assert [*rows] == sorted(FIRST)
    full = {row["index"]: row for row in api.load(release, "vt_4k") if row["index"] in rows}
    assert len(full) > 0
    assert {index: rows[index] for index in full} == full


def test_it_is_proved_by_its_own_lock_and_without_one_made_anew(
    mini: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = "data/tekken/4k/vt.parquet"
    report = verify(mini)
    assert (report.proved, report.frozen, report.rebuilt) == (True, [file], [])
    monkeypatch.setattr(frozen_rows, "FROZEN", tmp_path)
    report = verify(mini)  # its card names the lock, and so is another without one
    assert (report.files[file].count, report.frozen, report.rebuilt) == (0, [], [file])


def test_other_rows_under_its_name_are_found(mini: Path, tmp_path: Path) -> None:
    def take(rows: list[dict[str, Any]]) -> None:
        rows[0]["index"] = min({*range(500)} - {*FIRST})

    planted = Path(shutil.copytree(mini, tmp_path / "copy"))
    planting.plant(planted, "data/tekken/4k/vt.parquet", take)
    found = verify(planted, laws_only=True)
    said = [breach.what for file in found.files.values() for breach in file.breaches]
    assert "the indices are not the first 40 of the frozen order" in said


def test_whole_and_mini_files_do_not_mix(mini: Path, release: Path) -> None:
    with pytest.raises(RulerError, match="is a mini release: give a new folder"):
        build(BuildOrder(mini, lengths=("4k",), sources=("embedded",)), Silent())
    with pytest.raises(RulerError, match="leave --samples out"):
        build(BuildOrder(mini, lengths=("4k",), mini=True, samples=3), Silent())


def test_scores_say_that_it_is_mini_and_how_sure_they_are(scored: dict[str, Any]) -> None:
    assert rows_of(scored) == "frozen mini rows 1.0.0"
    text = report(scored, every=True)
    assert "beside all rows: 4K 100.0 ± 8.1" in text
    assert "95 % of replayed scores lay within 1.8 points" in text
    assert scored["configurations"]["vt_4k"]["n"] == MINI_ROWS


def test_a_test_in_waves_takes_its_rows_in_the_frozen_order(scored: dict[str, Any]) -> None:
    assert LookPlan.of(scored).order["vt", "4k"] == FIRST


def test_card_and_registration_say_mini(mini: Path) -> None:
    card = (mini / "README.md").read_text(encoding="utf-8")
    assert "# RULER, custom rows, mini" in card
    assert "**A mini release:**" in card
    assert "name: RULER, mini" in eval_yaml(read_manifest(mini))


def test_its_digests_have_a_lock_of_their_own(
    mini: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = read_manifest(mini)
    for source in manifest["sources"].values():
        source["variant"] = "canonical"
    (tmp_path / "ruler").mkdir()
    (tmp_path / "ruler" / MANIFEST).write_text(json.dumps(manifest))
    freeze([tmp_path / "ruler"], folder=tmp_path)
    monkeypatch.setattr(frozen_rows, "FROZEN", tmp_path)
    assert read_frozen("1.0.0", tmp_path) is None
    assert frozen_rows.own_because(manifest, ["vt_4k"]) == ""
    assert frozen_rows.sentence_of(manifest) == "These are the frozen rows of data version 1.0.0."
    digests = {"vt_4k": next(iter(manifest["files"].values()))["rows_sha256"]}
    assert frozen_rows.rows_label("ruler", "1.0.0", digests, "", True) == "frozen mini rows 1.0.0"
