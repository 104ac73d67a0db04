"""An engine with a chosen skill and one fault, behind a real HTTP server.

    engine = FaultyEngine(rows, seed=0, skill=0.9, fault="cache")
    with served(engine) as url: …                     # an OpenAI-compatible server

A fault makes right answers wrong, so that LOSS of the rows that it affects are lost.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruler_common.names import Config
from tests import hand_written
from tests.eval.run.small_release import NOISE, full_row
from tests.model_server import ModelServer, Reply, Request, model_server

LOSS = 0.1
LOAD = 16
"""Requests at once above which the fault `load` has an effect."""
BLOCK = 16
WRONG = "0000000"
EXPECTED = {
    "cache": "cache",
    "load": "load",
    "template": "template",
    "bos": "tokens",
    "truncation": "tokens",
    "noise": "repeat",
}
"""Each fault, and the condition that the verdict has to name."""
NEEDLE = "One of the special magic numbers for key{key} is: {value}."
QUESTION = "What is the special magic number for key{key} mentioned in the provided text?"


def write_release(
    root: Path, rows: int = 200, lines: int = 46, lengths: Sequence[str] = ("4k",)
) -> Path:
    """Write niah_single_1 with the evidence's place; about 20 words a line."""
    configs = [Config("ruler", "niah_single_1", length) for length in lengths]
    tables = {
        config: [_row(index, lines, config.max_length) for index in range(rows)]
        for config in configs
    }
    return hand_written.write_release(root, tables, groups={"all": ["niah_single_1"]})


def _row(index: int, lines: int, max_length: int) -> dict[str, Any]:
    rng = random.Random(index)
    value = str(rng.randrange(10**6, 10**7))
    text = [NOISE] * lines
    needle = NEEDLE.format(key=index, value=value)
    text.insert(rng.randrange(lines), needle)
    question = QUESTION.format(key=index)
    asked = "A number is hidden in this text.\n" + "\n".join(text) + f"\n{question}"
    start = asked.index(needle)
    piece = {
        "start": start,
        "end": start + len(needle),
        "depth": start / len(asked),
        "answer": True,
    }
    row = {"input": asked, "answer_prefix": " It is", "outputs": [value], "max_new_tokens": 32}
    return {**full_row(row, index, "niah_single_1", max_length), "evidence": [piece]}


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as the engine sees it."""

    text: str
    tokens: int
    salt: str
    form: str = "ids"
    """`ids`, `text` or `chat`."""


@dataclass
class FaultyEngine:
    """Knows the rows' answers; `near_ties` is the share of rows whose answers are a coin's flip."""

    answers: Mapping[int, str]
    seed: int = 0
    skill: float = 0.9
    fault: str = ""
    near_ties: float = 0.0
    loss: float = LOSS
    caches: bool = True
    delay: float = 0.0
    """Seconds for which the HTTP server delays each answer, so that requests overlap."""
    _cached: dict[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = random.Random(f"{self.seed} answers")
        self._rows: dict[int, tuple[bool, bool]] = {}

    @property
    def _lost(self) -> float:
        """The probability that a right answer is lost if the fault affects it."""
        return min(1.0, self.loss / self.skill)

    def answer(self, seen: ReceivedRequest, together: Sequence[ReceivedRequest]) -> dict[str, Any]:
        """Return the text and the token counts; `together` are all requests in flight."""
        tokens = seen.tokens + (self.fault == "bos" and seen.form != "ids")
        tokens += 7 * (self.fault == "template" and seen.form == "chat")
        cached = self._look_up(seen) if self.caches else 0
        result = re.search(r"number for key(\d+) mentioned", seen.text)
        if result is None:
            return {"text": " one two three", "prompt": tokens, "cached": cached}
        key = int(result[1])
        value = self.answers[key]
        at = seen.text.find(f" {value}.") / len(seen.text)
        if key not in self._rows:
            rng = random.Random(f"{self.seed} {key}")
            self._rows[key] = rng.random() < self.skill, rng.random() < self.near_ties
        right, near_tie = self._rows[key]
        if near_tie:
            right = self._rng.random() < 0.5
        if self.fault == "truncation":
            tokens = int(tokens * (1 - self._lost))
            right = right and at > self._lost
        elif self._is_affected(seen, together, cached) and self._rng.random() < self._lost:
            right = False
        return {"text": f" {value if right else WRONG}.", "prompt": tokens, "cached": cached}

    def _look_up(self, seen: ReceivedRequest) -> int:
        """Return how many tokens are cached, and cache the prompt."""
        key = (seen.salt, seen.text)
        result = self._cached.get(key, 0)
        self._cached[key] = seen.tokens // BLOCK * BLOCK
        return result

    def _is_affected(
        self, seen: ReceivedRequest, together: Sequence[ReceivedRequest], cached: int
    ) -> bool:
        affected = {
            "cache": cached > 0,
            "load": len(together) > LOAD,
            "template": seen.form == "chat",
            "bos": seen.form != "ids",
            "noise": True,
        }
        return affected.get(self.fault, False)


# ---- behind HTTP ---------------------------------------------------------------------------------


@contextmanager
def served(
    engine: FaultyEngine,
    tokenizer: Any = None,
    usage: bool = True,
    refuse: Callable[[dict[str, Any]], Reply | None] = lambda body: None,
) -> Iterator[ModelServer]:
    """Serve the engine; with a tokenizer its tokens are counted, else words.

    Without `usage` its answers count no tokens. `refuse` may answer a request in its place.
    """
    lock = threading.Lock()
    in_flight: dict[int, ReceivedRequest] = {}
    overlapping: dict[int, list[ReceivedRequest]] = {}

    def received(request: Request) -> ReceivedRequest:
        body = request.body
        form = "chat" if "messages" in body else "text"
        if form == "chat":
            text = "".join(message["content"] for message in body["messages"])
            if tokenizer is not None:
                last = body["messages"][-1]["role"] == "assistant"
                text = tokenizer.apply_chat_template(
                    body["messages"],
                    tokenize=False,
                    continue_final_message=last,
                    add_generation_prompt=not last,
                )
        elif isinstance(body["prompt"], str):
            text = body["prompt"]
        else:
            form, ids = "ids", body["prompt"]
            text = tokenizer.decode(ids)
            return ReceivedRequest(text, len(ids), body.get("cache_salt", ""), form)
        tokens = len(text.split())
        if tokenizer is not None:
            tokens = len(tokenizer(text, add_special_tokens=form == "text")["input_ids"])
        return ReceivedRequest(text, tokens, body.get("cache_salt", ""), form)

    def reply(request: Request) -> Reply:
        refusal = refuse(request.body)
        if refusal is not None:
            return refusal
        seen = received(request)
        number = id(request)
        with lock:
            in_flight[number] = seen
            for open_request in in_flight:
                overlapping.setdefault(open_request, []).append(seen)
            overlapping[number] = list(in_flight.values())
        time.sleep(engine.delay)
        with lock:
            del in_flight[number]
            result = engine.answer(seen, overlapping.pop(number))
        message = {"role": "assistant", "content": result["text"]}
        choice = {"index": 0, "finish_reason": "stop", "text": result["text"], "message": message}
        counts = {
            "prompt_tokens": result["prompt"],
            "completion_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": result["cached"]},
        }
        return Reply(200, {"choices": [choice], "usage": counts if usage else None})

    model = {"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 8192}
    with model_server(reply, models=(model,)) as server:
        yield server
