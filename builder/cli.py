"""The builder's commands: build, verify, list, freeze, sources, tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from builder.hub import hub_commands
from ruler_dataset import plain

Mirror = Annotated[
    Path | None,
    typer.Option(envvar="RULER_MIRROR", help="Folder that holds the sources; searched first."),
]
Workers = Annotated[int, typer.Option(min=1, help="Processes that work at a time.")]
_LANGUAGES = (
    "Of oneruler, comma-separated: pl, en-ko (text English, instruction Korean), all, or default: "
    "all 26 and en, ko, pl in six pairs."
)
_ENGINE = "Where --workers run: processes of this machine, or ray (DIR on shared storage)."
_ADDRESS = "ray: HOST:PORT of a cluster; default: this machine's, else one made for the work."
_SHARD = "i/n: the i-th of n parts, in whole files, longest first; each has a DIR of its own."
_SUITE = "ruler_2024, ruler_complexity, ruler_correlation, ruler_decimal; or a file of your own."
Root = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the release.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the `ruler` application."""
    app.command()(build)
    app.command()(verify)
    app.command("list")(list_release)
    app.command()(freeze)
    app.command()(tokenizers)
    app.add_typer(sources_app)
    hub_commands.register(app)


def build(
    root: Root,
    dataset: Annotated[str, typer.Option(help="ruler or oneruler.")] = "ruler",
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(help="A name, NAME=hf:ORG/NAME[@REVISION] or NAME=FOLDER; repeatable."),
    ] = None,
    lengths: Annotated[
        str, typer.Option(help="Comma-separated: 4k,128k,1m, 0k (evidence alone), 10000; or all.")
    ] = "all",
    tasks: Annotated[
        str, typer.Option(help="Comma-separated tasks or groups; or default, every task.")
    ] = "default",
    languages: Annotated[str, typer.Option(help=_LANGUAGES)] = "default",
    instruction_language: Annotated[
        str | None, typer.Option(help="Language of the instructions, whatever the text's.")
    ] = None,
    skip_restricted: Annotated[
        bool, typer.Option("--skip-restricted", help="Leave out books not free everywhere.")
    ] = False,
    samples: Annotated[
        int | None, typer.Option(min=1, help="Rows a file; 500, in oneruler 50.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws other rows; published sets use 0.")] = 0,
    reserve: Annotated[int, typer.Option(min=0, help="Tokens kept for a chat template.")] = 128,
    workers: Workers = 1,
    suite: Annotated[Path | None, typer.Option(help=_SUITE)] = None,
    mirror: Mirror = None,
    sources: Annotated[
        list[str] | None, typer.Option(help="`embedded`, or NAME=embedded; repeatable.")
    ] = None,
    skip_impossible: Annotated[
        bool, typer.Option("--skip-impossible", help="Leave out what its window cannot hold.")
    ] = False,
    shard: Annotated[str | None, typer.Option(help=_SHARD)] = None,
    engine: Annotated[str, typer.Option(help=_ENGINE)] = "processes",
    address: Annotated[str | None, typer.Option(help=_ADDRESS)] = None,
) -> None:
    """Build a release, or extend one; stopped anywhere, the same command resumes.

    Example: `ruler build ruler --tokenizer qwen2.5 --lengths 4k,128k --workers 2`

    Example: `ruler build oneruler --dataset oneruler --languages pl,ko --lengths 8k`
    """
    from builder.common import terminal
    from builder.oneruler.language_pairs import Languages
    from builder.release import build_tables
    from builder.release.build import build as build_release
    from builder.release.order import BuildOrder
    from ruler_dataset import Shard

    order = BuildOrder(
        root,
        dataset=dataset,
        tokenizers=tuple(tokenizer or ("tekken",)),
        lengths=tuple(lengths.split(",")),
        tasks=tuple(tasks.split(",")),
        languages=Languages(tuple(languages.split(",")), instruction_language, skip_restricted),
        samples=samples,
        seed=seed,
        reserve=reserve,
        workers=workers,
        suite=suite,
        mirror=mirror,
        sources=tuple(sources or ()),
        skip_impossible=skip_impossible,
        shard=Shard.parse(shard) if shard else None,
        engine=engine,
        address=address,
    )
    with terminal.rows_bar("Building") as bar:
        built = build_release(order, bar)
    build_tables.show_built(root, built)


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
    from builder.checks import verdict
    from builder.checks.verify import verify as verify_release
    from builder.common import terminal

    with terminal.rows_bar("Verifying") as bar:
        report = verify_release(root, workers, mirror, tokenizer or (), bar.total, bar.rows)
    verdict.show_report(root, report, as_json)
    if not report.ok:
        raise typer.Exit(1)


def list_release(
    release: Annotated[str, typer.Argument(help="A folder, or a Hub repository ORG/NAME.")],
) -> None:
    """Show what a release holds.

    Example: `ruler list ruler`
    """
    from builder.release import build_tables
    from ruler_dataset import manifest_of

    build_tables.show_files(manifest_of(release))


def freeze(
    roots: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Folders of releases.")],
    anew: Annotated[bool, typer.Option("--anew", help="Forget what was frozen before.")] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Mark as published: rows never change again.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option(help="Folder of the digests; else the package's own.")
    ] = None,
) -> None:
    """Record the rows of whole releases as the frozen rows of their data version.

    Example: `ruler freeze ruler oneruler`
    """
    from builder.common.frozen_rows import FROZEN, frozen_path
    from builder.release.freeze import freeze as freeze_rows

    folder = to or FROZEN
    found = freeze_rows(roots, anew, published, folder)
    rows = sum(len(names) for names in found.rows.values())
    path = frozen_path(found.data_version, folder)
    typer.echo(
        plain(f"Data version {found.data_version}: {rows} configurations are frozen in '{path}'.")
    )


def tokenizers() -> None:
    """List the named tokenizers."""
    from builder.tokens import tokenizer_table
    from builder.tokens.tokenizers import named

    tokenizer_table.show_tokenizers(named())


sources_app = typer.Typer(name="sources", help="List the sources, fetch them, or audit them.")


@sources_app.callback(invoke_without_command=True)
def list_sources(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Option(help="ruler or oneruler; both if none.")] = None,
    mirror: Mirror = None,
) -> None:
    """List each source with its state, size and licence.

    Example: `ruler sources --dataset oneruler`
    """
    if context.invoked_subcommand is not None:
        return
    from builder.sources import source_tables
    from builder.sources.download import Store
    from builder.sources.registry import states
    from ruler_dataset import TASKS, check_name

    store = Store(mirror)
    if dataset is not None:
        check_name("dataset", dataset, TASKS, "ruler sources --help")
    for name in [dataset] if dataset else TASKS:
        source_tables.show_sources(name, states(store, name))
    if dataset == "oneruler":
        source_tables.show_rights()
    source_tables.show_remedy()


@sources_app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Sources, a dataset (oneruler) or a language (pl); all if none."),
    ] = None,
    mirror: Mirror = None,
) -> None:
    """Download sources into the cache; resumes what was interrupted.

    Example: `ruler sources fetch essays squad`, `ruler sources fetch oneruler-nouns pl ko`
    """
    from builder.common import terminal
    from builder.sources.download import Store
    from builder.sources.registry import named_sources

    store = Store(mirror)
    for name, source in named_sources(names).items():
        file = source.canonical.file
        with terminal.bytes_bar(name, file.bytes) as advance:
            path = store.get(file, advance)
        typer.echo(plain(f"{name}: {path}"))


@sources_app.command()
def audit(
    dataset: Annotated[str, typer.Argument(help="oneruler.")] = "oneruler",
    mirror: Mirror = None,
    tokenizer: Annotated[str, typer.Option(help="Counts the books' tokens.")] = "tekken",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Find the faults of ONERULER's published files again; exit code 1 if the errata differ.

    Example: `ruler sources audit oneruler --tokenizer cl100k_base`
    """
    from builder.common import terminal
    from builder.oneruler import audit_tables
    from builder.oneruler.audit import audit as audit_sources
    from builder.sources.download import Store
    from builder.sources.registry import Sources
    from builder.tokens.tokenizers import load_counter
    from ruler_dataset import LANGUAGES, check_name

    check_name("dataset to audit", dataset, ["oneruler"], "ruler sources audit --help")
    store = Store(mirror)
    counter = load_counter(tokenizer, store)
    with terminal.steps_bar("Auditing", len(LANGUAGES)) as advance:
        found = audit_sources(Sources(store), counter, advance)
    audit_tables.show_audit(found, counter.name, as_json)
    if found["disagreements"]:
        raise typer.Exit(1)
