"""`ruler quickstart`: build, verify, load, answer and score 13 small tasks, without a model.

And `ruler example`: a real model's answers, without a release.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from ruler_common.manifest import read_manifest
from ruler_common.text import plain
from ruler_release import api

FOLDER = Path("ruler-quickstart")
LENGTH, ROWS = "4k", 5
CONFIG = f"niah_mk_{LENGTH}"


def quickstart(
    root: Annotated[Path, Argument(metavar="DIR", help="Folder to make.")] = FOLDER,
) -> None:
    """Build 13 small tasks from the project's own texts; verify, load, answer, score, show them.

    Example: `ruler quickstart`
    """
    from ruler_eval.report import score_report

    run = root.parent / "runs" / "quickstart"
    build_release(root)
    typer.echo("The oracle, which answers with the references and needs no model, answers:")
    answer_release(root, run)
    results = api.score(run, progress=True)
    typer.echo(plain(score_report.report(results)))
    typer.echo(f"\nWritten: {plain(run / 'results.json')}", err=True)
    page = api.report(run, out=run.with_name(f"{run.name}.html"))
    typer.echo(f"\nThe page of these scores: {page.resolve()}")
    typer.echo(
        f"\n'{plain(root)}' holds {ROWS} rows a task. Next, the benchmark itself, from its "
        "published sources:\n"
        "  ruler sources fetch ruler\n"
        f"  ruler build ruler --lengths {LENGTH}\n"
        f"  ruler run --dataset ruler --configs all_{LENGTH} --backend vllm --model MODEL "
        "--out runs/mine"
    )


def build_release(root: Path) -> None:
    """Build the tasks into `root`, verify them, and load one configuration with `datasets`.

    Raises RulerError if the folder holds something else.
    """
    import datasets

    from ruler_release.tables import release_tables

    datasets.disable_progress_bars()
    built = api.build(root, lengths=LENGTH, samples=ROWS, sources="embedded", progress=True)
    report = api.verify(root, progress=True)
    release_tables.show_files(built.manifest)
    if not report.ok:
        release_tables.show_report(root, report, as_json=False)
    rows = datasets.load_dataset(str(root), CONFIG, split="test")
    typer.echo(
        "\nMade from the project's own texts and verified. "
        f'load_dataset("{plain(root)}", "{CONFIG}") gives {len(rows)} rows.\n'
    )


def answer_release(root: Path, out: Path) -> None:
    """Run the oracle over every configuration of a release."""
    from ruler_release.tables import run_tables

    configs = [file["config"] for file in read_manifest(root)["files"].values()]
    run_tables.show_summary(
        api.run(root, configs=configs, out=out, backend="oracle", progress=True)
    )


def example(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder to make.")] = Path(
        "ruler-example"
    ),
) -> None:
    """Write a real model's answers and say what to try on them: no model, no network, no release.

    Example: `ruler example`
    """
    from ruler_eval.example.write_example import FIRST_LINE, write_example

    write_example(folder)
    typer.echo(
        f"A real model's answers are in '{folder}'; README.md there says of which rows. Try:"
    )
    references = f"--references {folder / 'references'}"
    for command in (
        f"score {folder / 'run'} {references} --beside published",
        f"score {folder / FIRST_LINE} {references}",
        f"errors {folder / 'run'} {references}",
        f"compare {folder / 'run'} {folder / FIRST_LINE}",
        f"report {folder / 'run'} {folder / FIRST_LINE} {references} "
        f"--out {folder / 'report.html'}",
    ):
        typer.echo(f"  ruler {command}")
