"""The published figures agree with the text of their papers."""

from __future__ import annotations

from statistics import mean

import pytest

from ruler_common.names import LANGUAGES, LENGTHS
from ruler_eval.published.published_tables import newest_tables, published_tables
from ruler_eval.score.aggregates import ALL_TASKS, CATEGORIES, weights

PRINTED_OTHERWISE = {("Qwen2.5-14B-Instruct-1M (14B)", "average")}
"""Of the reference repository's table: an average that is not that of its row."""


def repository():
    (table,) = (table for table in newest_tables("ruler") if table.group == "all")
    return table


def heat_map():
    return {table.languages: table for table in newest_tables("oneruler")}


def long_mean(table):
    """The mean over models and the two long lengths (ONERULER, section 3.1)."""
    return mean(model.scores[length] for model in table.models for length in ("64k", "128k"))


def test_every_table_names_its_source_date_and_rows():
    for table in published_tables():
        assert table.source
        assert table.url.startswith("https://")
        assert table.date[:2] == "20"
        assert "rows" in table.measured_on
        assert set(table.lengths) <= set(LENGTHS[table.dataset])
        assert all(0 <= score <= 100 for model in table.models for score in model.scores.values())


def test_each_group_of_a_summary_has_its_newest_table():
    groups = ["all", *(category.name for category in CATEGORIES)]
    for kind, models in (("aligned", [44, 17, 17, 17, 17]), ("base", [7] * 5)):
        tables = newest_tables("ruler", kind)
        assert [table.group for table in tables] == groups
        assert [len(table.models) for table in tables] == models
    thresholds = [ALL_TASKS.chat, *(category.chat for category in CATEGORIES)]
    assert [table.threshold for table in newest_tables("ruler")] == thresholds
    assert newest_tables("mine") == []


def test_two_tables_are_of_a_task_and_their_averages_are_those_of_their_rows():
    for kind, models in (("aligned", 17), ("base", 7)):
        tables = newest_tables("ruler", kind, of_tasks=True)
        assert [table.group for table in tables] == ["niah_single_1", "niah_single_2"]
        assert [len(table.models) for table in tables] == [models, models]
        for model in (model for table in tables for model in table.models):
            assert abs(mean(model.scores.values()) - model.average) < 0.06, model.model


def test_the_repositorys_table_repeats_the_papers():
    newer = {model.model: model for model in repository().models}
    (paper,) = (t for t in published_tables() if t.name == "Table 3")
    renamed = {
        "Gemini-1.5-Pro": "Gemini-1.5-pro",
        "GPT-4": "GPT-4-1106-preview",
        "Mistral-v0.2 (7B)": "Mistral (7B)",
    }
    for model in paper.models:
        again = newer[renamed.get(model.model, model.model)]
        assert (again.scores, again.average, again.inc, again.dec, again.effective) == (
            *(model.scores, model.average, model.inc, model.dec, model.effective),
        )


@pytest.mark.parametrize("model", repository().models, ids=lambda model: model.model)
def test_the_repositorys_averages_are_those_of_its_rows(model):
    scores = list(model.scores.values())
    for name, weighting in (("average", None), ("inc", "inc"), ("dec", "dec")):
        printed = getattr(model, name)
        if printed is not None and (model.model, name) not in PRINTED_OTHERWISE:
            shares = weights(len(scores), weighting) if weighting else [1] * len(scores)
            total = sum(s * w for s, w in zip(scores, shares, strict=True))
            assert abs(total / sum(shares) - printed) <= 0.1


def test_the_heat_map_says_of_languages_what_onerulers_text_says():
    tables = heat_map()
    assert tuple(sorted(tables)) == LANGUAGES
    assert all(len(table.models) == 6 and len(table.lengths) == 4 for table in tables.values())
    means = {language: long_mean(table) for language, table in tables.items()}
    assert max(means, key=means.__getitem__) == "pl"
    assert sum(value >= means["en"] for value in means.values()) == 6  # English is the sixth
    assert sum(value <= means["zh"] for value in means.values()) == 4  # Chinese the fourth worst
    text = {"pl": 88, "en": 83.9, "zh": 62.1}  # from unrounded figures
    assert {language: means[language] for language in text} == pytest.approx(text, abs=0.5)
    o3 = {
        language: next(m for m in tables[language].models if m.model == "o3-mini-high")
        for language in ("en", "pl", "uk")
    }
    assert {name: model.scores["128k"] for name, model in o3.items()} == {
        "en": 67,
        "pl": 92,
        "uk": 89,
    }
