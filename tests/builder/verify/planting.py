"""Plant a fault in a row of a real release, and make everything else agree with it.

A fault is a function that changes a row in place. `follow` then corrects depths and `length` for
the changed text, so that nothing but the fault itself is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ruler_builder.release.card import card_files
from ruler_builder.release.facts import collect_facts
from ruler_builder.release.folder import write_rows
from ruler_builder.tokens.counting import TokenCounter
from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST, read_manifest

Row = dict[str, Any]


def follow(row: Row, counter: TokenCounter) -> None:
    """Set depths and length to those of the changed text."""
    width = max(1, row["context_end"] - row["context_start"])
    for span in row["evidence"]:
        span["depth"] = (span["start"] - row["context_start"]) / width
    row["length"] = counter.count(row["input"] + row["answer_prefix"]) + row["max_new_tokens"]


def plant(root: Path, path: str, change: Callable[[list[Row]], object]) -> None:
    """Change the rows of a file of a release, and the manifest's entry with them."""
    rows = pq.read_table(root / path).to_pylist()
    change(rows)
    manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    entry, lengths = manifest["files"][path], [row["length"] for row in rows]
    digest = write_rows(root / path, rows, entry["max_length"], level=5)
    mean = sum(lengths) / max(1, len(lengths))
    entry |= {
        "rows": len(rows),
        "tokens": {"min": min(lengths, default=0), "mean": mean, "max": max(lengths, default=0)},
        "fill": mean / (entry["max_length"] - manifest["reserve"]),
        "bytes": (root / path).stat().st_size,
        "sha256": sha256_of(root / path),
        "rows_sha256": digest,
    }
    write_manifest(root, manifest)


def manifest_of(root: Path) -> dict[str, Any]:
    """Return the manifest as a dictionary that can be changed, without checks."""
    result: dict[str, Any] = json.loads((root / MANIFEST).read_bytes())
    return result


def keep(root: Path, *paths: str) -> None:
    """Keep only these files of a release, and what its manifest says about them."""
    manifest = json.loads((root / MANIFEST).read_bytes())
    for path in manifest["files"].keys() - {*paths}:
        (root / path).unlink(missing_ok=True)
    manifest["files"] = {path: manifest["files"][path] for path in sorted(paths)}
    facts = collect_facts(manifest)
    manifest["sources"] = facts.sources
    languages = manifest["languages"].items()
    manifest["languages"] = {code: entry for code, entry in languages if code in facts.languages}
    write_manifest(root, manifest)


def write_manifest(root: Path, manifest: Mapping[str, Any]) -> None:
    """Replace a release's manifest, and write the files rendered from it."""
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    (root / MANIFEST).write_text(text, encoding="utf-8")
    for name, rendered in card_files(collect_facts(read_manifest(root))).items():
        (root / name).write_text(rendered, encoding="utf-8")


def edit(row: Row, start: int, end: int, new: str) -> None:
    """Replace the characters start … end by `new`, and move every offset after them."""
    moved = len(new) - (end - start)

    def place(offset: int) -> int:
        return offset + moved if offset >= end else min(offset, start + len(new))

    row["input"] = row["input"][:start] + new + row["input"][end:]
    row["context_start"], row["context_end"] = (
        place(row["context_start"]),
        place(row["context_end"]),
    )
    for span in row["evidence"]:
        span["start"], span["end"] = place(span["start"]), place(span["end"])


def swap(row: Row, old: str, new: str, after: int = 0) -> None:
    """Replace the first `old` after an offset."""
    at = row["input"].index(old, after)
    edit(row, at, at + len(old), new)


def swap_all(row: Row, old: str, new: str) -> None:
    """Replace a string everywhere in a row."""
    at = row["input"].find(old)
    while at >= 0:
        edit(row, at, at + len(old), new)
        at = row["input"].find(old, at + len(new))
    for column in ("answer_prefix", "question"):
        row[column] = row[column].replace(old, new)
    row["outputs"] = [output.replace(old, new) for output in row["outputs"]]


def in_context(row: Row, old: str, new: str, share: float = 0.0) -> None:
    """Replace the first `old` of the context after a share of it."""
    width = row["context_end"] - row["context_start"]
    swap(row, old, new, row["context_start"] + int(width * share))


def needles(row: Row) -> list[str]:
    """Return the texts of the evidence."""
    return [row["input"][span["start"] : span["end"]] for span in row["evidence"]]


def key_and_value(needle: str) -> tuple[str, str]:
    """Return the key and value of one of RULER's needles."""
    key, _, value = needle.removesuffix(".").partition(" for ")[2].partition(" is: ")
    return key, value
