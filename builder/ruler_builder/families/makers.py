"""What makes the rows of each task family: the keys are those of table.py, which a test holds."""

from __future__ import annotations

from typing import Any

from ruler_builder.families.common_words.rows import CommonWords
from ruler_builder.families.frequent_words.rows import FrequentWords
from ruler_builder.families.multilingual_niah.rows import MultilingualNiah
from ruler_builder.families.multilingual_words.rows import MultilingualWords
from ruler_builder.families.niah.rows import Niah
from ruler_builder.families.question_answering.rows import QuestionAnswering
from ruler_builder.families.task import Task
from ruler_builder.families.variable_tracking.rows import VariableTracking

MAKERS: dict[str, type[Task[Any]]] = {
    "niah": Niah,
    "variable_tracking": VariableTracking,
    "common_words": CommonWords,
    "frequent_words": FrequentWords,
    "question_answering": QuestionAnswering,
    "multilingual_niah": MultilingualNiah,
    "multilingual_words": MultilingualWords,
}
