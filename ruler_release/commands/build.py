"""`ruler build`, `ruler verify` and `ruler list`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ruler_builder.options import BuildOptions, VerifyOptions
from ruler_common.errors import RulerError
from ruler_common.frozen import frozen_sentence
from ruler_common.manifest import FileEntry, Manifest
from ruler_common.options import Option
from ruler_common.text import MANY, command_line, note, number_of, sentences, show, some_of, table

if TYPE_CHECKING:
    from ruler_builder.release.build import BuildPlan, Built
    from ruler_builder.verify.file_check import FileReport
    from ruler_builder.verify.verify import VerifyReport

_MIN_ROWS_TO_ANNOUNCE = 1000
_MAX_ROWS_WITHOUT_QUESTION = 10_000


@dataclass(frozen=True, kw_only=True)
class BuildCommand(BuildOptions):
    """The flags of `ruler build`."""

    yes: Annotated[bool, Option("Do not ask for confirmation of a large build.", panel="How")] = (
        False
    )


def build(options: BuildCommand) -> None:
    """Build a release, or extend one; if interrupted, run the same command again to continue.

    Example: ruler build ruler --tokenizer qwen2.5 --lengths 4k,128k --workers 2

    Example: ruler build oneruler --suite oneruler --languages pl,ko --lengths 8k
    """
    from ruler_builder.release.build import build

    def confirm(plan: BuildPlan) -> None:
        show_size(plan)
        is_large = plan.rows > _MAX_ROWS_WITHOUT_QUESTION
        if options.lengths == "all" and not options.yes and is_large:
            _ask(plan.rows)

    built = build(replace(options, progress=True), confirm)
    show_built(Path(options.root), built)


def _ask(rows: int) -> None:
    """Ask the user for confirmation. Raises RulerError without a terminal."""
    if not sys.stdin.isatty():
        raise RulerError(
            f"Without --lengths this builds {rows:,} rows: choose lengths, such as "
            "--lengths 4k,8k, or add --yes."
        )
    if input("Build them all? [y/N]: ").strip().lower() not in ("y", "yes"):
        print("Nothing was built. To build only some lengths: --lengths 4k,8k")
        raise SystemExit(1)


@dataclass(frozen=True)
class ListCommand:
    """The arguments of `ruler list`."""

    release: Annotated[
        str, Option("A folder, or a Hub repository ORG/NAME.", argument=True, metavar="RELEASE")
    ]


def list_release(options: ListCommand) -> None:
    """Show the files of a release.

    Example: ruler list ruler
    """
    from ruler_dataset import manifest_of

    show_files(manifest_of(options.release))


@dataclass(frozen=True, kw_only=True)
class VerifyCommand(VerifyOptions):
    """The flags of `ruler verify`."""

    json: Annotated[bool, Option("Print the result as JSON.")] = False


def verify(options: VerifyCommand) -> None:
    """Verify a release: the digests of its files, its rows, the manifest and the card.

    Rows are compared with the frozen ones of their data version, or rebuilt from the manifest and
    compared; the first difference is shown with row, column and character. Exit code 1: something
    is wrong; 3: a file cannot be rebuilt on this machine.

    Example: ruler verify ruler
    """
    from ruler_builder.verify.verify import verify

    report = verify(replace(options, progress=True))
    show_report(report, options.json)
    exit_unless_proved(report)


# ---- What is shown -------------------------------------------------------------------------------


def show_files(manifest: Manifest) -> None:
    """Print the files of a release by tokenizer, from the shortest rows to the longest."""
    rows = []
    for e in sorted(manifest["files"].values(), key=lambda e: (e["tokenizer"], e["max_length"])):
        mean, fill = f"{e['tokens']['mean']:,.0f}", f"{100 * e['fill']:.2f} %"
        rows.append((e["config"], f"{e['rows']:,}", mean, fill, f"{e['bytes']:,}"))
    show(f"{manifest['dataset']} {manifest['data_version']}, seed {manifest['seed']}")
    show(table(["configuration", "rows", "mean length", "fill", "bytes"], rows, left=(0, 3)))


def _show_lengths(manifest: Manifest) -> None:
    """Print many files by tokenizer and length; `ruler list` shows each file."""
    from ruler_builder.release.card import min_fill

    groups: dict[tuple[str, str], list[FileEntry]] = {}
    for e in sorted(manifest["files"].values(), key=lambda e: (e["tokenizer"], e["max_length"])):
        groups.setdefault((e["tokenizer"], e["length"]), []).append(e)
    rows = []
    for (tokenizer, length), files in groups.items():
        number = exhausted = size = 0
        for entry in files:
            number += entry["rows"]
            exhausted += entry["exhausted"]
            size += entry["bytes"]
        fill = min_fill(files, manifest["reserve"])
        counts = (f"{len(files):,}", f"{number:,}", fill, f"{exhausted:,}", f"{size:,}")
        rows.append((tokenizer, length, *counts))
    columns = ("tokenizer", "length", "files", "rows", "min fill", "exhausted", "bytes")
    show(table(columns, rows, left=(0, 1, 4)))


def show_size(plan: BuildPlan) -> None:
    """Print the size of a build to stderr, unless it is small, and which files it replaces."""
    if plan.damaged:
        files = some_of(plan.damaged, 1)
        note(sentences(f"Lost or changed since it was built, and built again: {files}."))
    if plan.lost:
        files = some_of(plan.lost, 1)
        note(
            sentences(
                f"Lost, and not built again because this command does not ask for it: {files}."
            )
        )
    if plan.rows < _MIN_ROWS_TO_ANNOUNCE:
        return
    minutes = plan.cpu_seconds / 60
    time = f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute"
    space = f"{plan.bytes / 1e9:.1f} GB" if plan.bytes >= 1e9 else f"{plan.bytes / 1e6:.0f} MB"
    files = number_of(len(plan.missing), "file")
    text = (
        f"To build: {plan.rows:,} rows in {files}, {plan.tokens / 1e6:,.0f} million tokens: about "
        f"{space} and {time} of CPU time"
    )
    if find_spec("gigatoken") is None:
        text += (
            " with the extra `fast`, which is not installed: up to twice that without it, and "
            "several times that for tokenizers of transformers"
        )
    note(sentences(f"{text}."))


def show_built(root: Path, built: Built) -> None:
    """Print the files that were built, and those that could not be."""
    for name, why in built.left_out.items():
        show(f"Left out {name}: {why}")
    if not built.manifest["files"]:
        show("There is nothing to build.")
        return
    if not built.new:
        if built.left_out:
            show(f"Nothing else is to be built in '{root}'.")
        else:
            show(f"'{root}' already has all of these files: nothing to do.")
        return
    files = {path: built.manifest["files"][path] for path in built.new}
    show_table = _show_lengths if len(files) > MANY else show_files
    show_table({**built.manifest, "files": files})
    embedded = []
    for name, source in built.manifest["sources"].items():
        if source["variant"] == "embedded":
            embedded.append(name)
    if embedded:
        show(f"Built from the project's embedded texts: {', '.join(embedded)}. The card says so.")
    show(sentences(frozen_sentence(built.manifest)))
    files_built = f"{number_of(len(built.new), 'file')} built in '{root}'"
    show(f"{files_built}. Next: {command_line('ruler', 'verify', root)}")


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
        note(f"Not checked fully: {number_of(len(paths), 'file')}, because {why}")
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
        show("Incomplete: the build was interrupted. Run the same `ruler build` again.")
    elif report.ok:
        rows = sum(file.rows for file in report.files.values())
        content = f"{number_of(len(report.files), 'file')}, {number_of(rows, 'row')}"
        show(sentences(f"Nothing is wrong: {content}. {report.sentence}"))
        show(sentences(str(frozen)))
    else:
        count = sum(file.count for file in report.files.values())
        show(f"{number_of(count, 'problem')}.")


def exit_unless_proved(report: VerifyReport) -> None:
    """Exit with code 1 if something is wrong, and with 3 if a file cannot be rebuilt here."""
    if not report.ok:
        raise SystemExit(1)
    if not report.proved:
        raise SystemExit(3)


def _as_json(file: FileReport) -> dict[str, Any]:
    first = [{"row": row, "what": what} for row, what in file.problems]
    return {"config": file.config, "rows": file.rows, "problems": file.count, "first": first}
