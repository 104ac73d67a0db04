"""What `ruler push` prints: files, bytes and the tag before it sends anything, then the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from ruler_builder.hub.push_plan import PushPlan, Shipment
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.terminal import MANY, bytes_bar, out, print_table, rows_bar
from ruler_common.text import plain, without_passwords


class TerminalView:
    """Shows a push on the terminal: what it will do, bars while it works, what it did."""

    bytes_bar = staticmethod(bytes_bar)
    rows_bar = staticmethod(rows_bar)

    def note(self, text: str) -> None:
        """Print a sentence."""
        typer.echo(plain(without_passwords(text)))

    def plan(self, shipment: Shipment, plan: PushPlan, manifest: Manifest | None) -> None:
        """Print what a push will send, by folder or of many files by length, take away and tag."""
        entries = manifest["files"] if manifest else {}
        many = len(plan.new) > MANY
        groups: dict[tuple[str, ...], list[str]] = {}
        for path in plan.new:
            place: tuple[str, ...] = (path.rpartition("/")[0],)
            if many:
                entry = entries.get(path)
                place = (entry["tokenizer"], entry["length"]) if entry else ("card, manifest", "")
            groups.setdefault(place, []).append(path)
        rows: list[tuple[str | int, ...]] = []
        for place, paths in groups.items():
            size = sum(shipment.digests[path].size for path in paths)
            label = place if many else (_configs(place[0], paths, entries),)
            rows.append((*label, len(paths), size))
        kept = len(shipment.digests) - len(plan.new)
        total = sum(shipment.digests[path].size for path in plan.new)
        title = f"{shipment.repo}: {len(plan.new)} files to send, {total:,} bytes; {kept} are there"
        if rows:
            columns = ("tokenizer", "length") if many else ("what",)
            print_table(title, *columns, "files", "bytes", rows=rows)
        else:
            out.print(title)
        if plan.gone:
            out.print(f"{len(plan.gone)} files of an older data version leave main, not their tag.")
        out.print(f"Tag: {plan.tag}" if plan.tag else "No tag.")


def _configs(folder: str, paths: Sequence[str], entries: Mapping[str, FileEntry]) -> str:
    """The configurations of a folder's files, the first and the last of many; else their names."""
    names = [entries[path]["config"] if path in entries else path for path in paths]
    return ", ".join(names) if not folder or len(names) < 3 else f"{names[0]} … {names[-1]}"
