"""A page of results as a static Space: index.html and a card, nothing that runs.

    shipment = report_shipment("org/long-context", Path("report.html"))

The page is what `ruler report` wrote; here it is a file to send. A newer page replaces it, and no
tag is made: the page itself says of which runs and rows it is.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from builder.hub.push_plan import Digest, Shipment
from ruler_dataset import RulerError

PAGE = "report.html"
"""The page that `ruler report` writes by default."""
MOST_BYTES = 10_000_000
"""Of a page: one of three models, six lengths and 13 tasks has less than 2,000,000."""
_CARD = """---
title: Long-context results
emoji: 📏
colorFrom: green
colorTo: gray
sdk: static
pinned: false
---

Scores of long-context models on frozen RULER and ONERULER rows: one page, made by `ruler report`.
"""


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
    files: dict[str, Path | bytes] = {"index.html": content, "README.md": _CARD.encode()}
    return Shipment(
        repo=repo,
        kind="space",
        files=files,
        digests={name: Digest.of(data) for name, data in files.items()},
        version=None,
        title="A page of results",
        sdk="static",
    )


def check_space(repo: str, files: Collection[str]) -> None:
    """Refuse a Space that holds something else than a page, which would be lost behind it."""
    if "index.html" not in files and set(files) - {"README.md", ".gitattributes"}:
        raise RulerError(
            f"'{repo}' holds something else than a page of results: name another Space."
        )
