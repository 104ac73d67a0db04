"""The task families by the names that suites give them; a task is a pure function of its key."""

from __future__ import annotations

from typing import Any

from builder.tasks.common_words import CommonWords
from builder.tasks.frequent_words import FrequentWords
from builder.tasks.multilingual_niah import MultilingualNiah
from builder.tasks.multilingual_words import MultilingualWords
from builder.tasks.niah import Niah
from builder.tasks.question_answering import QuestionAnswering
from builder.tasks.task import Task
from builder.tasks.variable_tracking import VariableTracking

FAMILIES: dict[str, type[Task[Any]]] = {
    family.family: family
    for family in (
        *(Niah, VariableTracking, CommonWords, FrequentWords, QuestionAnswering),
        *(MultilingualNiah, MultilingualWords),
    )
}
