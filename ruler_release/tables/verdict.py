"""What `ruler verify` prints: one line a file, the broken laws by name, and the verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ruler_builder.proof.verify_report import FileReport, VerifyReport
from ruler_common.frozen_rows import sentence_of
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.terminal import MANY, err, out, sentences


def show_report(root: Path, report: VerifyReport, as_json: bool) -> None:
    """One line a file, its breaches, and the verdict."""
    finished = (root / MANIFEST).is_file()
    frozen = sentence_of(read_manifest(root)) if finished else None
    if as_json:
        found: dict[str, Any] = {"ok": report.ok, "unfinished": report.unfinished, "frozen": frozen}
        files = {path: _as_json(file) for path, file in report.files.items()}
        found |= {"proved": report.proved, "not_rebuilt": report.not_rebuilt}
        found |= {"notes": report.notes, "files": files}
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return
    for why, paths in report.not_rebuilt.items():
        err.print(f"Not rebuilt: {len(paths)} files, {why}", highlight=False)
    for name in report.uncounted:
        text = (
            f"Not counted: tokens of {name}, so exact length, full window and answerable are open."
        )
        err.print(text, highlight=False)
    for note in report.notes:
        err.print(note, highlight=False)
    for file in report.files.values():
        if len(report.files) > MANY and not file.count:
            continue
        verdict = f"{file.count} breaches" if file.count else "holds"
        out.print(f"{file.config}: {file.rows} rows, {verdict}", highlight=False)
        for index, law, what in file.breaches:
            where = f"row {index}" if index >= 0 else "file"
            out.print(f"    {file.config} {where}, {law.title}: {what}", highlight=False)
    if report.unfinished:
        out.print(
            f"Incomplete: {report.unfinished} files are not made yet. "
            "Run the same `ruler build` again."
        )
    elif report.ok:
        rows = sum(file.rows for file in report.files.values())
        laws = "All other laws hold" if report.uncounted else "All laws hold"
        text = f"{laws}: {len(report.files)} files, {rows:,} rows. {report.sentence}"
        out.print(sentences(text))
        out.print(sentences(str(frozen)), highlight=False)
    else:
        out.print(f"{sum(file.count for file in report.files.values())} breaches.")


def _as_json(file: FileReport) -> dict[str, Any]:
    first = [
        {"row": row, "law": law.title, "number": int(law), "what": what}
        for row, law, what in file.breaches
    ]
    return {"config": file.config, "rows": file.rows, "breaches": file.count, "first": first}
