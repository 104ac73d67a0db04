"""The published prompt around a numbered list (Figure 10); nothing begins the answer."""

from __future__ import annotations

import re

from ruler_builder.suites.wording import Frame, split_at_context


def list_frame(template: str) -> Frame:
    """The frame of a prompt; its question is what stands between the first tags after the list."""
    head, tail = split_at_context(template)
    tagged = re.search(r"<([^<>/]+)>(.*?)</\1>", tail, re.DOTALL)
    return Frame(head, tail, "", tagged[2].strip() if tagged else "")
