"""A run that is scored between its waves: what `ruler decide` and `ruler run --until` look at.

with WaveRun(order, {"until": …}, 10) as run:
results = run.upto(20)                 # 20 rows of each task and length answered, and scored
run.end({"estimate": found})           # into run.json
run.write(None, partial=True)              # results.json
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.analysis.sequential.sequential_test import LookPlan
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import OpenRun
from ruler_eval.run.work_plan import Part
from ruler_eval.score import scoring, stored_results
from ruler_eval.score.cells.row_score import ScoringRules
from ruler_eval.score.prediction_source import PredictionSource
from ruler_eval.score.results_file import Results, scores_of
from ruler_score.ruler_score import SCORE_VERSION


class WaveRun:
    """A run in waves of `most` rows of each configuration or fewer; run.json holds what is `fixed`.

    `plan` are its rows. Scores are by the rules of the results that it stands beside, if any.
    Raises RulerError as OpenRun, and where the rows cannot go round in waves.
    """

    def __init__(self, order: RunOrder, fixed: Mapping[str, Any] | None, most: int) -> None:
        if order.shard is not None:
            raise RulerError(
                "A run that scores stop needs every task at each look: leave --shard out."
            )
        self.order, self._work = order, OpenRun(order, fixed, most)
        self._done = 0

    def __enter__(self) -> WaveRun:
        with ExitStack() as failed:
            failed.push(self._work)
            self.plan, self._waves = plan_of(self._work), self._work.waves()
            failed.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._work.__exit__(*error)

    def check_base(self, base: Results) -> None:
        """Raise RulerError before a row is run if the base cannot stand beside this run.

        It may have been scored by another version, on other rows, or lack some that are needed.
        """
        if base["score_version"] != SCORE_VERSION:
            raise RulerError(
                f"The base was scored by the rules {base['score_version']}, these are "
                f"{SCORE_VERSION}: score it again."
            )
        scored, held = base["dataset"].get("rows", {}), scores_of(base)
        for names in self.plan.configs.values():
            for name in names:
                digest = self._work.checked.digests[name]
                if scored.get(name, digest) != digest:
                    raise RulerError(
                        f"'{name}' was scored on different rows: run both on one release."
                    )
        if lacking := self.plan.lacking(held, self.plan.rows):
            raise RulerError(
                f"The base run has no {lacking}, which the test may need: finish it and score it "
                "again, or give the --limit that it was run with."
            )

    def upto(self, rows: int, beside: Results | None = None) -> Results:
        """The scores after so many rows of each task and length, which are answered first.

        Raises RulerError where all rows of a wave failed: failed rows count as wrong, but a server
        that is gone says nothing of a model.
        """
        while rows > sum(len(wave[0].indices) for wave in self._waves[: self._done]):
            wave = self._waves[self._done]
            self._work.answer(wave)
            found = {part.config: self._work.records.of(part.config) for part in wave}
            records = [found[part.config][index] for part in wave for index in part.indices]
            if all(record["finish_reason"] == "error" for record in records):
                raise RulerError(
                    f"Every row of a wave failed, the first with: {records[0]['error']}. Mend "
                    "that, then the same command with --retry-failed."
                )
            self._done += 1
        return self._scored(beside, partial=True)

    def end(self, found: Mapping[str, Any]) -> RunSummary:
        """Add what was found to run.json; how the rows ended."""
        self._work.record(found)
        parts: dict[str, Part] = {}
        for part in (part for wave in self._waves[: self._done] for part in wave):
            before = parts[part.config].indices if part.config in parts else ()
            parts[part.config] = Part(part.config, before + part.indices, ())
        return self._work.finish([*parts.values()])

    @property
    def left_tokens(self) -> int:
        """The prompt tokens of the rows that were not run."""
        return sum(sum(part.tokens) for wave in self._waves[self._done :] for part in wave)

    def write(self, beside: Results | None, partial: bool) -> None:
        """Write results.json, of the rows that are there or (not `partial`) of all.

        Of those that --limit leaves out none was asked for: they are not wrong.
        """
        entries = {file["config"]: file for file in self._work.checked.manifest["files"].values()}
        partial |= any(
            len(part.indices) < entries[part.config]["rows"] for part in self._work.parts
        )
        stored_results.write(self._scored(beside, partial), self.order.out / "results.json")

    def _scored(self, beside: Results | None, partial: bool) -> Results:
        source = PredictionSource(dataset=self.order.dataset, revision=self.order.data_revision)
        rules = beside["rules"] if beside else {"compat": None, "cut": "protocol"}
        predictions, release = source.open([self.order.out])
        chosen = ScoringRules(rules["compat"], rules["cut"], partial)
        return scoring.score(predictions, release, chosen)


def plan_of(work: OpenRun) -> LookPlan:
    """The rows of a run and their waves. Raises RulerError as LookPlan.checked."""
    entries = {file["config"]: file for file in work.checked.manifest["files"].values()}
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
