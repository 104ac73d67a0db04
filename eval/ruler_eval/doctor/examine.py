"""Send rows under every condition, wave by wave, until there is a verdict.

    examination = Examination(options)
    verdict = examination.run()
    verdict.headline, verdict.exit_code

The answers of each side are an ordinary run folder under `out` (`ruler score DIR/cold`,
`ruler compare DIR/cold DIR/cached`), and doctor.json in `out` has the settings and the verdict. If
it is interrupted, the same command continues.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import check_type, parse_json, write_whole
from ruler_eval.doctor.answers import AllAnswers, Answer, Key, Scorer
from ruler_eval.doctor.condition import COLD, Side
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.doctor.plan import ONE_BY_ONE, make_plan, split_evenly
from ruler_eval.doctor.sending import Sender, start_sender
from ruler_eval.doctor.verdict import Verdict, judge, may_stop
from ruler_eval.frozen_release import Release
from ruler_eval.run.backend import Completion
from ruler_eval.run.plan import known_settings, new_session
from ruler_eval.run.records import Record, Records, check_settings
from ruler_eval.run.row_state import over_limit, record_of

STATE_FILE = "doctor.json"
MAX_FAILURES = 8
"""If this many first requests all fail, the examination stops."""


class ConditionJson(TypedDict):
    """A condition in a verdict; its other fields are those of the finding."""

    name: str
    title: str
    state: str
    sentence: str


class VerdictJson(TypedDict):
    """A verdict in doctor.json."""

    outcome: str
    headline: str
    conditions: list[ConditionJson]


class StateJson(TypedDict):
    """The content of doctor.json."""

    format: int
    salt: str
    settings: dict[str, Any]
    cache_hits: NotRequired[float | None]
    verdict: NotRequired[VerdictJson]


def read_state(folder: Path) -> StateJson | None:
    """Return the content of doctor.json; None if it does not exist. Raises RulerError."""
    path = folder / STATE_FILE
    if not path.exists():
        return None
    remedy = "Name a new --out, or the folder of another examination."
    state = parse_json(path.read_bytes(), StateJson, path, remedy, newest=1)
    return cast(StateJson, state)


def read_verdict(folder: Path) -> dict[str, Any] | None:
    """Return the verdict in an examination's folder, in the form of Verdict.to_json, or None."""
    state = read_state(folder)
    return cast("dict[str, Any] | None", state.get("verdict")) if state else None


class Examination:
    """An examination with its rows, its folder, and all answers so far."""

    def __init__(self, options: DoctorOptions, sender: Sender | None = None) -> None:
        """Open the release; start the backend unless there is a `sender`. Raises RulerError."""
        self.options = options
        self.release = Release.open(options.dataset)
        self.folder = Path(options.out)
        state = read_state(self.folder)
        self.salt = state["salt"] if state else secrets.token_hex(8)
        self.cache_hits = state.get("cache_hits") if state else None
        """Tokens read from the prefix cache, if the server's /metrics count them."""
        self.verdict = state.get("verdict") if state else None
        self.answers: dict[str, dict[Key, Answer]] = {}
        self.sender = sender or start_sender(options, self.release, self.salt)
        try:
            self.plan, self.rows = make_plan(options, self.release, self.sender)
            if state is not None:
                check_settings(state["settings"], self.settings(), self.folder)
        except BaseException:
            self.sender.close()
            raise
        self._scorer = Scorer(self.release)
        self._records = {side.name: Records(self.folder / side.name) for side in self.plan.sides}

    # ---- the folder ----------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """Return the settings that must be the same when an examination is resumed."""
        options = self.options
        return {
            "model": options.model,
            "backend": options.backend,
            "dataset": self.release.dataset,
            "rows_sha256": {name: self.release.rows_sha256(name) for name in self.plan.configs},
            "level": options.level,
            "rows": options.row_count,
            "load": options.load,
            "mode": self.sender.prompter.mode,
            "tokenizer": options.tokenizer,
            "accepts_cache_salt": self.sender.salt_field,
            "conditions": list(self.plan.conditions),
        }

    def _write_state(self) -> None:
        state: dict[str, Any] = {
            "format": 1,
            "salt": self.salt,
            "settings": self.settings(),
            "cache_hits": self.cache_hits,
        }
        if self.verdict is not None:
            state["verdict"] = self.verdict
        text = json.dumps(state, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        write_whole(self.folder / STATE_FILE, text)

    # ---- sending -------------------------------------------------------------------------------

    def run(
        self,
        on_wave: Callable[[Verdict, int], None] = lambda verdict, rows: None,
    ) -> Verdict:
        """Send waves until there is a verdict; call `on_wave` with each verdict and its rows.

        Raises RulerError, for example if the server is down; the same command then continues.
        """
        try:
            self._open_folder()
            rows_when_decided = sent = 0
            for wave in self.plan.waves:
                self._send_wave(wave)
                sent += len(wave)
                verdict = self.look(sent)
                self.verdict = cast(VerdictJson, verdict.to_json())
                self._write_state()
                on_wave(verdict, sent)
                if verdict.outcome == "engine":
                    if not rows_when_decided:
                        rows_when_decided = sent
                    if may_stop(verdict, rows_when_decided):
                        break
            return verdict
        finally:
            for records in self._records.values():
                records.close()
            self.sender.close()

    def look(self, rows: int) -> Verdict:
        """Judge the answers to the first `rows` rows."""
        answers = AllAnswers(
            rows=list(self.plan.rows.values())[:rows],
            by_side=self.answers,
            complete=rows == len(self.plan.rows),
            tests=len(self.plan.conditions),
            has_bos=self.sender.has_bos,
            cache_hits=self.cache_hits,
        )
        return judge(answers, self.plan.conditions, self.plan.reasons, self.options.max_loss)

    def _open_folder(self) -> None:
        """Lock the folders of all sides, and read the answers in them."""
        sender = self.sender
        run = replace(
            self.options.run_options(),
            configs=self.plan.configs,
            mode=sender.prompter.mode,
            limit=self.plan.rows_per_config,
        )
        digests = {config: self.release.rows_sha256(config) for config in self.plan.configs}
        settings = {
            **known_settings(run, self.release),
            **sender.backend.settings(),
            **sender.prompter.settings(),
            "max_model_len": sender.backend.limit,
        }
        session = new_session(run, digests)
        for side in self.plan.sides:
            records = self._records[side.name]
            if not records.lock():
                raise RulerError(f"'{self.folder}' cannot be written: name a new --out.")
            records.write_settings({**settings, "doctor": side.name})
            records.write_session(session)
            answers = self.answers.setdefault(side.name, {})
            for record in records.read():
                check_type(record, Record, records.path, "Name a new --out.")
                key = (record["config"], record["index"])
                if key in self.rows and record["finish_reason"] != "error":
                    answers[key] = self._scorer.score(record, self.rows[key])
        self._write_state()

    def _send_wave(self, wave: Sequence[Key]) -> None:
        """Send the rows of a wave on all sides on which their answers are missing."""
        first = [side for side in self.plan.sides if side in ONE_BY_ONE]
        missing = [key for key in wave if any(key not in self.answers[s.name] for s in first)]
        if missing:
            before = self.sender.count_cached_tokens()
            for key in missing:
                self._send_one_by_one(key)
            after = self.sender.count_cached_tokens()
            if before is not None and after is not None:
                self.cache_hits = (self.cache_hits or 0.0) + after - before
                self._write_state()
        for side in self.plan.sides:
            if side in ONE_BY_ONE:
                continue
            together = min(side.together or len(wave), len(wave))
            for group in split_evenly(wave, -(-len(wave) // together)):
                self._send_group(group, side)

    def _send_one_by_one(self, key: Key) -> None:
        """Send a row cold and then again, so that it hits the cache.

        If the cold answer is from an earlier session, the cold request is repeated first. Raises
        RulerError if the first MAX_FAILURES rows all failed.
        """
        missing = [side for side in ONE_BY_ONE if key not in self.answers[side.name]]
        if COLD not in missing:
            prompt = self.sender.prompt(key[0], self.rows[key], COLD)
            assert prompt is not None
            self.sender.send([prompt], COLD)
        for side in missing:
            self._send_group([key], side)
            if side is COLD and self.answers[COLD.name][key].failure:
                break
        cold = self.answers[COLD.name].values()
        if len(cold) == MAX_FAILURES and all(answer.failure for answer in cold):
            raise RulerError(
                f"The first {MAX_FAILURES} rows failed: {self.answers[COLD.name][key].failure}. "
                "Fix the cause, then run the same command again."
            )

    def _send_group(self, keys: Sequence[Key], side: Side) -> None:
        """Send the rows of a group at once; all of them even if only some have no answer."""
        if all(key in self.answers[side.name] for key in keys):
            return
        prompts = []
        for key in keys:
            cold = self.answers[COLD.name].get(key)
            tokens = cold.tokens if cold else None
            prompt = self.sender.prompt(key[0], self.rows[key], side, tokens)
            if prompt is None:
                continue
            over = over_limit(prompt, self.sender.backend.limit)
            if over is not None:
                self._store(side, over, prompt.counted_tokens)
                continue
            prompts.append(prompt)
            prompts += self.sender.neighbours(side, prompt)
        for completion in self.sender.send(prompts, side) if prompts else ():
            self._store_completion(side, completion)

    def _store_completion(self, side: Side, completion: Completion) -> None:
        backend, prompt = self.sender.backend, completion.prompt
        record = record_of(completion, backend.tokenizer)
        self._store(side, record, prompt.counted_tokens)
        cold = self.answers[COLD.name].get((prompt.config, prompt.index))
        if side.margin is not None and cold is not None and cold.tokens is not None:
            self.sender.correct_padding(cold.tokens, side, completion)

    def _store(self, side: Side, record: Record, counted_tokens: int | None) -> None:
        """Write and score an answer, unless the row has one already."""
        key = (record["config"], record["index"])
        if key in self.answers[side.name]:
            return
        stored = cast(Record, {**record, "counted_tokens": counted_tokens})
        self._records[side.name].write(stored)
        self.answers[side.name][key] = self._scorer.score(stored, self.rows[key])
