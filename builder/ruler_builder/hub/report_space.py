"""A page of results as a static Space: index.html and a card, nothing that runs.

    shipment = report_shipment("org/long-context", Path("report.html"))

The page is what `ruler report` wrote; here it is a file to send. A newer page replaces it, and no
tag is made: the page itself says of which runs and rows it is.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ruler_builder.common.project_files import project_file
from ruler_builder.hub.push_plan import Shipment
from ruler_common.errors import RulerError

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
    title = "A page of results"
    return Shipment.of_space(files, repo=repo, version=None, title=title, sdk="static")


def check_space(repo: str, files: Collection[str]) -> None:
    """Refuse a Space that holds something else than a page, which would be lost behind it."""
    if "index.html" not in files and set(files) - {"README.md", ".gitattributes"}:
        raise RulerError(
            f"'{repo}' holds something else than a page of results: name another Space."
        )
