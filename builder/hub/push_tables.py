"""What `ruler push` shows before it sends anything: files, bytes and the tag."""

from __future__ import annotations

from typing import Any

from builder.common.terminal import MANY, out, table
from builder.hub.push_plan import Plan, Shipment
from ruler_dataset import Manifest


def show_plan(shipment: Shipment, plan: Plan, manifest: Manifest | None) -> None:
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
