"""Compare a server with another deployment (`ruler doctor --against`), or store its answers.

    verdict = compare(options, say=print)        # as JSON; doctor.json has it too

Every side is an ordinary run folder; same_model.py has the test. Within a wave the sides are sent
in random order, with the same number of requests at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.options import several
from ruler_common.text import number_of
from ruler_eval.doctor.answers import (
    Answers,
    Key,
    RunSide,
    Scorer,
    Side,
    indices_by_config,
    read_run_answers,
)
from ruler_eval.doctor.comparison_sentences import comparison_json, progress_line
from ruler_eval.doctor.engine import Engine, check_rows_fit, open_engine
from ruler_eval.doctor.examine import verdict_on_template
from ruler_eval.doctor.folder import Folder, open_folder
from ruler_eval.doctor.options import HF, DoctorOptions
from ruler_eval.doctor.plan import RowPlan, cost_line, make_plan, rows_in_words
from ruler_eval.doctor.same_model import (
    B_AGAIN,
    FIRST_SIDES,
    FRESH_SIDES,
    B,
    Comparison,
    judge_tally,
    rows_to_confirm,
    tally_rows,
)
from ruler_eval.doctor.sentences import template_sentence, verdict_json
from ruler_eval.frozen_release import Release
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import check_release
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.records import FAILED_STATES, Records
from ruler_eval.run.runner import OpenRun
from ruler_eval.run.server import Server

COMPARED_SETTINGS = ("mode", "direct", "system", "thinking")
"""Settings that have to be equal in stored answers."""
FIELDS_BESIDE_THE_ANSWER = {
    *("provider", "service_tier", "user", "safety_identifier", "metadata", "store"),
    *("prompt_cache_key", "cache_salt", "cache_prompt"),
}
"""Fields of a request that say who answers, who asks or what is kept, not what is asked."""


@dataclass
class DeploymentComparison:
    """The rows, the sides, and the answers so far."""

    plan: RowPlan
    sides: Mapping[str, Side]
    load: int
    seed: str
    stored: bool = False
    """Whether B's answers were stored earlier."""

    def run(
        self, on_wave: Callable[[Comparison, int], None] = lambda comparison, rows: None
    ) -> Comparison:
        """Send waves until the deployments are different for certain, or to the last row."""
        sent = 0
        waves = self.plan.waves(self.load)
        for number, wave in enumerate(waves):
            rng = random.Random(f"{self.seed} {number}")
            self._send(FIRST_SIDES, wave, rng)
            if not self.stored:
                self._send(FRESH_SIDES, rows_to_confirm(self._answers(), wave), rng)
            sent += len(wave)
            comparison = self.judge_rows(self.plan.keys[:sent], complete=number + 1 == len(waves))
            on_wave(comparison, sent)
            if comparison.outcome == "different":
                break
        return comparison

    def _send(self, names: Sequence[str], keys: Sequence[Key], rng: random.Random) -> None:
        """Send rows on several sides, which take place in random order."""
        order = list(names)
        rng.shuffle(order)
        for name in order:
            self.sides[name].answer(keys)

    def _answers(self) -> dict[str, Answers]:
        return {name: side.answers for name, side in self.sides.items()}

    def judge_rows(self, keys: Sequence[Key], complete: bool) -> Comparison:
        """Judge the answers to these rows."""
        return judge_tally(tally_rows(self._answers(), keys, self.stored), complete)


class StoredAnswers:
    """The side of answers that were stored earlier."""

    def __init__(self, answers: dict[Key, Any]) -> None:
        self.answers = answers

    def answer(self, keys: Any) -> None:
        """Do nothing: every planned row has its answer."""


def compare(options: DoctorOptions, say: Callable[[str], None]) -> dict[str, Any]:
    """Compare two deployments and return the verdict as JSON. Raises RulerError."""
    stored = options.stored_answers
    if stored is not None and not stored.is_dir():
        raise RulerError(
            f"--against takes the URL of a server (http://…/v1), hf, or a RUN folder; "
            f"'{options.against}' is none of them."
        )
    release = Release.open(options.dataset, options.engine.get("data_revision"))
    plan = make_plan(options, release, options.engine.get("max_model_len"))
    if stored is not None:
        plan = _stored_plan(options, release, stored)
    folder = open_folder(options, release, say)
    run = options.run_options(plan.configs, folder.path)
    with open_engine(run, release, folder.salt) as engine:
        if engine.lost_text:
            result = verdict_json(verdict_on_template(engine, 0), options.model, engine.provider)
            folder.finish(result)
            return {**result, "folder": str(folder.path)}
        check_rows_fit(engine, release, plan)
        with _open_other(options, engine, release, folder.salt) as other:
            notes = _check_other(options, engine, other, release, plan)
            for line in [*_plan_lines(options, plan, stored), *notes]:
                say(line)
            with _sides(options, engine, other, release, plan, folder) as sides:
                folder.write()
                in_progress = DeploymentComparison(
                    plan, sides, options.load, folder.salt, stored is not None
                )
                comparison = in_progress.run(
                    lambda comparison, rows: say(progress_line(comparison, rows, len(plan.keys)))
                )
    result = comparison_json(comparison, options.model, str(options.against), notes)
    if not comparison.tally.failed_a and not comparison.tally.failed_b:
        folder.finish(result)
    return {**result, "folder": str(folder.path)}


def save(options: DoctorOptions, say: Callable[[str], None]) -> RunSummary:
    """Store the answers that a later `--against RUN` compares. Raises RulerError."""
    assert options.save is not None
    release = Release.open(options.dataset, options.engine.get("data_revision"))
    plan = make_plan(options, release, options.engine.get("max_model_len"))
    run = options.run_options(plan.configs, options.save)
    with open_engine(run, release) as engine:
        if engine.lost_text:
            raise RulerError(engine.lost_text)
        check_rows_fit(engine, release, plan)
        prompts, outputs = plan.tokens(plan.keys)
        say(f"To do: {rows_in_words(plan)}, {prompts:,} prompt tokens, up to {outputs:,} tokens.")
        with OpenRun(replace(engine.run, concurrency=options.load, retry_failed=True)) as work:
            rows = indices_by_config(plan.keys)
            work.answer(rows)
            return work.count_states(rows)


def dry_run(options: DoctorOptions) -> list[str]:
    """Return the plan in sentences, without a model or a request. Raises RulerError."""
    release = Release.open(options.dataset, options.engine.get("data_revision"))
    plan = make_plan(options, release, options.engine.get("max_model_len"))
    return _plan_lines(options, plan, options.stored_answers)


# ---- the two deployments -------------------------------------------------------------------------

OtherDeployment = Engine | RunOptions | None
"""A server, the options of runs with hf, or None for stored answers."""


@contextmanager
def _open_other(
    options: DoctorOptions, engine: Engine, release: Release, salt: str
) -> Iterator[OtherDeployment]:
    """Start or ask the other deployment if it is a server. With hf the runs load the model."""
    if options.stored_answers is not None:
        yield None
    elif options.against == HF:
        yield _other_options(options, engine)
    else:
        with open_engine(_other_options(options, engine), release, salt) as other:
            yield other


def _other_options(options: DoctorOptions, engine: Engine) -> RunOptions:
    """Return the options of a run on the other deployment, with A's mode."""
    model = options.against_model or options.model
    run = options.run_options(several(engine.run.configs), engine.run.folder)
    shared = replace(run, model=model, mode=engine.mode, provider=None, max_model_len=None)
    if options.against == HF:
        return replace(shared, backend="hf", base_url=None, stream=False, omit=(), engine_args={})
    if options.backend == "vllm":  # its arguments are flags of the server that is started here
        shared = replace(shared, engine_args={})
    return replace(shared, backend="openai", base_url=(str(options.against),), chat_template=None)


def _check_other(
    options: DoctorOptions, engine: Engine, other: OtherDeployment, release: Release, plan: RowPlan
) -> list[str]:
    """Return notes on the other deployment. Raises RulerError if it cannot be compared."""
    if options.stored_answers is not None:
        _check_stored(options.stored_answers, engine)
        return _missing_notes(options.stored_answers, release, plan, options)
    notes = []
    if isinstance(other, Engine):
        notes = _check_other_server(engine, other, options)
        check_rows_fit(other, release, plan, "the other server")
    return notes


def _check_other_server(engine: Engine, other: Engine, options: DoctorOptions) -> list[str]:
    """Return what differs between two servers. Raises RulerError if they serve other models."""
    if other.lost_text:
        raise RulerError(
            f"The server at {options.against} cannot be compared: "
            f"{template_sentence(other.lost_text)} Give it the model's own template."
        )
    if isinstance(other.backend, Server):
        served = other.backend.served_models
        if served and other.run.model not in served:
            raise RulerError(
                f"The server at {options.against} has no model '{other.run.model}': it serves "
                f"{', '.join(served[:10])}. Name the model there with --against-model."
            )
    notes = []
    if set(engine.run.base_url or ()) & set(other.run.base_url or ()):
        notes.append(
            "Both have the same address: this shows only whether the server repeats its answers."
        )
    if engine.window and other.window and engine.window != other.window:
        notes.append(
            f"Their context windows differ: {engine.window:,} and {other.window:,} tokens."
        )
    return notes


def _stored_plan(options: DoctorOptions, release: Release, folder: Path) -> RowPlan:
    """Return the plan of the rows that have a stored record, answered or not. Raises RulerError.

    Rows that failed there are sent too: what the other side answers to them is the evidence.
    """
    records = Records(folder)
    if not records.settings():
        raise RulerError(f"'{folder}' is not a folder of `ruler run`: it has no run.json.")
    check_release(records, release)
    configs = [config for config in records.digests() if config in release.configs]
    if not configs:
        raise RulerError(f"'{folder}' has no answers to rows of '{options.dataset}'.")
    named = replace(options, configs=options.configs or tuple(configs), rows=1 << 30)
    plan = make_plan(named, release, None)
    answers = read_run_answers(folder, Scorer(release), plan.rows, keep=FAILED_STATES)
    keys = [key for key in plan.keys if key in answers][: options.row_count]
    if not keys:
        raise RulerError(
            f"'{folder}' has no answers to the rows that were chosen: leave --configs and "
            "--lengths out, or store them with --save."
        )
    with_records = dict.fromkeys(config for config, _ in keys)
    return replace(plan, keys=tuple(keys), configs=tuple(with_records))


def _check_stored(folder: Path, engine: Engine) -> None:
    """Raise RulerError if answers were stored with other prompts or with sampling."""
    settings = Records(folder).settings()
    sampling = settings.get("sampling", {})
    if sampling.get("temperature") != 0:
        raise RulerError(
            f"'{folder}' was not run with temperature 0, and answers are compared word for word: "
            "name a greedy run, or store one with --save."
        )
    if settings.get("salts_prompts"):
        raise RulerError(
            f"The prompts of '{folder}' began with a line that keeps "
            "prefix caches apart: name a folder of `ruler run`, or store one with --save."
        )
    run = engine.run
    own = {
        "mode": engine.mode,
        "direct": run.direct,
        "system": run.system,
        "thinking": run.reasoning.settings(),
    }
    for name in COMPARED_SETTINGS:
        stored = settings.get(name, own[name])
        if stored != own[name]:
            raise RulerError(
                f"'{folder}' was run with {name} = {stored!r}, and this comparison has "
                f"{own[name]!r}: use the same --{name}."
            )
    penalty = sampling.get("presence_penalty", 0), run.presence_penalty or 0
    if penalty[0] != penalty[1]:
        raise RulerError(
            f"'{folder}' was run with presence_penalty = {penalty[0]}, and this comparison has "
            f"{penalty[1]}: use the same --presence-penalty."
        )
    fields = [
        {name: value for name, value in arguments.items() if name not in FIELDS_BESIDE_THE_ANSWER}
        for arguments in (settings.get("arguments", {}), run.engine_args)
    ]
    if settings.get("backend") == run.backend == "openai" and fields[0] != fields[1]:
        raise RulerError(
            f"The requests of '{folder}' had the fields {fields[0]}, and those of this comparison "
            f"have {fields[1]}: use the same --engine-arg."
        )


def _missing_notes(
    folder: Path, release: Release, plan: RowPlan, options: DoctorOptions
) -> list[str]:
    """Return how many rows that could have been compared have no stored record."""
    rows = sum(map(release.size, plan.configs))
    if len(plan.keys) >= min(rows, options.row_count):
        return []
    return [
        f"'{folder}' has no record of {rows - len(plan.keys):,} of the {rows:,} rows of its "
        "configurations; these are not compared."
    ]


@contextmanager
def _sides(
    options: DoctorOptions,
    engine: Engine,
    other: OtherDeployment,
    release: Release,
    plan: RowPlan,
    folder: Folder,
) -> Iterator[dict[str, Side]]:
    """Open the run folders of all sides that are sent, and read stored answers."""
    stored = options.stored_answers
    scorer, sides = Scorer(release), dict[str, Side]()
    with ExitStack() as stack:
        for name in FIRST_SIDES if stored else (*FIRST_SIDES, *FRESH_SIDES):
            if stored is not None and name == B:
                answers = read_run_answers(stored, scorer, plan.rows, keep=FAILED_STATES)
                sides[name] = StoredAnswers(answers)
                continue
            deployment = other if name in (B, B_AGAIN) else engine
            assert deployment is not None
            if isinstance(deployment, Engine):
                run = _without_cache(deployment, f"{folder.salt}/{name}")
            else:
                run = deployment
            run = replace(
                run,
                configs=plan.configs,
                out=folder.path / name,
                concurrency=options.load,
                retry_failed=True,
            )
            sides[name] = RunSide(stack.enter_context(OpenRun(run)), scorer, plan.rows)
        yield sides


def _without_cache(engine: Engine, salt: str) -> RunOptions:
    """Return options with which repeated requests do not hit the prefix cache, if possible.

    Only a field of the request is used: a line in the prompt would change the answers.
    """
    provider = engine.provider
    if provider is None:
        return engine.run
    if provider.no_cache:
        return replace(engine.run, engine_args={**engine.run.engine_args, **provider.no_cache})
    if provider.cache_salt and not engine.salts_prompts:
        return replace(engine.run, cache_salt=salt)
    return engine.run


# ---- the plan in words ---------------------------------------------------------------------------


def _plan_lines(options: DoctorOptions, plan: RowPlan, stored: Path | None) -> list[str]:
    """Return rows, requests, tokens and price as sentences."""
    prompts, outputs = plan.tokens(plan.keys)
    requests_per_row = 1 if options.save else 2 if stored else 3
    destination = "to store" if options.save else "each twice to the server"
    if not options.save and not stored:
        destination += " and once to the other"
    lines = [
        f"To do, at most: {number_of(requests_per_row * len(plan.keys), 'request')} for "
        f"{rows_in_words(plan)}, {destination}, {requests_per_row * prompts:,} prompt tokens, "
        f"up to {requests_per_row * outputs:,} tokens of answers."
    ]
    if not options.save and not stored:
        lines[0] += " Rows whose answers differ are sent three times more."
    if (price := options.engine.get("price")) is not None:
        lines.append(cost_line(requests_per_row * prompts, requests_per_row * outputs, price))
    return lines
