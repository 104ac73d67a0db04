"""The published prompt around a book with needles (Figure 9), in the instruction's language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ruler_builder.suites.wording import Frame, split_at_context


def needle_frame(
    parts: Mapping[str, str], separator: str, none_sentence: bool, keys: Sequence[str]
) -> Frame:
    """The text before and after the context, and the question."""
    head, tail = split_at_context(parts["task"])
    names = {f"query{i}": key for i, key in enumerate(keys, 1)}
    asked = parts["question_one" if len(keys) == 1 else "question_many"].format(**names)
    end = parts["if_no"]
    if not none_sentence:  # what closes the question stays
        end = end[end.rindex("</") :]
    tail += separator.join([asked, parts["please_list"], end])
    tail += parts["answer_prefix"] + separator + parts["answer"]
    return Frame(head, tail, "", asked[asked.index(">") + 1 :].strip())
