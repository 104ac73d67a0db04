"""The command that shows a row's whole prompt, which is too long to be in the page.

show_command(runs[0])              # {"release": "--dataset ruler", "run": "--run runs/qwen"}
"""

from __future__ import annotations

import shlex
from pathlib import Path

from ruler_common.text import shortened
from ruler_eval.report.page.page_model import ShowCommand
from ruler_eval.report.page.page_runs import ReportedRun


def show_command(run: ReportedRun) -> ShowCommand | None:
    """The arguments by which `ruler show` shows a row of the run's release, and its answer."""
    if (release := run.release) is None:
        return None
    at = f" --revision {release.revision}" if release.revision else ""
    place = release.source if release.revision else _place(Path(release.source))
    return {
        "release": f"--dataset {place}{at}",
        "run": f"--run {_place(run.places[0])}" if len(run.places) == 1 else "",
    }


def _place(path: Path) -> str:
    """A path as a shell takes it, from this folder or the user's own: a page may be published."""
    whole = path.absolute()
    for root, before in ((Path.cwd(), ""), (Path.home(), "~/")):
        if whole != root and whole.is_relative_to(root):
            return before + _quoted(whole.relative_to(root))
    return _quoted(whole)


def _quoted(path: Path) -> str:
    return shortened(shlex.quote(path.as_posix()), 1000)
