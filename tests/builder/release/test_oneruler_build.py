"""Releases of ONERULER: their configurations, and invalid options."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.release.build import Built
from ruler_builder.text.sources import restricted_books
from ruler_common.errors import RulerError
from ruler_common.manifest import MANIFEST
from ruler_common.names import LANGUAGES
from ruler_dataset import load
from ruler_release.api import verify
from tests.builder.conftest import EVERY_LANGUAGES_TASKS
from tests.embedded_release import build_embedded


def build_oneruler(root: Path, *languages: str, **options: Any) -> Built:
    common = {"suite": "oneruler", "lengths": ("8k",), "rows": 2}
    return build_embedded(root, languages=languages or ("en",), **(common | options))


@pytest.fixture
def copy(oneruler: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(oneruler, tmp_path / "copy"))


def test_configurations_load_by_name(oneruler):
    from datasets import load_dataset

    rows = load_dataset(str(oneruler), "niah_none_8k_zh", split="test")
    assert rows[0]["outputs"] == ["无"]
    assert set(load(oneruler, "niah_single_8k_en-zh")["instruction_language"]) == {"zh"}
    assert len(load(oneruler, "all_8k_en")) == 7 * 6
    assert len(load(oneruler, "niah_8k_zh-en")) == 5 * 6
    assert len(load(oneruler, "niah_single_nonone_8k_en")) == 6
    with pytest.raises(RulerError, match="has no 'all_8k_zh-en'"):
        load(oneruler, "all_8k_zh-en")


def test_the_manifest_says_how_often_the_book_repeats_in_each_row(tmp_path):
    root = tmp_path / "long"
    built = build_oneruler(root, "zh", lengths=("32k",), tasks=("niah_single",))
    (entry,) = built.manifest["files"].values()
    assert entry["row_repeats"] == [entry["repeats"]] * 2
    text = load(root, "niah_single_32k_zh")[0]["input"]
    opening = text[text.index(">") + 1 :].strip()[:24]
    assert entry["repeats"] == text.count(opening) - 1 > 0


def test_all_languages_cannot_be_built_from_the_embedded_texts():
    with pytest.raises(RulerError, match="no embedded text"):
        build_embedded(Path("never"), suite="oneruler")
    assert not Path("never").exists()


@pytest.mark.nightly
def test_all_26_languages_are_built_and_proved(every_language):
    report = verify(every_language, audit=True)
    assert report.ok, [file.problems for file in report.files.values() if file.count]
    crossed = [task for task in EVERY_LANGUAGES_TASKS if task.startswith("niah_")]
    assert len(report.files) == 26 * len(EVERY_LANGUAGES_TASKS) + 4 * len(crossed)
    result = load(every_language, "niah_none_8k_pl", "cl100k_base")
    assert result["none_word"] == ["brak"] * 2


def test_restricted_books_can_be_left_out(mirror, tmp_path):
    assert set(restricted_books()) < set(LANGUAGES)
    code = min(restricted_books())
    root = tmp_path / "free"
    free = {"skip_restricted": True, "mirror": mirror, "sources": (), "tasks": ("niah_single",)}
    built = build_oneruler(root, code, "en", **free)
    assert {entry["language"] for entry in built.manifest["files"].values()} == {"en"}
    with pytest.raises(RulerError, match="may not be free everywhere: ask for other"):
        build_oneruler(root, code, **free)


def test_word_lists_cannot_be_built_across_languages(tmp_path):
    with pytest.raises(RulerError, match="take niah"):
        build_oneruler(tmp_path / "no", "en-zh", tasks=("cwe",))
    assert not (tmp_path / "no").exists()


def test_a_custom_suite_with_any_task_names_is_proved(tmp_path):
    suite = tmp_path / "own.toml"
    suite.write_text(
        'dataset = "oneruler"\n[tasks.common]\nfamily = "multilingual_words"\n'
        '[tasks.my_cwe_niah]\nfamily = "multilingual_niah"\n',
        encoding="utf-8",
    )
    root = tmp_path / "own"
    build_oneruler(root, "zh", suite=suite)
    assert verify(root).ok


def test_a_changed_or_missing_card_is_written_again(copy):
    card, listing = copy / "README.md", copy / "eval.yaml"
    before = card.read_text(encoding="utf-8"), listing.read_text(encoding="utf-8")
    card.write_text("old", encoding="utf-8")
    listing.unlink()
    built = build_oneruler(copy, "en", "zh", "en-zh", "zh-en", rows=6)
    assert built.new == []
    assert (card.read_text(encoding="utf-8"), listing.read_text(encoding="utf-8")) == before


def test_a_release_can_be_extended_after_the_description_of_a_source_changed(copy):
    manifest = json.loads((copy / MANIFEST).read_text(encoding="utf-8"))
    manifest["sources"]["book-en"]["title"] = "Another title"
    (copy / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    built = build_oneruler(copy, "en", rows=6, lengths=("16k",), tasks=("cwe",))
    assert len(built.new) == 2
