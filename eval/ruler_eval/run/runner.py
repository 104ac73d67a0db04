"""Run a model over a frozen release: plan what is missing, answer it, record every row once.

    summary = run(RunOrder(dataset="ruler", configs=("all_4k",), backend="oracle", out=Path("RUN")))

RULER's evaluation (arXiv:2404.06654, section 4): greedy decoding, one prompt a row, the answer
prefix begins the model's answer. Every row ends in exactly one state of `records.STATES`; a row
that does not fit the model's window is recorded as such and never shortened. Rows are sent in
waves (work_plan.py); who wants to stop between two of them uses `OpenRun`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_eval.run.answering import Answered, Answerer
from ruler_eval.run.backends.backend import EngineDied
from ruler_eval.run.backends.start import (
    check_installed,
    check_options,
    known_backend,
    shares_prefixes,
)
from ruler_eval.run.preparing.row_reader import RowReader
from ruler_eval.run.progress import Progress, RunSummary
from ruler_eval.run.prompts import MODES
from ruler_eval.run.run_order import Prepared, RunOrder, new_session, now
from ruler_eval.run.run_settings import check_settings
from ruler_eval.run.window import window_of
from ruler_eval.run.work_plan import (
    Estimate,
    Part,
    Waves,
    estimated,
    in_order,
    in_waves,
    sent_rows,
)


def prepared(order: RunOrder) -> Prepared:
    """Check an order and its folder; nothing is written. Raises RulerError."""
    order = replace(order, backend=known_backend(order.backend))
    if not order.options.model:
        if order.backend != "oracle":
            raise RulerError(f"The {order.backend} backend needs a model: add --model NAME.")
        order = replace(order, options=replace(order.options, model="oracle"))
    if order.mode is not None:
        check_name("mode", order.mode, MODES, "ruler run --help")
    check_options(order.backend, order.options)
    if order.mode == "completion" and order.options.chat_template is not None:
        raise RulerError("--mode completion uses no chat template: leave --chat-template out.")
    return Prepared.of(order)


Plan = tuple[RowReader, list[Part], Estimate, Waves | None]
"""Who reads the rows, the parts in the order of sending, what they amount to, and their waves."""


def planned(ready: Prepared, parts: Sequence[Part], look_every: int | None = None) -> Plan:
    """The plan of a run; `look_every` is the most rows of a wave, for who looks between waves."""
    order = ready.order
    reader = RowReader(order.dataset, ready.settings["data_revision"])
    by_prefix, budget = shares_prefixes(order.backend), order.reasoning.budget
    waves = ready.waves(parts, look_every)
    return reader, *estimated(reader, parts, budget, by_prefix, order.quiet, waves), waves


def estimate(order: RunOrder) -> Estimate:
    """What a run would do: `ruler run --dry-run`. No model is loaded and nothing is written."""
    ready = prepared(order)
    return planned(ready, ready.parts(writable=False))[2]


def run(order: RunOrder) -> RunSummary:
    """Answer what is missing and return the state of every row of the run.

    Raises RulerError before the first row if the order cannot run as asked or RUN holds other
    settings. Killed at any moment it loses the rows in flight; the same order resumes.
    """
    with OpenRun(order) as work:
        if any(part.missing for part in work.parts):
            work.start()
            work.answer([part for wave in work.in_order for part in wave])
        return work.finish(work.parts)


class OpenRun:
    """A run that is being worked on; its backend starts with the first row that it lacks.

    with OpenRun(order) as work:
        for wave in work.waves():
            work.answer(wave)                    # until every row of the wave has its record
    """

    def __init__(
        self, order: RunOrder, fixed: Mapping[str, Any] | None = None, look_every: int | None = None
    ) -> None:
        """Check the order and take its folder; run.json is to hold what is `fixed`, too.

        Who looks at the rows between waves names the most rows of a configuration in one.
        Raises RulerError as `run` does, and where rows were run before it was fixed.
        """
        self.ready = prepared(order)
        self.order, self.records = self.ready.order, self.ready.records
        if fixed:
            before = self.records.settings()
            if before and not {*fixed} <= {*before}:
                raise RulerError(
                    f"'{order.out}' was begun before {', '.join(fixed)} was fixed: name a new "
                    "--out."
                )
            check_settings(before, fixed, order.out)
            for begun in before.get("sessions", [])[:1]:
                if (rows := begun.get("limit")) != order.limit:
                    how = f"with --limit {rows}" if rows else "without --limit"
                    raise RulerError(
                        f"'{order.out}' was begun {how}, which is part of what was fixed: go on "
                        "so, or name a new --out."
                    )
            self.ready = replace(self.ready, settings={**self.ready.settings, **fixed})
        self._look_every = look_every
        self.summary, self._ends = RunSummary(), ExitStack()
        self._session = new_session(self.order, self.ready.digests)
        self._send: Callable[[Sequence[Part]], None] | None = None
        self._done: set[tuple[str, int]] = set()
        self.writable = self.records.lock()
        self._ends.callback(self.records.close)
        with ExitStack() as failed:
            failed.callback(self._ends.close)
            self.parts = self.ready.parts(self.writable)
            failed.pop_all()

    def __enter__(self) -> OpenRun:
        return self

    def __exit__(self, *error: Any) -> None:
        self._ends.__exit__(*error)

    @cached_property
    def plan(self) -> Plan:
        """The plan, made when it is first asked for."""
        return planned(self.ready, self.parts, self._look_every)

    @cached_property
    def in_order(self) -> list[list[Part]]:
        """The parts of each wave; all in one where the run has no waves. Rows are read so."""
        reader, parts, _, waves = self.plan
        found = in_waves(parts, waves) if waves else [parts]
        reader.expect(in_order(part for wave in found for part in wave))
        return found

    def waves(self) -> list[list[Part]]:
        """The parts of each wave, the first of the frozen order first."""
        if self.ready.waves(self.parts, self._look_every) is None:
            raise RulerError(
                f"{len(self.parts)} configurations are too many to go round in waves: choose fewer "
                "with --configs."
            )
        return self.in_order

    def answer(self, parts: Sequence[Part]) -> None:
        """Answer the missing rows of these parts, each of which then has its record."""
        if not any(part.missing for part in parts):
            return
        self.start()
        assert self._send
        self._send(parts)

    def start(self) -> None:
        """Start the backend and record the settings it adds, unless it has been started.

        Done before the plan is made, it finds early what is wrong with model, window or mode.
        """
        if self._send:
            return
        if not self.writable:
            raise RulerError(
                f"'{self.order.out}' lacks rows and cannot be written: name a new --out."
            )
        check_installed(self.order.backend)
        options = self.order.options
        given = options.max_model_len or (options.arguments or {}).get("max_model_len")
        if self.order.backend == "vllm" and not given:
            window = window_of(self.ready, self.parts)
            self.order = replace(self.order, options=replace(options, window=window))
            self._session["window"] = window
        self._send = self._of_one_engine()

    def _of_one_engine(self) -> Callable[[Sequence[Part]], None]:
        """Start the backend in this process; what sends it the rows of parts.

        An engine that dies is started once more.
        """
        engine = self._ends.enter_context(ExitStack())
        answerer = engine.enter_context(closing(Answerer(self.order, True)))
        restarted = False
        if (ids := answerer.token_ids) is not None and ids.engine:
            self._session["tokenized_by"] = ids.engine
        self._record_settings(answerer.settings())

        def send(parts: Sequence[Part]) -> None:
            nonlocal answerer, restarted
            answerer.backend.on_note = self._progress.note
            try:
                answerer.answer(sent_rows(self.plan[0], parts, self._done), self._settle)
            except EngineDied as error:
                if restarted:
                    raise
                restarted = True
                engine.close()
                self._progress.note(f"{error} It is started once more.")
                answerer = engine.enter_context(closing(Answerer(self.order)))
                send(parts)
            if ids is not None and ids.problem and ids.problem not in self.summary.notes:
                self._session["tokenized_by"] = ids.problem
                self.summary.notes.append(ids.problem)

        return send

    def _record_settings(self, settings: Mapping[str, Any]) -> None:
        self.records.record_settings({**self.ready.settings, **settings}, self._session)
        self._ends.push(self._complete)

    def _complete(self, error: type[BaseException] | None, *_: Any) -> None:
        """At the end, before the backend is closed: what the session came to."""
        if error is None:
            self.summary.complete(self._session, now())
            self.records.record_settings({}, self._session)

    @cached_property
    def _progress(self) -> Progress:
        """The bar, shown from the first row on."""
        order = self.order
        return self._ends.enter_context(Progress(self.plan[2], order.price, order.quiet))

    def _settle(self, answered: Answered) -> None:
        record = answered.record
        self.records.write(record)
        self._done.add((record["config"], record["index"]))
        self._progress.add(record, answered.row_tokens)
        if answered.expected is not None:
            self.summary.count_session(record, answered.expected)

    def finish(self, parts: Sequence[Part]) -> RunSummary:
        """Sort the files of these parts, and count the state of every row of them."""
        for part in parts:
            if not self.writable or not self.records.finish(part.config, part.indices):
                found = self.records.of(part.config)
                self.summary.missing += sum(index not in found for index in part.indices)
            mine = self.records.of(part.config)
            self.summary.add(part.config, [mine[i] for i in part.indices if i in mine])
        return self.summary

    def record(self, found: Mapping[str, Any]) -> None:
        """Write what was found into run.json, where other rows failed something else may stand."""
        settings = self.records.settings()
        if self.writable and settings.get("sessions"):
            self.records.record_settings({}, settings["sessions"][-1], found)
