"""`ruler run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ruler_common.terminal import sentences
from ruler_common.text import plain
from ruler_release import api, completion
from ruler_release.commands import flags

if TYPE_CHECKING:
    from ruler_eval.analysis.sequential.mean_estimate import MeanEstimate

_BACKEND = "vllm, ray, openai, hf, or oracle (no model)."
_ARGUMENT = (
    "An argument of the backend itself, NAME=VALUE, repeatable: a vLLM engine argument, an argument"
    " of from_pretrained (hf), a field of the request (openai)."
)
_IN_FLIGHT = "openai: prompt tokens sent at once, at most; 512k. Default: what the server holds."
_PRICE = "IN,OUT: of a million prompt and answer tokens, to show what a run may cost."
_OMIT = "openai: sampling fields not to send: temperature,top_p,seed."
_DRY_RUN = "Only show what is to be done, without a model."


@flags.arguments_of(api.run)
def run(
    dataset: flags.Dataset,
    configs: flags.Configs,
    backend: Annotated[
        str, Option("--backend", "-b", help=_BACKEND, autocompletion=completion.backends)
    ],
    out: flags.Out,
    tokens_in_flight: Annotated[str | None, Option(help=_IN_FLIGHT)] = None,
    omit: Annotated[str | None, Option(help=_OMIT)] = None,
    engine_arg: Annotated[list[str] | None, Option(help=_ARGUMENT)] = None,
    price: Annotated[str | None, Option(help=_PRICE)] = None,
    dry_run: Annotated[bool, Option("--dry-run", help=_DRY_RUN)] = False,
    **more: Any,
) -> None:
    """Run a model over a release: resumable, every row recorded once, failures first.

    Example: `ruler run --dataset ruler --configs all_4k --backend vllm --model Qwen/Qwen2.5-7B-Instruct --out runs/qwen`

    The same command again does only what is missing. API keys come from the environment
    (OPENAI_API_KEY, HF_TOKEN) and are never written. Exit code 1: some rows failed.
    """  # noqa: E501
    options = locals()
    from ruler_eval.run import runner
    from ruler_eval.run.run_order import make_order
    from ruler_release.tables import run_tables

    options |= options.pop("more")
    looks = {name: options.pop(name) for name in ("until", "beside")}
    del options["dry_run"]
    options = flags.run_options(options)
    if dry_run:
        order = make_order(options)
        typer.echo("\n".join(map(sentences, runner.estimate(order).lines(order.price))))
        return

    def show(found: MeanEstimate) -> None:
        typer.echo(plain(estimate_line(found)))

    if looks["until"] is not None:
        from ruler_eval.report.decision_tables import estimate_line

    summary = api.run(**options, **looks, on_look=show, progress=True)
    run_tables.show_summary(summary)
    typer.echo(f"Next: ruler score {plain(out)}")
    if summary.total["error"]:
        raise typer.Exit(1)
