"""A simulated engine with a chosen skill and one fault, for examinations without a server.

    engine = SimulatedEngine(seed=0, skill=0.9, fault="cache", loss=0.1)
    verdict = examination(engine, plan_of(rows=200, tasks=4, lengths=2)).run()

Every request passes through `SimulatedEngine.answer`, in the order in which an examination sends
it. A fault makes right answers wrong, so that `loss` of the rows that it affects are lost.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from ruler_eval.doctor.answers import Answer, Key
from ruler_eval.doctor.conditions import AGAIN, CACHED, COLD, CONDITIONS, LOADED, PLAIN
from ruler_eval.doctor.examine import FRESH_ROWS, Examination
from ruler_eval.doctor.plan import RowFacts, RowPlan

TOKENS = 1000
DRIFT_REQUESTS = 900
"""Requests after which the fault `drift` has its full effect."""
PERIOD = 200
"""Requests after which the fault `periods` begins or ends."""
EXPECTED = {
    "cache": "cache",
    "load": "load",
    "text": "text",
    "bos": "tokens",
    "truncation": "tokens",
    "noise": "repeat",
    "cache_at_one_length": "cache",
    "load_in_one_task": "load",
    "fails_under_load": "load",
    "replicas": "repeat",
}
"""Faults that self-comparison can see, and the condition that the verdict has to name."""
BURST = 40
"""Requests in a row that the faults `restart` and `bad_moment` affect, once."""
INVISIBLE = (
    "always", "middle", "drift", "break", "periods", "fails_anywhere", "shared_cache", "recall",
    "restart", "bad_moment",
)  # fmt: skip
"""Engines of which no condition may be blamed, except `drift` if answers change with time."""
CHANGES_WITH_TIME = ("drift", "break", "periods")


@dataclass
class SimulatedEngine:
    """Answers rows by their key, side and time."""

    seed: int = 0
    skill: float = 0.9
    fault: str = ""
    loss: float = 0.1
    near_ties: float = 0.0
    """The share of rows that are answered by the flip of a coin."""
    partial_credit: bool = False
    requests: int = 0
    _rows: dict[Key, tuple[float, bool, float]] = field(default_factory=dict)
    _seen: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._rng = random.Random(f"{self.seed} answers")

    def answer(self, key: Key, side: str, concurrency: int) -> Answer:
        """Return the answer to a row that is sent with `concurrency` requests at once."""
        self.requests += 1
        if key not in self._rows:
            rng = random.Random(f"{self.seed} {key}")
            score = float(rng.random() < self.skill)
            self._rows[key] = score, rng.random() < self.near_ties, rng.random()
        score, near_tie, depth = self._rows[key]
        if near_tie:
            score = float(self._rng.random() < 0.5)
        cached = side in (CACHED, AGAIN)
        if self.fault.startswith("shared_cache"):
            cached = key in self._seen
        self._seen.add(key)
        if self._fails(side):
            why = "HTTP 500: Context size has been exceeded"
            if self.requests % 2:  # llama.cpp's server says the same of a row and of its slots
                return Answer(score=0.0, fits=False, unfit_reason=why)
            return Answer(score=0.0, failure=why)
        if self.fault == "truncation":
            return Answer(
                score=0.0, fits=False, shortened=True, prompt_tokens=600, counted_tokens=TOKENS
            )
        if self._loses(key, side, concurrency, cached, depth):
            score = 0.0
        return Answer(
            score=score,
            text=str(score),
            prompt_tokens=TOKENS + (self.fault == "bos" and side == PLAIN),
            cached_tokens=TOKENS - 8 if cached else 0,
        )

    def _is_in_burst(self) -> bool:
        start = random.Random(f"{self.seed} burst").randrange(DRIFT_REQUESTS)
        return start <= self.requests < start + BURST

    def _fails(self, side: str) -> bool:
        if self.fault == "restart":
            return self._is_in_burst()
        if self.fault == "fails_under_load":
            return side == LOADED and self._rng.random() < 0.1
        if self.fault == "fails_more_under_load":
            return self._rng.random() < (0.15 if side == LOADED else 0.005)
        return self.fault == "fails_anywhere" and self._rng.random() < 0.02

    def _loses(self, key: Key, side: str, concurrency: int, cached: bool, depth: float) -> bool:
        """Return whether a right answer is lost."""
        lost = min(1.0, self.loss / self.skill)
        random_loss = self._rng.random() < lost
        config = key[0]
        hardness = random.Random(f"{self.seed} hardness {key}").random()
        if self.fault == "always":
            return hardness < 0.5
        if self.fault == "bad_moment":
            return self._is_in_burst()
        if self.fault == "long":
            return config.endswith("_32k")
        if self.fault == "one_task":
            return config.startswith("task1_")
        if self.fault == "middle":
            return 0.3 < depth < 0.7
        if self.fault == "recall":
            return hardness < depth
        if self.fault == "drift":
            return hardness < 3 * lost * min(1.0, self.requests / DRIFT_REQUESTS)
        if self.fault == "break":
            return self.requests > DRIFT_REQUESTS / 2 and hardness < 3 * lost
        if self.fault == "periods":
            phase = random.Random(f"{self.seed} phase").randrange(2 * PERIOD)
            return (self.requests + phase) // PERIOD % 2 == 1 and hardness < 3 * lost
        if self.fault == "replicas":
            return self._rng.random() < 0.5 and hardness < 3 * lost
        affected = {
            "cache": cached,
            "shared_cache_broken": cached,
            "load": concurrency > 16,
            "text": side == PLAIN,
            "noise": True,
            "cache_at_one_length": cached and config.endswith("_32k"),
        }
        if self.fault == "cache_at_one_length":
            random_loss = self._rng.random() < min(1.0, 2 * lost)
        if self.fault == "load_in_one_task":
            return concurrency > 16 and config == "task0_32k"
        return affected.get(self.fault, False) and random_loss


class SimulatedSide:
    """A side whose requests go to a simulated engine."""

    def __init__(self, engine: SimulatedEngine, name: str, load: int) -> None:
        self._engine, self._name, self._load = engine, name, load
        self.answers: dict[Key, Answer] = {}

    def answer(self, keys: Sequence[Key]) -> None:
        """Send the rows that have no answer yet."""
        concurrency = min(len(keys), self._load) if self._name == LOADED else 1
        for key in keys:
            if key not in self.answers:
                self.answers[key] = self._engine.answer(key, self._name, concurrency)


def plan_of(rows: int = 200, tasks: int = 4, lengths: int = 2) -> RowPlan:
    """Return a plan of rows spread over tasks and lengths."""
    names = ("4k", "32k", "64k", "128k")[:lengths]
    configs = tuple(f"task{task}_{length}" for task in range(tasks) for length in names)
    keys = [(configs[place % len(configs)], place // len(configs)) for place in range(rows)]
    last = {config: sum(key[0] == config for key in keys) for config in configs}
    reserve = {config: tuple(range(last[config], last[config] + FRESH_ROWS)) for config in configs}
    every = keys + [(config, index) for config in configs for index in reserve[config]]
    facts = {
        key: RowFacts(
            length=key[0].rpartition("_")[2],
            tokens=TOKENS - 7 * key[1] % 50,
            max_new_tokens=32,
            depth=random.Random(f"depth {key}").random(),
        )
        for key in every
    }
    return RowPlan(configs=configs, keys=tuple(keys), reserve=reserve, rows={}, facts=facts)


def examination(
    engine: SimulatedEngine, plan: RowPlan | None = None, load: int = 32, max_loss: float = 10.0
) -> Examination:
    """Return an examination of a simulated engine with --tokenizer in completion mode."""
    conditions = [name for name in CONDITIONS if name != "template"]
    names = {side for name in conditions for side in (CONDITIONS[name].a, CONDITIONS[name].b)}
    return Examination(
        plan=plan or plan_of(),
        sides={name: SimulatedSide(engine, name, load) for name in sorted({COLD, *names})},
        conditions=conditions,
        reasons={"template": "--mode completion uses no chat template"},
        load=load,
        max_loss=max_loss,
        counts="exact",
        has_bos=True,
    )
