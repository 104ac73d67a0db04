"""Verdicts with as few rows as they take, from Python: decide.

decide("runs/base", "runs/quantised", max_drop=2)["rows"]              # where it would have stopped
decide("runs/base", max_drop=2, model="org/quantised", backend="vllm", out="runs/quantised")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_release.api.arguments import Place, several

if TYPE_CHECKING:
    from ruler_eval.analysis.sequential.live_test import LiveTest
    from ruler_eval.analysis.sequential.sequential_test import SequentialDecision
    from ruler_eval.score.results_file import Results


def decide(
    base: Place,
    other: Place | None = None,
    *,
    max_drop: float,
    base_model: str | None = None,
    base_model_url: str | None = None,
    on_look: Callable[[SequentialDecision], None] = lambda _: None,
    progress: bool = False,
    **run: Any,
) -> SequentialDecision:
    """Decide with as few rows as it takes whether a model lost less than so much; `ruler decide`.

    Args:
        base: The scored RUN folder, or results.json, of model A; with `base_model` the folder in
            which A is run too, in step.
        other: The same of model B, where it was run already: says at which look it would have
            stopped.
        max_drop: Points that B may lose against A over all.
        base_model: Model A, by its name for the same backend.
        base_model_url: Model A's server, where it is not `base_url`.
        on_look: Called after every look.
        progress: Show estimate and bar of the run.
        run: Of model B, where `other` is left out: arguments of `ruler_release.run`. `model`,
            `backend` and `out` have to be there; release, configurations, mode, thinking and
            sampling are those of the base run unless given.

    Returns:
        The last look: `verdict` is `smaller`, `larger` or `unknown`. Raises RulerError for runs
        that cannot be paired, and for another limit than the one fixed before the first row.
    """
    from ruler_eval.analysis.sequential.sequential_test import LookPlan, check_limit, looks
    from ruler_eval.score.scored_run import open_results

    check_limit(max_drop)
    if other is None:
        run |= {"base_model": base_model, "base_model_url": base_model_url}
        live = live_test(base, max_drop=max_drop, progress=progress, **run)
        return live.run(on_look)
    if run or base_model or base_model_url:
        raise RulerError("Two runs that are there need no model to run: leave its options out.")
    a, b = open_results(Path(base)), open_results(Path(other))
    for found in looks(LookPlan.of(a), a, b, max_drop):
        on_look(found)
    return found


def live_test(
    base: Place,
    *,
    max_drop: float,
    base_model: str | None = None,
    base_model_url: str | None = None,
    progress: bool = False,
    **run: Any,
) -> LiveTest:
    """The test that `decide` runs, for who wants to know more of it than the verdict."""
    from inspect import signature

    from ruler_eval.analysis.sequential.live_test import LiveTest
    from ruler_eval.run.run_order import make_order
    from ruler_eval.score.scored_run import open_results
    from ruler_release.api.scores import run as run_call

    given = {name: value for name, value in run.items() if value is not None}
    if not given.get("out") or not given.get("backend"):
        raise RulerError("Model B is to be run: name --model, --backend and --out, or its RUN.")
    taken = signature(run_call).parameters
    if unknown := sorted({*given} - {*taken} | {*given} & {"until", "beside"}):
        raise RulerError(f"`ruler run` has no argument '{unknown[0]}'.")
    if base_model_url and not base_model:
        raise RulerError("--base-model-url is of a model A that is run too: add --base-model.")
    results = None if base_model else open_results(Path(base))
    options = {name: p.default for name, p in taken.items() if p.default is not p.empty}
    options |= {**(as_run(results) if results else {}), **given}
    used = results["run"].get("chat_template") if results else None
    if used and not options["chat_template"]:
        raise RulerError(
            f"The base was run with the chat template '{used['name']}': give model B's, such as "
            f"--chat-template {used['name']}."
        )
    for name in ("dataset", "configs"):
        if not options.get(name):
            raise RulerError(f"The base does not say what it was run on: add --{name}.")
    for name in ("progress", "until", "beside", "on_look"):
        options.pop(name)
    options |= {"dataset": str(options["dataset"]), "configs": several(options["configs"])}
    order = make_order({**options, "out": Path(options["out"]), "quiet": not progress})
    if results is not None:
        return LiveTest(order, max_drop, results)
    theirs = {**options, "model": base_model, "out": Path(base), "quiet": not progress}
    theirs["base_url"] = base_model_url or options["base_url"]
    return LiveTest(order, max_drop, make_order(theirs))


def as_run(results: Results) -> dict[str, Any]:
    """How a scored run was made, as arguments of `ruler_release.run`: what B has to share."""
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
