"""Shared fixture: embedded sources under trained tokenizers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.sources import Sources
from ruler_builder.tokens.counting import TokenCounter


@pytest.fixture(scope="session")
def trained_sources(
    store: Store, trained_counter: Callable[[str], TokenCounter]
) -> Callable[[str], CountedSources]:
    """Return a function that gives the project's texts, counted by a trained tokenizer."""
    sources = Sources(store, parse_sources_option(["embedded"]))
    return cache(lambda kind: CountedSources(sources, trained_counter(kind)))
