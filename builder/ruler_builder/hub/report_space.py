"""A page of results as a static Space: index.html and a card, nothing that runs.

    shipment = report_shipment("org/long-context", Path("report.html"))

The page is what `ruler report` wrote; here it is a file to send, with the pages of rows that it
links. A newer page replaces it, and no
tag is made: the page itself says of which runs and rows it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection
from pathlib import Path

from ruler_builder.common.project_files import project_file
from ruler_builder.hub.push_plan import Shipment
from ruler_common.errors import RulerError

_ROW_PAGES = re.compile(rb'<meta name="row-pages" content="([^"]*)">')
PAGE = "report.html"  # what `ruler report` writes by default
MOST_BYTES = 10_000_000  # one of three models, six lengths and 13 tasks has less than 2,000,000


def report_shipment(repo: str, page: Path) -> Shipment:
    """The Space's files. Raises RulerError for a file that is no page."""
    if not page.is_file():
        raise RulerError(f"There is no page '{page}'. Make it: ruler report RUN --out {page}")
    if page.stat().st_size > MOST_BYTES:
        raise RulerError(
            f"'{page}' has {page.stat().st_size:,} bytes, over {MOST_BYTES:,}: "
            "is it a page of `ruler report`?"
        )
    content = page.read_bytes()
    if not content.lstrip()[:15].lower().startswith(b"<!doctype html"):
        raise RulerError(f"'{page}' is no HTML page. Make one: ruler report RUN --out {PAGE}")
    card = project_file("dataset_cards") / "report_page.md"
    files: dict[str, Path | bytes] = {"index.html": content, "README.md": card}
    files |= _row_pages(page, content)
    title = "A page of results"
    return Shipment.of_space(files, repo=repo, version=None, title=title, sdk="static")


def _row_pages(page: Path, content: bytes) -> dict[str, Path]:
    """The pages of single rows that the page links. Raises RulerError where they are not here."""
    named = _ROW_PAGES.search(content)
    if named is None:
        return {}
    folder = Path(html.unescape(named[1].decode()))
    beside = folder.parts and not folder.is_absolute() and ".." not in folder.parts
    found = sorted((page.parent / folder).rglob("*.html")) if beside else []
    if not found:
        raise RulerError(
            f"'{page}' links pages of its rows in '{folder}': a folder that must lie beside it. "
            f"Make both anew: ruler report RUN --out {page} --row-pages {page.with_suffix('')}-rows"
        )
    return {path.relative_to(page.parent).as_posix(): path for path in found}


def check_space(repo: str, files: Collection[str]) -> None:
    """Refuse a Space that holds something else than a page, which would be lost behind it."""
    if "index.html" not in files and set(files) - {"README.md", ".gitattributes"}:
        raise RulerError(
            f"'{repo}' holds something else than a page of results: name another Space."
        )
