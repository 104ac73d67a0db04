"""`ruler run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ruler_common.terminal import sentences
from ruler_common.text import plain
from ruler_release import api, completion
from ruler_release.commands import flags

if TYPE_CHECKING:
    from ruler_eval.analysis.sequential.mean_estimate import MeanEstimate

_MODE = (
    "prefill (chat models), completion (base models) or chat (no answer prefix); default: prefill "
    "with a chat template, completion without one, chat with --thinking and where a server cannot "
    "continue a turn."
)
_ARGUMENT = (
    "An argument of the backend itself, NAME=VALUE, repeatable: a vLLM engine argument, an argument"
    " of from_pretrained (hf), a field of the request (openai)."
)
_TOKENIZER = "Folder or Hub name of the tokenizer that checks the budget; default: the model's."
_SHARD = "i/n: the i-th of n parts, in whole files, the longest first."
_AT_ONCE = "openai: requests at once, at most. Default: 32 a replica, more while that is faster."
_IN_FLIGHT = "openai: prompt tokens sent at once, at most; 512k. Default: what the server holds."
_TIMEOUT = "openai: seconds for a request, beyond those for what was sent before it."
_STREAM = "openai: answers in pieces; --timeout then counts from the first one."
_BEHIND = "openai: engines behind the address."
_ADDRESS = "ray: HOST:PORT of a cluster; default: this machine's, else one made for the run."
_NUM_CPUS = "ray: CPUs of each engine, where engines have no GPU."
_PRICE = "IN,OUT: what a million prompt tokens and a million answer tokens cost, in any currency, "
_PRICE += "to show what a run may cost."
_MODEL = "Folder, Hub name, or the name under which a server knows it."
_RETRY_FAILED = "Run the rows that failed once more."
_MAX_MODEL_LEN = "The model's window in tokens, where it cannot be asked."
_BASE_URL = "openai: the server, such as http://localhost:8000/v1."
_UNTIL = "Stop when the mean over all tasks is known within ± so many points (95 %)."
_BESIDE = "until: a scored whole run of a near model, such as the one before quantisation."
_GIVE_UP = "openai: seconds to wait for a server that is gone; then the run stops, rows missing."
_PROVIDER = "openai: who answers, such as openai_reasoning or mistral; default: by the address."
_OMIT = "openai: sampling fields not to send: temperature,top_p,seed."
_DRY_RUN = "Only show what is to be done, without a model."


def run(
    dataset: flags.Dataset,
    configs: flags.Configs,
    backend: Annotated[
        str,
        Option(
            "--backend",
            "-b",
            help="vllm, ray, openai, hf, or oracle (no model).",
            autocompletion=completion.backends,
        ),
    ],
    out: flags.Out,
    model: Annotated[str, Option("--model", "-m", help=_MODEL)] = "",
    mode: Annotated[str | None, Option(help=_MODE, autocompletion=completion.modes)] = None,
    direct: flags.Direct = False,
    thinking: flags.Thinking = "off",
    limit: flags.Limit = None,
    shard: Annotated[str | None, Option(help=_SHARD)] = None,
    retry_failed: Annotated[bool, Option("--retry-failed", help=_RETRY_FAILED)] = False,
    skip_missing: flags.SkipMissing = False,
    tokenizer: Annotated[str | None, Option(help=_TOKENIZER)] = None,
    chat_template: flags.ChatTemplate = None,
    max_model_len: Annotated[int | None, Option(help=_MAX_MODEL_LEN)] = None,
    revision: flags.ModelRevision = None,
    data_revision: flags.DataRevision = None,
    base_url: Annotated[str | None, Option(help=_BASE_URL)] = None,
    concurrency: Annotated[int | None, Option(metavar="N", min=1, max=1000, help=_AT_ONCE)] = None,
    tokens_in_flight: Annotated[str | None, Option(help=_IN_FLIGHT)] = None,
    replicas_behind: Annotated[int, Option(metavar="N", min=1, help=_BEHIND)] = 1,
    timeout: Annotated[float, Option(help=_TIMEOUT)] = 3600.0,
    stream: Annotated[bool, Option("--stream", help=_STREAM)] = False,
    retries: Annotated[
        int, Option(metavar="N", min=1, help="openai: tries for one row, at most.")
    ] = 8,
    give_up_after: Annotated[float, Option(help=_GIVE_UP)] = 600.0,
    temperature: flags.Temperature = 0.0,
    top_p: flags.TopP = 1.0,
    seed: flags.Seed = 0,
    provider: Annotated[str | None, Option(help=_PROVIDER)] = None,
    omit: Annotated[str | None, Option(help=_OMIT)] = None,
    engine_arg: Annotated[list[str] | None, Option(help=_ARGUMENT)] = None,
    replicas: Annotated[
        int, Option(metavar="N", min=1, help="ray: engines that share the rows.")
    ] = 1,
    address: Annotated[str | None, Option(help=_ADDRESS)] = None,
    num_cpus: Annotated[int | None, Option(metavar="N", min=1, help=_NUM_CPUS)] = None,
    price: Annotated[str | None, Option(help=_PRICE)] = None,
    until: Annotated[float | None, Option(help=_UNTIL)] = None,
    beside: Annotated[Path | None, Option(help=_BESIDE)] = None,
    dry_run: Annotated[bool, Option("--dry-run", help=_DRY_RUN)] = False,
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

    for name in ("dry_run", "until", "beside"):
        del options[name]
    options = flags.run_options(options)
    if dry_run:
        order = make_order(options)
        typer.echo("\n".join(map(sentences, runner.estimate(order).lines(order.price))))
        return

    def show(found: MeanEstimate) -> None:
        typer.echo(plain(estimate_line(found)))

    if until is not None:
        from ruler_eval.report.comparison_tables import estimate_line

    summary = api.run(**options, until=until, beside=beside, on_look=show, progress=True)
    run_tables.show_summary(summary)
    typer.echo(f"Next: ruler score {plain(out)}")
    if summary.total["error"]:
        raise typer.Exit(1)
