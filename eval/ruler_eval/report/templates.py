"""The templates of pages: every text is escaped, and a name that is not given is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


def template(path: Path, **filters: Callable[..., str]) -> Template:
    """The template in a file, with these filters."""
    environment = Environment(
        loader=FileSystemLoader(path.parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= filters
    return environment.get_template(path.name)
