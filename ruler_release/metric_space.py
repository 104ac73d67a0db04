"""Push the metric to a Space on the Hub, where `evaluate.load("ORG/ruler_score")` finds it.

push_metric("org/ruler_score", print)      # README.md, ruler_score.py, app.py, …
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from ruler_builder.hub.repository import hub_state, send
from ruler_builder.release.templates import templates
from ruler_common.errors import RulerError

METRIC = "ruler_score"
_SPACE_FILES = ("app.py", "requirements.txt", "tests.py")
_LOCAL = re.compile(r"evaluate\.load\(ruler_score_path\(\)\)(?: +# .*)?")
_PATH_IMPORT = "from ruler_score import ruler_score_path\n"


def push_metric(
    repo: str, note: Callable[[str], None], private: bool = False, revision: str | None = None
) -> None:
    """Commit the metric once and tag the commit with its score version. Raises RulerError."""
    from ruler_score import metric_files
    from ruler_score.ruler_score import SCORE_VERSION

    if repo.rpartition("/")[2] != METRIC:
        raise RulerError(
            "evaluate looks for NAME.py in a Space called NAME: "
            f"push to ORG/{METRIC}, not '{repo}'."
        )
    folder, tag = Path(str(files(METRIC))), revision or f"v{SCORE_VERSION}"
    contents: dict[str, Path | bytes] = {file.name: file for file in metric_files()}
    for name in _SPACE_FILES:
        contents[name] = folder / name
    contents["README.md"] = _card(repo, folder).encode()
    state = hub_state(repo, "space")
    if tag in state.tags:
        note(
            f"'{repo}' has {tag} already, and a tag is never moved: a changed metric needs "
            "a new SCORE_VERSION."
        )
        return
    commit, url = send(
        repo,
        "space",
        contents,
        title=f"{METRIC} {SCORE_VERSION}",
        state=state,
        private=private,
        tag=tag,
        sdk="gradio",
    )
    note(f"Sent: {url}")
    note(f"Tagged {tag}, commit {commit}: cite that.")
    note(f'Load it: evaluate.load("{repo}", revision="{tag}")')


def _card(repo: str, folder: Path) -> str:
    """Return the Space's card, which contains the metric's README."""
    from ruler_score.ruler_score import _DESCRIPTION, SCORE_VERSION

    readme = (folder / "README.md").read_text(encoding="utf-8")
    body = re.sub(r"\A---\n.*?\n---\n", "", readme, flags=re.DOTALL).strip()
    return (
        templates()
        .get_template(f"{METRIC}.md")
        .render(
            repo=repo,
            version=SCORE_VERSION,
            description=" ".join(_DESCRIPTION.split()),
            body=_LOCAL.sub(f'evaluate.load("{repo}")', body.replace(_PATH_IMPORT, "")),
        )
    )
