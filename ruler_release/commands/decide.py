"""`ruler decide`: whether a model lost less than so much, with as few rows as it takes."""

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
    from ruler_eval.analysis.sequential.sequential_test import SequentialDecision

_BASE = "Model A: a RUN folder that was scored, or a results.json; with --base-model its folder."
_OTHER = "Model B, where it was run already: says where it would have stopped."
_MAX_DROP = "Points that B may lose over all, fixed before the first row."
_MODEL = "Model B, which is run now: a folder, a Hub name, or a server's name for it."
_BASE_MODEL = "Model A too is run now, in step, with the same options."
_BASE_MODEL_URL = "openai: A's server, where it is not B's."
_OUT = "The folder of B's run; an existing one is resumed."
_DATASET = "The release; default: the one that A was run on."
_CONFIGS = "Configurations; default: those of A's run."
_BACKEND = "vllm, ray, openai, hf, or oracle."
_BASE_URL = "openai: the server, such as http://localhost:8000/v1."
_ARGUMENT = "An argument of the backend itself, NAME=VALUE, repeatable."
_RETRY = "Run the rows that failed once more."
_PRICE = "IN,OUT: what a million prompt tokens and a million answer tokens cost, in any currency, "
_PRICE += "to show what was saved."


def decide(
    base: Annotated[Path, Argument(help=_BASE)],
    max_drop: Annotated[float, Option(help=_MAX_DROP)],
    other: Annotated[Path | None, Argument(help=_OTHER)] = None,
    model: Annotated[str | None, Option("--model", "-m", help=_MODEL)] = None,
    backend: Annotated[
        str | None,
        Option("--backend", "-b", help=_BACKEND, autocompletion=completion.backends),
    ] = None,
    out: Annotated[Path | None, Option("--out", "-o", help=_OUT)] = None,
    base_model: Annotated[str | None, Option(help=_BASE_MODEL)] = None,
    base_model_url: Annotated[str | None, Option(help=_BASE_MODEL_URL)] = None,
    dataset: Annotated[str | None, Option("--dataset", "-d", help=_DATASET)] = None,
    configs: Annotated[
        str | None,
        Option("--configs", "-c", help=_CONFIGS, autocompletion=completion.configurations),
    ] = None,
    skip_missing: flags.SkipMissing = False,
    limit: flags.Limit = None,
    tokenizer: Annotated[str | None, Option(help="Tokenizer that checks the budget.")] = None,
    chat_template: flags.ChatTemplate = None,
    max_model_len: Annotated[int | None, Option(help="The model's window in tokens.")] = None,
    revision: flags.ModelRevision = None,
    base_url: Annotated[str | None, Option(help=_BASE_URL)] = None,
    concurrency: Annotated[
        int | None, Option(metavar="N", min=1, max=1000, help="openai: requests at once, at most.")
    ] = None,
    retry_failed: Annotated[bool, Option("--retry-failed", help=_RETRY)] = False,
    engine_arg: Annotated[list[str] | None, Option(help=_ARGUMENT)] = None,
    price: Annotated[str | None, Option(help=_PRICE)] = None,
    json_out: Annotated[Path | None, Option("--json", help="Write all looks as JSON.")] = None,
) -> None:
    """Decide with a part of the rows whether model B lost less than so much against A.

    Example: `ruler decide runs/base --max-drop 2 --backend vllm --model org/quantised --out runs/quantised`

    Rows are run in waves, as many of every task, until the verdict. Exit code 0: B surely lost
    less, 1: surely more, 3: all rows cannot tell. Mode, thinking and sampling are A's.
    """  # noqa: E501
    from ruler_eval.analysis.decide import EXIT_CODES
    from ruler_eval.report.comparison_tables import look_line, saved, sequential_verdict
    from ruler_eval.run.run_order import parse_arguments, parse_price

    flags.not_a_folder(json_out, "decision.json")
    options = {
        "model": model, "backend": backend, "out": out, "dataset": dataset, "limit": limit,
        "configs": flags.names_in(configs) if configs else None, "tokenizer": tokenizer,
        "chat_template": chat_template, "max_model_len": max_model_len, "revision": revision,
        "base_url": base_url, "base_model_url": base_model_url,
        "concurrency": concurrency, "retry_failed": retry_failed or None,
        "skip_missing": skip_missing or None,
        "price": parse_price(price),
        "arguments": parse_arguments(engine_arg) if engine_arg else None,
    }  # fmt: skip

    def show(found: SequentialDecision) -> None:
        typer.echo(plain(look_line(found)))

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    lines: list[str] = []
    if other is not None:
        found = api.decide(
            base, other, max_drop=max_drop, base_model=base_model, on_look=show, **given
        )
    else:
        live = api.live_test(base, max_drop=max_drop, base_model=base_model, progress=True, **given)
        found = live.run(show)
        lines = [*live.summary.lines(), *saved(live.left_tokens, live.order.price)]
    flags.write_json(json_out, found)
    typer.echo("\n" + "\n".join(map(sentences, [*lines, sequential_verdict(found)])))
    raise typer.Exit(EXIT_CODES[found["verdict"]])
