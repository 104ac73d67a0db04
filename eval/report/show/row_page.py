"""A row as one HTML page that needs no network and holds no script.

    html = row_page(row_view(release, "niah_single_2_4k", 3))

Every text is escaped by the template and shown as text; the page's policy forbids everything but
its own style.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from eval.report.page.visible_text import shortened, visible
from eval.report.show.row_text import LONGEST_ANSWER
from eval.report.show.row_view import LONGEST_PIECE, RowView


def row_page(view: RowView) -> str:
    """The whole page."""
    parts = [
        (text, piece, None if piece is None else view.pieces.index(piece))
        for text, piece in view.marked(*view.context)
    ]
    return _template().render(view=view, parts=parts)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    environment.filters["piece"] = lambda text: shortened(text, LONGEST_PIECE)
    environment.filters["answer"] = lambda text: shortened(text, LONGEST_ANSWER)
    return environment.get_template("row_page.html.j2")
