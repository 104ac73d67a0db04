"""What pages share: their dress, and templates that escape every text and know every name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup


def dress() -> Markup:
    """Return the style that all pages wear."""
    return Markup(Path(__file__).with_name("dress.css").read_text(encoding="utf-8"))


def template(path: Path, **filters: Callable[..., str]) -> Template:
    """Return the template in a file, with these filters."""
    environment = Environment(
        loader=FileSystemLoader(path.parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= filters
    return environment.get_template(path.name)
