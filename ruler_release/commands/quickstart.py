"""`ruler quickstart`: 13 tasks from the project's own texts, made, proved, answered and scored.

By the oracle, under the default tokenizer; or (`--real`) by a small language model, under its own.
And `ruler example`: a real model's answers, without a release.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.text import plain
from ruler_release import api

LENGTH, ROWS = "4k", 5
LENGTH_OF_MODEL, ROWS_OF_MODEL = "2k", 1
"""Of a real model, on a CPU perhaps: 13 rows in two minutes; rows of 4k take three times that."""

_ROOT = "Folder to make: ruler, or ruler-real."
_REAL = "A real model of 135M parameters answers (extra `demo`)."


def quickstart(
    root: Annotated[Path | None, Argument(metavar="DIR", help=_ROOT)] = None,
    real: Annotated[bool, Option("--real", help=_REAL)] = False,
) -> None:
    """Build 13 small tasks from the project's own texts; verify, load, answer, score, show them.

    Example: `ruler quickstart`

    Example: `ruler quickstart --real` (two or three minutes; gets a model of 93 MB)
    """
    from ruler_builder.sources.quickstart_model import MODEL_TOKENIZER
    from ruler_eval.report import score_report

    root = root or Path("ruler-real" if real else "ruler")
    out = root.parent / "runs" / ("quickstart-real" if real else "quickstart")
    model = _real_model() if real else None
    order: dict[str, Any] = {"lengths": LENGTH, "samples": ROWS, "sources": "embedded"}
    suffix = LENGTH
    if model:
        order |= {"lengths": LENGTH_OF_MODEL, "samples": ROWS_OF_MODEL}
        order["tokenizers"] = f"{MODEL_TOKENIZER}={model}"
        suffix = f"{LENGTH_OF_MODEL}_{MODEL_TOKENIZER}"
    _build(root, order, f"niah_mk_{suffix}")
    oracle = "The oracle, a reader with regular expressions and no model, answers:"
    typer.echo(f"{model.name} answers, greedily, on this machine:" if model else oracle)
    answer_release(root, out, model)
    results = api.score(out, progress=True)
    typer.echo(plain(score_report.report(results)))
    typer.echo(f"\nWritten: {plain(out / 'results.json')}", err=True)
    page = api.report(out, out=out.with_name(f"{out.name}.html"))
    typer.echo(f"\nThe page of these scores: {page.resolve()}")
    shown = plain(root)
    typer.echo(
        f"\nNext:\n  ruler list {shown}\n  ruler build {shown}-8k --lengths 8k --sources embedded\n"
        f"  ruler run --dataset {shown} --configs all_{suffix} --backend hf "
        f"--model {model or 'MODEL'} --out runs/mine"
    )


def _real_model() -> Path:
    """The folder of the demonstration's model; got and converted on first use."""
    from ruler_builder.sources.quickstart_model import MODEL, model_file, model_folder
    from ruler_common import terminal
    from ruler_eval.run import demo_model
    from ruler_eval.run.backends.hf_model import let_threads_sleep

    demo_model.check_packages()
    let_threads_sleep()
    folder = model_folder()
    if not folder.is_dir():
        with terminal.bytes_bar("Getting the model", MODEL.bytes) as on_bytes:
            gguf = model_file(on_bytes)
        typer.echo(f"Converting {folder.name}, once, into {folder.parent}:")
        demo_model.convert(gguf, folder)
    return folder


def _build(root: Path, order: dict[str, Any], config: str) -> None:
    """Build the tasks into `root`, verify, and load one configuration as users of datasets do.

    Raises RulerError if a release is there that differs from what would be made.
    """
    import datasets

    from ruler_release.tables import release_tables

    datasets.disable_progress_bars()
    if root.exists():
        _refuse_other(root, order)
    manifest = api.build(root, **order, progress=True).manifest
    report = api.verify(root, tokenizers=order.get("tokenizers", ()), progress=True)
    release_tables.show_files(manifest)
    if not report.ok:
        release_tables.show_report(root, report, as_json=False)
    rows = datasets.load_dataset(str(root), config, split="test")
    typer.echo(
        "\nMade from the project's own texts and verified. "
        f'load_dataset("{plain(root)}", "{config}") gives {len(rows)} rows.\n'
    )


def _refuse_other(root: Path, order: dict[str, Any]) -> None:
    """The release that is there must be the one that would be made, row for row."""
    from ruler_builder.release.build import digest_of

    if not (root / MANIFEST).exists():
        if any(root.iterdir()) and not (root / ".build").exists():
            raise RulerError(
                f"'{root}' holds other files: run `ruler quickstart` in another folder."
            )
        return
    with tempfile.TemporaryDirectory() as folder:
        fresh = api.build(Path(folder) / "ruler", **order, progress=True)
    if digest_of(fresh.manifest) != digest_of(read_manifest(root)):
        raise RulerError(
            f"'{root}' holds another release than quickstart makes; it is left as it is. "
            "Move it away, or run `ruler quickstart` in another folder."
        )


def answer_release(root: Path, out: Path, model: Path | None = None) -> None:
    """Run the oracle, or the model of a folder by transformers, over all that a release holds."""
    from ruler_eval.run.demo_model import settings_here
    from ruler_release.tables import run_tables

    asked: dict[str, Any] = {"backend": "oracle"}
    if model is not None:
        asked = {"backend": "hf", "model": str(model), "arguments": settings_here()}
    configs = [file["config"] for file in read_manifest(root)["files"].values()]
    run_tables.show_summary(api.run(root, configs=configs, out=out, **asked, progress=True))


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
