"""The parameters of ONERULER's cwe (section 2), and its published prompt (Figure 10)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ruler_builder.sources.registry import prompts_of
from ruler_builder.suites.params import ListParams
from ruler_builder.suites.wording import Frame, between_tags, split_at_context


@dataclass(frozen=True, kw_only=True)
class MultilingualWordsParams(ListParams):
    """Number of common words and the counts; the short ones apply up to 8000 tokens."""

    longest_short = 8000

    short_freq_cw: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.num_cw == 10, "num_cw must be 10: the published prompts ask for ten words")

    def sources(self, language: str, instruction_language: str) -> tuple[str, ...]:
        """The language's dictionary, which English has in wonderwords, and the prompts."""
        words = () if language == "en" else (f"words-{language}",)
        return (*words, *prompts_of(instruction_language))

    right_answers = staticmethod(between_tags)


def list_frame(template: str) -> Frame:
    """The frame of a prompt; its question is what stands between the first tags after the list."""
    head, tail = split_at_context(template)
    tagged = re.search(r"<([^<>/]+)>(.*?)</\1>", tail, re.DOTALL)
    return Frame(head, tail, "", tagged[2].strip() if tagged else "")
