"""A repository of the Hub: the client shows progress bars on a terminal, but not with --quiet."""

from __future__ import annotations

import sys

import pytest
from huggingface_hub.utils import are_progress_bars_disabled, enable_progress_bars

from ruler_builder.hub.repository import hide_progress_unless_seen
from ruler_common import text
from tests.in_process import Terminal


@pytest.mark.parametrize("is_quiet", [False, True])
def test_quiet_hides_the_progress_bars_of_the_client(is_quiet, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(text, "_progress_is_shown", not is_quiet)
    enable_progress_bars()
    try:
        hide_progress_unless_seen()
        assert are_progress_bars_disabled() is is_quiet
    finally:
        enable_progress_bars()
