"""The builder's commands: build, verify, list, sources, tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Mirror = Annotated[
    Path | None,
    typer.Option(envvar="RULER_MIRROR", help="Folder that holds the sources; searched first."),
]
Workers = Annotated[int, typer.Option(min=1, help="Processes.")]
Root = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the release.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the `ruler` application."""
    app.command()(build)
    app.command()(verify)
    app.command("list")(list_release)
    app.command()(tokenizers)
    app.add_typer(sources_app)


def build(
    root: Root,
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(help="A name, NAME=hf:ORG/NAME[@REVISION] or NAME=FOLDER; repeatable."),
    ] = None,
    lengths: Annotated[str, typer.Option(help="Comma-separated: 4k,128k,1m; or all.")] = "all",
    tasks: Annotated[str, typer.Option(help="Comma-separated tasks or groups.")] = "all",
    samples: Annotated[int, typer.Option(min=1, help="Rows a file.")] = 500,
    seed: Annotated[int, typer.Option(help="Draws other rows; published sets use 0.")] = 0,
    reserve: Annotated[int, typer.Option(min=0, help="Tokens kept for a chat template.")] = 128,
    workers: Workers = 1,
    suite: Annotated[Path | None, typer.Option(help="A suite file of your own.")] = None,
    mirror: Mirror = None,
    sources: Annotated[
        list[str] | None, typer.Option(help="`embedded`, or NAME=VARIANT; repeatable.")
    ] = None,
    allow_variants: Annotated[
        bool, typer.Option(help="Use another variant of a source where the canonical is missing.")
    ] = False,
) -> None:
    """Build a release, or extend one; stopped anywhere, the same command resumes.

    Example: `ruler build ruler --tokenizer qwen2.5 --lengths 4k,128k --workers 2`
    """
    from builder import console
    from builder.release import Order
    from builder.release import build as build_release

    order = Order(
        root,
        tuple(tokenizer or ("tekken",)),
        tuple(lengths.split(",")),
        tuple(tasks.split(",")),
        samples,
        seed,
        reserve,
        workers,
        suite,
        mirror,
        tuple(sources or ()),
        allow_variants,
    )
    with console.rows_bar("Building") as bar:
        built = build_release(order, bar)
    console.show_built(root, built)


def verify(
    root: Root,
    workers: Workers = 1,
    mirror: Mirror = None,
    tokenizer: Annotated[
        list[str] | None, typer.Option(help="Where a tokenizer lies now: NAME=FOLDER; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Prove the laws of a release from its files alone; exit code 1 if one is broken.

    Example: `ruler verify ruler --workers 2`
    """
    from builder import console
    from builder.verify import verify as verify_release

    with console.rows_bar("Verifying") as bar:
        report = verify_release(root, workers, mirror, tokenizer or (), bar.total, bar.rows)
    console.show_report(root, report, as_json)
    if not report.ok:
        raise typer.Exit(1)


def list_release(
    release: Annotated[str, typer.Argument(help="A folder, or a Hub repository ORG/NAME.")],
) -> None:
    """Show what a release holds.

    Example: `ruler list ruler`
    """
    from builder import console
    from ruler_dataset import manifest_of

    console.show_files(manifest_of(release))


def tokenizers() -> None:
    """List the named tokenizers."""
    from builder import console
    from builder.tokenizers import named

    console.show_tokenizers(named())


sources_app = typer.Typer(name="sources", help="List the sources, or fetch them.")


@sources_app.callback(invoke_without_command=True)
def list_sources(context: typer.Context, mirror: Mirror = None) -> None:
    """List each source with its state, size and licence."""
    if context.invoked_subcommand is not None:
        return
    from builder import console
    from builder.fetch import Store
    from builder.sources import states

    console.show_sources(states(Store(mirror)))


@sources_app.command()
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Sources; all if none.")] = None,
    mirror: Mirror = None,
) -> None:
    """Download sources into the cache; resumes what was cut off.

    Example: `ruler sources fetch essays squad`
    """
    from builder import console
    from builder.fetch import Store
    from builder.sources import CANONICAL, registry
    from ruler_dataset import check_name

    known, store = registry(), Store(mirror)
    for name in names or known:
        check_name("source", name, known, "ruler sources")
        file = known[name].variants[CANONICAL].file
        with console.bytes_bar(name, file.bytes) as advance:
            path = store.get(file, advance)
        typer.echo(f"{name}: {path}")
