"""What `ruler verify` shows: one line a file, the broken laws, and the verdict."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from builder.checks.verify import Report
from builder.common.terminal import MANY, out


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
        if len(report.files) > MANY and not file.count:
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
