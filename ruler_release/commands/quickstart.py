"""`ruler quickstart`: build, verify, load, answer and score 13 small tasks, without a model.

And `ruler example`: a real model's answers, without a release.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ruler_common.manifest import read_manifest
from ruler_common.options import Option
from ruler_common.text import command_line, plain
from ruler_release import api
from ruler_release.commands.build import exit_unless_proved, show_files, show_report
from ruler_release.commands.run import show_summary

LENGTH, ROWS = "4k", 5
CONFIG = f"niah_mk_{LENGTH}"


@dataclass(frozen=True)
class QuickstartCommand:
    """The arguments of `ruler quickstart`."""

    root: Annotated[Path, Option("Folder to create.", argument=True, metavar="[DIR]")] = Path(
        "ruler-quickstart"
    )


def quickstart(options: QuickstartCommand) -> None:
    """Build, verify, load, answer and score 13 small tasks, and show the report, without a model.

    Example: ruler quickstart
    """
    from ruler_eval.figures.catalogue import score_figures
    from ruler_eval.report.render import render
    from ruler_release.commands.score import runs_of_results

    root = options.root
    run = root.parent / "runs" / "quickstart"
    build_release(root)
    print("Running the oracle, which answers with the references and needs no model:")
    answer_release(root, run)
    results = api.score(run, progress=True)
    print(plain(render(score_figures(runs_of_results([results], [])), "text")))
    print(f"\nWritten: {plain(run / 'results.json')}", file=sys.stderr)
    page = api.report(run, out=run.with_name(f"{run.name}.html"))
    print(f"\nThe page of these scores: {page.resolve()}")
    print(
        f"\n'{plain(root)}' has {ROWS} rows per task. Next, the full benchmark from its published "
        "sources:\n"
        "  ruler sources fetch ruler\n"
        f"  ruler build ruler --lengths {LENGTH}\n"
        f"  ruler eval --dataset ruler --configs all_{LENGTH} --backend vllm --model MODEL"
    )


def build_release(root: Path) -> None:
    """Build the tasks into `root`, verify them, and load one configuration with `datasets`.

    Raises RulerError if the folder has other files; exits if the release does not verify.
    """
    import datasets

    datasets.disable_progress_bars()
    built = api.build(root, lengths=LENGTH, rows=ROWS, sources="embedded", progress=True)
    report = api.verify(root, progress=True)
    show_files(built.manifest)
    if not report.proved:
        show_report(report, as_json=False)
        exit_unless_proved(report)
    place = os.path.join(".", root)  # else `datasets` may load a cached release of this name
    rows = datasets.load_dataset(place, CONFIG, split="test")
    print(
        "\nBuilt from the project's embedded texts and verified. "
        f'load_dataset("{plain(place)}", "{CONFIG}") gives {len(rows)} rows.\n'
    )


def answer_release(root: Path, out: Path) -> None:
    """Run the oracle over every configuration of a release."""
    configs = tuple(file["config"] for file in read_manifest(root)["files"].values())
    show_summary(api.run(str(root), configs=configs, out=out, backend="oracle", progress=True))


@dataclass(frozen=True)
class ExampleCommand:
    """The arguments of `ruler example`."""

    folder: Annotated[Path, Option("Folder to create.", argument=True, metavar="[DIR]")] = Path(
        "ruler-example"
    )


def example(options: ExampleCommand) -> None:
    """Write a real model's answers, and list commands to try on them without model or network.

    Example: ruler example
    """
    from ruler_eval.example.write_example import EXAMINATION, REFERENCES, RUNS, write_example

    folder = options.folder
    write_example(folder)
    print(
        f"A real model's answers are in '{plain(folder)}'; its README.md describes the rows. Try:"
    )
    full, quantised = (folder / name for name in RUNS)
    references = ("--references", folder / REFERENCES)
    examination = ("--doctor", folder / EXAMINATION)
    for words in (
        ("score", full, *references, "--published"),
        ("score", quantised, *references),
        ("errors", full, *references),
        ("compare", full, quantised),
        ("report", full, quantised, *references, *examination, "--out", folder / "report.html"),
    ):
        print(f"  {command_line('ruler', *words)}")
