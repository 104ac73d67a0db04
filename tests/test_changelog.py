"""CHANGELOG.md keeps its form: versions with dates, kinds of changes, one line a change."""

from __future__ import annotations

import re
from datetime import date
from importlib.metadata import version
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
TITLE = r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d) \(data version (\S+), score version (\S+)\)"


def sections() -> dict[str, str]:
    """Title -> what stands under it."""
    parts = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def test_every_version_has_its_date_data_version_and_score_version() -> None:
    unreleased, *released = sections()
    assert unreleased == "[Unreleased]"
    found = [re.fullmatch(TITLE, title) for title in released]
    assert all(found)
    dates = [date.fromisoformat(match[2]) for match in found if match]
    assert dates == sorted(dates, reverse=True)


def test_changes_stand_one_a_line_under_their_kind() -> None:
    for title, body in sections().items():
        kinds = re.findall(r"^### (.*)$", body, re.MULTILINE)
        assert kinds == sorted(set(kinds), key=["Added", "Changed", "Removed", "Fixed"].index), (
            title
        )
        loose = re.sub(r"^(### .*|- .*|  \S.*)?$", "", body, flags=re.MULTILINE).strip()
        assert loose == "", title


def test_the_citation_has_the_last_version() -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    last = re.findall(TITLE, TEXT)[0]
    assert str(cff["version"]) == last[0] == version("ruler-release")
    assert str(cff["date-released"]) == last[1]
