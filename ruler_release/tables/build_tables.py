"""What `ruler build` and `ruler list` show of a release: its files, or their sums."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ruler_common.frozen_rows import sentence_of
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.terminal import MANY, err, out, print_table, sentences

if TYPE_CHECKING:  # `ruler list` needs nothing that builds
    from ruler_builder.release.build import Built
    from ruler_builder.release.build_size import BuildSize

_WORTH_A_WORD = 1000  # rows


def show_files(manifest: Manifest) -> None:
    """The files of a release."""
    rows = [
        (e["config"], e["rows"], round(e["tokens"]["mean"]), f"{100 * e['fill']:.2f} %", e["bytes"])
        for e in sorted(manifest["files"].values(), key=_by_length)
    ]
    title = f"{manifest['dataset']} {manifest['data_version']}, seed {manifest['seed']}"
    print_table(title, "configuration", "rows", "mean length", "fill", "bytes", rows=rows)


def _by_length(entry: FileEntry) -> tuple[str, int]:
    """The files of a tokenizer from the shortest rows to the longest, else as they stand."""
    return entry["tokenizer"], entry["max_length"]


def _show_lengths(entries: list[FileEntry]) -> None:
    """Many files, by tokenizer and length; `ruler list` shows each."""
    places: dict[tuple[str, str], list[FileEntry]] = {}
    for entry in sorted(entries, key=_by_length):
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
    print_table("", *columns, rows=rows)


def show_size(size: BuildSize) -> None:
    """What a build is about to make, on stderr; nothing of a small one."""
    if size.rows < _WORTH_A_WORD:
        return
    minutes = size.cpu_seconds / 60
    time = f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute"
    space = f"{size.bytes / 1e9:.1f} GB" if size.bytes >= 1e9 else f"{size.bytes / 1e6:.0f} MB"
    files = f"{size.files} file{'s' * (size.files != 1)}"
    text = (
        f"To make: {size.rows:,} rows in {files}, {size.tokens / 1e6:,.0f} million tokens: about "
    )
    text += f"{space} and {time} of CPU time, several times that without the extra `fast`."
    err.print(sentences(text), highlight=False)


def show_built(root: Path, built: Built) -> None:
    """What a build made, and what it could not."""
    for name, why in built.manifest.get("left_out", {}).items():
        out.print(f"Left out {name}: {why}", highlight=False)
    if not built.manifest["files"]:
        out.print("There is no file to build here.")
        return
    if not built.new:
        out.print(f"'{root}' already holds all of this: nothing to do.")
        return
    files = {path: built.manifest["files"][path] for path in built.new}
    if len(files) > MANY:
        _show_lengths(list(files.values()))
    else:
        show_files({**built.manifest, "files": files})
    own = [name for name, s in built.manifest["sources"].items() if s["variant"] == "embedded"]
    if own:
        out.print(f"Made from the project's own texts: {', '.join(own)}. The card says so.")
    out.print(sentences(sentence_of(built.manifest)), highlight=False)
    made = f"{len(built.new)} file{'s' * (len(built.new) != 1)} made"
    out.print(f"{made} in '{root}'. Next: ruler verify {root}")
