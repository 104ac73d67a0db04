"""With --stream an answer comes in pieces, is the same, and its time counts from the first one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server import event_stream
from ruler_eval.run.backends.server.event_stream import EventStream
from ruler_eval.run.backends.server_replies import Malformed, Refused, read_completion
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import Record, Records
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run
from tests.eval.run.backends.hostile_server import CHAT, TEXT, Reply, hostile_server, usual
from tests.eval.run.backends.strict_server import RULES, strict_server

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)
STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}
LAST = b"data: [DONE]\n\n"
PROMPT = Prompt(config="vt_4k", index=0, messages=(), text="", token_ids=None, max_new_tokens=9)


def chunk(usage: Any = None, finish_reason: str | None = None, **piece: Any) -> dict[str, Any]:
    """An event of a stream."""
    choice = {"index": 0, "finish_reason": finish_reason, **piece}
    return {"object": "chat.completion.chunk", "choices": [choice], "usage": usage}


USAGE = {"choices": [], "usage": CHAT["usage"]}
CHUNKS: list[Any] = [
    chunk(delta={"role": "assistant", "content": ""}),
    chunk(delta={"reasoning_content": "we"}),
    chunk(delta={"reasoning_content": "ll"}),
    chunk(delta={"content": "an\u2003 "}),
    chunk(delta={"content": "answér"}, finish_reason="stop"),
    USAGE,
]
TEXTS = [chunk(text="an "), chunk(text="answer"), chunk(text="", finish_reason="stop"), USAGE]


def sent(events: Sequence[Any], last: bytes = LAST) -> bytes:
    """Events as a server sends them, with comments between."""
    lines = [
        b"data: " + json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
        for event in events
    ]
    return b": begun\n\n" + b"\n\n: still here\n\n".join(lines) + b"\n\n" + last


def read(data: bytes, size: int) -> Any:
    stream = EventStream()
    for at in range(0, len(data), size):
        stream.read(data[at : at + size])
    return read_completion(PROMPT, json.loads(stream.whole()))


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_pieces_are_put_together_wherever_the_network_parts_them(size: int, ends: bytes) -> None:
    whole = json.loads(json.dumps(CHAT).replace("an answer", "an\\u2003 answ\\u00e9r"))
    assert read(sent(CHUNKS).replace(b"\n", ends), size) == read_completion(PROMPT, whole)
    assert read(sent(TEXTS).replace(b"\n", ends), size) == read_completion(PROMPT, TEXT)


@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_events_of_another_name_and_without_data_are_no_pieces(size: int) -> None:
    """As the standard has it, and an event's data in several lines are one text."""
    odd = [
        *(b"event: ping\ndata: {}\n\n", b"event: ping\ndata: 12:00\n\n", b"data:\n\n", b"data\n\n"),
        *(b"event:ping\n\n", b"id: 7\nretry: 10\n\n", b"event: message\ndata:\n: \ndata: \n\n"),
    ]
    events = sent(TEXTS).split(b"\n\n")
    within = b"\n\n".join(event + b"\n\n" + odd[at % 7] for at, event in enumerate(events, -1))
    assert read(within, size) == read(sent(TEXTS), size)
    assert read(sent(TEXTS).replace(b', "', b',\ndata:"'), size) == read(sent(TEXTS), size)
    named = sent(TEXTS).replace(b"data: {", b"event: chunk\ndata: {")
    assert read(named, size) == read(sent(TEXTS), size)
    for wrong in (b'event: error\ndata: {"message": "gone"}', b'event: e\ndata: {"error": "gone"}'):
        with pytest.raises(Malformed, match="gone"):
            read(sent(TEXTS[:1], b"") + wrong + b"\n\n" + sent(TEXTS[1:]), size)


def test_no_event_but_a_piece_of_the_answer_is_its_begin() -> None:
    began: list[bool] = []
    before = event_stream.on_begin.set(lambda: began.append(True))
    try:
        stream = EventStream()
        stream.read(b"event: ping\ndata: {}\n\ndata:\n\n: here\n\n")
        assert began == []
        stream.read(sent(TEXTS))
        assert began == [True]
    finally:
        event_stream.on_begin.reset(before)


def test_mistrals_parts_are_thinking_and_text() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "well"}]}
    events = [
        chunk(delta={"content": [thinking]}),
        chunk(delta={"content": "42"}),
        chunk(finish_reason="stop"),
    ]
    found = read(sent(events), 50)
    assert (found.reasoning, found.text, found.finish_reason) == ("well", "42", "stop")


def test_of_two_answers_in_turn_the_first_is_read() -> None:
    other = [chunk(delta={"content": "another"}, finish_reason="length", index=1)]
    assert read(sent([*CHUNKS[:4], *other, *CHUNKS[4:], *other]), 50) == read(sent(CHUNKS), 50)


def test_a_whole_answer_in_one_event_is_read() -> None:
    assert read(sent([CHAT]), 50) == read_completion(PROMPT, CHAT)


def test_a_byte_order_mark_hides_no_piece() -> None:
    marked = b"\xef\xbb\xbf" + sent(TEXTS).removeprefix(b": begun\n\n")
    assert read(marked, 50) == read_completion(PROMPT, TEXT)


def test_a_media_type_is_one_in_any_case(small: Path, tmp_path: Path) -> None:
    reply = Reply(sent(CHUNKS), headers={"Content-Type": "Text/Event-Stream;Charset=UTF-8"})
    total, _ = stream(
        lambda path: reply if path.endswith("completions") else usual(path),
        *(small, tmp_path), limit=1, retries=1,
    )  # fmt: skip
    assert dict(total) == {"stop": 1}


@pytest.mark.parametrize("events", [CHUNKS, [*CHUNKS[:3], {"error": "gone"}]])
def test_what_follows_the_last_piece_is_not_waited_for(
    events: list[Any], small: Path, tmp_path: Path
) -> None:
    """A server that leaves the connection open, or that never stops, takes a second of a row."""

    def endless() -> Iterator[bytes]:
        yield sent(events)
        for _ in range(100):
            time.sleep(0.1)
            yield b": still here\n\n"

    def answer(path: str) -> Reply:
        asked = path.endswith("completions")
        return Reply(endless(), headers=STREAM) if asked else usual(path)

    began = time.monotonic()
    total, _ = stream(answer, small, tmp_path, limit=1, retries=1, timeout=8.0)
    assert dict(total) == {"stop" if events is CHUNKS else "error": 1}
    assert time.monotonic() - began < 6


def test_a_stream_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MOST", 10_000)
    for endless in (b"data: " + b"a" * 100, sent([chunk(text="ab" * 50)], last=b"")):
        stream = EventStream()
        with pytest.raises(Refused, match="longer than"):
            any(map(stream.read, [endless] * 1000))
    stream = EventStream()
    for _ in range(1000):
        stream.read(b": waiting\n\n")  # comments take no room


@pytest.mark.parametrize(
    ("events", "last"),
    [
        (CHUNKS[:3], b""),  # cut off between two pieces
        ([*CHUNKS[:3], {"error": {"message": "out of memory", "code": 500}}], LAST),
        ([*CHUNKS[:4], chunk(finish_reason="error") | {"error": {"message": "gone"}}], LAST),
        ([*CHUNKS[:4], chunk(delta={"content": 5}), CHUNKS[4]], LAST),
        ([*CHUNKS[:4], {"choices": [5]}, CHUNKS[4]], LAST),
        ([], b""),
        ([], LAST),
        ([], b"data: {\n\n"),
        ([], b"data: []\n\n"),
    ],
)
def test_a_stream_that_breaks_off_is_a_failed_try(
    events: list[Any], last: bytes, small: Path, tmp_path: Path
) -> None:
    """The row is sent again, and nothing of the broken answer is kept."""
    broken = [Reply(sent(events, last), headers=STREAM)] * 3
    replies = iter(broken)

    def answer(path: str) -> Reply:
        if not path.endswith("completions"):
            return usual(path)
        return next(replies, Reply(sent(CHUNKS), headers=STREAM))

    total, found = stream(answer, small, tmp_path, retries=4, limit=1)
    assert dict(total) == {"stop": 1}
    assert found[0]["prediction"] == "an\u2003 answér"
    assert next(replies, None) is None


def stream(
    answer: Callable[[str], Reply], small: Path, tmp_path: Path, limit: int = 5, **how: Any
) -> tuple[Any, list[Record]]:
    """The states of a run that streams, and its records."""
    with hostile_server(answer) as url:
        options = ModelOptions("m", base_url=url, stream=True, **how)
        order = RunOrder(
            *(str(small), ("vt_4k",), "openai", tmp_path / "RUN"),
            options=options, mode="chat", limit=limit, quiet=True,
        )  # fmt: skip
        total = run(order).total
    return total, [*Records(order.out).of("vt_4k").values()]


def test_the_timeout_counts_from_the_first_piece_and_not_from_a_comment(
    small: Path, tmp_path: Path
) -> None:
    """Whatever comes after it within the timeout is waited for; a server that hangs is not."""

    def slowly(*pauses: float) -> Iterator[bytes]:
        for pause, part in zip(
            pauses, (b": here\n\n", sent(CHUNKS[:4], b""), sent(CHUNKS[4:])), strict=True
        ):
            time.sleep(pause)
            yield part

    def answers(*pauses: float) -> Callable[[str], Reply]:
        return lambda path: (
            Reply(slowly(*pauses), headers=STREAM) if path.endswith("completions") else usual(path)
        )

    how: dict[str, Any] = {"limit": 1, "retries": 1, "timeout": 1.0}
    total, _ = stream(answers(0.0, 0.7, 0.7), small, tmp_path / "slow", **how)
    assert dict(total) == {"stop": 1}
    for number, late in enumerate(((0.0, 3.0, 0.0), (0.0, 0.1, 3.0))):
        began = time.monotonic()
        total, _ = stream(answers(*late), small, tmp_path / str(number), **how)
        assert dict(total) == {"error": 1}
        assert time.monotonic() - began < 2.9


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_provider_is_asked_for_a_stream_in_its_own_fields(
    name: str, small: Path, tmp_path: Path
) -> None:
    """The strict server answers whole all the same, which is read too."""
    with strict_server(RULES[name]) as (url, requests):
        options = ModelOptions("m", base_url=url, provider=name, stream=True)
        order = RunOrder(
            *(str(small), ("vt_4k",), "openai", tmp_path / "RUN"),
            options=options, mode="chat", limit=2, quiet=True,
        )  # fmt: skip
        assert dict(run(order).total) == {"stop": 2}
    asked = {"include_usage": True} if name != "mistral" else None
    assert [(one["stream"], one.get("stream_options")) for one in requests] == [(True, asked)] * 2
