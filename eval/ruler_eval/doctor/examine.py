"""Ask rows under every condition, wave by wave, until the verdict.

    examination = Examination(options)
    verdict = examination.run()
    verdict.headline, verdict.exit_code

Every side's answers are an ordinary run folder under `out` (`ruler score DIR/cold`,
`ruler compare DIR/cold DIR/cached`), and doctor.json beside them has the settings and the verdict.
Stopped anywhere, the same command does what is missing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from ruler_common.errors import RulerError
from ruler_common.files import json_value, write_whole
from ruler_common.names import EVIDENCE_ALONE
from ruler_common.text import number_of
from ruler_eval.doctor.answers import SCORE_COLUMNS, Scorer
from ruler_eval.doctor.asking import (
    SHORT_TOKENS,
    Asker,
    not_planned,
    planned_conditions,
    start_asker,
)
from ruler_eval.doctor.conditions import (
    CACHED,
    COLD,
    CONDITIONS,
    REPEATS,
    Condition,
    Side,
)
from ruler_eval.doctor.findings import Answer, Key, Row
from ruler_eval.doctor.judge import Verdict, judge, may_stop
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.frozen_release import PartialRow, Release, chosen_files
from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import known_settings, new_session
from ruler_eval.run.records import Record, Records, read_lines
from ruler_eval.run.row_state import over_limit, record_of

COLUMNS = (*SCORE_COLUMNS, "input", "answer_prefix", "max_new_tokens", "length", "evidence")
DEFAULT_LENGTH = 32768
"""Without --lengths, the release's shortest and its longest length up to this one are asked."""
STATE_FILE = "doctor.json"
AFTER_COLD = (COLD, CACHED, *REPEATS)
"""The sides that are sent row by row: a cold request, then identical ones that hit the cache."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be asked."""

    configs: tuple[str, ...]
    keys: tuple[Key, ...]
    """The rows in the order of asking: configurations take turns, each in its frozen order."""
    conditions: tuple[str, ...]
    sides: tuple[Side, ...]
    waves: tuple[tuple[Key, ...], ...]
    requests: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int

    def lines(self, price: tuple[float, float] | None) -> list[str]:
        """Return the requests, tokens and price in words."""
        lines = [
            f"To do, at most: {number_of(self.requests, 'request')} for "
            f"{number_of(len(self.keys), 'row')} in {number_of(len(self.sides), 'way')}, "
            f"{self.prompt_tokens:,} prompt tokens ({self.cached_tokens:,} of them repeated), "
            f"room for {self.output_tokens:,} tokens of answers. It stops as soon as a fault is "
            "certain."
        ]
        if price is not None:
            cost = (self.prompt_tokens * price[0] + self.output_tokens * price[1]) / 1e6
            lines.append(f"Cost: {cost:,.2f} at the most; cached tokens may cost less.")
        return lines


def choose_configs(release: Release, options: DoctorOptions, limit: int | None) -> tuple[str, ...]:
    """Return the configurations whose rows are asked, shortest length first. Raises RulerError."""
    files = release.manifest["files"]
    if options.configs:
        paths = chosen_files(options.configs, release.manifest)
        return tuple(files[path]["config"] for path in paths)
    lengths = {
        file["length"]: file["max_length"]
        for file in files.values()
        if file["length"] != EVIDENCE_ALONE
    }
    if options.lengths:
        unknown = [length for length in options.lengths if length not in lengths]
        if unknown:
            raise RulerError(
                f"The release '{options.dataset}' has no length '{unknown[0]}', but "
                f"{', '.join(lengths)}."
            )
        chosen = set(options.lengths)
    else:
        ordered = sorted(lengths, key=lambda length: lengths[length])
        most = min(DEFAULT_LENGTH, limit or DEFAULT_LENGTH)
        fitting = [length for length in ordered if lengths[length] <= most] or ordered[:1]
        chosen = {fitting[0], fitting[-1]}
    names = [
        (file["max_length"], file["config"]) for file in files.values() if file["length"] in chosen
    ]
    return tuple(config for _, config in sorted(names, key=lambda name: name[0]))


def in_waves(keys: Sequence[Key], load: int) -> tuple[tuple[Key, ...], ...]:
    """Return rows in two or more waves of nearly equal size, of at most `load` rows each."""
    count = max(2, -(-len(keys) // load))
    ends = [len(keys) * number // count for number in range(count + 1)]
    return tuple(tuple(keys[start:end]) for start, end in pairwise(ends) if end > start)


def sides_of(conditions: Sequence[str]) -> tuple[Side, ...]:
    """Return the sides of conditions, each once; the repeats are always asked."""
    sides = {side.name: side for side in AFTER_COLD}
    for name in conditions:
        condition: Condition = CONDITIONS[name]
        sides |= {side.name: side for side in (condition.a, condition.b)}
    return tuple(sides.values())


class Examination:
    """One examination: its rows, its folder, and all answers so far."""

    def __init__(self, options: DoctorOptions, asker: Asker | None = None) -> None:
        """Open the release and start the backend, unless an `asker` is given. Raises RulerError."""
        self.options = options
        self.release = Release.open(options.dataset)
        self.folder = Path(options.out)
        state = self._read_state()
        self.salt = str(state.get("salt") or secrets.token_hex(8))
        self.asker = asker or start_asker(options, self.release, self.salt)
        self.unchecked = not_planned(self.asker, options.level)
        self.answers: dict[str, dict[Key, Answer]] = {}
        self.hits: float | None = state.get("cache_hits")
        """Tokens of the prefix cache that were hit, if the server's /metrics count them."""
        try:
            self.plan = self._plan()
            self._check_state(state)
        except BaseException:
            self.asker.close()
            raise
        self._scorer = Scorer(self.release)
        self._records = {side.name: Records(self.folder / side.name) for side in self.plan.sides}

    # ---- the plan and the folder ---------------------------------------------------------------

    def _plan(self) -> Plan:
        options = self.options
        configs = choose_configs(self.release, options, self.asker.backend.limit)
        each = -(-options.row_count // len(configs))
        orders = {config: self.release.order(config)[:each] for config in configs}
        keys = [
            (config, orders[config][place])
            for place in range(each)
            for config in configs
            if place < len(orders[config])
        ]
        self._load_rows(orders)
        conditions = planned_conditions(self.asker, options.level)
        sides = sides_of(conditions)
        requests = prompt_tokens = cached_tokens = output_tokens = 0
        for side in sides:
            requests += len(keys) * (1 + side.short_neighbours)
            for key in keys:
                row = self.rows[key]
                tokens = row["length"] - row["max_new_tokens"]
                prompt_tokens += tokens
                cached_tokens += tokens if side.after else 0
                output_tokens += row["max_new_tokens"]
                output_tokens += side.short_neighbours * min(SHORT_TOKENS, row["max_new_tokens"])
        return Plan(
            configs=configs,
            keys=tuple(keys),
            conditions=tuple(conditions),
            sides=sides,
            waves=in_waves(keys, options.load),
            requests=requests,
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            output_tokens=output_tokens,
        )

    def _load_rows(self, orders: Mapping[str, Sequence[int]]) -> None:
        """Read the rows, and what the judgement needs to know of each."""
        self.rows: dict[Key, PartialRow] = {}
        self.facts: dict[Key, Row] = {}
        for config, indices in orders.items():
            length = self.release.parse(config).length
            for row in self.release.some_rows(config, COLUMNS, indices):
                key = (config, row["index"])
                gold = [piece for piece in row["evidence"] if piece["answer"]]
                depth = gold[0]["start"] / len(row["input"]) if len(gold) == 1 else None
                self.rows[key] = row
                self.facts[key] = Row(
                    key=key,
                    length=length,
                    row_tokens=row["length"] - row["max_new_tokens"],
                    depth=depth,
                )

    def settings(self) -> dict[str, Any]:
        """Return what an examination that goes on has to have in common with its folder."""
        options = self.options
        return {
            "model": options.model,
            "backend": options.backend,
            "dataset": self.release.dataset,
            "rows": {config: self.release.rows_sha256(config) for config in self.plan.configs},
            "row_count": options.row_count,
            "level": options.level,
            "load": options.load,
            "mode": self.asker.prompter.mode,
            "tokenizer": options.tokenizer,
            "conditions": list(self.plan.conditions),
        }

    def _read_state(self) -> dict[str, Any]:
        path = self.folder / STATE_FILE
        if not path.exists():
            return {}
        try:
            state = json_value(path.read_bytes())
        except ValueError:
            state = None
        if not isinstance(state, dict) or "settings" not in state:
            raise RulerError(f"'{path}' was not written by `ruler doctor`: name a new --out.")
        return cast("dict[str, Any]", state)

    def _check_state(self, state: Mapping[str, Any]) -> None:
        """Refuse to go on in a folder of another examination."""
        for name, value in self.settings().items():
            before = state.get("settings", {}).get(name, value)
            if before != value:
                raise RulerError(
                    f"'{self.folder}' was begun with {name} = {json.dumps(before)}, not "
                    f"{json.dumps(value)}: name a new --out, or use the old value."
                )

    def _write_state(self, verdict: Verdict | None) -> None:
        state: dict[str, Any] = {
            "format": 1,
            "salt": self.salt,
            "settings": self.settings(),
            "cache_hits": self.hits,
        }
        if verdict is not None:
            state["verdict"] = verdict_json(verdict)
        text = json.dumps(state, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        write_whole(self.folder / STATE_FILE, text)

    # ---- asking --------------------------------------------------------------------------------

    def run(
        self,
        on_wave: Callable[[Verdict, int], None] = lambda verdict, rows: None,
    ) -> Verdict:
        """Ask waves until the verdict; `on_wave` is called with each look and its rows."""
        try:
            self._open_folder()
            decided_at = asked = 0
            verdict = None
            for number, wave in enumerate(self.plan.waves, 1):
                self._ask_wave(wave)
                asked += len(wave)
                complete = number == len(self.plan.waves)
                verdict = self.look(self.plan.keys[:asked], complete)
                self._write_state(verdict)
                on_wave(verdict, asked)
                if verdict.outcome == "engine":
                    decided_at = decided_at or asked
                    if may_stop(verdict, decided_at):
                        break
            assert verdict is not None
            return verdict
        finally:
            for records in self._records.values():
                records.close()
            self.asker.close()

    def look(self, keys: Sequence[Key], complete: bool) -> Verdict:
        """Judge the answers so far."""
        reasons = dict(self.unchecked)
        if self.hits == 0:
            reasons["cache"] = "the server's /metrics show no cache hits"
        return judge(
            [self.facts[key] for key in keys],
            self.answers,
            self.plan.conditions,
            complete=complete,
            max_loss=self.options.max_loss,
            unchecked=reasons,
            has_bos=self.asker.has_bos,
        )

    def _open_folder(self) -> None:
        """Lock the folders of all sides, and read the answers that they hold already."""
        run = self._run_settings()
        for side in self.plan.sides:
            records = self._records[side.name]
            if not records.lock():
                raise RulerError(f"'{self.folder}' cannot be written: name a new --out.")
            answers = self.answers.setdefault(side.name, {})
            for config in self.plan.configs:
                records.repair(config, drop_failed=True)
                for path in records.files(config):
                    for record in read_lines(path):
                        key = (config, record["index"])
                        if key in self.rows:
                            answers[key] = self._scorer.score(record, self.rows[key])
            records.record_settings({**run[0], "doctor": side.name}, run[1])
        self._write_state(None)

    def _run_settings(self) -> tuple[dict[str, Any], Any]:
        """Return what run.json of every side holds, and its session."""
        options, asker = self.options, self.asker
        run = RunOptions(
            options.dataset,
            configs=self.plan.configs,
            backend=options.backend,
            out=self.folder,
            model=options.model,
            tokenizer=options.tokenizer,
            arguments=options.arguments,
            mode=asker.prompter.mode,
            limit=len(self.plan.keys) // len(self.plan.configs),
        )
        digests = {config: self.release.rows_sha256(config) for config in self.plan.configs}
        settings = {
            **known_settings(run, self.release, digests),
            **asker.backend.settings(),
            **asker.prompter.settings(),
            "max_model_len": asker.backend.limit,
        }
        return settings, new_session(run, digests)

    def _ask_wave(self, wave: Sequence[Key]) -> None:
        """Ask the rows of a wave under every condition, as far as answers are missing."""
        missing = [key for key in wave if any(key not in self.answers[s.name] for s in AFTER_COLD)]
        if missing:
            before = self.asker.metrics_hits()
            for key in missing:
                self._ask_after_cold(key)
            after = self.asker.metrics_hits()
            if before is not None and after is not None:
                self.hits = (self.hits or 0.0) + after - before
        for side in self.plan.sides:
            if side not in AFTER_COLD:
                for group in _groups(wave, side.together or len(wave)):
                    self._ask_group(group, side)

    def _ask_after_cold(self, key: Key) -> None:
        """Ask a row cold and then again; if an earlier session asked it cold, that is repeated."""
        missing = [side for side in AFTER_COLD if key not in self.answers[side.name]]
        if COLD not in missing:
            prompt = self.asker.prompt(key[0], self.rows[key], COLD)
            assert prompt is not None
            self.asker.send([prompt], COLD)
        for side in missing:
            self._ask_group([key], side)

    def _ask_group(self, keys: Sequence[Key], side: Side) -> None:
        """Send the rows of a group at once; all of them again if only some lack an answer."""
        if all(key in self.answers[side.name] for key in keys):
            return
        prompts = []
        for key in keys:
            cold = self.answers[COLD.name].get(key)
            tokens = cold.prompt_tokens if cold else None
            prompt = self.asker.prompt(key[0], self.rows[key], side, tokens)
            if prompt is None:
                continue
            over = over_limit(prompt, self.asker.backend.limit)
            if over is not None:
                self._keep(side, over, prompt.counted_tokens)
                continue
            prompts.append(prompt)
            prompts += self.asker.neighbours(side, prompt)
        if prompts:
            for completion in self.asker.send(prompts, side):
                self._keep_completion(side, completion)

    def _keep_completion(self, side: Side, completion: Completion) -> None:
        backend = self.asker.backend
        record = record_of(completion, backend.limit, backend.tokenizer)
        self._keep(side, record, completion.prompt.counted_tokens)

    def _keep(self, side: Side, record: Record, counted_tokens: int | None) -> None:
        """Write an answer, if it is a missing one, and score it."""
        key = (record["config"], record["index"])
        if key in self.answers[side.name]:
            return
        kept = cast(Record, {**record, "counted_tokens": counted_tokens})
        self._records[side.name].write(kept)
        self.answers[side.name][key] = self._scorer.score(kept, self.rows[key])


def _groups(keys: Sequence[Key], size: int) -> Iterator[Sequence[Key]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON has it."""
    return {
        "outcome": verdict.outcome,
        "exit_code": verdict.exit_code,
        "headline": verdict.headline,
        "rows": verdict.rows,
        "score": verdict.score,
        "conditions": verdict.records(),
    }


def read_verdict(folder: Path) -> dict[str, Any] | None:
    """Return the verdict in the folder of an examination, for the page's section; None without one.

    `conditions` has a record for each: name, title, state, sentence, remedy, rows, only_a, only_b,
    exact_p, p, holm_p, smallest_loss, docs.
    """
    path = folder / STATE_FILE
    if not path.is_file():
        return None
    state = json_value(path.read_bytes())
    found = state.get("verdict") if isinstance(state, dict) else None
    return cast("dict[str, Any] | None", found)
