"""Decisions with as few rows as they take, from Python: decide.

decide("runs/base", "runs/quantised", max_drop=2)["rows"]              # rows that exist
decide("runs/base", max_drop=2, model="org/quantised", backend="vllm", out="runs/quantised")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_common.options import options_of
from ruler_eval.gate.options import MODEL_B, DecideOptions
from ruler_eval.run.options import RunOptions
from ruler_release.api.calls import takes

if TYPE_CHECKING:
    from ruler_eval.gate.decide import DecidedRun, SequentialDecision
    from ruler_eval.score.results import Results

OnLook = Callable[["SequentialDecision"], None]


@takes(DecideOptions)
def decide(options: DecideOptions) -> SequentialDecision:
    """Decide with as few rows as it takes whether a model lost less than a limit; `ruler decide`.

    With `backend`, `model` and `out` (or `other`) the rows of model B are run as they are needed;
    release, configurations, mode, thinking and sampling are those of the base run. Returns the last
    look: `verdict` is `smaller`, `larger` or `unknown`. Raises RulerError for runs that cannot be
    paired, and for another limit than the one fixed before the first row.
    """
    if options.other is not None and options.backend is None:
        return decide_stored(options, on_look=lambda look: None)
    return decide_run(options, on_look=lambda look: None).decision


def decide_stored(options: DecideOptions, on_look: OnLook) -> SequentialDecision:
    """Decide with the rows that both models have."""
    from ruler_eval.gate.decide import StoredRows, check_limit, decide
    from ruler_eval.score.results import open_results

    check_limit(options.max_drop)
    if _given(options):
        raise RulerError("To run B's missing rows, name --backend and --model too.")
    results = open_results(Path(options.base))
    other = open_results(Path(str(options.other)))
    stored = StoredRows(results, other, options.max_drop)
    return decide(results, stored, options.max_drop, on_look)


def decide_run(options: DecideOptions, on_look: OnLook) -> DecidedRun:
    """Run model B until the verdict."""
    from ruler_eval.gate.decide import check_limit
    from ruler_eval.gate.decide import decide_run as run_until_decided
    from ruler_eval.score.results import open_results

    check_limit(options.max_drop)
    if options.backend is None or (options.out is None and options.other is None):
        raise RulerError("Model B is to be run: name --model, --backend and --out, or its RUN.")
    results = open_results(Path(options.base))
    run = options_of_model_b(options, results)
    return run_until_decided(results, run, options.max_drop, on_look)


def options_of_model_b(options: DecideOptions, base: Results) -> RunOptions:
    """Return what model B is asked to do: as the base was, unless the options say otherwise."""
    run: dict[str, Any] = {
        **as_run(base),
        "out": options.other,
        **_given(options),
        "progress": options.progress,
    }
    if options.dataset is not None and options.data_revision is None:
        run["data_revision"] = None  # the base's is of another repository
    template = base["run"].get("chat_template")
    if template and options.chat_template is None:
        raise RulerError(
            f"The base was run with the chat template '{template['name']}': give model B's, such "
            f"as --chat-template {template['name']}."
        )
    for name in ("dataset", "configs"):
        if not run.get(name):
            raise RulerError(f"The base does not say what it was run on: add --{name}.")
    return RunOptions(**run)


def _given(options: DecideOptions) -> dict[str, Any]:
    """Return the options of model B's run that are not the default."""
    known = options_of(DecideOptions)
    given = {}
    for field in fields(DecideOptions):
        if field.name not in known or known[field.name].panel != MODEL_B:
            continue
        value = getattr(options, field.name)
        if value is None or value is False or value == {}:  # 0 is given: --temperature 0
            continue
        given[field.name] = value
    return given


def as_run(results: Results) -> dict[str, Any]:
    """Return how a scored run was made, as fields of RunOptions."""
    from ruler_eval.run.options import SAMPLERS

    made: Mapping[str, Any] = results["run"]
    found: dict[str, Any] = {
        "dataset": results["dataset"]["source"],
        "data_revision": made.get("data_revision"),
        "configs": tuple(n for n, cell in results["configurations"].items() if cell["max_length"]),
        "mode": made.get("mode"),
        "direct": made.get("direct", False),
        **{
            name: value
            for name, value in made.get("sampling", {}).items()
            if name in SAMPLERS and not isinstance(value, str)
        },
    }
    thinking = made.get("thinking") or {}
    if thinking.get("on"):
        found["thinking"] = str(thinking["budget"]) if thinking.get("limited") else "on"
    return found
