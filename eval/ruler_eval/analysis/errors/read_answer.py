"""A wrong answer, read as its family reads answers: numbers, UUIDs, names, or the items of a list.

read(row, prediction, "niah_multivalue", None, result, family).wrong        # ["5555555"]
"""

from __future__ import annotations

from ruler_eval.families.family import Family
from ruler_eval.families.given_answer import GivenAnswer
from ruler_eval.frozen_release import PartialRow
from ruler_eval.prediction import Prediction
from ruler_eval.release_languages import Languages
from ruler_eval.score.cells.row_score import RowScore
from ruler_score import ruler_score as rules_of
from ruler_score.language_text import normalize, read_answer
from ruler_score.split_reasoning import split_reasoning


def read(
    row: PartialRow,
    prediction: Prediction | None,
    task: str,
    language: str | None,
    result: RowScore,
    family: Family,
    languages: Languages,
) -> GivenAnswer:
    """What a prediction offers as answers, beside what the row asks for."""
    raw = split_reasoning(prediction.text if prediction else "").answer
    spoken = languages.rules(language) if language else None
    text = normalize(raw, spoken)
    if rules_of.is_oneruler(task, spoken):
        text = read_answer(text, spoken or "en")
    wanted = {normalize(reference, spoken) for reference in row["outputs"]}
    references = sorted(set(row["outputs"]))
    return GivenAnswer(
        row=row,
        task=task,
        language=spoken,
        function_words=languages.facts(language or "en").function_words,
        prediction=prediction,
        state=result.state,
        thinking=result.thinking,
        cut_scored=result.cut_scored,
        raw=raw,
        text=text,
        items=family.items(raw, text, wanted),
        wanted=wanted,
        found=sum(rules_of.references_found(raw, references, task, spoken)),
        is_list=family.is_list,
    )
