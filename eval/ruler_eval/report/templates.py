"""What all pages share: their style, and templates that escape text and reject unknown names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup


def dress() -> Markup:
    """Return the CSS that all pages share."""
    return Markup(Path(__file__).with_name("dress.css").read_text(encoding="utf-8"))


def template(path: Path, **filters: Callable[..., str]) -> Template:
    """Return the template in a file, with these filters."""
    environment = Environment(
        loader=FileSystemLoader(path.parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= filters
    return environment.get_template(path.name)
