"""The whole prompt of a row: a page of it beside the page, or the command that makes one.

    write_row_pages(page, runs, Path("report-rows"), "report-rows")
    show_command(runs[0])              # {"release": "--dataset ruler", "run": "--run runs/qwen"}

Prompts are too long to stand in the page: twenty rows of 13 tasks to 128k are some 250 MB.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ruler_common.files import write_whole
from ruler_common.text import shortened
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.report.page.page_model import PageData, ShowCommand
from ruler_eval.report.page.page_runs import ReportedRun
from ruler_eval.report.page.rows.shown_rows import ShownRow
from ruler_eval.report.show.row_text import row_page
from ruler_eval.report.show.row_view import COLUMNS, RunAnswer, run_answer, view_of


def write_row_pages(
    page: PageData, runs: Sequence[ReportedRun], folder: Path, address: str
) -> None:
    """Write a page of each row that the page shows, and name it in the row.

    `address` is the folder's, as the page links it.

    A row whose release is not at hand has none.
    """
    page["row_pages"] = address
    shown: dict[tuple[Path, str], dict[int, list[ShownRow]]] = {}
    releases: dict[Path, Release] = {}
    for one in page["series"]:
        if (release := runs[one["run"]].release) is None:
            continue
        releases.setdefault(release.root, release)
        for name, known in page["rows"][str(one["id"])].items():
            by_index = shown.setdefault((release.root, name), {})
            for known_row in known["rows"]:
                by_index.setdefault(known_row["index"], []).append(known_row)
    for (root, name), by_index in shown.items():
        release, number = releases[root], [*releases].index(root)
        beside = [run for run in runs if run.release and run.release.root == root]
        for row in release.some_rows(name, COLUMNS, by_index):
            file = f"{number + 1}/" * (number > 0) + f"{name}-{row['index']}.html"
            answers = [_answer(run, name, row) for run in beside if name in run.answers]
            write_whole(folder / file, row_page(view_of(release, name, row, answers)))
            for known_row in by_index[row["index"]]:
                known_row["page"] = quote(f"{address}/{file}")


def _answer(run: ReportedRun, name: str, row: PartialRow) -> RunAnswer:
    assert run.release is not None
    given = run.answers[name].get(int(row["index"]))
    return run_answer(run.label, run.release, name, row, given, run.rules, run.memory)


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
