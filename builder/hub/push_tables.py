"""What `ruler push` prints: files, bytes and the tag before it sends anything, then the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import typer

from builder.common.terminal import MANY, RowsBar, bytes_bar, out, rows_bar, table
from builder.hub.push_plan import PushPlan, Shipment
from builder.hub.repository import OnProgress
from ruler_dataset import FileEntry, Manifest, plain, without_passwords


class TerminalView:
    """Shows a push on the terminal: what it will do, bars while it works, what it did."""

    def note(self, text: str) -> None:
        """Print a sentence."""
        typer.echo(plain(without_passwords(text)))

    def plan(self, shipment: Shipment, plan: PushPlan, manifest: Manifest | None) -> None:
        """Print the table of files to send."""
        show_plan(shipment, plan, manifest)

    def bytes_bar(self, verb: str, total: int) -> AbstractContextManager[OnProgress]:
        """A progress bar over bytes."""
        return bytes_bar(verb, total)

    def rows_bar(self, verb: str) -> AbstractContextManager[RowsBar]:
        """A progress bar over rows."""
        return rows_bar(verb)


def show_plan(shipment: Shipment, plan: PushPlan, manifest: Manifest | None) -> None:
    """What a push will send, take away and tag."""
    entries = manifest["files"] if manifest else {}
    folders: dict[str, list[str]] = {}
    for path in plan.new:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    rows: list[tuple[Any, ...]] = []
    columns: tuple[str, ...] = ("what", "files", "bytes")
    if len(plan.new) > MANY:
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
    shipment: Shipment, plan: PushPlan, entries: Mapping[str, FileEntry]
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
