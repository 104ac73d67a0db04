"""The options of `ruler decide`, for the command and for the Python call.

DecideOptions("runs/base", max_drop=2, backend="vllm", model="org/quantised", out="runs/quantised")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from ruler_common.errors import RulerError
from ruler_common.options import Names, Option, Place, check_options, options_of
from ruler_eval.run.options import SAMPLERS, RunOptions

if TYPE_CHECKING:
    from ruler_eval.score.results import Results

MODEL_B = "Model B, to run its rows"
NOT_IN_DECIDE = ("until", "shard", "repeats", "answers")
"""Options of `ruler run` that `ruler decide` does not have.

It decides when to stop, needs every task at each look, and scores each row once it is answered."""


def _as_in_run(name: str, help: str = "") -> Option:
    """Return the option of `ruler run`, moved to the panel of model B."""
    option = options_of(RunOptions)[name]
    return replace(option, panel=MODEL_B, help=help or option.help)


@dataclass(frozen=True, kw_only=True)
class DecideOptions:
    """The options of a decision. B runs with A's settings, except for those set here."""

    base: Annotated[
        Place, Option("Model A: a RUN folder, or a results.json.", argument=True, metavar="A")
    ] = field(kw_only=False)
    candidate: Annotated[
        Place | None,
        Option(
            "Model B: a RUN folder, or a results.json; with --backend the folder of its run.",
            argument=True,
            metavar="[B]",
        ),
    ] = field(default=None, kw_only=False)
    max_drop: Annotated[
        float,
        Option("Points that B may lose on average over the tasks, fixed before the first row."),
    ]
    max_task_drop: Annotated[
        float | None,
        Option("Points that B may lose in every task at every length. Default: not tested."),
    ] = None
    model: Annotated[str | None, _as_in_run("model")] = None
    backend: Annotated[str | None, _as_in_run("backend")] = None
    out: Annotated[
        Place | None,
        _as_in_run("out", "Folder of B's run, if [B] does not name it; resumed if it exists."),
    ] = None
    dataset: Annotated[
        Place | None, _as_in_run("dataset", "The release. Default: the one that A was run on.")
    ] = None
    configs: Annotated[
        Names | None, _as_in_run("configs", "Configurations. Default: those of A's run.")
    ] = None
    mode: Annotated[str | None, _as_in_run("mode")] = None
    thinking: Annotated[str | int | None, _as_in_run("thinking")] = None
    limit: Annotated[int | None, _as_in_run("limit")] = None
    base_url: Annotated[str | None, _as_in_run("base_url")] = None
    concurrency: Annotated[int | None, _as_in_run("concurrency")] = None
    retry_failed: Annotated[bool, _as_in_run("retry_failed")] = False
    skip_missing: Annotated[bool, _as_in_run("skip_missing")] = False
    data_revision: Annotated[str | None, _as_in_run("data_revision")] = None
    price: Annotated[tuple[float, float] | None, _as_in_run("price")] = None
    direct: Annotated[bool, _as_in_run("direct")] = False
    system: Annotated[str | None, _as_in_run("system")] = None
    revision: Annotated[str | None, _as_in_run("revision")] = None
    tokenizer: Annotated[str | None, _as_in_run("tokenizer")] = None
    chat_template: Annotated[Place | None, _as_in_run("chat_template")] = None
    max_model_len: Annotated[int | None, _as_in_run("max_model_len")] = None
    engine_args: Annotated[Mapping[str, Any], _as_in_run("engine_args")] = field(
        default_factory=dict
    )
    provider: Annotated[str | None, _as_in_run("provider")] = None
    timeout: Annotated[float | None, _as_in_run("timeout")] = None
    give_up_after: Annotated[float | None, _as_in_run("give_up_after")] = None
    stream: Annotated[bool, _as_in_run("stream")] = False
    omit: Annotated[Names | None, _as_in_run("omit")] = None
    temperature: Annotated[float | None, _as_in_run("temperature")] = None
    top_p: Annotated[float | None, _as_in_run("top_p")] = None
    top_k: Annotated[int | None, _as_in_run("top_k")] = None
    min_p: Annotated[float | None, _as_in_run("min_p")] = None
    presence_penalty: Annotated[float | None, _as_in_run("presence_penalty")] = None
    seed: Annotated[int | None, _as_in_run("seed")] = None

    progress: bool = False
    """Show the estimate and a bar of the run; the command always does."""

    def __post_init__(self) -> None:
        check_options(self)
        for flag, limit in (("max-drop", self.max_drop), ("max-task-drop", self.max_task_drop)):
            if limit is not None and abs(limit) >= 100:
                raise RulerError(f"--{flag} {limit:g} is not a number of points, such as 1.5.")


def options_of_model_b(options: DecideOptions, base: Results) -> RunOptions:
    """Return the options of model B's run: those of A, except for those set here."""
    run: dict[str, Any] = {
        **_options_of_base(base),
        "out": options.candidate,
        **options_of_run(options),
        "progress": options.progress,
    }
    if options.dataset is not None and options.data_revision is None:
        run["data_revision"] = None  # A's revision belongs to another repository
    template = base["run"].get("chat_template")
    if template and options.chat_template is None:
        raise RulerError(
            f"Model A was run with the chat template '{template['name']}': name the one for model "
            f"B, such as --chat-template {template['name']}."
        )
    for name in ("dataset", "configs"):
        if not run.get(name):
            raise RulerError(f"Model A's results do not say what it was run on: add --{name}.")
    return RunOptions(**run)


def options_of_run(options: DecideOptions) -> dict[str, Any]:
    """Return the options of model B's run that are set."""
    run = {}
    for name, option in options_of(DecideOptions).items():
        value = getattr(options, name)
        is_default = value is None or value is False or value == {}  # not 0: --temperature 0
        if option.panel == MODEL_B and not is_default:
            run[name] = value
    return run


def _options_of_base(results: Results) -> dict[str, Any]:
    """Return the settings of a scored run as fields of RunOptions."""
    settings: Mapping[str, Any] = results["run"]
    configs = [name for name, cell in results["configurations"].items() if cell["max_length"]]
    run: dict[str, Any] = {
        "dataset": results["dataset"]["source"],
        "data_revision": settings.get("data_revision"),
        "configs": tuple(configs),
        "mode": settings.get("mode"),
        "direct": settings.get("direct", False),
        "system": settings.get("system"),
    }
    for name, value in settings.get("sampling", {}).items():
        if name in SAMPLERS and not isinstance(value, str):  # a string is the server's default
            run[name] = value
    thinking = settings.get("thinking") or {}
    if thinking.get("on"):
        run["thinking"] = str(thinking["budget"]) if thinking.get("limited") else "on"
    return run
