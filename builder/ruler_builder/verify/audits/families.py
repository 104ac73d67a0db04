"""The audit of each task family."""

from __future__ import annotations

from ruler_builder.verify.audits import (
    common_words,
    frequent_words,
    niah,
    oneruler_niah,
    question_answering,
    variable_tracking,
)
from ruler_builder.verify.audits.shared import Audit

AUDITS: dict[str, Audit] = {
    "niah": niah.audit,
    "variable_tracking": variable_tracking.audit,
    "common_words": common_words.audit,
    "frequent_words": frequent_words.audit,
    "question_answering": question_answering.audit,
    "multilingual_niah": oneruler_niah.audit,
    "multilingual_words": common_words.audit_list,
}
