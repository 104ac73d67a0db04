"""A row as one HTML page that needs no network and holds no script.

    html = row_page(row_view(release, "niah_single_2_4k", 3))

Every text is escaped by the template and shown as text; the page's policy forbids everything but
its own style.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ruler_common.text import shortened, visible
from ruler_eval.report.show.row_text import LONGEST_ANSWER
from ruler_eval.report.show.row_view import LONGEST_PIECE, RowView
from ruler_eval.report.templates import dress, template


def row_page(view: RowView) -> str:
    """The whole page."""
    page = template(
        Path(__file__).with_name("row_page.html.j2"),
        visible=visible,
        piece=partial(shortened, most=LONGEST_PIECE),
        answer=partial(shortened, most=LONGEST_ANSWER),
    )
    return page.render(view=view, css=dress())
