"""Examine a server: send rows under every condition, wave by wave, until there is a verdict.

    verdict = examine(options, say=print)        # as JSON; doctor.json has it too

Each side is an ordinary run folder (`ruler score DIR/cold`, `ruler compare DIR/cold DIR/cached`).
A row is sent one by one on all sides but one, and under load in the middle of its wave; the first
rows are sent again at the end. So a server that gets worse, or has good and bad periods, does not
look like one of the conditions. If it is interrupted, the same command continues.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ruler_common.errors import RulerError
from ruler_common.text import number_of
from ruler_eval.doctor.answers import Key, RunSide, Scorer, Side
from ruler_eval.doctor.conditions import (
    AGAIN,
    CACHED,
    COLD,
    CONDITIONS,
    LATE,
    LOADED,
    PLAIN,
    side_options,
    testable,
)
from ruler_eval.doctor.engine import Engine, check_rows_fit, open_engine
from ruler_eval.doctor.folder import Folder, open_folder
from ruler_eval.doctor.judge import follow_up, judge, may_stop, to_confirm
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.doctor.paired_test import smallest_loss
from ruler_eval.doctor.plan import RowPlan, cost_line, make_plan, rows_in_words
from ruler_eval.doctor.sentences import progress_line, verdict_json
from ruler_eval.doctor.verdict import Evidence, Finding, TokenFacts, Verdict
from ruler_eval.frozen_release import Release
from ruler_eval.run.answer_counts import AnswerCounts
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import Records
from ruler_eval.run.runner import OpenRun

MAX_FAILURES = 8
"""If this many first requests all fail, the examination stops."""
FRESH_ROWS = 32
"""Further rows that are sent for a suspect condition."""
LATE_ROWS = 32
"""At least as many of the first rows are sent again at the end."""


@dataclass
class Examination:
    """The rows, the sides, and the answers so far."""

    plan: RowPlan
    sides: Mapping[str, Side]
    conditions: Sequence[str]
    reasons: Mapping[str, str]
    """Why the other conditions are not tested."""
    load: int
    max_loss: float = 10.0
    counts: Literal["exact", "unchecked"] = "unchecked"
    has_bos: bool = False
    cached_tokens: Callable[[], float | None] = lambda: None
    """Returns the tokens that the server has read from its prefix cache, if it counts them."""
    cache_hits: float | None = None
    fresh: dict[str, list[Key]] = field(default_factory=dict)

    def run(self, on_wave: Callable[[Verdict, int], None] = lambda verdict, rows: None) -> Verdict:
        """Send waves until there is a verdict; call `on_wave` with each verdict and its rows."""
        rows_when_decided = sent = 0
        for wave in self.plan.waves(self.load):
            self._send_wave(wave)
            sent += len(wave)
            verdict = self._confirmed(self.judge_rows(sent, complete=False), sent, complete=False)
            on_wave(verdict, sent)
            if verdict.outcome == "engine":
                rows_when_decided = rows_when_decided or sent
                if may_stop(verdict, rows_when_decided):
                    break
        late = late_rows(self.plan, self.load)
        if "drift" in self.conditions and verdict.tokens.state != "engine":  # a fact decides
            self._send(LATE, late[0][:sent])
        complete = sent == len(self.plan.keys)
        verdict = self._confirmed(self.judge_rows(sent, complete), sent, complete)
        if verdict.outcome == "unknown" and (suspects := follow_up(verdict)):
            self._send_fresh(suspects, late)
            verdict = self.judge_rows(sent, complete=True)
        return verdict

    def _confirmed(self, verdict: Verdict, rows: int, complete: bool) -> Verdict:
        """Send fresh rows under load if load is about to be blamed, and judge again."""
        causes = to_confirm(verdict)
        if not causes:
            return verdict
        self._send_fresh({name: of or self.plan.configs for name, of in causes.items()}, ())
        return self.judge_rows(rows, complete)

    def judge_rows(self, rows: int, complete: bool) -> Verdict:
        """Judge the answers to the first `rows` rows."""
        return judge(
            Evidence(
                keys=self.plan.keys[:rows],
                facts=self.plan.facts,
                sides={name: side.answers for name, side in self.sides.items()},
                conditions=self.conditions,
                reasons=self.reasons,
                complete=complete,
                fresh=self.fresh,
                counts=self.counts,
                has_bos=self.has_bos,
                cache_hits=self.cache_hits,
                max_loss=self.max_loss,
            )
        )

    def _send_wave(
        self, wave: Sequence[Key], sides: Collection[str] = (CACHED, AGAIN, PLAIN, LOADED)
    ) -> None:
        """Send rows cold and on some sides: one by one, but under load between the two halves."""
        half, one_by_one = len(wave) // 2, [name for name in sides if name != LOADED]
        self._send_one_by_one(wave[:half], one_by_one)
        if LOADED in sides:
            self._send(LOADED, wave)
        self._send_one_by_one(wave[half:], one_by_one)

    def _send(self, name: str, keys: Sequence[Key]) -> None:
        if name in self.sides:
            self.sides[name].answer(keys)

    def _send_one_by_one(self, keys: Sequence[Key], others: Collection[str]) -> None:
        """Send each row cold, and at once on other sides, so that the cached ones hit the cache.

        Raises RulerError if the first MAX_FAILURES rows all failed.
        """
        hits_before = self.cached_tokens()
        cold = self.sides[COLD].answers
        for key in keys:
            self.sides[COLD].answer([key])
            failures = [answer.failure for answer in cold.values()]
            if len(failures) == MAX_FAILURES and all(failures):
                raise RulerError(
                    f"The first {MAX_FAILURES} rows failed: {failures[-1]}. Fix the cause, then "
                    "run the same command again."
                )
            for name in others:
                if name == PLAIN or (key in cold and cold[key].counts):
                    self._send(name, [key])
        hits_after = self.cached_tokens()
        if hits_before is not None and hits_after is not None:
            self.cache_hits = (self.cache_hits or 0.0) + hits_after - hits_before

    def _send_fresh(
        self, suspects: Mapping[str, Sequence[str]], late: Sequence[Sequence[Key]]
    ) -> None:
        """Send further rows of the configurations in which suspect conditions lost most."""
        for name, configs in suspects.items():
            if name == "drift":
                self.fresh[name] = list(late[1]) if len(late) > 1 else []
                self._send(LATE, self.fresh[name])
                continue
            share = -(-FRESH_ROWS // len(configs))
            self.fresh[name] = [
                (config, index) for config in configs for index in self.plan.reserve[config][:share]
            ]
            self._send_wave(self.fresh[name], (CONDITIONS[name].b,))
        self.fresh = {name: keys for name, keys in self.fresh.items() if keys}


def late_rows(plan: RowPlan, load: int) -> list[tuple[Key, ...]]:
    """Return all rows in parts; those of the first part are sent again at the end."""
    return plan.waves(max(load, LATE_ROWS))


def examine(options: DoctorOptions, say: Callable[[str], None]) -> dict[str, Any]:
    """Examine a server and return the verdict as JSON; `say` gets a sentence now and then.

    Raises RulerError, for example if the server is down; the same command then continues.
    """
    release = Release.open(options.dataset, options.engine.get("data_revision"))
    folder = open_folder(options, release, say)
    plan = make_plan(options, release, options.engine.get("max_model_len"), FRESH_ROWS)
    run = options.run_options(plan.configs, folder.path)
    with open_engine(run, release, folder.salt) as engine:
        longest = max((release.entry(name)["max_length"] for name in plan.configs), default=0)
        if engine.window and longest > engine.window:
            plan = make_plan(options, release, engine.window, FRESH_ROWS)
        engine = replace(engine, run=replace(engine.run, configs=plan.configs))
        conditions = [name for name in CONDITIONS if name not in engine.reasons]
        if engine.lost_text:
            verdict = verdict_on_template(engine, options.max_loss)
        else:
            check_rows_fit(engine, release, plan)
            for line in plan_lines(options, plan, conditions, engine):
                say(line)
            with _sides(engine, release, plan, conditions, folder, options.load) as sides:
                examination = Examination(
                    plan=plan,
                    sides=sides,
                    conditions=conditions,
                    reasons=engine.reasons,
                    load=options.load,
                    max_loss=options.max_loss,
                    counts=engine.counts,
                    has_bos=engine.has_bos,
                    cached_tokens=engine.cached_tokens,
                    cache_hits=folder.state.get("cache_hits"),
                )

                def on_wave(verdict: Verdict, rows: int) -> None:
                    folder.write(examination.cache_hits)
                    say(progress_line(verdict, rows, len(plan.keys)))

                folder.write(examination.cache_hits)
                verdict = examination.run(on_wave)
            for line in _signs_of_answers(engine.run, folder.path / COLD):
                say(line)
    result = {**verdict_json(verdict, options.model, engine.provider), "folder": str(folder.path)}
    failed = any(finding.failed for finding in verdict.findings)
    if verdict.outcome != "unknown" or (verdict.complete and not failed):
        folder.finish(result)  # else the same command sends the failed rows again
    return result


@contextmanager
def _sides(
    engine: Engine,
    release: Release,
    plan: RowPlan,
    conditions: Sequence[str],
    folder: Folder,
    load: int,
) -> Iterator[dict[str, Side]]:
    """Open the run folders of all sides; a side connects to the server with its first row."""
    names = {side for name in conditions for side in (CONDITIONS[name].a, CONDITIONS[name].b)}
    scorer, sides = Scorer(release), dict[str, Side]()
    with ExitStack() as stack:
        for name in sorted(names):
            options = side_options(name, engine.run, engine.provider, folder.salt, load)
            run = stack.enter_context(OpenRun(options))
            sides[name] = RunSide(run, scorer, plan.rows)
        yield sides


def _signs_of_answers(run: RunOptions, cold: Path) -> list[str]:
    """Return what the cold answers have in common, such as that all came as reasoning."""
    counts = AnswerCounts(thinks=run.reasoning.on, mode=run.mode or "")
    for record in Records(cold).read():
        counts.add(record)
    return counts.lines()


def verdict_on_template(engine: Engine, max_loss: float) -> Verdict:
    """Return the verdict on a server whose chat template does not keep the user's text."""
    names = dict.fromkeys([*CONDITIONS, *engine.reasons])
    reason = "the chat template does not keep the prompt"
    findings = [Finding(name=name, state="unchecked", reason=reason) for name in names]
    return Verdict(
        outcome="engine",
        rows=0,
        score=0.0,
        complete=False,
        max_loss=max_loss,
        findings=tuple(findings),
        tokens=TokenFacts(state="unchecked", kind="unsent"),
        lost_text=engine.lost_text,
    )


# ---- the plan in words ---------------------------------------------------------------------------


def dry_run(options: DoctorOptions) -> list[str]:
    """Return the plan in sentences, without a model or a request. Raises RulerError."""
    release = Release.open(options.dataset, options.engine.get("data_revision"))
    plan = make_plan(options, release, options.engine.get("max_model_len"), FRESH_ROWS)
    conditions, _ = testable(options.tokenizer, options.engine.get("mode"))
    if "text" in conditions and "template" in conditions:  # the server's mode decides which
        conditions.remove("text")
    return plan_lines(options, plan, conditions)


def plan_lines(
    options: DoctorOptions, plan: RowPlan, conditions: Sequence[str], engine: Engine | None = None
) -> list[str]:
    """Return rows, requests, tokens, price and the limits of the examination as sentences."""
    sides = {side for name in conditions for side in (CONDITIONS[name].a, CONDITIONS[name].b)}
    late = late_rows(plan, options.load)[0] if plan.keys else ()
    everywhere = len(sides - {LATE})
    prompt_tokens, output_tokens = plan.tokens(plan.keys)
    late_prompts, late_outputs = plan.tokens(late)
    repeated = prompt_tokens * len(sides & {CACHED, AGAIN})
    requests = everywhere * len(plan.keys) + len(late)
    prompts = everywhere * prompt_tokens + late_prompts
    lines = [
        f"To do, at most: {number_of(requests, 'request')} for {rows_in_words(plan)} "
        f"(conditions: {', '.join(conditions)}), {prompts:,} prompt tokens ({repeated:,} of them "
        f"repeated), up to {everywhere * output_tokens + late_outputs:,} tokens of answers. It "
        f"stops as soon as a fault is certain; if a condition is suspect, up to {FRESH_ROWS} "
        "further rows are sent."
    ]
    if engine is not None and engine.salts_prompts:
        lines.append(
            "This server does not accept cache_salt. Instead each prompt begins with a different "
            "line, so that only requests that are meant to hit the prefix cache do."
        )
    smallest = smallest_loss(len(plan.keys), 0, len(conditions))
    if smallest > options.max_loss:
        lines.append(
            f"With {number_of(len(plan.keys), 'row')} this can find a fault, and cannot end with "
            f"'sound': a loss of less than {smallest:.0f} points would be missed "
            f"({rows_needed(options.max_loss, len(conditions))} rows are needed for "
            f"{options.max_loss:.0f})."
        )
    if (price := options.engine.get("price")) is not None:
        outputs = everywhere * output_tokens + late_outputs
        lines.append(cost_line(prompts, outputs, price))
    return lines


def rows_needed(max_loss: float, tests: int) -> int:
    """Return the smallest number of rows with which a sound engine can be called sound."""
    low, high = 1, 4096
    while low < high:
        middle = (low + high) // 2
        if smallest_loss(middle, 0, tests) <= max_loss:
            high = middle
        else:
            low = middle + 1
    return low
