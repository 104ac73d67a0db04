"""Run a model over a frozen release: plan what is missing, answer it, record every row once.

    summary = run(RunOrder(dataset="ruler", configs=("all_4k",), backend="oracle", out=Path("RUN")))

RULER's evaluation (arXiv:2404.06654, section 4): greedy decoding, one prompt a row, the answer
prefix begins the model's answer. Every row ends in exactly one state of `records.STATES`; a row
that does not fit the model's window is recorded as such and never shortened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

from eval.run.answering import Answered, Answerer, AnswerSettings, SentRow
from eval.run.backends.start import check_options, engine_of, known_backend, shares_prefixes
from eval.run.progress import Progress, RunSummary
from eval.run.prompts import MODES
from eval.run.records import Records
from eval.run.replicas.ray_placement import ClusterOptions
from eval.run.replicas.ray_replicas import RayReplicas
from eval.run.run_order import (
    RunOrder,
    asked_settings,
    data_files,
    new_session,
    now,
    plan,
    release,
)
from eval.run.run_settings import RunSettings, Session, check_settings
from eval.run.work_plan import Estimate, Part, RowReader, estimated
from ruler_dataset import Manifest, RulerError, Shard, check_name


@dataclass(frozen=True, kw_only=True)
class Work:
    """What an order comes to: the rows to answer, in the order of sending, and an estimate."""

    order: RunOrder
    reader: RowReader
    parts: Sequence[Part]
    estimate: Estimate

    @classmethod
    def of(cls, order: RunOrder, revision: str | None, parts: Sequence[Part]) -> Work:
        """Put the missing rows of `parts` in order, and estimate them."""
        reader = RowReader(order.dataset, revision)
        by_prefix = shares_prefixes(order.backend)
        parts, estimate = estimated(reader, parts, order.reasoning.budget, by_prefix, order.quiet)
        return cls(order=order, reader=reader, parts=parts, estimate=estimate)

    def row(self, config: str, index: int) -> SentRow:
        """A row to answer."""
        return config, self.reader(config, index)

    def rows(self) -> Iterator[SentRow]:
        """The rows to answer, read one at a time."""
        for part in self.parts:
            for index in part.missing:
                yield self.row(part.config, index)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """An order that was checked: its run folder, its files, and the settings known so far."""

    order: RunOrder
    records: Records
    manifest: Manifest
    files: Mapping[str, str]
    settings: RunSettings

    @classmethod
    def of(cls, order: RunOrder) -> Prepared:
        """Check an order and its folder; nothing is written. Raises RulerError."""
        order = replace(order, backend=known_backend(order.backend))
        if order.mode is not None:
            check_name("mode", order.mode, MODES, "ruler run --help")
        if order.limit is not None and order.limit < 1:
            raise RulerError("--limit takes a number of rows of each configuration, 1 or more.")
        check_options(order.backend, order.options)
        if order.backend != "ray" and order.cluster != ClusterOptions():
            raise RulerError("--replicas, --address and --num-cpus are for --backend ray.")
        records = Records(order.out, Shard.parse(order.shard) if order.shard else None)
        manifest, revision = release(order.dataset, order.data_revision)
        files = data_files(order.configs, manifest, order.skip_missing)
        settings = asked_settings(order, manifest, revision, files)
        records.check(list(files))
        known = {name: value for name, value in settings.items() if value is not None}
        check_settings(records.settings(), known, order.out)
        return cls(order=order, records=records, manifest=manifest, files=files, settings=settings)

    def parts(self, writable: bool) -> Sequence[Part]:
        """The rows of the run by configuration, and which of them are missing."""
        return plan(self.order, self.manifest, self.files, self.records, writable)

    def work(self, parts: Sequence[Part]) -> Work | None:
        """What is to be done of the parts; None where nothing is missing."""
        if not any(part.missing for part in parts):
            return None
        return Work.of(self.order, self.settings["data_revision"], parts)


def estimate(order: RunOrder) -> Estimate:
    """What a run would do: `ruler run --dry-run`. No model is loaded and nothing is written."""
    prepared = Prepared.of(order)
    work = prepared.work(prepared.parts(writable=False))
    return work.estimate if work else Estimate()


def run(order: RunOrder) -> RunSummary:
    """Answer what is missing and return the state of every row of the run.

    Raises RulerError before the first row if the order cannot run as asked or RUN holds other
    settings. Killed at any moment it loses the rows in flight; the same order resumes.
    """
    prepared = Prepared.of(order)
    order, records = prepared.order, prepared.records
    writable = records.lock()
    try:
        parts = prepared.parts(writable)
        if not writable and any(part.missing for part in parts):
            raise RulerError(f"'{order.out}' lacks rows and cannot be written: name a new --out.")
        summary = RunSummary()
        if work := prepared.work(parts):
            session = new_session(order, prepared.files)
            with Progress(work.estimate, order.price, order.quiet) as progress:
                answer_rows(work, records, prepared.settings, session, progress, summary)
            summary.complete(session, now())
            records.record_settings({}, session)
        for part in parts:
            if not writable or not records.finish(part.config, part.indices):
                found = records.of(part.config)
                summary.missing += sum(index not in found for index in part.indices)
            mine = records.of(part.config)
            summary.add(part.config, [mine[i] for i in part.indices if i in mine])
        return summary
    finally:
        records.close()


def answer_rows(
    work: Work,
    records: Records,
    asked: RunSettings,
    session: Session,
    progress: Progress,
    summary: RunSummary,
) -> None:
    """Start the backend, check the settings it adds, and answer the missing rows."""

    def settle(answered: Answered) -> None:
        records.write(answered.record)
        progress.add(answered.record, answered.row_tokens)
        if answered.expected is not None:
            summary.count_session(answered.record, answered.expected)

    order = work.order
    how = AnswerSettings(
        backend=engine_of(order.backend),
        options=order.options,
        mode=order.mode,
        direct=order.direct,
        reasoning=order.reasoning,
    )
    if order.backend == "ray":
        with closing(RayReplicas(how, order.cluster, progress.note)) as replicas:
            records.record_settings(cast(RunSettings, {**asked, **replicas.settings()}), session)
            replicas.answer(work.parts, work.row, settle)
        return
    with closing(Answerer(how)) as answerer:
        records.record_settings(cast(RunSettings, {**asked, **answerer.settings()}), session)
        answerer.answer(work.rows(), settle)
