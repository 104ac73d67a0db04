"""Requests to a local server: every row is recorded, and a run stops only for a stated reason."""

from __future__ import annotations

import email.utils
import gc
import itertools
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_common.options import names_in
from ruler_eval.run import send_rows, server_facts
from ruler_eval.run.classify import Failure
from ruler_eval.run.connection import seconds_in
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import Records, read_records
from ruler_eval.run.runner import run
from ruler_eval.run.send_rows import SHORT_QUESTION
from ruler_eval.score.results import load
from tests.eval.run import small_release
from tests.eval.run.run_options import model_options
from tests.in_process import ruler_command, ruler_output
from tests.model_server import (
    QUESTION,
    VLLM,
    ModelServer,
    Reply,
    Request,
    answer,
    events,
    model_server,
)


@pytest.fixture(scope="module")
def rows36(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of four tasks with nine rows each."""
    return small_release.write(tmp_path_factory.mktemp("rows36") / "ruler", rows=9)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_facts, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(server_facts, "MAX_WAIT", 0.2)
    monkeypatch.setattr(send_rows, "MIN_WAIT", 0.01)


@pytest.fixture
def options(rows36: Path, tmp_path: Path) -> RunOptions:
    return model_options(dataset=rows36, out=tmp_path / "RUN", timeout=20.0, give_up_after=60.0)


def at(options: RunOptions, server: ModelServer | str, **changes: Any) -> RunOptions:
    """Return the options of a run on a server, or on several."""
    url = server if isinstance(server, str) else server.url
    return replace(options, base_url=names_in(url), **changes)


def records(options: RunOptions) -> list[Any]:
    return list(Records(options.out).read())


def states(options: RunOptions) -> dict[str, int]:
    return dict(Counter(record["finish_reason"] for record in records(options)))


# ---- which rows fail, and when a run ends ------------------------------------------------------


def test_rows_that_always_time_out_at_a_gateway_do_not_stop_a_run(options):
    with model_server(
        lambda r: Reply(504) if r.row % 4 == 1 and r.row < 32 else answer()
    ) as server:
        assert run(at(options, server)).total == {"stop": 28, "error": 8}
        assert sorted(set(server.tries)) == [1, send_rows.MAX_TRIES]
        assert run(at(options, server)).total == {"stop": 28, "error": 8}  # they stay recorded
        assert sum(server.tries) == 28 + 8 * send_rows.MAX_TRIES
    assert {r["error"] for r in records(options)} == {None, "HTTP 504: told to fail"}


@pytest.mark.parametrize("kind", ["500", "502", "closes", "malformed"])
@pytest.mark.parametrize("answered", [0, 5])
def test_a_server_that_answers_nothing_more_fails_no_row(options, kind, answered):
    failure = {
        "500": Reply(500),
        "502": Reply(502),
        "closes": Reply(200, b"{", drop=True),
        "malformed": Reply(200, b"{"),
    }[kind]
    with (
        model_server(lambda r: answer() if 0 <= r.row < answered else failure) as server,
        pytest.raises(RulerError, match=r"not answered for 1 seconds .*are missing and do"),
    ):
        run(at(options, server, give_up_after=1.0))
    assert states(options) == ({"stop": answered} if answered else {})
    with model_server() as server:  # the same command continues
        assert run(at(options, server)).total == {"stop": 36}
        assert len(server.requests) == 36 - answered


def test_every_row_that_fails_by_itself_is_recorded(options):
    """The server answers the short question, however many rows it does not answer."""
    with model_server(lambda r: answer() if r.row == QUESTION else Reply(500)) as server:
        assert run(at(options, server, concurrency=8)).total == {"error": 36}
        assert set(server.tries) == {send_rows.MAX_TRIES}
    with model_server() as server:
        assert run(at(options, server)).total == {"error": 36}
        assert run(at(options, server, retry_failed=True)).total == {"stop": 36}
    assert len(list(read_records(options.out / "answers.jsonl"))) == 72  # it is only appended to


def test_a_last_row_that_fails_alone_is_a_row_that_failed_if_the_server_answers_a_question(options):
    with model_server(lambda r: Reply(500) if r.row == 3 else answer()) as server:
        assert run(at(options, server, limit=1, concurrency=1)).total == {"stop": 3, "error": 1}
        assert [r.row for r in server.requests].count(QUESTION) == 2  # around its last try
    out = options.out.with_name("OUT")
    with model_server(lambda r: Reply(500) if r.row in (3, QUESTION) else answer()) as server:
        missing = at(options, server, limit=1, concurrency=1, out=out, give_up_after=1.0)
        with pytest.raises(RulerError, match="has not answered for 1 seconds"):
            run(missing)
    assert states(missing) == {"stop": 3}


def test_a_server_that_is_gone_for_a_while_fails_no_row_that_it_had_failed_before(options):
    """Failures before, during and after an outage do not add up."""
    failing = [*range(4), *range(8, 40)]  # the numbers of its requests
    numbers = itertools.count()
    with model_server(lambda _: Reply(500) if next(numbers) in failing else answer()) as server:
        assert run(at(options, server, concurrency=4)).total == {"stop": 36}


@pytest.mark.parametrize("reply", [Reply(400), Reply(422), Reply(404), Reply(403), Reply(413)])
def test_a_request_that_is_always_refused_ends_the_run_before_the_other_rows_are_sent(
    options, reply
):
    with model_server(lambda _: reply) as server:
        with pytest.raises(RulerError, match=rf"no row \(HTTP {reply.status}: told to fail"):
            run(at(options, server))
        assert len(server.requests) == 2  # a row, and the short question
    assert records(options) == []


def test_a_refused_field_is_named_with_the_flag_that_helps(options):
    message = "Unsupported value: 'temperature' does not support 0.0 with this model."
    refused = {"error": {"message": message, "param": "temperature", "code": "unsupported_value"}}

    def reply(request: Request) -> Reply:
        return Reply(400, refused) if "temperature" in request.body else answer()

    with model_server(reply) as server:
        with pytest.raises(RulerError, match=r"this model\): leave the field out with --omit"):
            run(at(options, server))
        assert run(at(options, server, omit="temperature")).total == {"stop": 36}


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (["m"], None),
        (["org/M:latest"], None),
        ([None], None),
        (["qwen"], "The server says that the answers are of the model 'qwen', and not of 'm'"),
        (["m", "m-small"], "Some answers are of the model 'm' and some of 'm-small'"),
        (
            ["an alias"] * 9 + ["qwen"],
            "Some answers are of the model 'an alias' and some of 'qwen'",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_answers_that_name_another_model_are_noted_once(options, capfd, names, note, stream):
    def reply(request: Request) -> Reply:
        body = {**answer().body, "model": names[min(request.row, len(names) - 1)]}
        return Reply(200, events(body)) if stream else Reply(200, body)

    with model_server(reply) as server:
        assert run(at(options, server, progress=True, stream=stream)).total == {"stop": 36}
    printed = " ".join(capfd.readouterr().err.split())
    for said in ("by what the server says", "The server says"):
        assert printed.count(said) <= 1
    assert ("the server says" in printed.lower()) == bool(note)
    assert (note or "") in printed
    ruler_output("score", options.folder)
    notes_of_score = [text for text in load(options.folder)["notes"] if "of the model" in text]
    assert len(notes_of_score) == bool(note)
    assert all(f"of the model '{names[0]}' and" in text.replace(",", "") for text in notes_of_score)


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (None, "36 answers came without a count of the tokens that the server read"),
        (900, None),
        (9000, "read far more tokens than 36 rows can have"),
    ],
)
def test_counts_that_are_missing_or_too_large_are_noted(options, read, words):
    usage = None if read is None else {"prompt_tokens": read, "completion_tokens": 9}
    with model_server(lambda _: Reply(200, {**answer().body, "usage": usage})) as server:
        lines = " ".join(run(at(options, server)).lines())
    assert ("the server read" in lines or "far more" in lines) == bool(words)
    assert (words or "") in lines


def test_a_firewall_that_refuses_one_row_fails_that_row(options):
    with model_server(lambda r: Reply(403) if r.row == 3 else answer()) as server:
        assert run(at(options, server)).total == {"stop": 35, "error": 1}
        assert set(server.tries) == {1}


def test_a_row_whose_model_was_unloaded_is_sent_again(options):
    """A server says it with the status of a wrong request, which would not be sent again."""
    unloaded = Reply(400, {"error": {"message": "Model is unloaded."}})
    with model_server(lambda r: unloaded if r.row == 3 and r.tries == 1 else answer()) as server:
        assert run(at(options, server)).total == {"stop": 36}


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_error_that_ends_the_run_stores_what_was_answered(options, concurrency):
    """The key is revoked in the middle."""

    def reply(request: Request) -> Reply:
        if request.row == 10:
            return Reply(401, {"error": {"message": "revoked"}})
        time.sleep(0.05)
        return answer()

    with model_server(reply) as server:
        with pytest.raises(RulerError, match=r"no row \(HTTP 401: revoked\): set OPENAI_API"):
            run(at(options, server, concurrency=concurrency))
        answered = len(server.requests) - 1
    assert states(options) == {"stop": answered}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
        {"error": {"message": "The model `m` does not exist.", "code": "model_not_found"}},
    ],
)
def test_a_quota_or_a_model_that_is_not_there_ends_the_run_at_once(options, body):
    status = 429 if "quota" in str(body) else 404
    with (
        model_server(lambda r: answer() if r.row < 4 else Reply(status, body)) as server,
        pytest.raises(RulerError, match="answers no row"),
    ):
        run(at(options, server))
    assert states(options) == {"stop": 4}


@pytest.mark.parametrize(
    "busy",
    [
        Reply(429),
        Reply(503),
        Reply(529),
        Reply(500, {"error": "the server is overloaded"}),
        Reply(200, {"error": {"message": "slow down", "code": 429}}),
        Reply(200, {"error": {"message": "Rate limit exceeded"}}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_busy_server_fails_no_row_however_often_it_says_so(options, busy, stream):
    with model_server(lambda r: busy if r.row == 2 and r.tries < 8 else answer()) as server:
        waiting = at(options, server, concurrency=2, limit=1, stream=stream)
        assert run(waiting).total == {"stop": 4}
        assert max(server.tries) == 8


def test_a_server_that_is_loading_is_waited_for(options):
    ready_at = time.monotonic() + 0.5

    def loading() -> bool:
        return time.monotonic() < ready_at

    with model_server(
        lambda _: Reply(503) if loading() else answer(),
        models=lambda: Reply(503) if loading() else Reply(200, {"data": [VLLM]}),
    ) as server:
        assert run(at(options, server, give_up_after=30)).total == {"stop": 36}


@pytest.mark.parametrize("seconds", ["3600", "1e300"])
def test_a_long_retry_after_at_the_start_is_waited_for_until_the_run_gives_up(options, seconds):
    busy = Reply(503, headers={"Retry-After": seconds})
    began = time.monotonic()
    with (
        model_server(models=lambda: busy) as server,
        pytest.raises(RulerError, match=r"has not answered for 0\.5 seconds"),
    ):
        run(at(options, server, give_up_after=0.5))
    assert time.monotonic() - began < 30


def test_an_endless_429_stops_the_run_with_rows_missing(options):
    with model_server(lambda r: answer() if r.row < 4 else Reply(429)) as server:
        began = time.monotonic()
        with pytest.raises(
            RulerError, match=r"not answered for 1 seconds \(HTTP 429: told to fail\)"
        ):
            run(at(options, server, give_up_after=1.0))
        assert 1.0 <= time.monotonic() - began < 8
    assert states(options) == {"stop": 4}
    with model_server() as server:
        assert run(at(options, server)).total == {"stop": 36}


def test_a_server_that_is_busy_with_other_rows_is_not_given_up(options, monkeypatch):
    """A queue of one: whatever else is sent while it answers gets 503."""
    monkeypatch.setattr(send_rows, "REFUSAL_SECONDS", 0.2)
    monkeypatch.setattr(send_rows, "FIRST_ROW_SECONDS", 0.1)
    working = threading.Lock()

    def reply(_: Request) -> Reply:
        if not working.acquire(blocking=False):
            return Reply(503)
        time.sleep(2.5)
        working.release()
        return answer()

    with model_server(reply) as server:
        limited = at(options, server, give_up_after=2.0, concurrency=2, configs="vt_4k", limit=2)
        assert run(limited).total == {"stop": 2}


def test_a_row_slower_than_the_timeout_is_sent_once(options):
    def reply(request: Request) -> Reply:
        if request.row == 0:
            time.sleep(2)
        return answer()

    with model_server(reply) as server:
        assert run(at(options, server, timeout=1.0)).total == {"stop": 35, "error": 1}
        assert set(server.tries) == {1}
        assert run(at(options, server, timeout=1.0)).total == {"stop": 35, "error": 1}
        assert sum(server.tries) == 36
    (failed,) = [r["error"] for r in records(options) if r["error"]]
    assert failed == "Timeout: no answer within 1 seconds (--timeout)"


def test_a_refused_key_stops_the_run_at_once(options):
    with model_server(lambda _: Reply(401)) as server:
        with pytest.raises(RulerError, match=r"answers no row \(HTTP 401: .*OPENAI_API_KEY"):
            run(at(options, server, concurrency=2))
        assert len(server.requests) == 1
    assert records(options) == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_may_not_list_the_models_is_refused_at_the_start(options, status):
    with model_server(models=lambda: Reply(status)) as server:
        with pytest.raises(RulerError, match=f"cannot be used .HTTP {status}: .*OPENAI_API_KEY"):
            run(at(options, server))
        assert server.requests == []


def test_no_connection_at_the_start_is_one_sentence(options):
    with pytest.raises(RulerError, match=r"^No server answers at http://127\.0\.0\.1:9/v1: start"):
        run(at(options, "http://127.0.0.1:9/v1"))
    with pytest.raises(RulerError, match=r"No server answers at http://\[::1\]:9/v1"):
        run(at(options, "http://[::1]:9/v1"))


def test_a_server_that_stops_ends_the_run_which_can_be_resumed(options):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    gone = threading.Event()
    failure: list[BaseException] = []

    def reply(request: Request) -> Reply:
        if request.row >= 10:
            gone.set()
            return Reply(200, b"{", drop=True)
        return answer()

    def work() -> None:
        try:
            run(at(options, f"http://127.0.0.1:{port}/v1", give_up_after=1.0, concurrency=4))
        except RulerError as error:
            failure.append(error)

    with model_server(reply, port=port):
        thread = threading.Thread(target=work)
        thread.start()
        assert gone.wait(20)
    thread.join(30)
    assert "has not answered for 1 seconds (Connection error:" in str(failure[0])
    answered = states(options)["stop"]
    assert 1 <= answered <= 10
    with model_server(port=port) as server:
        assert run(at(options, server)).total == {"stop": 36}
        assert len(server.requests) == 36 - answered


def test_a_server_that_restarts_during_a_run_fails_no_row(options):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    stops = threading.Event()
    totals: list[dict[str, int]] = []

    def reply(request: Request) -> Reply:
        if request.row == 5:
            stops.set()
        time.sleep(0.02)
        return answer()

    def work() -> None:
        totals.append(run(at(options, f"http://127.0.0.1:{port}/v1", concurrency=3)).total)

    with model_server(reply, port=port):
        thread = threading.Thread(target=work)
        thread.start()
        assert stops.wait(20)
    time.sleep(0.5)
    with model_server(port=port):
        thread.join(30)
    assert totals == [{"stop": 36}]


@pytest.mark.parametrize("other", ["/models/one", "/models/two"])
def test_a_server_that_is_started_again_with_another_model_ends_the_run(options, other):
    """It serves it under the same name, so that its answers look like those of the first one."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    stops = threading.Event()
    ends: list[str] = []

    def reply(request: Request) -> Reply:
        if request.row >= 5:
            stops.set()
            return Reply(200, b"{", drop=True)
        return answer("first")

    def work() -> None:
        try:
            total = run(at(options, f"http://127.0.0.1:{port}/v1", concurrency=3)).total
            ends.append(str(dict(total)))
        except RulerError as error:
            ends.append(str(error))

    with model_server(reply, models=({**VLLM, "root": "/models/one"},), port=port):
        thread = threading.Thread(target=work)
        thread.start()
        assert stops.wait(20)
    models = ({**VLLM, "root": other},)
    with model_server(lambda _: answer("second"), models=models, port=port) as server:
        thread.join(30)
        if other == "/models/one":
            assert ends == ["{'stop': 36}"]
            return
        (why,) = ends  # the first of its answers was not taken
        assert "was out and is not the same as before" in why
        assert 'server_model = "one", not "two"' in why
        with pytest.raises(RulerError, match="server_model"):  # nor does the next session
            run(at(options, server))
    assert {record["prediction"] for record in records(options)} == {"first"}


def test_retry_after_is_honoured(options):
    def reply(request: Request) -> Reply:
        if request.tries == 1:
            return Reply(429, headers={"Retry-After": "1"})
        return answer()

    with model_server(reply) as server:
        assert run(at(options, server, limit=1)).total == {"stop": 4}
    first = {r.row: r.at for r in server.requests if r.tries == 1}
    second = {r.row: r.at for r in server.requests if r.tries == 2}
    assert all(0.9 <= second[row] - first[row] < 4 for row in first)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("-7", None), ("nan", None), ("soon", None), ("", None)],
)
def test_the_seconds_of_a_retry_after(header, seconds):
    assert seconds_in(header) == seconds


def test_a_retry_after_may_be_a_date():
    in_a_minute = email.utils.formatdate(time.time() + 60, usegmt=True)
    assert seconds_in(in_a_minute) == pytest.approx(60, abs=5)
    assert seconds_in("Wed, 21 Oct 2015 07:28:00 GMT") is None


def test_a_retry_after_of_no_time_is_a_wait_all_the_same():
    failure = Failure(kind="wait", sentence="HTTP 429", retry_after=0.0)
    assert server_facts.seconds_to_wait(failure, tries=3) >= 4 * server_facts.FIRST_WAIT


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (Reply(200, {"choices": []}), "Malformed: no choices in the answer"),
        (Reply(200, b"busy"), "Malformed: the answer is not valid JSON: busy"),
        (Reply(200, b""), "Malformed: the answer is empty"),
        (Reply(200, b'{"choices": [{"te', drop=True), "Connection error: RemoteProtocolError"),
        (Reply(502, b"<html>bad gateway</html>"), "HTTP 502: bad gateway"),
    ],
)
def test_a_malformed_answer_is_retried_and_then_recorded(options, failure, cause):
    with model_server(
        lambda r: failure if r.row == 0 or (r.row > 0 and r.tries == 1) else answer()
    ) as server:
        assert run(at(options, server, limit=1)).total == {"stop": 3, "error": 1}
        assert sorted(server.tries) == [2, 2, 2, send_rows.MAX_TRIES]
    (error,) = [record["error"] for record in records(options) if record["error"]]
    assert error.startswith(cause)


@pytest.mark.parametrize("status", [400, 422])
def test_a_row_that_the_server_refuses_is_sent_once(options, status):
    with model_server(lambda r: Reply(status) if r.row == 0 else answer()) as server:
        assert run(at(options, server)).total == {"stop": 35, "error": 1}
        assert set(server.tries) == {1}


def test_no_more_requests_than_the_concurrency_are_sent_at_a_time(options):
    def reply(_: Request) -> Reply:
        time.sleep(0.05)
        return answer()

    with model_server(reply) as server:
        run(at(options, server, concurrency=4))
        assert server.max_in_flight == 4


@pytest.mark.parametrize("stream", [False, True])
def test_an_answered_row_records_the_seconds_of_its_last_request(options, stream):
    def reply(request: Request) -> Reply:
        if request.row == 0:
            return Reply(400)
        time.sleep(0.8 if request.tries == 1 else 0.1)
        if request.tries == 1:
            return Reply(500)
        return answer()

    with model_server(reply) as server:
        run(at(options, server, concurrency=4, stream=stream, limit=1))
    seconds = [r["seconds"] for r in records(options) if "seconds" in r]
    assert [r["finish_reason"] for r in records(options) if "seconds" not in r] == ["error"]
    assert len(seconds) == 3
    assert 0.1 <= min(seconds) <= max(seconds) < 0.8
    assert seconds == [round(number, 3) for number in seconds]


def test_ctrl_c_ends_a_run_within_seconds(options):
    began = threading.Event()

    def reply(_: Request) -> Reply:
        began.set()
        time.sleep(30)
        return answer()

    with model_server(reply) as server:
        flags = ["--dataset", options.dataset, "--configs", "all_4k", "--backend", "openai"]
        flags += ["--model", "m", "--base-url", server.url, "--out", str(options.out)]
        process = subprocess.Popen(
            ruler_command("run", *flags),
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
        assert began.wait(60)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        stopped_at = time.monotonic()
        _, printed = process.communicate(timeout=20)
        assert time.monotonic() - stopped_at < 5  # 2 on an idle machine; an answer takes 30
    assert process.returncode == 130
    assert "Stopped; finished work is kept." in printed
    assert "Traceback" not in printed
    assert "never awaited" not in printed


@pytest.mark.parametrize(
    "failure",
    [
        Reply(401, {"error": {"message": "revoked"}}),
        Reply(429, {"error": {"message": "slow down"}}),
        Reply(200, b"{", drop=True),
    ],
)
def test_a_run_that_ends_in_the_middle_says_why_in_one_sentence(options, failure):
    with model_server(lambda r: answer() if 0 <= r.row < 6 else failure) as server:
        flags = ["--dataset", options.dataset, "--configs", "all_4k", "--backend", "openai"]
        flags += ["--model", "m", "--base-url", server.url, "--out", str(options.out)]
        done = subprocess.run(
            ruler_command("run", *flags, "--give-up-after", "1"), capture_output=True, text=True
        )
    assert done.returncode == 2
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.stderr.splitlines()[-1] == sentence
    assert "Traceback" not in done.stderr
    assert "never retrieved" not in done.stderr
    assert states(options) == {"stop": 6}


# ---- what is sent, and what is found -----------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "path", "field"),
    [("completion", "/v1/completions", "prompt"), ("chat", "/v1/chat/completions", "messages")],
)
def test_the_endpoint_follows_the_mode(options, mode, path, field):
    with model_server() as server:
        run(at(options, server, mode=mode, limit=1))
    assert {request.path for request in server.requests} == {path}
    assert all(field in request.body for request in server.requests)
    if mode == "completion":
        prefixes = ("provided text is", "they are: ", "list are:", "Answer:", SHORT_QUESTION)
        assert all(request.body["prompt"].endswith(prefixes) for request in server.requests)


@pytest.mark.parametrize(("tokens", "is_refused"), [(3, False), (9, False), (14, True)])
def test_an_unknown_server_that_puts_raw_prompts_into_a_template_is_refused(
    options, tokens, is_refused
):
    """Ollama behind a gateway, GPT4All and others do."""

    def reply(request: Request) -> Reply:
        letters = len(request.prompt)
        count = tokens if letters < 20 else letters // 4
        return replace(answer(), body={**answer().body, "usage": {"prompt_tokens": count}})

    with model_server(reply) as server:
        asked = at(options, server, mode="completion", limit=1)
        if not is_refused:
            run(asked)
            return
        with pytest.raises(RulerError, match=r"into a chat template: it counts 14 .* --mode chat"):
            run(asked)


def test_prefill_goes_to_vllm_as_a_turn_to_continue(options):
    with model_server(models=[VLLM], paths={"/version": {"version": "0.9.1"}}) as server:
        run(at(options, server, limit=1))
    kept = json.loads((options.out / "run.json").read_text())
    assert (kept["mode"], kept["max_model_len"]) == ("prefill", 10**6)
    assert (kept["backend_version"], kept["budget"]) == ("vllm 0.9.1", "unchecked")
    for body in (request.body for request in server.requests):
        assert body["add_generation_prompt"] is False
        assert body["continue_final_message"] is True
        assert body["messages"][-1]["role"] == "assistant"
        assert not body["messages"][-1]["content"].startswith(" ")
        assert body["chat_template_kwargs"]["enable_thinking"] is False
        assert body["repetition_penalty"] == 1.0  # not the model's generation_config.json


def test_a_run_describes_its_server_in_one_line(options, capfd):
    options = replace(options, limit=1, progress=True)
    with model_server(models=[VLLM], paths={"/version": {"version": "0.9.1"}}) as server:
        run(at(options, server))
        assert (
            f"vLLM 0.9.1 at {server.url}: model m, context window 1,000,000 tokens, mode prefill "
            "(vLLM continues the assistant's turn).\n"
        ) in capfd.readouterr().err
    with model_server() as server:
        run(at(options, server, out=options.out.with_name("OTHER")))
        assert (
            "model m, context window unknown (--max-model-len sets it), mode chat (the server is "
            "not known to continue an assistant's turn)."
        ) in capfd.readouterr().err


def test_prefill_is_refused_if_the_prefix_would_be_lost(options):
    with model_server() as server, pytest.raises(RulerError, match=r"--mode chat, --tokenizer"):
        run(at(options, server, mode="prefill"))


def test_with_a_tokenizer_prefill_sends_token_ids(options, tokenizer_folder, tiny_tokenizer):
    asked = replace(options, mode="prefill", configs=("vt_4k",), limit=1)
    with model_server() as server:
        run(at(asked, server, tokenizer=str(tokenizer_folder)))
    (sent,) = server.requests
    assert sent.path == "/v1/completions"
    text = tiny_tokenizer.decode(sent.body["prompt"])
    assert text.startswith("<s><|user|>")
    assert text.count("<s>") == 1
    assert text.endswith("they are: ")


def test_a_row_over_the_limit_is_not_sent(options, tokenizer_folder):
    with model_server() as server:
        asked = at(replace(options, mode="completion"), server, tokenizer=str(tokenizer_folder))
        outcome = run(replace(asked, max_model_len=1000))
    over = [record for record in records(options) if record["finish_reason"] == "does_not_fit"]
    assert outcome.total["does_not_fit"] == len(over) == 36 - len(server.requests)
    assert over
    for record in over:
        assert record["usage"]["prompt_tokens"] > 1000 - 128
        assert "over the context window of 1,000" in record["error"]


def test_the_servers_own_tokenizer_counts_if_it_has_one(options):
    tokenize = {"count": 999_990, "tokens": [1, 2, 3]}
    with (
        model_server(models=[VLLM], paths={"/tokenize": tokenize}) as server,
        pytest.raises(RulerError, match=r"No row fits .* over the context window of 1,000,000"),
    ):
        run(at(options, server))
    assert server.requests == []
    assert json.loads((options.out / "run.json").read_text())["budget"] == "server"


def test_another_program_with_a_path_called_tokenize_counts_nothing(options):
    usage = {"prompt_tokens": 100, "completion_tokens": 9}

    def shortened(_: Request) -> Reply:
        reply = answer()
        reply.body["usage"] = usage
        return reply

    paths = {"/tokenize": {"count": 0, "tokens": []}}
    with (
        model_server(shortened, models=[VLLM], paths=paths) as server,
        pytest.raises(RulerError, match="the server shortened the prompt"),
    ):
        run(at(options, server, limit=1, mode="chat"))


def test_a_prediction_is_stored_exactly_and_an_error_without_the_key(options, monkeypatch):
    key = "sk-very-secret-12345678"
    monkeypatch.setenv("OPENAI_API_KEY", key)

    def reply(request: Request) -> Reply:
        text = f"bad key {request.headers['authorization']}"
        if request.row == 0:
            return Reply(400, {"error": {"message": text}})
        return answer(f" \u200b\x00 {text} ")

    with model_server(reply) as server:
        run(at(options, server, concurrency=1, configs=("vt_4k",), limit=2))
    kept = {(record["error"], record["prediction"]) for record in records(options)}
    assert kept == {
        ("HTTP 400: bad key Bearer ***", ""),
        (None, f" \u200b\x00 bad key Bearer {key} "),
    }


@pytest.mark.parametrize(
    "form",
    [
        "{root}",
        "{root}/",
        "{root}/v1/",
        "{root}/v1/chat/completions",
        "{root}/v1/completions/",
        "{root}/v1/models",
        "{root}/v1?api-version=2026-10-21",
        "{root}/v1/chat/completions?api-version=2026-10-21",
    ],
)
def test_an_address_in_any_form_that_consoles_show_is_used(options, form):
    with model_server() as server:
        url = form.format(root=server.url.removesuffix("/v1"))
        assert run(at(options, url, limit=1)).total == {"stop": 4}
        path, _, query = server.requests[0].path.partition("?")
    assert path == "/v1/chat/completions"
    assert query == ("api-version=2026-10-21" if "?" in form else "")


def test_an_address_without_an_api_is_named_before_the_other_rows_are_sent(options):
    with model_server(lambda _: Reply(404, {"detail": "Not Found"})) as server:
        with pytest.raises(RulerError, match=r"HTTP 404: Not Found\): correct --base-url"):
            run(at(options, server.url.replace("/v1", "/api/v3")))
        assert len(server.requests) == 2


def test_several_servers_are_asked_in_turn(options):
    with model_server(models=[VLLM]) as one, model_server(models=[VLLM]) as other:
        assert run(at(options, f"{one.url},{other.url}")).total == {"stop": 36}
        assert (len(one.requests), len(other.requests)) == (18, 18)


def test_a_run_goes_on_while_one_of_its_servers_is_out(options):
    with model_server() as one, model_server(lambda _: Reply(503)) as other:
        assert run(at(options, f"{one.url},{other.url}", concurrency=4)).total == {"stop": 36}


@pytest.mark.parametrize("kind", ["closes", "500", "malformed", "404", "web page"])
def test_one_of_two_servers_that_answers_nothing_more_fails_no_row(options, kind):
    """The other one answers, which says nothing about the rows that failed here."""
    failure = {
        "500": Reply(500),
        "closes": Reply(200, b"{", drop=True),
        "malformed": Reply(200, b"{"),
        "404": Reply(404),
        "web page": Reply(200, b"<html>We will be back soon.</html>"),
    }[kind]
    with (
        model_server() as one,
        model_server(lambda r: answer() if 0 <= r.row < 3 else failure) as other,
    ):
        assert run(at(options, f"{one.url},{other.url}", concurrency=6)).total == {"stop": 36}
        assert max(other.tries) <= 2  # a row that failed is sent to the other one


@pytest.mark.parametrize("failure", [Reply(404), Reply(200, b"<html>moved</html>"), Reply(401)])
def test_one_of_two_servers_that_refuses_everything_is_named_and_fails_no_row(options, failure):
    with (
        model_server() as one,
        model_server(lambda _: failure) as other,
        pytest.raises(RulerError, match=f"The server at {other.url} answers no row"),
    ):
        run(at(options, f"{one.url},{other.url}", concurrency=6))
    assert set(states(options)) == {"stop"}


@pytest.mark.parametrize("gone", [Reply(404), Reply(200, b"<html>We will be back soon.</html>")])
def test_a_gateway_without_its_server_for_a_moment_fails_no_row(options, gone):
    with model_server(lambda r: gone if r.row % 7 == 3 and r.tries == 1 else answer()) as server:
        assert run(at(options, server)).total == {"stop": 36}
    numbers = itertools.count()  # … nor if the short question is not answered either
    with model_server(lambda _: gone if 6 <= next(numbers) < 20 else answer()) as server:
        again = at(options, server, out=options.out.with_name("AGAIN"), concurrency=4)
        assert run(again).total == {"stop": 36}


def test_a_base_url_is_refused_for_another_backend(options):
    with pytest.raises(RulerError, match="--base-url is for --backend openai"):
        run(replace(options, backend="oracle", base_url="http://127.0.0.1:9/v1"))


def test_ollama_is_recognised_by_its_greeting_whoever_owns_the_model(options):
    model = {"id": "hf.co/unsloth/m:Q4", "object": "model", "owned_by": "unsloth"}
    with (
        model_server(models=[model], paths={"/": "Ollama is running"}) as server,
        pytest.raises(RulerError, match="Ollama does not accept raw prompts"),
    ):
        run(at(options, server, model=model["id"], mode="completion"))


def test_a_longer_context_may_follow_for_rows_that_did_not_fit(options):
    """A server that is started again with a larger window; a smaller one is refused."""
    cut = answer("42")
    cut.body["usage"] = {"prompt_tokens": 10, "completion_tokens": 5}
    with model_server(
        lambda r: cut if r.row < 4 else answer(), models=[{**VLLM, "max_model_len": 512}]
    ) as server:
        assert run(at(options, server, mode="chat", configs="vt_4k")).total == {
            "does_not_fit": 4,
            "stop": 5,
        }
    with model_server(models=[{**VLLM, "max_model_len": 8192}]) as server:
        asked = at(options, server, mode="chat", configs="vt_4k")
        assert run(asked).total == {"does_not_fit": 4, "stop": 5}
        assert run(replace(asked, retry_failed=True)).total == {"stop": 9}
    with (
        model_server(models=[{**VLLM, "max_model_len": 256}]) as server,
        pytest.raises(RulerError, match="max_model_len = 512, not 256"),
    ):
        run(at(options, server, mode="chat"))


LLAMA_CPP = {"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}
PROPS = {
    "total_slots": 4,
    "default_generation_settings": {"n_ctx": 8192},
    "build_info": "b1",
}


CONTEXT_IS_FULL = Reply(500, {"error": {"code": 500, "message": "Context size has been exceeded."}})


def test_slots_that_share_a_context_get_fewer_rows_at_a_time(options, capfd):
    """llama.cpp's slots: two rows at once do not fit the cache that all of them share."""
    at_once = threading.Semaphore(1)

    def reply(_: Request) -> Reply:
        if not at_once.acquire(blocking=False):
            return CONTEXT_IS_FULL
        time.sleep(0.02)
        at_once.release()
        return answer()

    with model_server(reply, models=[LLAMA_CPP], paths={"/props": PROPS}) as server:
        assert run(at(options, server, mode="chat", progress=True)).total == {"stop": 36}
        assert server.max_in_flight <= 4
    printed = " ".join(capfd.readouterr().err.split())
    assert "llama.cpp has 4 slots (-np) of 8192 tokens, or one context of that size" in printed
    assert "without -np): 4 rows at a time, not 32 (--concurrency)." in printed
    assert printed.count("fewer rows are sent at a time. For all its slots start it with -c") == 1


def test_as_many_rows_as_fit_the_shared_context_are_sent_at_a_time(options):
    """llama.cpp fails all rows in flight when its context is full; two of these rows fit it."""
    four, two = threading.Barrier(4), threading.Barrier(2)
    numbers = itertools.count(1)

    def reply(request: Request) -> Reply:
        if request.row == 0:  # sent alone
            return answer()
        if request.row <= 4 and request.tries == 1:
            four.wait(60)
            return CONTEXT_IS_FULL
        if next(numbers) < 35:  # the last one has no other beside it
            two.wait(60)
        return answer()

    slots = [{"id": number, "n_ctx": 1400} for number in range(4)]
    paths = {"/props": PROPS, "/slots": slots}
    with model_server(reply, models=[LLAMA_CPP], paths=paths) as server:
        assert run(at(options, server, mode="chat")).total == {"stop": 36}
    assert {record["in_flight"] for record in records(options)} == {1, 2}


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_row_that_had_others_beside_it_is_not_alone_when_their_answers_have_come(options, last):
    """The context was full because of the others: the row itself fits."""
    three, answered = threading.Barrier(3), threading.Semaphore(0)

    def reply(request: Request) -> Reply:
        if request.row == 0:
            return answer()
        if request.tries == 1:
            three.wait(60)
            if request.row == last:
                assert answered.acquire(timeout=60)
                assert answered.acquire(timeout=60)
            return CONTEXT_IS_FULL
        answered.release()
        return answer()

    slots = [{"id": number, "n_ctx": 8192} for number in range(4)]
    paths = {"/props": PROPS, "/slots": slots}
    with model_server(reply, models=[LLAMA_CPP], paths=paths) as server:
        assert run(at(options, server, mode="chat", limit=1)).total == {"stop": 4}


@pytest.mark.parametrize("disabled", [404, 501])
def test_slots_that_are_not_shown_are_read_from_the_props(options, capfd, disabled):
    paths = {"/props": PROPS, "/slots": Reply(disabled)}
    with model_server(models=[LLAMA_CPP], paths=paths) as server:
        assert run(at(options, server, mode="chat", progress=True, limit=1)).total == {"stop": 4}
    assert "4 slots (-np) of 8192 tokens" in " ".join(capfd.readouterr().err.split())


def test_a_template_that_the_server_does_not_render_is_not_checked(options):
    paths = {"/props": {**PROPS, "chat_template": "{{ messages[0].content }}"}}
    with model_server(models=[LLAMA_CPP], paths=paths) as server:
        assert run(at(options, server, mode="chat", limit=1)).total == {"stop": 4}


def test_the_smallest_slot_is_the_context_length(options, capfd):
    slots = [{"id": 0, "n_ctx": 4096}, {"id": 1, "n_ctx": 600, "is_processing": True}]
    paths = {
        "/slots": slots,
        "/tokenize": {"tokens": [1] * 590},
        "/apply-template": {"prompt": "a"},
    }
    with (
        model_server(models=[LLAMA_CPP], paths=paths) as server,
        pytest.raises(RulerError, match=r"590 prompt tokens .* are over the context window of 600"),
    ):
        run(at(options, server, mode="chat", progress=True, limit=1))
    assert "context window 600 tokens" in " ".join(capfd.readouterr().err.split())


def test_a_tokenizer_that_is_not_the_servers_is_refused(options, tokenizer_folder):
    """Prompts are sent as ids, and the model would read another text."""
    paths = {"/props": PROPS, "/tokenize": {"tokens": [5, 6, 7]}}
    with (
        model_server(models=[LLAMA_CPP], paths=paths) as server,
        pytest.raises(RulerError, match="gives other token ids than the server"),
    ):
        run(at(options, server, tokenizer=str(tokenizer_folder)))
    assert server.requests == []


def test_a_tokenizer_that_differs_in_other_scripts_is_noted(
    options, tokenizer_folder, tiny_tokenizer, capfd
):
    """As that of SmolLM2's GGUF file, from which transformers does not read how digits split."""

    def tokenize(body):
        ids = tiny_tokenizer.encode(body["content"], add_special_tokens=False)
        return {"tokens": ids if body["content"].isascii() else ids[1:]}

    asked = replace(options, configs=("vt_4k",), limit=1)
    paths = {"/props": PROPS, "/tokenize": tokenize}
    with model_server(models=[LLAMA_CPP], paths=paths) as server:
        run(at(asked, server, tokenizer=str(tokenizer_folder), progress=True))
    printed = " ".join(capfd.readouterr().err.split())
    assert "--tokenizer gives other token ids than llama.cpp to texts such as" in printed


def test_a_row_that_is_over_the_shared_context_by_itself_does_not_fit(options):
    with model_server(
        lambda r: CONTEXT_IS_FULL if r.row == 5 else answer(),
        models=[LLAMA_CPP],
        paths={"/props": PROPS},
    ) as server:
        assert run(at(options, server, mode="chat")).total == {"stop": 35, "does_not_fit": 1}


def test_servers_that_differ_are_refused(options):
    with (
        model_server(models=[VLLM], paths={"/version": {"version": "0.32.0"}}) as one,
        model_server(models=[VLLM], paths={"/version": {"version": "0.33.0"}}) as other,
        pytest.raises(RulerError, match=r"differ \(vllm 0\.32\.0.*vllm 0\.33\.0"),
    ):
        run(at(options, f"{one.url},{other.url}"))


def test_an_https_address_of_an_http_server_is_one_sentence(options):
    with (
        model_server() as server,
        pytest.raises(RulerError, match=r"TLS .*WRONG_VERSION.*if its address is http://"),
    ):
        run(at(options, server.url.replace("http", "https")))


def test_a_certificate_that_is_not_trusted_is_one_sentence(options):
    import http.server
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with pytest.raises(RulerError, match=r"self-signed certificate.*SSL_CERT_FILE"):
        run(at(options, f"https://127.0.0.1:{server.server_port}/v1"))
    server.shutdown()
    server.server_close()


def test_an_unknown_model_is_answered_with_the_served_ones(options):
    threads = threading.active_count()
    with model_server(models=[{**VLLM, "id": name} for name in ("llama-8b", "qwen-7b")]) as server:
        wrong = at(options, server, model="qwen")
        with pytest.raises(RulerError, match=r"no model 'qwen'\. It serves: llama-8b, qwen-7b\.$"):
            run(wrong)
    assert threading.active_count() <= threads + 1


def test_without_a_key_or_a_server_a_run_is_refused(options, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(RulerError, match="OPENAI_API_KEY"):
        run(options)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTP_PROXY", "http://me:hunter2@127.0.0.1:port"),
        ("SSL_CERT_FILE", "/nowhere/hunter2"),
        ("OPENAI_CUSTOM_HEADERS", "X Name: hunter2"),
    ],
)
def test_an_environment_that_allows_no_request_is_one_sentence(
    options, monkeypatch, variable, value
):
    with model_server() as server:
        monkeypatch.setenv(variable, value)
        with pytest.raises(RulerError, match=f"No request can be made .*{variable}") as caught:
            run(at(options, server))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999/v1",
        "127.0.0.1:8000/v1",
        "http:///v1",
        "http://host/v1#key",
    ],
)
def test_a_malformed_address_is_refused_before_anything_starts(options, url):
    with pytest.raises(RulerError, match="--base-url takes http://HOST:PORT/v1"):
        run(at(options, url))
    assert not options.out.exists()


def test_a_password_in_an_address_is_refused_and_not_shown(options):
    for url in ("http://me:hunter2@host/v1", "http://me:hunter2@[::1", "http://hunter2@h:99999"):
        with pytest.raises(RulerError) as caught:
            run(at(options, url))
        assert "hunter2" not in str(caught.value)


def test_a_key_that_no_header_can_hold_is_refused(options, monkeypatch):
    key = "sk-1234\n5678"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(RulerError, match="OPENAI_API_KEY contains a space") as caught:
        run(at(options, "http://127.0.0.1:9/v1"))
    assert key not in str(caught.value)


# ---- streams -----------------------------------------------------------------------------------

SSE = {"Content-Type": "text/event-stream; charset=utf-8"}
USAGE = {"prompt_tokens": 900, "completion_tokens": 9}


def chunk(finish_reason: str | None = None, **piece: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish_reason, **piece}]}


CHUNKS: list[Any] = [
    chunk(delta={"role": "assistant", "content": ""}),
    chunk(delta={"reasoning_content": "well"}),
    chunk(delta={"content": "an\u2003 "}),
    chunk(delta={"content": "answér"}, finish_reason="stop"),
    {"choices": [], "usage": USAGE},
]


@pytest.fixture
def streamed(options: RunOptions) -> RunOptions:
    return replace(options, stream=True, configs=("vt_4k",), mode="chat", limit=1)


def test_a_streamed_answer_is_assembled(streamed):
    with model_server(lambda _: Reply(200, events(*CHUNKS), SSE)) as server:
        assert run(at(streamed, server)).total == {"stop": 1}
    (record,) = records(streamed)
    assert (record["prediction"], record["thinking"]) == ("an\u2003 answér", "well")
    assert record["usage"]["completion_tokens"] == 9
    (request,) = server.requests
    assert request.body["stream"] is True
    assert request.body["stream_options"] == {"include_usage": True}


def test_an_answer_that_is_not_streamed_is_read_too(streamed):
    with model_server() as server:
        assert run(at(streamed, server)).total == {"stop": 1}


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json"])
def test_a_stream_may_begin_with_a_byte_order_mark(streamed, asked, kind):
    sent = b"\xef\xbb\xbf" + events(*CHUNKS[2:])
    with model_server(lambda _: Reply(200, sent, {"Content-Type": kind})) as server:
        assert run(at(streamed, server, stream=asked)).total == {"stop": 1}
    assert records(streamed)[0]["prediction"] == "an\u2003 answér"


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json"])
def test_a_stream_that_was_not_asked_for_or_has_another_name_is_read_too(streamed, asked, kind):
    sent = b": here\n\n" + events(*CHUNKS)
    with model_server(lambda _: Reply(200, sent, {"Content-Type": kind})) as server:
        assert run(at(streamed, server, stream=asked)).total == {"stop": 1}
    (record,) = records(streamed)
    assert (record["prediction"], record["thinking"]) == ("an\u2003 answér", "well")


@pytest.mark.parametrize(
    "sent",
    [
        events(*CHUNKS[:3], last=b""),
        events(*CHUNKS[:3]),  # ended by a gateway, without an end of the answer and its counts
        events(*CHUNKS[:3], {"error": {"message": "out of memory", "code": 500}}),
        events(*CHUNKS[:2], chunk(delta={"content": 5})),
    ],
)
def test_a_stream_that_breaks_off_is_tried_again(streamed, sent):
    whole = Reply(200, events(*CHUNKS), SSE)
    with model_server(lambda r: Reply(200, sent, SSE) if r.tries < 3 else whole) as server:
        assert run(at(streamed, server)).total == {"stop": 1}
        assert server.tries == [3]
    assert records(streamed)[0]["prediction"] == "an\u2003 answér"


def test_comments_in_a_stream_leave_nothing_behind_and_are_no_pieces(streamed, capfd):
    def without_end(line: bytes) -> Iterator[bytes]:
        while True:
            time.sleep(0.1)
            yield line

    with model_server(lambda _: Reply(200, iter([b": a\n\n", events(*CHUNKS)]), SSE)) as server:
        assert run(at(streamed, server)).total == {"stop": 1}
    hanging = replace(streamed, out=streamed.out.with_name("HANGING"))
    for line in (b": keep-alive\n\n", events({"type": "ping"}, last=b"")):
        with (
            model_server(lambda _, line=line: Reply(200, without_end(line), SSE)) as server,
            pytest.raises(RulerError, match=r"has not answered .*\(Timeout: no answer within 1 s"),
        ):
            run(at(hanging, server, timeout=1.0, give_up_after=1.5))
    empty = replace(streamed, out=streamed.out.with_name("EMPTY"))
    with (
        model_server(lambda _: Reply(200, b"data: [DONE]\n\n", SSE)) as server,
        pytest.raises(RulerError, match="the stream ended before the answer did"),
    ):
        run(at(empty, server, give_up_after=0.5))
    gc.collect()
    assert "Task was destroyed" not in capfd.readouterr().err


def test_the_timeout_of_a_stream_is_for_each_piece(streamed):
    def slowly(*pauses: float) -> Iterator[bytes]:
        for pause, piece in zip(pauses, CHUNKS, strict=True):
            time.sleep(pause)
            yield events(piece, last=b"")
        yield b"data: [DONE]\n\n"

    with model_server(lambda _: Reply(200, slowly(0.5, 0.5, 0.5, 0.5, 0), SSE)) as server:
        assert run(at(streamed, server, timeout=1.8)).total == {"stop": 1}
    hanging = replace(streamed, out=streamed.out.with_name("HANGING"))
    with model_server(lambda _: Reply(200, slowly(0, 0, 9, 0, 0), SSE)) as server:
        began = time.monotonic()
        with pytest.raises(RulerError, match=r"has not answered .*\(Timeout: no answer within 1 s"):
            run(at(hanging, server, timeout=1.0, give_up_after=1.5))
        assert time.monotonic() - began < 9
