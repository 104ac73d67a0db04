"""Run a model over a frozen release: plan what is missing, answer it, record every row once.

    summary = run(RunOrder(dataset="ruler", configs=("all_4k",), backend="oracle", out=Path("RUN")))

RULER's evaluation (arXiv:2404.06654, section 4): greedy decoding, one prompt a row, the answer
prefix begins the model's answer. Every row ends in exactly one state of `records.STATES`; a row
that does not fit the model's window is recorded as such and never shortened.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_eval.run.answering import Answered, Answerer
from ruler_eval.run.backends.backend import ClusterOptions, EngineDied
from ruler_eval.run.backends.start import check_options, known_backend, shares_prefixes
from ruler_eval.run.preparing.row_reader import RowReader
from ruler_eval.run.progress import Progress, RunSummary
from ruler_eval.run.prompts import MODES
from ruler_eval.run.replicas.ray_replicas import RayReplicas
from ruler_eval.run.run_order import Prepared, RunOrder, new_session, now
from ruler_eval.run.work_plan import Estimate, Part, estimated, sent_rows


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
    if order.backend != "ray" and order.cluster != ClusterOptions():
        raise RulerError("--replicas, --address and --num-cpus are for --backend ray.")
    return Prepared.of(order)


def planned(ready: Prepared, parts: Sequence[Part]) -> tuple[RowReader, list[Part], Estimate]:
    """Who reads the rows, the parts in the order of sending, and what they amount to."""
    order = ready.order
    reader = RowReader(order.dataset, ready.settings["data_revision"])
    by_prefix = shares_prefixes(order.backend)
    return reader, *estimated(reader, parts, order.reasoning.budget, by_prefix, order.quiet)


def estimate(order: RunOrder) -> Estimate:
    """What a run would do: `ruler run --dry-run`. No model is loaded and nothing is written."""
    ready = prepared(order)
    return planned(ready, ready.parts(writable=False))[-1]


def run(order: RunOrder) -> RunSummary:
    """Answer what is missing and return the state of every row of the run.

    Raises RulerError before the first row if the order cannot run as asked or RUN holds other
    settings. Killed at any moment it loses the rows in flight; the same order resumes.
    """
    ready = prepared(order)
    order, records = ready.order, ready.records
    writable = records.lock()
    try:
        parts, summary = ready.parts(writable), RunSummary()
        if any(part.missing for part in parts):
            if not writable:
                raise RulerError(
                    f"'{order.out}' lacks rows and cannot be written: name a new --out."
                )
            answer_rows(ready, parts, summary)
        for part in parts:
            if not writable or not records.finish(part.config, part.indices):
                found = records.of(part.config)
                summary.missing += sum(index not in found for index in part.indices)
            mine = records.of(part.config)
            summary.add(part.config, [mine[i] for i in part.indices if i in mine])
        return summary
    finally:
        records.close()


def answer_rows(ready: Prepared, parts: Sequence[Part], summary: RunSummary) -> None:
    """Start the backend, check the settings it adds, and answer the missing rows.

    What can be wrong with backend, model, window and mode is found before the plan is made.
    """
    order, records = ready.order, ready.records
    session = new_session(order, ready.digests)
    done: set[tuple[str, int]] = set()

    def settle(answered: Answered) -> None:
        records.write(answered.record)
        done.add((answered.record["config"], answered.record["index"]))
        progress.add(answered.record, answered.row_tokens)
        if answered.expected is not None:
            summary.count_session(answered.record, answered.expected)

    if order.backend == "ray":
        reader, parts, estimate = planned(ready, parts)
        with (
            Progress(estimate, order.price, order.quiet) as progress,
            closing(RayReplicas(order, progress.note)) as replicas,
        ):
            records.record_settings({**ready.settings, **replicas.settings()}, session)
            replicas.answer(parts, reader, settle)
    else:
        with ExitStack() as engine:
            answerer = engine.enter_context(closing(Answerer(order, fast=True)))
            if (ids := answerer.token_ids) is not None and ids.engine:
                session["tokenized_by"] = ids.engine
            records.record_settings({**ready.settings, **answerer.settings()}, session)
            reader, parts, estimate = planned(ready, parts)
            with Progress(estimate, order.price, order.quiet) as progress:
                answerer.backend.on_note = progress.note
                try:
                    answerer.answer(sent_rows(reader, parts), settle)
                except EngineDied as error:
                    engine.close()
                    progress.note(f"{error} It is started once more.")
                    with closing(Answerer(order)) as another:
                        another.answer(sent_rows(reader, parts, done), settle)
            if ids is not None and ids.problem:
                session["tokenized_by"] = ids.problem
                summary.notes.append(ids.problem)
    summary.complete(session, now())
    records.record_settings({}, session)
