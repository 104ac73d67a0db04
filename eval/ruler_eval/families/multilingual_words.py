r"""ONERULER's common words, cwe_easy and cwe_hard, in 26 languages (arXiv:2503.01996, Figure 10).

…<list>\n1. jabłko 2. gruszka …\n</list>\n\n<Question> … </Question>\n\n\n… <Answer> … </Answer>
-> "<Answer> jabłko, gruszka, … </Answer>"
"""

from __future__ import annotations

from ruler_eval.families.family import Family
from ruler_eval.families.multilingual_niah import TAGGED, Form, read_form
from ruler_eval.families.word_lists import (
    frequent_words,
    from_start,
    most_common,
    numbered,
    offered,
)

_ASKED = 10  # words


def solve(text: str) -> str | None:
    """The commonest words of the list, in the form that the row asks for."""
    form = read_form(text)
    if form is None or form.quoted:
        return None
    return form.filled(", ".join(most_common(numbered(_list_of(form)), _ASKED)))


def _list_of(form: Form) -> str:
    """The list itself: what stands between the last pair of tags, less the tags."""
    lists = [match["text"] for match in TAGGED.finditer(form.context)]
    return lists[-1] if lists else form.context


FAMILY = Family(
    dataset="oneruler",
    rule="cwe_easy",
    tasks=("cwe_easy", "cwe_hard"),
    solve=solve,
    items=lambda raw, text, wanted: offered(text),
    is_list=True,
    kinds={"copied_start": from_start, "frequent_word": frequent_words},
    describe=None,
    after_context="",
)
