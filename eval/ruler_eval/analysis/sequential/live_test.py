"""`ruler decide` while the models run: a wave, a look, the next wave, until the verdict.

    live = LiveTest(order, 2.0, base=load(Path("runs/base")))
    decision = live.run(show)                  # show(decision) after every look

The limit and the rule are in run.json before the first row; the verdict and every look are there
after the last. Killed in the middle, the same call reads the waves that are there, looks at them
in the same order, and comes to the same verdict.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import paired_cells
from ruler_eval.analysis.sequential.betting import ALPHA, LOOK_EVERY
from ruler_eval.analysis.sequential.sequential_test import (
    RULE,
    LookPlan,
    SequentialDecision,
    SequentialTest,
    check_limit,
    same_limit,
)
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import OpenRun
from ruler_eval.run.work_plan import Part
from ruler_eval.score import scoring, stored_results
from ruler_eval.score.cells.row_score import ScoringRules
from ruler_eval.score.prediction_source import PredictionSource
from ruler_eval.score.results_file import Results, scores_of


class LiveTest:
    """Two models of which one or both are run now.

    `base` are the results of model A, or the order to run it too, in step. `summary` and
    `left_tokens` are known after `run`: how B's rows ended, and the prompt tokens of the rows that
    were not run.
    """

    def __init__(self, order: RunOrder, max_drop: float, base: Results | RunOrder) -> None:
        self.order, self.max_drop, self.base = order, check_limit(max_drop), base
        if order.shard is not None:
            raise RulerError("A sequential test needs every task at each look: leave --shard out.")
        self.summary = RunSummary()
        self.left_tokens = 0

    def run(self, on_look: Callable[[SequentialDecision], None]) -> SequentialDecision:
        """Run waves until the verdict; B's results.json is written then.

        Raises RulerError where the rows of the two are not the same, or another limit was fixed.
        """
        with ExitStack() as opened:
            work = opened.enter_context(OpenRun(self.order, self._fixed(), LOOK_EVERY))
            plan = plan_of(work)
            waves, done = work.waves(), 0
            theirs: OpenRun | None = None
            known: Results | None = None
            if isinstance(self.base, RunOrder):
                theirs = opened.enter_context(OpenRun(self.base, look_every=LOOK_EVERY))
                if plan_of(theirs) != plan:
                    raise RulerError("The two models are to run the same rows.")
                other = theirs.waves()
            else:
                known = self.base
                same_limit(known, self.max_drop)
                covers(known, plan)
            test = SequentialTest(plan, self.max_drop)
            for rows in plan.looks():
                until = -(-rows // plan.step)
                if theirs is not None:
                    answer(theirs, other[done:until])
                    known = scored(theirs.order)
                assert known is not None
                answer(work, waves[done:until])
                done = until
                mine = scored(self.order, known)
                paired_cells(known, mine)
                found = test.look(rows, known, scores_of(known), scores_of(mine))
                on_look(found)
                if found["verdict"] != "unknown":
                    break
            if theirs is not None:
                theirs.record({"decision": found})
                theirs.finish(joined(other[:done]))
            work.record({"decision": found})
            self.summary = work.finish(joined(waves[:done]))
            self.left_tokens = sum(sum(part.tokens) for wave in waves[done:] for part in wave)
        for one in filter(None, (theirs, work)):
            whole = scored(one.order, known, partial=found["rows"] < found["of"])
            stored_results.write(whole, one.order.out / "results.json")
        return found

    def _fixed(self) -> dict[str, Any]:
        """What is fixed before the first row: the limit, the rule, and whom B is held against."""
        base = self.base
        name = base.options.model if isinstance(base, RunOrder) else base["model"]
        fixed = {"max_drop": float(self.max_drop), "rule": RULE, "alpha": ALPHA, "base": name}
        if not isinstance(base, RunOrder):
            text = json.dumps({name: [*rows.items()] for name, rows in scores_of(base).items()})
            fixed["base_scores"] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return {"decide": fixed}


def plan_of(work: OpenRun) -> LookPlan:
    """The rows of a run and their waves. Raises RulerError as LookPlan.checked."""
    entries = {file["config"]: file for file in work.ready.manifest["files"].values()}
    order, configs = dict[Any, Sequence[int]](), dict[Any, list[str]]()
    for part in work.parts:
        if not entries[part.config]["max_length"]:
            raise RulerError(
                f"'{part.config}' is the control without a haystack, which counts in no mean: "
                "leave it out of --configs."
            )
        place = entries[part.config]["task"], entries[part.config]["length"]
        order[place] = list(part.indices)
        configs.setdefault(place, []).append(part.config)
    return LookPlan(order, configs).checked()


def scored(order: RunOrder, like: Results | None = None, partial: bool = True) -> Results:
    """The scores of a run, by the rules of other results, if given; of rows that are there."""
    source = PredictionSource(dataset=order.dataset, revision=order.data_revision)
    rules = like["rules"] if like else {"compat": None, "cut": "protocol"}
    predictions, release = source.open([order.out])
    chosen = ScoringRules(rules["compat"], rules["cut"], partial)
    return scoring.score(predictions, release, chosen)


def answer(work: OpenRun, waves: Sequence[Sequence[Part]]) -> None:
    """Answer the rows of waves. Raises RulerError where all rows of one failed.

    Failed rows count as wrong; but a server that is gone says nothing of a model.
    """
    for wave in waves:
        work.answer(wave)
        found = {part.config: work.records.of(part.config) for part in wave}
        rows = [found[part.config][index] for part in wave for index in part.indices]
        if all(row["finish_reason"] == "error" for row in rows):
            raise RulerError(
                f"Every row of a wave failed, the first with: {rows[0]['error']}. Mend that, then "
                "the same command with --retry-failed."
            )


def joined(waves: Sequence[Sequence[Part]]) -> list[Part]:
    """The waves as one part a configuration."""
    found: dict[str, Part] = {}
    for part in (part for wave in waves for part in wave):
        before = found[part.config].indices if part.config in found else ()
        found[part.config] = Part(part.config, before + part.indices, ())
    return [*found.values()]


def covers(base: Results, plan: LookPlan) -> None:
    """Raise RulerError if the base run lacks rows that the test may need."""
    held = scores_of(base)
    for place, names in plan.configs.items():
        for name in names:
            if lacking := {*plan.order[place]} - {*held.get(name, {})}:
                raise RulerError(
                    f"The base run has no row {min(lacking)} of '{name}', which the test may need: "
                    "finish it and score it again, or give the --limit that it was run with."
                )
