"""`ruler build`, and what else is done with releases as a whole: list and verify."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ruler_builder.options import BuildOptions, VerifyOptions
from ruler_common.errors import RulerError
from ruler_common.options import Option

if TYPE_CHECKING:
    from ruler_builder.release.plan import BuildPlan

_MANY_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class BuildCommand(BuildOptions):
    """The flags of `ruler build`."""

    yes: Annotated[bool, Option("Ask nothing, however many rows.", panel="How")] = False


def build(options: BuildCommand) -> None:
    """Build a release, or extend one; if stopped, run the same command again: it continues.

    Example: ruler build ruler --tokenizer qwen2.5 --lengths 4k,128k --workers 2

    Example: ruler build oneruler --suite oneruler --languages pl,ko --lengths 8k
    """
    from ruler_builder.release.build import build
    from ruler_release.tables import release_tables

    def confirm(plan: BuildPlan) -> None:
        release_tables.show_size(plan)
        if options.lengths == "all" and not options.yes and plan.rows > _MANY_ROWS:
            _ask(plan.rows)

    built = build(replace(options, progress=True), confirm)
    release_tables.show_built(Path(options.root), built)


def _ask(rows: int) -> None:
    """Let a user at a terminal decide; without a terminal raise RulerError."""
    if not sys.stdin.isatty():
        raise RulerError(
            f"Without --lengths this makes {rows:,} rows: name lengths, such as "
            "--lengths 4k,8k, or add --yes."
        )
    if input("Make them all? [y/N]: ").strip().lower() not in ("y", "yes"):
        print("Nothing was made. To make some lengths only: --lengths 4k,8k")
        raise SystemExit(1)


@dataclass(frozen=True)
class ListCommand:
    """The arguments of `ruler list`."""

    release: Annotated[
        str, Option("A folder, or a Hub repository ORG/NAME.", argument=True, metavar="RELEASE")
    ]


def list_release(options: ListCommand) -> None:
    """Show what a release holds.

    Example: ruler list ruler
    """
    from ruler_dataset import manifest_of
    from ruler_release.tables import release_tables

    release_tables.show_files(manifest_of(options.release))


@dataclass(frozen=True, kw_only=True)
class VerifyCommand(VerifyOptions):
    """The flags of `ruler verify`."""

    json: Annotated[bool, Option("Print the result as JSON.")] = False


def verify(options: VerifyCommand) -> None:
    """Verify a release: the digests of its files, its rows, the manifest and the card.

    Rows are frozen ones of their data version, or are built again from the manifest and compared;
    the first row, column and character that differ are named. Exit code 1 if something is wrong; 3
    if a file cannot be built again here.

    Example: ruler verify ruler
    """
    from ruler_builder.verify.verify import verify
    from ruler_release.tables import release_tables

    report = verify(replace(options, progress=True))
    release_tables.show_report(report, options.json)
    if not report.ok:
        raise SystemExit(1)
    if not report.proved:
        raise SystemExit(3)
