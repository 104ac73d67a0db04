"""Answers of the kinds that models give, judged by hand: judged_answers.toml."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ruler_common.files import read_toml
from ruler_score import oneruler_rules
from ruler_score.ruler_score import LANGUAGES, score_row

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent
JUDGED = read_toml(FOLDER / "judged_answers.toml")


def test_every_language_has_answers_of_both_kinds():
    assert set(JUDGED) == set(LANGUAGES)
    for answers in JUDGED.values():
        assert {asked for asked, _, _ in answers} == {"none", "words"}


@pytest.mark.parametrize("language", JUDGED)
def test_each_answer_scores_what_it_was_judged_to(language):
    asked_for = read_toml(FOLDER / f"oneruler_cases/{language}.toml")
    words = asked_for["words"]
    comma = "、" if language in ("ja", "zh") else ", "
    parts = {
        "{ten}": comma.join(words),
        "{nine}": comma.join(words[:-1]),
        "{first}": words[0],
        "{last}": words[-1],
        "{spaced}": " ".join(words),
        "{lines}": "\n".join(words),
        "{numbered}": "\n".join(f"{i}. {word}" for i, word in enumerate(words, 1)),
    }
    for asked, answer, score in JUDGED[language]:
        for name, part in parts.items():
            answer = answer.replace(name, part)
        task, references = "cwe_easy", words
        if asked == "none":
            task, references = "niah_none", [asked_for["none"]]
        assert score_row(answer, references, task, language).score == score, answer


def ten_sentences(text: str) -> list[str]:
    """Return the sentences of the rule in a text, without line breaks."""
    rule = re.search(r"^1\. Reasoning is .*?(?=\n\n)", text, re.DOTALL | re.MULTILINE)
    assert rule
    return re.split(r"^\d+\. ", re.sub(r"\n +", " ", rule[0]), flags=re.MULTILINE)[1:]


def test_the_cards_state_the_rule_in_the_same_ten_sentences_as_the_code():
    rule = ten_sentences(str(oneruler_rules.__doc__))
    assert len(rule) == 10
    for card in ("eval/ruler_score/README.md", "dataset_cards/oneruler.md"):
        assert ten_sentences((ROOT / card).read_text(encoding="utf-8")) == rule
