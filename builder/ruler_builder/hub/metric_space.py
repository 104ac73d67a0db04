"""The metric as the Space that `evaluate.load("ORG/ruler_score")` downloads it from.

    shipment = metric_shipment("org/ruler_score")      # README.md, ruler_score.py, app.py, …

The metric's folder belongs to the evaluation side; here it is files to send, found by their path.
"""

from __future__ import annotations

import ast
import re
from importlib.resources import files
from pathlib import Path

from ruler_builder.card.render import templates
from ruler_builder.hub.push_plan import Shipment
from ruler_common.errors import RulerError

NAME = "ruler_score"
_FOLDER = Path(str(files(NAME)))
_FILES = (
    *(f"{NAME}.py", "ruler_rules.py", "oneruler_rules.py", "language_text.py"),
    *("language_rules.py", "split_reasoning.py", "task_rules.py"),
    *("app.py", "requirements.txt", "tests.py"),
)
_LOCAL = re.compile(r"evaluate\.load\(ruler_score_path\(\)\)(?: +# .*)?")
_ITS_PATH = "from ruler_score import ruler_score_path\n"


def metric_shipment(repo: str) -> Shipment:
    """The Space's files, its version the metric's score version. Raises RulerError."""
    if repo.split("/")[-1] != NAME:
        raise RulerError(
            f"evaluate looks for NAME.py in a Space called NAME: push to ORG/{NAME}, not '{repo}'."
        )
    if missing := [name for name in _FILES if not (_FOLDER / name).is_file()]:
        raise RulerError(f"'{_FOLDER}' has no {missing[0]}: install ruler-release again.")
    said = _constants(_FOLDER / f"{NAME}.py")
    files: dict[str, Path | bytes] = {name: _FOLDER / name for name in _FILES}
    files["README.md"] = _card(repo, said).encode()
    version = said["SCORE_VERSION"]
    title = f"{NAME} {version}"
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
        .get_template(f"{NAME}.md")
        .render(
            repo=repo,
            version=said["SCORE_VERSION"],
            description=" ".join(said["_DESCRIPTION"].split()),
            body=_LOCAL.sub(f'evaluate.load("{repo}")', body.replace(_ITS_PATH, "")),
        )
    )
