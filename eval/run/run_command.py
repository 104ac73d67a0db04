"""`ruler run`: its flags, and the order they make; the work is in eval.run.

The flags that `ruler batch write` has too are declared here for both (`Dataset`, `Configs`, …), and
`make_order` makes the order of both.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ruler_dataset import RulerError, plain

if TYPE_CHECKING:
    from eval.run.progress import RunSummary
    from eval.run.run_order import RunOrder

_MODE = "prefill (chat models), completion (base models) or chat (no answer prefix)."
_ARGUMENT = (
    "An argument of the backend itself, NAME=VALUE, repeatable: a vLLM engine argument, an argument"
    " of from_pretrained (hf), a field of the request (openai)."
)
_TOKENIZER = "Folder or Hub name of the tokenizer that checks the budget; default: the model's."
_SHARD = "i/n: the i-th of n parts, in whole files, the longest first."
_IN_FLIGHT = "openai: prompt tokens sent at once, at most; 512k, 2m or a number."
_ADDRESS = "ray: HOST:PORT of a cluster; default: this machine's, else one made for the run."
_NUM_CPUS = "ray: CPUs of each engine, where engines have no GPU."
_PRICE = "IN,OUT: of a million prompt and answer tokens, to show what a run may cost."
_MODEL = "Folder, Hub name, or the name under which a server knows it."
_CONFIGS = "Configurations, separated by commas; all_4k,niah_mk_128k, all, or *_4k."
_THINKING = "off, on (8192 tokens of room) or the tokens of room for reasoning."
Dataset = Annotated[str, typer.Option(help="A release folder or Hub repository (ORG/NAME).")]
Configs = Annotated[str, typer.Option(help=_CONFIGS)]
Out = Annotated[Path, typer.Option(help="Folder of this run; an existing one is resumed.")]
Direct = Annotated[
    bool, typer.Option("--direct", help="chat mode: the prefix in the user's turn (Table 6).")
]
Thinking = Annotated[str, typer.Option(help=_THINKING)]
Limit = Annotated[int | None, typer.Option(help="Only the first rows of each configuration.")]
ModelRevision = Annotated[str | None, typer.Option(help="The model's revision on the Hub.")]
DataRevision = Annotated[str | None, typer.Option(help="The data set's revision.")]
Temperature = Annotated[float, typer.Option(help="0 is greedy.")]
TopP = Annotated[float, typer.Option()]
Seed = Annotated[int, typer.Option()]


def run(
    dataset: Dataset,
    configs: Configs,
    backend: Annotated[str, typer.Option(help="vllm, ray, openai, hf, or oracle (no model).")],
    out: Out,
    model: Annotated[str, typer.Option(help=_MODEL)] = "",
    mode: Annotated[str | None, typer.Option(help=_MODE)] = None,
    direct: Direct = False,
    thinking: Thinking = "off",
    limit: Limit = None,
    shard: Annotated[str | None, typer.Option(help=_SHARD)] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run the rows that failed once more.")
    ] = False,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Of a group, run the tasks that are there.")
    ] = False,
    tokenizer: Annotated[str | None, typer.Option(help=_TOKENIZER)] = None,
    max_model_len: Annotated[
        int | None, typer.Option(help="The model's window in tokens, where it cannot be asked.")
    ] = None,
    revision: ModelRevision = None,
    data_revision: DataRevision = None,
    base_url: Annotated[
        str | None, typer.Option(help="openai: the server, such as http://localhost:8000/v1.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="openai: requests.")] = 32,
    tokens_in_flight: Annotated[str, typer.Option(help=_IN_FLIGHT)] = "2m",
    timeout: Annotated[float, typer.Option(help="openai: seconds for one request.")] = 3600.0,
    retries: Annotated[int, typer.Option(min=1, help="openai: tries for one row, at most.")] = 8,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    engine_arg: Annotated[list[str] | None, typer.Option(help=_ARGUMENT)] = None,
    replicas: Annotated[int, typer.Option(min=1, help="ray: engines that share the rows.")] = 1,
    address: Annotated[str | None, typer.Option(help=_ADDRESS)] = None,
    num_cpus: Annotated[int | None, typer.Option(min=1, help=_NUM_CPUS)] = None,
    price: Annotated[str | None, typer.Option(help=_PRICE)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what is to be done, without a model.")
    ] = False,
) -> None:
    """Run a model over a release: resumable, every row recorded once, failures first.

    Example: `ruler run --dataset ruler --configs all_4k --backend vllm --model Qwen/Qwen2.5-7B-Instruct --out runs/qwen`

    The same command again does only what is missing. API keys come from the environment
    (OPENAI_API_KEY, HF_TOKEN) and are never written. Exit code 1: some rows failed.
    """  # noqa: E501
    options = locals()
    from datasets import disable_progress_bars

    from eval.run import runner
    from eval.run.backends.start import known_backend

    backend = known_backend(backend)
    if not model and backend != "oracle":
        raise RulerError(f"The {backend} backend needs a model: add --model NAME.")
    disable_progress_bars()  # reading a file is quick; the run has its own bar
    del options["dry_run"]
    order = make_order({**options, "backend": backend, "model": model or "oracle"})
    if dry_run:
        typer.echo("\n".join(runner.estimate(order).lines(order.price)))
        return
    summary = runner.run(order)
    show(summary)
    typer.echo(f"Next: ruler score {plain(out)}")
    if summary.total["error"]:
        raise typer.Exit(1)


def answer_release(root: Path, out: Path, model: Path | None = None) -> None:
    """Run the oracle, or the model of a folder by transformers, over all that a release holds."""
    from eval.run.backends.backend import ModelOptions
    from eval.run.demo_model import settings_here
    from eval.run.run_order import RunOrder
    from eval.run.runner import run as run_order
    from ruler_dataset import read_manifest

    configs = tuple(file["config"] for file in read_manifest(root)["files"].values())
    order = RunOrder(str(root), configs, "oracle", out)
    if model is not None:
        options = ModelOptions(str(model), arguments=settings_here())
        order = RunOrder(str(root), configs, "hf", out, options=options)
    show(run_order(order))


def show(summary: RunSummary) -> None:
    """Print the summary on standard output."""
    from rich.console import Console

    summary.print(Console())


def make_order(options: Mapping[str, Any]) -> RunOrder:
    """The order that a command's options make. Raises RulerError for a value that cannot be read.

    An option that is no field of RunOrder, ModelOptions or ClusterOptions is a mistake of the
    command's author.
    """
    from eval.run.backends.backend import ModelOptions
    from eval.run.reasoning import Reasoning
    from eval.run.replicas.ray_placement import ClusterOptions
    from eval.run.run_order import RunOrder

    given = dict(options)
    given["configs"] = tuple(filter(None, given["configs"].split(",")))
    given["reasoning"] = Reasoning.parse(given.pop("thinking"))
    given["arguments"] = parse_arguments(given.pop("engine_arg") or [])
    if "tokens_in_flight" in given:
        given["tokens_in_flight"] = parse_tokens(given["tokens_in_flight"])
    if "price" in given:
        given["price"] = parse_price(given["price"])

    def taken(names: Iterable[str]) -> dict[str, Any]:
        return {name: given.pop(name) for name in names if name in given}

    model = ModelOptions(**taken(field.name for field in fields(ModelOptions)))
    cluster = ClusterOptions(**taken(field.name for field in fields(ClusterOptions)))
    return RunOrder(**given, options=model, cluster=cluster)


def parse_tokens(text: str) -> int:
    """Read a number of tokens, or of binary thousands: `512k`, `2m`."""
    match = re.fullmatch(r"([1-9]\d{0,11})([km]?)", text)
    if match is None:
        raise RulerError("--tokens-in-flight takes a number of tokens, such as 512k or 2m.")
    return int(match[1]) << {"": 0, "k": 10, "m": 20}[match[2]]


def parse_price(text: str | None) -> tuple[float, float] | None:
    """Read IN,OUT: the prices of a million tokens of prompts and of answers."""
    if text is None:
        return None
    try:
        prompts, answers = map(float, text.split(","))
    except ValueError:
        prompts = answers = math.nan
    if not (0 <= prompts < math.inf and 0 <= answers < math.inf):
        raise RulerError("--price takes IN,OUT for a million tokens, such as 0.15,0.60.")
    return prompts, answers


def parse_arguments(pairs: list[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; a value is JSON where it reads as JSON, else text."""
    from eval.run.backends.secrets import check_argument

    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        if not equals or not name:
            raise RulerError("--engine-arg takes NAME=VALUE, such as dtype=bfloat16.")
        try:
            found[name] = json.loads(text)
        except (ValueError, RecursionError):
            found[name] = text
        if not _is_json(found[name]):
            raise RulerError(f"--engine-arg '{name}' is no finite number: give another value.")
        check_argument(name, found[name])
    return found


def _is_json(value: Any) -> bool:
    """Whether a value can stand in run.json: NaN and Infinity cannot."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True
