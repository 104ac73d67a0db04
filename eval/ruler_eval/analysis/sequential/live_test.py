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
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import paired_cells
from ruler_eval.analysis.sequential.betting import ALPHA, LOOK_EVERY
from ruler_eval.analysis.sequential.sequential_test import (
    RULE,
    SequentialDecision,
    SequentialTest,
    check_limit,
    same_limit,
)
from ruler_eval.analysis.sequential.wave_run import WaveRun
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.run_order import RunOrder
from ruler_eval.score.results_file import Results, scores_of


class LiveTest:
    """Two models of which one or both are run now.

    `base` are the results of model A, or the order to run it too, in step. `summaries` and
    `left_tokens` are known after `run`: how the rows of each model that was run ended, by A or B,
    and the prompt tokens of the rows that were not run.
    """

    def __init__(self, order: RunOrder, max_drop: float, base: Results | RunOrder) -> None:
        self.order, self.max_drop, self.base = order, check_limit(max_drop), base
        self.summaries: dict[str, RunSummary] = {}
        self.left_tokens = 0

    def run(self, on_look: Callable[[SequentialDecision], None]) -> SequentialDecision:
        """Run waves until the verdict; B's results.json is written then.

        Raises RulerError where the rows of the two are not the same, or another limit was fixed.
        """
        runs = [WaveRun(self.order, self._fixed(), LOOK_EVERY)]
        with ExitStack() as opened:
            opened.enter_context(mine := runs[0])
            if isinstance(self.base, RunOrder):
                theirs = opened.enter_context(WaveRun(self.base, None, LOOK_EVERY))
                runs.insert(0, theirs)
                if theirs.plan != mine.plan:
                    raise RulerError("The two models are to run the same rows.")
            else:
                same_limit(self.base, self.max_drop)
                mine.check_base(self.base)
            test = SequentialTest(mine.plan, self.max_drop)
            for rows in mine.plan.looks():
                known = theirs.upto(rows) if isinstance(self.base, RunOrder) else self.base
                results = mine.upto(rows, known)
                paired_cells(known, results)
                found = test.look(rows, known, scores_of(known), scores_of(results))
                on_look(found)
                if found["verdict"] != "unknown":
                    break
            for name, one in zip("BA", reversed(runs), strict=False):
                self.summaries[name] = one.end({"decision": found})
                self.left_tokens += one.left_tokens
        for one in runs:
            one.write(known, partial=found["rows"] < found["of"])
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
