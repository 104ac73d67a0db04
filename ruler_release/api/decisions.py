"""Verdicts with as few rows as they take, from Python: decide.

decide("runs/base", "runs/quantised", max_drop=2)["rows"]              # rows that exist
decide("runs/base", max_drop=2, model="org/quantised", backend="vllm", out="runs/quantised")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_release.api.arguments import Place, several

if TYPE_CHECKING:
    from ruler_eval.gate.decide import DecidedRun, SequentialDecision
    from ruler_eval.run.options import RunOptions
    from ruler_eval.score.results import Results


def decide(
    base: Place,
    other: Place | None = None,
    *,
    max_drop: float,
    on_look: Callable[[SequentialDecision], None] = lambda _: None,
    progress: bool = False,
    **run: Any,
) -> SequentialDecision:
    """Decide with as few rows as it takes whether a model lost less than a limit; `ruler decide`.

    Args:
        base: The RUN folder, or results.json, of model A.
        other: The RUN folder, or results.json, of model B; with `backend` the folder of its run.
        max_drop: Points that B may lose against A over all.
        on_look: Called after every look.
        progress: Show estimate and bar of the run.
        run: Of model B, if rows are to be run: arguments of `ruler_release.run`. `model` and
            `backend` are required, and `out` or `other`; release, configurations, mode, thinking
            and sampling are those of the base run unless given.

    Returns:
        The last look: `verdict` is `smaller`, `larger` or `unknown`. Raises RulerError for runs
        that cannot be paired, and for another limit than the one fixed before the first row.
    """
    from ruler_eval.gate.decide import StoredRows, check_limit
    from ruler_eval.gate.decide import decide as decide_rows
    from ruler_eval.score.results import open_results

    check_limit(max_drop)
    given = {name: value for name, value in run.items() if value is not None}
    if other is None or "backend" in given:
        if other is not None:
            given.setdefault("out", other)
        return decide_run(
            base, max_drop=max_drop, on_look=on_look, progress=progress, **given
        ).decision
    if _differ_from_defaults(given):
        raise RulerError("To run the rows that B lacks, name --backend and --model too.")
    results = open_results(Path(base))
    stored = StoredRows(results, open_results(Path(other)), max_drop)
    return decide_rows(results, stored, max_drop, on_look)


def _differ_from_defaults(given: Mapping[str, Any]) -> bool:
    """Whether any argument of `ruler_release.run` is given another value than it has anyway."""
    from ruler_release.api.scores import run as run_call

    arguments = signature(run_call).parameters
    return any(name not in arguments or v != arguments[name].default for name, v in given.items())


def decide_run(
    base: Place,
    *,
    max_drop: float,
    on_look: Callable[[SequentialDecision], None] = lambda _: None,
    progress: bool = False,
    **run: Any,
) -> DecidedRun:
    """Run model B until the verdict: `decide`, with how its rows ended."""
    from ruler_eval.gate.decide import decide_run as run_until_decided
    from ruler_eval.score.results import open_results

    given = {name: value for name, value in run.items() if value is not None}
    if not given.get("out") or not given.get("backend"):
        raise RulerError("Model B is to be run: name --model, --backend and --out, or its RUN.")
    results = open_results(Path(base))
    order = _order(results, given, progress)
    return run_until_decided(results, order, max_drop, on_look)


def _order(base: Results, given: Mapping[str, Any], progress: bool) -> RunOptions:
    """Return what model B is asked to do: as the base was, unless given."""
    from ruler_eval.run.options import RunOptions
    from ruler_release.api.scores import run as run_call

    arguments = signature(run_call).parameters
    not_of_run = {"until", "on_look", "progress"}
    if unknown := sorted({*given} - ({*arguments} - not_of_run)):
        raise RulerError(f"`ruler run` has no argument '{unknown[0]}'.")
    defaults = {name: p.default for name, p in arguments.items() if name not in not_of_run}
    options = {
        **{name: value for name, value in defaults.items() if value is not arguments[name].empty},
        **as_run(base),
        **given,
    }
    template = base["run"].get("chat_template")
    if template and not options["chat_template"]:
        raise RulerError(
            f"The base was run with the chat template '{template['name']}': give model B's, such "
            f"as --chat-template {template['name']}."
        )
    for name in ("dataset", "configs"):
        if not options.get(name):
            raise RulerError(f"The base does not say what it was run on: add --{name}.")
    options |= {"dataset": str(options["dataset"]), "configs": several(options["configs"])}
    return RunOptions(**{**options, "arguments": options["arguments"] or {}, "progress": progress})


def as_run(results: Results) -> dict[str, Any]:
    """Return how a scored run was made, as arguments of `ruler_release.run`."""
    made: Mapping[str, Any] = results["run"]
    found: dict[str, Any] = {
        "dataset": results["dataset"]["source"],
        "data_revision": made.get("data_revision"),
        "configs": [name for name, c in results["configurations"].items() if c["max_length"]],
        "mode": made.get("mode"),
        "direct": made.get("direct", False),
        **made.get("sampling", {}),
    }
    thinking = made.get("thinking") or {}
    if thinking.get("on"):
        found["thinking"] = str(thinking["budget"])
    return found
