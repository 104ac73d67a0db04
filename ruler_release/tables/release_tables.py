"""What is shown of a release by `ruler build`, `ruler list`, `ruler verify` and `ruler push`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_builder.release.card_tables import length_sums
from ruler_common.frozen import frozen_sentence
from ruler_common.manifest import Manifest
from ruler_common.text import (
    MANY,
    command_line,
    note,
    number_of,
    plain,
    print_table,
    sentences,
    show,
    without_passwords,
)

if TYPE_CHECKING:
    from ruler_builder.release.build import Built
    from ruler_builder.release.plan import BuildPlan
    from ruler_builder.verify.file_check import FileReport
    from ruler_builder.verify.verify import VerifyReport

_WORTH_A_WORD = 1000  # rows


def show_files(manifest: Manifest) -> None:
    """Print the files of a release by tokenizer, from the shortest rows to the longest."""
    rows = []
    for e in sorted(manifest["files"].values(), key=lambda e: (e["tokenizer"], e["max_length"])):
        mean, fill = round(e["tokens"]["mean"]), f"{100 * e['fill']:.2f} %"
        rows.append((e["config"], e["rows"], mean, fill, e["bytes"]))
    title = f"{manifest['dataset']} {manifest['data_version']}, seed {manifest['seed']}"
    print_table(title, "configuration", "rows", "mean length", "fill", "bytes", rows=rows)


def _show_lengths(manifest: Manifest) -> None:
    """Many files, by tokenizer and length; `ruler list` shows each."""
    rows = []
    for (tokenizer, length), sums in length_sums(manifest).items():
        total = sums.all
        min_fill = f"{100 * total.min_fill:.2f} %"
        figures = (total.files, total.rows, min_fill, total.exhausted, total.bytes)
        rows.append((tokenizer, length, *figures))
    columns = ("tokenizer", "length", "files", "rows", "least fill", "run out", "bytes")
    print_table("", *columns, rows=rows)


def show_size(plan: BuildPlan) -> None:
    """Print to stderr what a build is about to make, unless it is small."""
    if plan.rows < _WORTH_A_WORD:
        return
    minutes = plan.cpu_seconds / 60
    time = f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute"
    space = f"{plan.bytes / 1e9:.1f} GB" if plan.bytes >= 1e9 else f"{plan.bytes / 1e6:.0f} MB"
    files = number_of(len(plan.missing), "file")
    text = (
        f"To make: {plan.rows:,} rows in {files}, {plan.tokens / 1e6:,.0f} million tokens: about "
        f"{space} and {time} of CPU time, several times that without the extra `fast`."
    )
    note(sentences(text))


def show_built(root: Path, built: Built) -> None:
    """Print what a build made, and what it could not make."""
    for name, why in built.left_out.items():
        show(f"Left out {name}: {why}")
    if not built.manifest["files"]:
        show("There is no file to build here.")
        return
    if not built.new:
        show(f"'{root}' already holds all of this: nothing to do.")
        return
    files = {path: built.manifest["files"][path] for path in built.new}
    show_table = _show_lengths if len(files) > MANY else show_files
    show_table({**built.manifest, "files": files})
    embedded = []
    for name, source in built.manifest["sources"].items():
        if source["variant"] == "embedded":
            embedded.append(name)
    if embedded:
        show(f"Made from the project's own texts: {', '.join(embedded)}. The card says so.")
    show(sentences(frozen_sentence(built.manifest)))
    made = f"{number_of(len(built.new), 'file')} made in '{root}'"
    show(f"{made}. Next: {command_line('ruler', 'verify', root)}")


def show_report(report: VerifyReport, as_json: bool) -> None:
    """Print a line for each file, its problems, and the verdict."""
    frozen = frozen_sentence(report.manifest) if report.manifest else None
    if as_json:
        result = {
            "ok": report.ok,
            "unfinished": report.unfinished,
            "frozen": frozen,
            "proved": report.proved,
            "not_rebuilt": report.not_rebuilt,
            "notes": report.notes,
            "files": {path: _as_json(file) for path, file in report.files.items()},
        }
        sys.stdout.write(json.dumps(result, ensure_ascii=False, indent=1) + "\n")
        return
    for why, paths in report.not_rebuilt.items():
        note(f"Not checked fully: {number_of(len(paths), 'file')}, {why}")
    for text in report.notes:
        note(text)
    for file in report.files.values():
        if len(report.files) > MANY and not file.count:
            continue
        verdict = number_of(file.count, "problem") if file.count else "sound"
        show(f"{file.config}: {number_of(file.rows, 'row')}, {verdict}")
        for index, what in file.problems:
            where = f"row {index}" if index >= 0 else "file"
            show(f"    {file.config} {where}: {what}")
    if report.unfinished:
        show("Incomplete: its build was stopped. Run the same `ruler build` again.")
    elif report.ok:
        rows = sum(file.rows for file in report.files.values())
        content = f"{number_of(len(report.files), 'file')}, {number_of(rows, 'row')}"
        show(sentences(f"Nothing is wrong: {content}. {report.sentence}"))
        show(sentences(str(frozen)))
    else:
        count = sum(file.count for file in report.files.values())
        show(f"{number_of(count, 'problem')}.")


def _as_json(file: FileReport) -> dict[str, Any]:
    first = [{"row": row, "what": what} for row, what in file.problems]
    return {"config": file.config, "rows": file.rows, "problems": file.count, "first": first}


def show_note(text: str) -> None:
    """Print what a push did."""
    print(plain(without_passwords(text)))
