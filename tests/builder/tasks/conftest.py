"""Sources under any tokenizer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ruler_builder.text.sources import Sources, Store, parse_choice
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.haystacks import CountedSources


@pytest.fixture(scope="session")
def own_texts(store: Store) -> Callable[[TokenCounter], CountedSources]:
    """The project's own texts under any tokenizer."""
    made: dict[int, CountedSources] = {}

    def counted_sources(counter: TokenCounter) -> CountedSources:
        if id(counter) not in made:
            sources = Sources(store, parse_choice(["embedded"]))
            made[id(counter)] = CountedSources(sources, counter)
        return made[id(counter)]

    return counted_sources
