"""Whatever a server answers, no key is kept or shown, no row is lost, and nothing goes on for ever.

Each reply is walked: every field of it, one at a time, holds what it should not.
"""

from __future__ import annotations

import copy
import itertools
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ruler_eval.run.batch.batch_files import BatchFolder
from ruler_eval.run.records import STATES
from tests import in_process
from tests.eval.run.backends.hostile_server import (
    CHAT,
    ERRORS,
    MODELS,
    TEXT,
    TOKENIZED,
    Reply,
    hostile_server,
    usual,
)
from tests.eval.run.backends.test_secrets import FORMS, KEY
from tests.shares import share

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)
ROWS = 20  # of the small release
FEW = 5  # of one task; so few refusals do not end a run
SPOKEN = " ".join([*FORMS.values(), "\ud800 \x1b[31m\u202e"])
ODD: tuple[Any, ...] = (
    SPOKEN,
    {SPOKEN: [SPOKEN]},
    [[[[SPOKEN]]]],
    None,
    True,
    -1,
    1 << 62,
    1e308,
    float("nan"),
    "\ud800",
)


class Ended(NamedTuple):
    """How a command ended, all that it printed, and the records of its run."""

    code: int
    printed: str
    records: list[dict[str, Any]]
    known: tuple[str | None, str | None]
    """The server's kind and who counts tokens, as run.json has it."""


def places(reply: Any) -> Iterator[tuple[Any, ...]]:
    """The way to every field of a reply, and to every part of a list."""
    inner = reply.items() if isinstance(reply, dict) else enumerate(reply)
    for name, part in inner:
        yield (name,)
        if isinstance(part, dict | list):
            yield from ((name, *more) for more in places(part))


def planted(reply: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The reply with another value in one place."""
    found = copy.deepcopy(reply)
    part = found
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    return found


def spoiled(reply: dict[str, Any], odd: Sequence[Any] = ODD) -> list[Any]:
    """The reply with every odd value in every place, with a further field, and as no object."""
    found = [planted(reply, place, value) for place in places(reply) for value in odd]
    return [*found, {**reply, SPOKEN: SPOKEN}, *ODD]


def check(ended: Any, out: Path) -> Ended:
    """What has to be true of any end: no key, no traceback, nothing half-written."""
    printed = ended.stdout + ended.stderr
    kept = {path: path.read_bytes().decode() for path in out.rglob("*") if path.is_file()}
    for where, text in {"the terminal": printed, **kept}.items():
        texts = text, text.replace("\\\\", "\\")
        shown = [
            way for way, form in FORMS.items() if any(form.strip("=\n") in one for one in texts)
        ]
        assert shown == [], f"{where} shows a key: {text}"
    assert ended.code in (0, 1, 2)
    assert "Traceback" not in printed
    assert "\x1b" not in printed
    lines = [line for path in out.glob("*.jsonl") for line in kept[path].splitlines()]
    records = [json.loads(line) for line in lines]
    assert all(record["finish_reason"] in STATES for record in records)
    settings = json.loads(kept.get(out / "run.json", "{}"))
    known = (settings.get("backend_version"), settings.get("budget"))
    return Ended(ended.code, printed, records, known)


@pytest.fixture
def ask(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """`ruler run` against a server that answers as is said; its end, checked."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def command(
        answer: Callable[[str], Reply], *more: object, mode: str = "chat", configs: str = "all_4k"
    ) -> Ended:
        out = tmp_path / f"RUN{len(list(tmp_path.iterdir()))}"
        flags = ["--dataset", small, "--configs", configs, "--backend", "openai", "--model", "m"]
        with hostile_server(answer) as url:
            arguments = [*flags, "--base-url", url, "--out", out, "--mode", mode, "--retries", 1]
            return check(in_process.ruler("run", *arguments, "--timeout", 20, *more), out)

    return command


def in_turn(path: str, replies: Sequence[Any], status: int = 200) -> Callable[[str], Reply]:
    """A server that answers a path with one reply after the other, the last one for ever."""
    waiting = iter(replies)

    def answer(asked: str) -> Reply:
        if asked != path:
            return usual(asked)
        reply = next(waiting, replies[-1])
        return reply if isinstance(reply, Reply) else Reply(reply, status)

    return answer


@pytest.mark.parametrize(
    ("mode", "path", "reply"),
    [("chat", "/v1/chat/completions", CHAT), ("completion", "/v1/completions", TEXT)],
)
def test_no_field_of_a_completion_brings_out_a_key(
    ask: Callable[..., Ended], mode: str, path: str, reply: dict[str, Any]
) -> None:
    replies = share(9, spoiled(reply))  # of ten odd values in a place
    for first in range(0, len(replies), ROWS):
        ended = ask(in_turn(path, replies[first : first + ROWS]), mode=mode)
        assert len({(record["config"], record["index"]) for record in ended.records}) == ROWS


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_no_field_of_an_error_brings_out_a_key(ask: Callable[..., Ended], status: int) -> None:
    replies = [planted(error, place, SPOKEN) for error in ERRORS for place in places(error)]
    replies += [SPOKEN, [SPOKEN], SPOKEN.encode("utf-8", "replace"), b"\xff" + KEY.encode()]
    path = "/v1/chat/completions"
    if status not in (400, 401):
        ended = ask(in_turn(path, replies, status))
        assert [record["finish_reason"] for record in ended.records] == ["error"] * ROWS
        return
    ended = ask(in_turn(path, replies, status))  # who refuses every row ends the run
    assert (ended.code, ended.records) == (2, [])
    for first in range(0, len(replies), FEW):
        few = in_turn(path, replies[first : first + FEW], status)
        ended = ask(few, "--limit", FEW, configs="vt_4k")
        assert [record["finish_reason"] for record in ended.records] == ["error"] * FEW


@pytest.mark.parametrize("status", [200, 307, 429])
def test_no_header_brings_out_a_key(ask: Callable[..., Ended], status: int) -> None:
    spoken = f"{KEY} {KEY[::-1]}"
    sent: list[dict[str, str]] = [
        dict.fromkeys(("Retry-After", "Content-Type", "Set-Cookie", "X-Request-Id"), spoken),
        {"Content-Encoding": spoken},
        {"Location": f"http://{KEY}.example/{KEY}"},
    ]
    for path, headers in itertools.product(("chat/completions", "models"), sent):
        reply = Reply(CHAT, status, headers, reason=KEY)
        ended = ask(in_turn(f"/v1/{path}", [reply]), "--limit", 1, configs="vt_4k")
        assert KEY not in ended.printed
        assert len(ended.records) == 1 or ended.code == 2


@pytest.mark.parametrize(
    ("path", "reply"),
    [("/v1/models", MODELS), ("/version", {"version": "0.9.1"}), ("/tokenize", TOKENIZED)],
)
def test_no_field_of_what_a_server_says_of_itself_brings_out_a_key(
    ask: Callable[..., Ended], path: str, reply: dict[str, Any]
) -> None:
    for one in share(3, spoiled(reply, ODD[:2])):
        ended = ask(in_turn(path, [one]), "--limit", 1, configs="vt_4k")
        assert len(ended.records) == 1 or "Error: The server at" in ended.printed


def test_no_field_of_a_batch_brings_out_a_key(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    rows = ["--dataset", small, "--configs", "all_4k", "--model", "m", "--api", "openai"]
    response = {"status_code": 200, "request_id": "r", "body": CHAT}
    failed = {"code": "c", "message": "m", "error": {"message": "n"}}
    lines = [{"id": "b", "response": response, "error": None}, {"response": None, "error": failed}]
    bodies = [{"response": {"status_code": 400, "body": error}} for error in ERRORS]
    spoiled_lines = (one for line in (*lines, *bodies) for one in spoiled(line))
    replies = share(9, (one for one in spoiled_lines if isinstance(one, dict)))
    for first in range(0, len(replies), ROWS):
        out = tmp_path / f"RUN{first}"
        check(in_process.ruler("batch", "write", *rows, "--out", out), out)
        asked = BatchFolder(out / "batch").asked()
        answers = [
            {**reply, "custom_id": name}
            for reply, name in zip(replies[first : first + ROWS], asked, strict=False)
        ]
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        check(in_process.ruler("batch", "read", out, path), out)
        assert (out / "run.json").is_file()
    for odd in (*ODD, f"vt_4k/{KEY}"):
        path.write_text(json.dumps({"custom_id": odd, "response": None, "error": "x"}) + "\n")
        assert check(in_process.ruler("batch", "read", out, path), out).code == 2


def test_an_answer_is_kept_as_it_is(ask: Callable[..., Ended]) -> None:
    """But for the key and for half characters, which no file can hold."""
    text = " é \u200b\x00 \\u0041 %20 &amp; \U0001f600\n"
    reply = planted(CHAT, ("choices", 0, "message", "content"), text + "\ud800" + KEY)
    ended = ask(in_turn("/v1/chat/completions", [reply]), "--limit", 1, configs="vt_4k")
    assert [record["prediction"] for record in ended.records] == [f"{text}?***"]
    assert ended.records[0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            [
                {"type": "text", "text": "4"},
                {"type": "reference", "ids": [1]},
                {"type": "text", "text": "2"},
            ],
            "42",
        ),
        ([], ""),
        ([{"type": "output_text", "text": "42"}], None),
        ([{"text": "42"}], None),
        (["4", "2"], None),
    ],
)
def test_an_answer_in_parts_that_nobody_knows_is_a_failed_row_and_no_empty_answer(
    ask: Callable[..., Ended], parts: list[Any], text: str | None
) -> None:
    reply = planted(CHAT, ("choices", 0, "message", "content"), parts)
    ended = ask(in_turn("/v1/chat/completions", [reply]), "--limit", 1, configs="vt_4k")
    (found,) = ended.records
    assert (found["prediction"], found["error"] is None) == (text or "", text is not None)


def test_reasoning_taken_out_of_a_key_joins_it_unseen(ask: Callable[..., Ended]) -> None:
    text = f"{KEY[:12]}<think>so</think>{KEY[12:]}"
    kept = {"content": ("***", "well\nso"), "reasoning_content": ("an answer", text)}
    for name, (prediction, thinking) in kept.items():
        reply = planted(CHAT, ("choices", 0, "message", name), text)
        ended = ask(in_turn("/v1/chat/completions", [reply]), "--limit", 1, configs="vt_4k")
        assert [one["prediction"] for one in ended.records] == [prediction]
        assert [one["thinking"] for one in ended.records] == [thinking]


@cache
def packed(size: int, times: int = 1) -> bytes:
    """So many spaces, packed with gzip, and the result again."""
    data = b"{" + b" " * size
    for _ in range(times):
        packing = zlib.compressobj(wbits=31)
        data = packing.compress(data) + packing.flush()
    return data


@cache
def packed_by_zlib() -> bytes:
    return zlib.compress(b" " * (1 << 28))


LESS_KNOWN = [("unknown", "server"), ("vllm", "server"), ("vllm 0.9.1", "unchecked")]
ENDLESS: dict[str, Callable[[], Reply]] = {
    "long": lambda: Reply(b" " * (1 << 20) for _ in range(1 << 20)),
    "packed": lambda: Reply(packed(1 << 28), headers={"Content-Encoding": "gzip"}),
    "packed twice": lambda: Reply(packed(1 << 28, 2), headers={"Content-Encoding": "gzip, gzip"}),
    "packed by its charset": lambda: Reply(
        packed_by_zlib(), headers={"Content-Type": "text/x; charset=zlib"}
    ),
    "deep": lambda: Reply(b"[" * 10**6),
    "deep within": lambda: Reply(b'{"data": ' + b"[" * 900 + b"]" * 900 + b"}"),
    "many lists": lambda: Reply(b'{"data": [' + b"[]," * (1 << 20) + b"1]}"),
    "a long number": lambda: Reply(b'{"data": ' + b"9" * 10**6 + b"}"),
    "moving": lambda: Reply(
        packed(1 << 28), 307, {"Location": "/v1/x", "Content-Encoding": "gzip"}
    ),
}


def slowly(path: str) -> Iterator[bytes]:
    """A byte each tenth of a second, for two minutes, and then the usual answer."""
    for _ in range(1200):
        time.sleep(0.1)
        yield b" "
    yield json.dumps(usual(path).body).encode()


@pytest.mark.parametrize("kind", share(4, [*ENDLESS, "slow"]))
@pytest.mark.parametrize(
    "path", ["/v1/models", "/version", "/tokenize", "/metrics", "/v1/chat/completions"]
)
def test_no_answer_goes_on_for_ever(ask: Callable[..., Ended], path: str, kind: str) -> None:
    """What is read of such a path is nothing: the run ends, or goes on without it."""

    def answer(asked: str) -> Reply:
        if asked not in (path, "/v1/x"):
            return usual(asked)
        return Reply(slowly(path)) if kind == "slow" else ENDLESS[kind]()

    ended = ask(answer, "--limit", 1, "--timeout", 2, configs="vt_4k")
    states = [record["finish_reason"] for record in ended.records]
    if "completions" in path:
        assert states == ["error"]
    elif states:
        known = [("vllm 0.9.1", "server")] if path == "/metrics" else LESS_KNOWN
        assert (states, ended.known in known) == (["stop"], True)
    else:
        assert "Error: The server at" in ended.printed


@pytest.mark.parametrize(
    "after", share(3, ["inf", "1e308", "nan", "-1", "Sat, 01 Jan 2050 00:00:00 GMT"])
)
def test_no_wait_is_longer_than_a_request_may_take(ask: Callable[..., Ended], after: str) -> None:
    replies = [Reply(ERRORS[0], 429, {"Retry-After": after}), CHAT]
    more = ("--limit", 1, "--timeout", 2, "--retries", 2)
    ended = ask(in_turn("/v1/chat/completions", replies), *more, configs="vt_4k")
    assert [record["finish_reason"] for record in ended.records] == ["stop"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "path", share(2, ["/v1/models", "/version", "/tokenize", "/v1/chat/completions", "/metrics"])
)
def test_no_prompt_is_sent_on_to_another_server(
    ask: Callable[..., Ended], path: str, status: int
) -> None:
    asked_there: list[str] = []

    def there(asked: str) -> Reply:
        asked_there.append(asked)
        return usual(asked.replace("//", "/"))

    with hostile_server(there) as other:
        moved = Reply(b"", status, {"Location": other.removesuffix("/v1") + path})
        ended = ask(
            lambda asked: moved if asked == path else usual(asked), "--limit", 1, configs="vt_4k"
        )
    assert asked_there == []
    assert f"the server sends this on to {other.removesuffix('/v1')}{path}" in ended.printed
    assert ended.code == (1 if "completions" in path else 2)


def test_a_server_may_send_on_within_itself(ask: Callable[..., Ended]) -> None:
    def answer(asked: str) -> Reply:
        if asked.endswith("/"):
            return usual(asked.rstrip("/"))
        return Reply(b"", 307, {"Location": f"{asked}/"})

    ended = ask(answer, "--limit", 1, configs="vt_4k")
    assert [record["prediction"] for record in ended.records] == ["an answer"]
