"""Families of the kinds of errors."""

from __future__ import annotations

from ruler_eval.analysis.errors.error_kinds import FAMILIES, KINDS, MEANINGS, family_of_kind


def test_every_kind_is_in_one_of_at_most_six_families():
    named = [kind for kinds in FAMILIES.values() for kind in kinds]
    assert sorted(named) == sorted(KINDS)
    assert len(FAMILIES) <= 6
    assert FAMILIES.keys() == MEANINGS.keys()
    assert family_of_kind("distractor") == "other item"
