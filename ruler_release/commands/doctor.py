"""`ruler doctor`: whether it is the model or the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_common.terminal import sentences
from ruler_common.text import plain
from ruler_release.commands import flags

_RUN = "A finished run, to look for patterns in its answers; nothing is asked."
_DATASET = "The release; default: ruler, or the one that RUN was made on."
_LENGTHS = "Lengths, such as 4k,32k; default: the shortest, and the longest up to 32k."
_CONFIGS = "Configurations instead of lengths, such as niah_4k,qa_1_32k."
_OUT = "The folder of all answers; an existing one is gone on with."
_TOKENIZER = "The model's tokenizer, to compare tokens, text and template with the server's."
_QUICK = "32 rows, cold, cached and under load: a smoke test."
_THOROUGH = "600 rows: losses of 5 points are seen."
_PRICE = "IN,OUT: what a million prompt tokens and a million answer tokens cost."
_ARGUMENT = "A field of the request (openai) or an engine argument (vllm), NAME=VALUE; repeatable."


def doctor(
    run: Annotated[Path | None, Argument(help=_RUN, show_default=False)] = None,
    base_url: Annotated[str | None, Option(help="The server, ending in /v1.")] = None,
    model: Annotated[str, Option("--model", "-m", help="The model's name there.")] = "",
    dataset: Annotated[str | None, Option("--dataset", "-d", help=_DATASET)] = None,
    lengths: Annotated[str, Option(help=_LENGTHS)] = "",
    configs: Annotated[str, Option("--configs", "-c", help=_CONFIGS)] = "",
    out: Annotated[Path, Option("--out", "-o", help=_OUT)] = Path("doctor"),
    backend: Annotated[str, Option("--backend", "-b", help="openai, or vllm.")] = "openai",
    tokenizer: Annotated[str | None, Option(help=_TOKENIZER)] = None,
    mode: Annotated[str | None, Option(help="prefill, chat or completion.")] = None,
    provider: Annotated[str | None, Option(help="Who answers, as docs/servers.md has it.")] = None,
    max_model_len: Annotated[int | None, Option(help="The model's window in tokens.")] = None,
    timeout: Annotated[float, Option(help="Seconds for a request.")] = 3600.0,
    engine_arg: Annotated[list[str] | None, Option(help=_ARGUMENT)] = None,
    quick: Annotated[bool, Option("--quick", help=_QUICK)] = False,
    thorough: Annotated[bool, Option("--thorough", help=_THOROUGH)] = False,
    rows: Annotated[int | None, Option(help="Rows, if not the level's.")] = None,
    load: Annotated[int, Option(help="Requests at once, under load.")] = 32,
    price: Annotated[str | None, Option(help=_PRICE)] = None,
    json_out: Annotated[Path | None, Option("--json", help="Write the verdict as JSON.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would be asked.")] = False,
) -> None:
    """Find out whether a bad long-context score is the model's or the engine's.

    Example: `ruler doctor --base-url http://localhost:8000/v1 --model org/model --lengths 4k,32k`

    The same frozen rows are asked under pairs of conditions that must not matter. Exit code 0:
    sound, 1: the engine changes answers, 3: cannot tell. With RUN nothing is asked: its answers are
    looked at, and exit code 1 means that they show a pattern with one explanation.
    """
    from ruler_eval.doctor import terminal
    from ruler_eval.doctor.examine import Examination, verdict_json
    from ruler_eval.doctor.observe import observe
    from ruler_eval.doctor.options import DoctorOptions
    from ruler_eval.run.options import parse_arguments, parse_price

    flags.not_a_folder(json_out, "doctor.json", "--json")
    if run is not None:
        seen = observe(run, dataset)
        typer.echo(plain(terminal.observation_text(seen)))
        flags.write_json(json_out, seen.as_json())
        raise typer.Exit(1 if seen.patterns else 0)
    if quick and thorough:
        raise RulerError("Give --quick or --thorough, not both.")
    if backend == "openai" and base_url is None:
        raise RulerError("Name the server, --base-url URL, or a finished run: ruler doctor RUN.")
    level = "quick" if quick else "thorough" if thorough else "usual"
    options = DoctorOptions(
        dataset=dataset or "ruler",
        lengths=tuple(flags.names_in(lengths)),
        configs=tuple(flags.names_in(configs)),
        out=out,
        backend=backend,
        model=model,
        base_url=base_url,
        tokenizer=tokenizer,
        mode=mode,
        provider=provider,
        max_model_len=max_model_len,
        timeout=timeout,
        arguments=parse_arguments(engine_arg or ()),
        level=level,
        rows=rows,
        load=load,
        price=None if price is None else parse_price(price),
    )
    examination = Examination(options)
    for line in examination.plan.lines(options.price):
        typer.echo(sentences(line), err=True)
    if dry_run:
        examination.asker.close()
        return
    planned = len(examination.plan.keys)
    verdict = examination.run(
        lambda look, asked: typer.echo(plain(terminal.look_line(look, asked, planned)), err=True)
    )
    typer.echo(plain(terminal.verdict_text(verdict)))
    flags.write_json(json_out, verdict_json(verdict))
    raise typer.Exit(verdict.exit_code)
