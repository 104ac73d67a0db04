"""The options of `ruler decide`, for the command and for the Python call.

DecideOptions("runs/base", max_drop=2, run={"backend": "vllm", "model": "org/b", "out": "runs/b"})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from ruler_common.errors import RulerError
from ruler_common.options import Option, OptionsOf, Place, check_options, options_of
from ruler_eval.run.options import SAMPLERS, RunOptions

if TYPE_CHECKING:
    from ruler_eval.score.results import Results

NOT_IN_DECIDE = ("until", "shard", "repeats", "answers")
"""Options of `ruler run` that `ruler decide` does not have.

It decides when to stop, needs every task at each look, and scores each row once it is answered."""
OF_MODEL_A = (
    "dataset",
    "data_revision",
    "configs",
    "mode",
    "thinking",
    "direct",
    "system",
    *SAMPLERS,
)
"""Options that are those of A's run if they are not set."""
OF_RUN = OptionsOf(
    RunOptions,
    names=tuple(name for name in options_of(RunOptions) if name not in NOT_IN_DECIDE),
    panel="Model B, to run its rows",
    defaults={"out": "B", **dict.fromkeys(OF_MODEL_A, "A's")},
    environment=False,  # which names a model for every run, and B has to be another one than A
)


@dataclass(frozen=True, kw_only=True)
class DecideOptions:
    """The options of a decision, and those of model B's run."""

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
    progress: bool = False
    """Show the estimate and a bar of the run; the command always does."""
    run: Annotated[Mapping[str, Any], OF_RUN] = field(default_factory=dict)
    """The options of `ruler run` that are set for model B, by name."""

    def __post_init__(self) -> None:
        run = {name: value for name, value in self.run.items() if value is not None}
        object.__setattr__(self, "run", run)
        check_options(self)
        for flag, margin in (("max-drop", self.max_drop), ("max-task-drop", self.max_task_drop)):
            if margin is not None and abs(margin) >= 100:
                raise RulerError(f"--{flag} {margin:g} is not a number of points, such as 1.5.")


def options_of_model_b(options: DecideOptions, base: Results) -> RunOptions:
    """Return the options of model B's run: those that are set, else those of A."""
    run: dict[str, Any] = {**_options_of_base(base), "out": options.candidate, **options.run}
    if "dataset" in options.run and "data_revision" not in options.run:
        run["data_revision"] = None  # A's revision belongs to another repository
    template = base["run"].get("chat_template")
    if template and "chat_template" not in options.run:
        raise RulerError(
            f"Model A was run with the chat template '{template['name']}': name the one for model "
            f"B, such as --chat-template {template['name']}."
        )
    for name in ("dataset", "configs"):
        if not run.get(name):
            raise RulerError(f"Model A's results do not say what it was run on: add --{name}.")
    return RunOptions(**run, progress=options.progress)


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
