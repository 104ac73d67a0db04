"""`ruler run`, and `ruler decide`: as few rows of a run as tell whether a model lost so much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ruler_common.terminal import sentences
from ruler_common.text import plain
from ruler_release import api, completion
from ruler_release.commands import flags

if TYPE_CHECKING:
    from ruler_eval.gate.decide import SequentialDecision
    from ruler_eval.gate.until import MeanEstimate

_BACKEND = "vllm, openai, hf, or oracle (no model)."
_ARGUMENT = (
    "An argument of the backend itself, NAME=VALUE, repeatable: a vLLM engine argument, an argument"
    " of from_pretrained (hf), a field of the request (openai)."
)
_PRICE = "IN,OUT: what a million prompt tokens and a million answer tokens cost, in any currency, "
_PRICE += "to show what a run may cost, or what was saved."
_OMIT = "openai: sampling fields not to send: temperature,top_p,seed."
_DRY_RUN = "Only show what is to be done, without a model."

# of `ruler decide`
_BASE = "Model A: a RUN folder, or a results.json."
_OTHER = "Model B: a RUN folder, or a results.json; with --backend the folder of its run."
_MAX_DROP = "Points that B may lose over all, fixed before the first row."
_MODEL_B = "Model B, if rows are to be run: a folder, a Hub name, or a server's name for it."
_OUT_OF_B = "The folder of B's run, if it is not named already; an existing one is resumed."
_MARKDOWN = "Print the verdict as Markdown, for a pull request."
_DATASET_OF_A = "The release; default: the one that A was run on."
_CONFIGS_OF_A = "Configurations; default: those of A's run."
_OF_RUN = (
    *("limit", "tokenizer", "chat_template", "max_model_len", "revision", "base_url"),
    *("concurrency", "retry_failed", "skip_missing"),
)


@flags.arguments_of(api.run)
def run(
    dataset: flags.Dataset,
    configs: flags.Configs,
    backend: Annotated[
        str, Option("--backend", "-b", help=_BACKEND, autocompletion=completion.backends)
    ],
    out: flags.Out,
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
    from ruler_eval.run.options import RunOptions
    from ruler_release.tables import run_tables

    options |= options.pop("more")
    until = options.pop("until")
    del options["dry_run"]
    options = flags.run_options(options)
    if dry_run:
        order = RunOptions(**options)
        typer.echo("\n".join(map(sentences, runner.estimate(order).lines(order.price))))
        return

    def show(found: MeanEstimate) -> None:
        typer.echo(plain(estimate_line(found)))

    if until is not None:
        from ruler_eval.report.decision_text import estimate_line

    summary = api.run(**options, until=until, on_look=show, progress=True)
    run_tables.show_summary(summary)
    typer.echo(f"Next: ruler score {plain(out)}")
    if summary.total["error"]:
        raise typer.Exit(1)


@flags.arguments_of(api.run, only=_OF_RUN)
def decide(
    base: Annotated[Path, Argument(help=_BASE)],
    max_drop: Annotated[float, Option(help=_MAX_DROP)],
    other: Annotated[Path | None, Argument(help=_OTHER)] = None,
    model: Annotated[str | None, Option("--model", "-m", help=_MODEL_B)] = None,
    backend: Annotated[
        str | None,
        Option("--backend", "-b", help=_BACKEND, autocompletion=completion.backends),
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help=_OUT_OF_B)] = None,
    dataset: Annotated[str | None, Option("--dataset", "-d", help=_DATASET_OF_A)] = None,
    configs: Annotated[
        str | None,
        Option("--configs", "-c", help=_CONFIGS_OF_A, autocompletion=completion.configurations),
    ] = None,
    engine_arg: Annotated[list[str] | None, Option(help=_ARGUMENT)] = None,
    price: Annotated[str | None, Option(help=_PRICE)] = None,
    json_out: Annotated[Path | None, Option("--json", help="Write all looks as JSON.")] = None,
    markdown: Annotated[bool, Option("--markdown", help=_MARKDOWN)] = False,
    **more: Any,
) -> None:
    """Decide with as few rows as possible whether model B lost less than a limit against A.

    Example: `ruler decide runs/base --max-drop 2 --backend vllm --model org/quantised --out runs/quantised`

    The same number of rows of every task is looked at, again and again, until the verdict; rows
    that B lacks are run. Exit code 0: the drop is below the limit, 1: it is not. A verdict before
    the last row is wrong in at most 2.5 % of decisions. Mode, thinking and sampling are A's.
    """  # noqa: E501
    from ruler_eval.analysis.compare import EXIT_CODES
    from ruler_eval.report import decision_text
    from ruler_eval.run.options import parse_arguments, parse_price

    flags.not_a_folder(json_out, "decision.json", "--json")
    prices = None if price is None else parse_price(price)
    read = {
        "configs": flags.names_in(configs) if configs else None,
        "price": prices,
        "arguments": parse_arguments(engine_arg) if engine_arg else None,
    }
    options = {"model": model, "backend": backend, "out": out, "dataset": dataset, **more, **read}
    options |= {name: more[name] or None for name in ("retry_failed", "skip_missing")}

    def show(found: SequentialDecision) -> None:
        typer.echo(plain(decision_text.look_line(found)))

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    lines: list[str] = []
    if backend is None and other is not None:
        found = api.decide(base, other, max_drop=max_drop, on_look=show, **given)
    else:
        given.setdefault("out", other)
        decided = api.decide_run(base, max_drop=max_drop, on_look=show, progress=True, **given)
        found = decided.decision
        lines = [*decided.summary.lines(), *decision_text.saved(decided.remaining_tokens, prices)]
    flags.write_json(json_out, found)
    if markdown:
        typer.echo(plain(decision_text.decision_markdown(found)))
    else:
        lines += decision_text.decision_lines(found)
        typer.echo("\n" + "\n".join(map(sentences, lines)))
    raise typer.Exit(EXIT_CODES[found["verdict"]])
