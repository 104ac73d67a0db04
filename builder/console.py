"""What the builder's commands show: progress bars and tables (rich)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from builder.hub.plan import Plan, Shipment
    from builder.release import Built
    from builder.verify import Report

_MANY = 100  # files; more are summed up
out = Console(soft_wrap=True)
err = Console(stderr=True)


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f} rows/s" if task.speed else "")


class RowsBar:
    """A bar over rows; says what the planner, the builder and the verifier tell it."""

    def __init__(self, verb: str, progress: Progress) -> None:
        self._verb, self._progress = verb, progress
        self._task = progress.add_task("Checking", total=None)

    def planned(self, files: int, rows: int, kept: int) -> None:
        """So many files and rows to make."""
        kept_too = f", {kept} already there" if kept else ""
        self._progress.update(
            self._task, description=f"{self._verb} {files} files{kept_too}", total=rows or None
        )

    def total(self, rows: int) -> None:
        """So many rows in all."""
        self._progress.update(self._task, description=self._verb, total=rows)

    def rows(self, count: int) -> None:
        """So many more rows are done."""
        self._progress.advance(self._task, count)


@contextmanager
def rows_bar(verb: str) -> Iterator[RowsBar]:
    """A progress bar over rows with speed and time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        _Speed(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as bar:
        yield RowsBar(verb, bar)


@contextmanager
def bytes_bar(name: str, size: int | None) -> Iterator[Callable[..., None]]:
    """A progress bar over bytes; call it with the bytes there so far, and the size once known."""
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name, total=size)
        yield lambda done, size=None: bar.update(task, completed=done, total=size)


def table(title: str, *columns: str, rows: list[tuple[Any, ...]]) -> None:
    """Print a table; columns of numbers stand right."""
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        number = bool(rows) and isinstance(rows[0][place], int | float)
        shown.add_column(column, justify="right" if number else "left")
    for row in rows:
        shown.add_row(*(_cell(value) for value in row))
    out.print(shown)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def show_files(manifest: dict[str, Any]) -> None:
    """The files of a release."""
    rows = [
        (
            entry["config"],
            entry["rows"],
            round(entry["tokens"]["mean"]),
            f"{100 * entry['fill']:.2f} %",
            entry["bytes"],
        )
        for entry in manifest["files"].values()
    ]
    title = f"{manifest['dataset']} {manifest['data_version']}, seed {manifest['seed']}"
    table(title, "configuration", "rows", "mean length", "fill", "bytes", rows=rows)


def _show_lengths(entries: list[dict[str, Any]]) -> None:
    """Many files, by tokenizer and length; `ruler list` shows each."""
    places: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in entries:
        places.setdefault((entry["tokenizer"], entry["length"]), []).append(entry)
    rows = [
        (
            *place,
            len(found),
            sum(entry["rows"] for entry in found),
            f"{100 * min(entry['fill'] for entry in found):.2f} %",
            sum(entry["exhausted"] > 0 for entry in found),
            sum(entry["bytes"] for entry in found),
        )
        for place, found in places.items()
    ]
    columns = ("tokenizer", "length", "files", "rows", "least fill", "run out", "bytes")
    table("", *columns, rows=rows)


def show_built(root: Path, built: Built) -> None:
    """What a build made."""
    if not built.new:
        out.print(f"'{root}' already holds all of this: nothing to do.")
        return
    files = {path: built.manifest["files"][path] for path in built.new}
    if len(files) > _MANY:
        _show_lengths(list(files.values()))
    else:
        show_files({**built.manifest, "files": files})
    odd = {name: s["variant"] for name, s in built.manifest["sources"].items()}
    odd = {name: variant for name, variant in odd.items() if variant != "canonical"}
    if odd:
        said = ", ".join(f"{name} = {variant}" for name, variant in odd.items())
        out.print(f"Not from the canonical sources: {said}. The card says so.")
    out.print(f"{len(built.new)} files made in '{root}'. Next: ruler verify {root}")


def show_report(root: Path, report: Report, as_json: bool) -> None:
    """One line a file, its breaches, and the verdict."""
    if as_json:
        files = {
            path: {"config": f.config, "rows": f.rows, "breaches": f.count, "first": f.breaches}
            for path, f in report.files.items()
        }
        found = {"ok": report.ok, "unfinished": report.unfinished, "files": files}
        sys.stdout.write(json.dumps(found, default=asdict, indent=1) + "\n")
        return
    for file in report.files.values():
        if len(report.files) > _MANY and not file.count:
            continue
        verdict = f"{file.count} breaches" if file.count else "holds"
        out.print(f"{file.config}: {file.rows} rows, {verdict}", highlight=False)
        for index, law, what in file.breaches:
            where = f"row {index}" if index >= 0 else "file"
            out.print(
                f"    {file.config} {where}, law {law}: {what}", markup=False, highlight=False
            )
    if report.unfinished:
        out.print(
            f"Incomplete: {report.unfinished} files are not made yet. "
            "Run the same `ruler build` again."
        )
    elif report.ok:
        rows = sum(file.rows for file in report.files.values())
        out.print(f"All laws hold: {len(report.files)} files, {rows:,} rows.")
    else:
        out.print(f"{sum(file.count for file in report.files.values())} breaches.")


def show_plan(shipment: Shipment, plan: Plan, manifest: dict[str, Any] | None) -> None:
    """What a push will send, take away and tag."""
    entries = manifest["files"] if manifest else {}
    folders: dict[str, list[str]] = {}
    for path in plan.new:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    rows: list[tuple[Any, ...]] = []
    columns: tuple[str, ...] = ("what", "files", "bytes")
    if len(plan.new) > _MANY:
        columns, folders = ("tokenizer", "length", "files", "bytes"), {}
        rows = _sizes(shipment, plan, entries)
    for folder, paths in folders.items():
        names = [entries[path]["config"] if path in entries else path for path in paths]
        shown = ", ".join(names) if not folder or len(names) < 3 else f"{names[0]} … {names[-1]}"
        rows.append((shown, len(paths), sum(shipment.digests[path].size for path in paths)))
    total = sum(shipment.digests[path].size for path in plan.new)
    kept = len(shipment.digests) - len(plan.new)
    title = f"{shipment.repo}: {len(plan.new)} files to send, {total:,} bytes; {kept} are there"
    if rows:
        table(title, *columns, rows=rows)
    else:
        out.print(title)
    if plan.gone:
        out.print(f"{len(plan.gone)} files of an older data version leave main, not their tag.")
    out.print(f"Tag: {plan.tag}" if plan.tag else "No tag.")


def _sizes(
    shipment: Shipment, plan: Plan, entries: dict[str, Any]
) -> list[tuple[str, str, int, int]]:
    """What is to be sent, by tokenizer and length, and first what stands at the root."""
    places: dict[tuple[str, str], list[str]] = {}
    for path in plan.new:
        entry = entries.get(path)
        place = (entry["tokenizer"], entry["length"]) if entry else ("card, manifest", "")
        places.setdefault(place, []).append(path)
    return [
        (*place, len(paths), sum(shipment.digests[path].size for path in paths))
        for place, paths in places.items()
    ]


def show_tokenizers(named: dict[str, dict[str, Any]]) -> None:
    """The named tokenizers."""
    rows = [(name, entry["library"], entry["title"]) for name, entry in named.items()]
    table("", "name", "counted by", "what it is", rows=rows)
    out.print("Any other: --tokenizer NAME=hf:ORG/NAME[@REVISION] or NAME=FOLDER")
