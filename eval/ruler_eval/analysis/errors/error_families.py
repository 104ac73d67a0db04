"""Six families of the kinds of errors, for a figure whose colours can be told apart.

    family_of_kind("distractor")          # "other item"

The kinds themselves stand in error_kinds.py; tables show those.
"""

from __future__ import annotations

FAMILIES = {
    "no answer": (
        *("missing", "does_not_fit", "failed", "cut_in_thinking", "cut", "empty", "refused"),
        "unfinished",
    ),
    "says none": ("says_none",),
    "other item": (
        *("distractor", "same_document", "other_chain", "asked_key", "noise_word"),
        "frequent_word",
    ),
    "copied": ("copied_example", "copied_start", "repeats", "loop"),
    "nearly right": ("extra", "reworded", "near_miss", "wrong_format", "garbled", "incomplete"),
    "other": ("from_memory", "opposite", "unrelated", "other"),
}
"""The families, and the kinds of each; a kind that stands in none is `other`."""
MEANINGS = {
    "no answer": "missing, failed, truncated, empty, declined or unfinished",
    "says none": "says that there is no answer though there is one",
    "other item": "another item of the context: a distractor, another chain or fact, the asked key",
    "copied": "the example or the context copied, or one text repeated",
    "nearly right": "some of it, all and more, or the right one damaged or in another form",
    "other": "from memory, unrelated to the context, the opposite, or none of these for sure",
}
_BY_KIND = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}


def family_of_kind(kind: str) -> str:
    """The family that a kind is pooled in."""
    return _BY_KIND.get(kind, "other")
