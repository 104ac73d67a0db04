"""Against a real server that fails in every way, each row ends in exactly one recorded state."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server_replies import wait_seconds
from ruler_eval.run.reasoning import Reasoning
from ruler_eval.run.records import read_lines
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)
Serve = Callable[..., str]
Stats = Callable[[str], dict[str, Any]]
VLLM_MODEL = {"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 10**6}


@pytest.fixture
def order(small: Path, tmp_path: Path) -> RunOrder:
    options = ModelOptions("m", timeout=20.0, retries=3, concurrency=20)
    return RunOrder(
        str(small), ("all_4k",), "openai", tmp_path / "RUN", options=options, quiet=True
    )


def at(order: RunOrder, url: str, **options: Any) -> RunOrder:
    return replace(order, options=replace(order.options, base_url=url, **options))


def records(order: RunOrder) -> list[dict[str, Any]]:
    return [r for path in sorted(order.out.glob("*.jsonl")) for r in read_lines(path)]


def test_a_well_behaved_server_answers_everything(
    order: RunOrder, serve: Serve, stats: Stats
) -> None:
    url = serve()
    outcome = run(at(order, url))
    assert dict(outcome.total) == {"stop": 20}
    sent = stats(url)["requests"][0]
    assert sent["path"] == "/v1/chat/completions"
    assert [m["role"] for m in sent["messages"]] == ["user"]  # nobody knows if it continues a turn
    assert sent["temperature"] == 0.0
    kept = json.loads((order.out / "run.json").read_text())
    assert (kept["mode"], kept["budget"], kept["endpoint"]) == (
        "chat",
        "unchecked",
        "chat/completions",
    )


def test_every_failure_ends_in_one_recorded_state_and_nothing_is_lost(
    order: RunOrder, serve: Serve, stats: Stats
) -> None:
    fates = {
        "ok": "stop", "429": "error", "429,ok": "stop", "500,503,ok": "stop", "503": "error",
        "hang": "error", "hang,ok": "stop", "disconnect": "error", "disconnect,ok": "stop",
        "malformed": "error", "malformed,ok": "stop", "html,ok": "stop", "empty": "error",
        "null": "stop", "400": "error", "401": "error", "shortened": "does_not_fit",
        "cut-prompt": "does_not_fit", "slow": "stop", "429,500,ok": "stop",
    }  # fmt: skip
    url = serve(scripts=[fate.split(",") for fate in fates])
    outcome = run(at(order, url, timeout=2.0))
    found = records(order)
    assert len({(r["config"], r["index"]) for r in found}) == len(found) == 20
    wanted = list(fates.values())
    assert {state: wanted.count(state) for state in set(wanted)} == dict(outcome.total)
    assert all((r["error"] is None) == (r["finish_reason"] == "stop") for r in found)
    assert outcome.lines()[0].startswith(f"{wanted.count('error')} of 20 rows FAILED")
    steps = stats(url)["steps"]
    assert steps.count("400") == steps.count("401") == 1  # 4xx is the row's own fault: no retry
    assert steps.count("malformed") == 3 + 1


def test_failed_rows_wait_for_retry_failed(order: RunOrder, serve: Serve, stats: Stats) -> None:
    url = serve(scripts=[["400", "ok"]])
    first = at(replace(order, configs=("vt_4k",)), url)
    assert dict(run(first).total) == {"error": 5}
    assert dict(run(first).total) == {"error": 5}
    assert len(stats(url)["steps"]) == 5
    assert dict(run(replace(first, retry_failed=True)).total) == {"stop": 5}
    assert [r["index"] for r in records(order)] == [0, 1, 2, 3, 4]
    run(replace(first, retry_failed=True))
    assert len(stats(url)["steps"]) == 10


def test_retry_after_is_obeyed() -> None:
    from email.utils import formatdate
    from time import time
    from types import SimpleNamespace

    def told(value: str) -> Any:
        return SimpleNamespace(response=SimpleNamespace(headers={"retry-after": value}))

    assert wait_seconds(told("7"), 1, 60.0) == 7.0
    assert 25 < wait_seconds(told(formatdate(time() + 30, usegmt=True)), 1, 60.0) <= 30
    assert wait_seconds(told("86400"), 1, 3600.0) == 600.0
    assert 0.5 <= wait_seconds(ValueError(), 1, 60.0) <= 1.0
    assert 8 <= wait_seconds(ValueError(), 5, 60.0) <= 16
    assert wait_seconds(told("-7"), 1, 60.0) == 0.0
    for far in ("inf", "1e308", "9" * 400, "86400", formatdate(1e10, usegmt=True)):
        assert wait_seconds(told(far), 1, 6.0) == 6.0
    for nothing in ("nan", "soon", "7, 8", "Mon, 01 Jan 99999999999 00:00:00 GMT", "\ud800"):
        assert 0.5 <= wait_seconds(told(nothing), 1, 60.0) <= 1.0


@pytest.mark.parametrize(
    ("mode", "path", "field"),
    [("completion", "/v1/completions", "prompt"), ("chat", "/v1/chat/completions", "messages")],
)
def test_the_endpoint_follows_the_mode(
    order: RunOrder, serve: Serve, stats: Stats, mode: str, path: str, field: str
) -> None:
    url = serve()
    run(at(replace(order, mode=mode, limit=1), url))
    sent = stats(url)["requests"]
    assert {request["path"] for request in sent} == {path}
    assert all(field in request for request in sent)
    if mode == "completion":
        prefixes = ("provided text is", "they are: ", "list are:", "Answer:")
        assert all(request["prompt"].endswith(prefixes) for request in sent)


def test_prefill_goes_to_vllm_as_a_turn_to_continue(
    order: RunOrder, serve: Serve, stats: Stats
) -> None:
    url = serve(models=[VLLM_MODEL])
    run(at(replace(order, limit=1), url))
    kept = json.loads((order.out / "run.json").read_text())
    assert (kept["mode"], kept["max_model_len"]) == ("prefill", 10**6)
    for sent in stats(url)["requests"]:
        assert sent["add_generation_prompt"] is False
        assert sent["continue_final_message"] is True
        assert sent["messages"][-1]["role"] == "assistant"
        assert not sent["messages"][-1]["content"].startswith(" ")
        assert sent["chat_template_kwargs"]["enable_thinking"] is False
        assert sent["repetition_penalty"] == 1.0  # not the model's generation_config.json


def test_prefill_is_refused_where_the_prefix_would_be_lost(order: RunOrder, serve: Serve) -> None:
    with pytest.raises(RulerError, match=r"--mode chat, --tokenizer"):
        run(at(replace(order, mode="prefill"), serve()))


def test_with_a_tokenizer_prefill_sends_the_very_tokens(
    order: RunOrder, serve: Serve, stats: Stats, tiny: Path, tiny_tokenizer: Any
) -> None:
    url = serve()
    run(at(replace(order, mode="prefill", configs=("vt_4k",), limit=1), url, tokenizer=str(tiny)))
    (sent,) = stats(url)["requests"]
    assert sent["path"] == "/v1/completions"
    text = tiny_tokenizer.decode(sent["prompt"])
    assert text.startswith("<s><|user|>")
    assert text.count("<s>") == 1
    assert text.endswith("they are: ")


def test_a_row_over_the_limit_is_not_sent(
    order: RunOrder, serve: Serve, stats: Stats, tiny: Path, tiny_tokenizer: Any
) -> None:
    url = serve(answer="x")
    asked = at(replace(order, mode="completion"), url, tokenizer=str(tiny), max_model_len=1000)
    outcome = run(asked)
    sent = stats(url)["requests"]
    over = [r for r in records(order) if r["finish_reason"] == "does_not_fit"]
    assert outcome.total["does_not_fit"] == len(over) == 20 - len(sent)
    assert over
    for record in over:
        assert record["usage"]["prompt_tokens"] > 1000 - 128
        assert "over the limit of 1,000" in record["error"]


def test_a_server_that_sees_other_prompts_is_noticed(
    order: RunOrder, serve: Serve, tiny: Path
) -> None:
    asked = at(replace(order, configs=("vt_4k",), mode="chat"), serve(), tokenizer=str(tiny))
    outcome = run(asked)  # this server counts words, not tokens
    assert outcome.total["does_not_fit"] == 5
    assert outcome.differences == 5
    assert "another length on the server" in "\n".join(outcome.lines())


def test_reasoning_is_kept_apart(order: RunOrder, serve: Serve, stats: Stats) -> None:
    url = serve(scripts=[["thinking"]])
    run(at(replace(order, configs=("vt_4k",), reasoning=Reasoning(True, 500)), url))
    assert all(r["thinking"] == "let me see" and r["thinking_ended"] for r in records(order))
    assert all("see" not in r["prediction"] for r in records(order))
    assert {request["max_tokens"] for request in stats(url)["requests"]} == {530}


def test_secrets_are_never_written(
    order: RunOrder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-12345678")
    url = serve(scripts=[["echo-key"]])
    run(at(replace(order, limit=1), url))
    texts = "".join(path.read_text() for path in order.out.iterdir() if path.is_file())
    assert "bad key Bearer ***" in texts
    assert "sk-very-secret" not in texts
    with pytest.raises(RulerError, match="OPENAI_API_KEY"):
        run(at(order, url.replace("http://", "http://user:hunter2@")))


def test_without_a_server_it_is_one_sentence(order: RunOrder) -> None:
    with pytest.raises(RulerError, match=r"No server answers at http://127\.0\.0\.1:9/v1"):
        run(at(order, "http://127.0.0.1:9/v1"))
    with pytest.raises(RulerError, match=r"No server answers at http://\[::1\]:9/v1"):
        run(at(order, "http://[::1]:9/v1"))


def test_without_a_key_or_a_server_it_is_one_sentence(
    order: RunOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(RulerError, match="OPENAI_API_KEY"):
        run(order)


def test_an_address_without_its_v1_is_corrected(order: RunOrder, serve: Serve) -> None:
    url = serve(models=[VLLM_MODEL])
    with pytest.raises(RulerError, match=f"API is at {url}: give that with --base-url"):
        run(at(order, url.removesuffix("/v1")))
    assert not records(order)


def test_an_address_that_speaks_no_tls_is_said(order: RunOrder, serve: Serve) -> None:
    with pytest.raises(RulerError, match=r"speaks no TLS .*is its address http://"):
        run(at(order, serve().replace("http", "https")))


def test_a_model_the_server_has_not_is_named(order: RunOrder, serve: Serve) -> None:
    url, threads = serve(models=[{**VLLM_MODEL, "id": "other"}]), threading.active_count()
    with pytest.raises(RulerError, match="has no model 'm', but: other"):
        run(at(order, url))
    assert threading.active_count() == threads  # nor is anything left open


def test_of_many_models_those_with_a_like_name_are_shown(order: RunOrder, serve: Serve) -> None:
    names = [*(f"org/llama-{size}b" for size in range(200)), "qwen-7b-chat"]
    url = serve(models=[{**VLLM_MODEL, "id": name} for name in names])
    with pytest.raises(RulerError, match=r"but: qwen-7b-chat, (\S+, ){3}\S+ and 196 others\.$"):
        run(replace(order, options=replace(order.options, model="qwen-7b", base_url=url)))


def test_no_more_than_the_asked_requests_are_in_flight(
    order: RunOrder, serve: Serve, stats: Stats
) -> None:
    url = serve(delay=0.05)
    run(at(order, url, concurrency=4))
    assert stats(url)["most"] == 4


def test_no_more_than_the_asked_tokens_are_in_flight(
    order: RunOrder, serve: Serve, stats: Stats, small: Path
) -> None:
    """The small release's rows are counted in words, which the server adds up while it waits."""
    sizes = [
        row["length"] - row["max_new_tokens"]
        for entry in read_manifest(small)["files"].values()
        for row in ruler_dataset.load(small, entry["config"])
    ]
    most = 3 * max(sizes)
    url = serve(delay=0.1)
    assert run(at(order, url, tokens_in_flight=most)).total["stop"] == 20
    assert most / 2 < stats(url)["most_words"] <= most
    assert 3 <= stats(url)["most"] < order.options.concurrency


def test_a_prompt_above_the_tokens_in_flight_is_sent_alone(
    order: RunOrder, serve: Serve, stats: Stats
) -> None:
    url = serve(delay=0.01)
    assert run(at(order, url, tokens_in_flight=1)).total["stop"] == 20
    assert stats(url)["most"] == 1


def test_an_endless_answer_is_an_error_of_its_row(order: RunOrder, serve: Serve) -> None:
    url = serve(scripts=[["huge"], ["ok"]])
    run(at(replace(order, configs=("vt_4k",), limit=2), url, timeout=120.0))
    errors = [record["error"] for record in records(order)]
    assert [error for error in errors if error] == ["Refused: the answer is longer than 64 MB"]
    assert None in errors


def test_counts_of_no_tokens_leave_an_answer_as_it_is(order: RunOrder, serve: Serve) -> None:
    run(at(replace(order, configs=("vt_4k",), limit=2), serve(scripts=[["no-tokens"]])))
    assert {(r["finish_reason"], r["usage"]) for r in records(order)} == {("stop", None)}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999/v1",
        "http://[::1",
        "http://127.0.0.1:80/v1\n",
        "http://a b/v1",
        "127.0.0.1:8000/v1",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://hôte/v1",
        "http://host/v1?key=1",
        "http://host/v1#",
    ],
)
def test_a_malformed_address_is_refused_before_anything_starts(order: RunOrder, url: str) -> None:
    with pytest.raises(RulerError, match="--base-url takes http://HOST:PORT/v1"):
        run(at(order, url))
    assert not order.out.exists()


def test_a_password_in_an_address_is_never_shown(order: RunOrder) -> None:
    for url in ("http://me:hunter2@host/v1", "http://me:hunter2@[::1", "http://hunter2@h:99999"):
        with pytest.raises(RulerError) as caught:
            run(at(order, url))
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-1234\n5678", "sk-é", "sk 1"])
def test_a_key_that_no_request_can_carry_is_refused(
    order: RunOrder, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(RulerError, match="OPENAI_API_KEY holds a character") as caught:
        run(at(order, "http://127.0.0.1:9/v1"))
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTP_PROXY", "gopher://me:hunter2@127.0.0.1:9"),
        ("HTTP_PROXY", "http://me:hunter2/3@127.0.0.1:9"),
        ("SSL_CERT_FILE", "/nowhere/hunter2"),
        ("SSL_CERT_FILE", __file__),
    ],
)
def test_an_environment_that_lets_no_request_be_made_is_one_sentence(
    order: RunOrder, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(RulerError, match=f"No request can be made .*{variable}") as caught:
        run(at(order, "http://127.0.0.1:9/v1"))
    assert "hunter2" not in str(caught.value)


def test_a_certificate_that_is_not_trusted_is_named(order: RunOrder) -> None:
    """A server of its own with a certificate that nobody signed, as vLLM's users make one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with pytest.raises(RulerError, match="has a certificate that is not trusted") as caught:
        run(at(order, f"https://127.0.0.1:{server.server_port}/v1"))
    server.shutdown()
    server.server_close()
    assert "self-signed certificate" in str(caught.value)
    assert "SSL_CERT_FILE" in str(caught.value)
