"""What is pushed as a Space: a page of results, or the metric.

    shipment = report_shipment("org/long-context", Path("report.html"))
    shipment = metric_shipment("org/ruler_score")      # README.md, ruler_score.py, app.py, …

The page is what `ruler report` wrote, with the pages of rows that it links; a newer page replaces
it, and no tag is made: the page itself says of which runs and rows it is. `evaluate.load` downloads
the metric. Its folder belongs to the evaluation side; here it is files, found by their path.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path

from ruler_builder.card.render import templates
from ruler_builder.common.project_files import project_file
from ruler_builder.hub.push_plan import Shipment
from ruler_common.errors import RulerError

METRIC = "ruler_score"
_FOLDER = Path(str(files(METRIC)))
_FILES = (
    *(f"{METRIC}.py", "ruler_rules.py", "oneruler_rules.py", "language_text.py"),
    *("language_rules.py", "split_reasoning.py", "task_rules.py"),
    *("app.py", "requirements.txt", "tests.py"),
)
_LOCAL = re.compile(r"evaluate\.load\(ruler_score_path\(\)\)(?: +# .*)?")
_ITS_PATH = "from ruler_score import ruler_score_path\n"
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


def metric_shipment(repo: str) -> Shipment:
    """The Space's files, its version the metric's score version. Raises RulerError."""
    if repo.split("/")[-1] != METRIC:
        raise RulerError(
            "evaluate looks for NAME.py in a Space called NAME: "
            f"push to ORG/{METRIC}, not '{repo}'."
        )
    if missing := [name for name in _FILES if not (_FOLDER / name).is_file()]:
        raise RulerError(f"'{_FOLDER}' has no {missing[0]}: install ruler-release again.")
    said = _constants(_FOLDER / f"{METRIC}.py")
    files: dict[str, Path | bytes] = {name: _FOLDER / name for name in _FILES}
    files["README.md"] = _card(repo, said).encode()
    version = said["SCORE_VERSION"]
    title = f"{METRIC} {version}"
    return Shipment.of_space(files, repo=repo, version=version, title=title, sdk="gradio")


def _constants(path: Path) -> dict[str, str]:
    """The strings a module assigns at its top, read without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def _card(repo: str, said: dict[str, str]) -> str:
    """The Space's card: its template around the metric's own README."""
    readme = (_FOLDER / "README.md").read_text(encoding="utf-8")
    body = re.sub(r"\A---\n.*?\n---\n", "", readme, flags=re.DOTALL).strip()
    return (
        templates()
        .get_template(f"{METRIC}.md")
        .render(
            repo=repo,
            version=said["SCORE_VERSION"],
            description=" ".join(said["_DESCRIPTION"].split()),
            body=_LOCAL.sub(f'evaluate.load("{repo}")', body.replace(_ITS_PATH, "")),
        )
    )
