"""`ruler doctor --against`: two servers, a server and stored answers, and what is refused."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run.records import read_records
from tests.eval.run import small_release
from tests.in_process import Printed, ruler, ruler_error, ruler_output
from tests.model_server import Reply, Request, answer, answer_from_prompt, model_server

pytestmark = pytest.mark.skipif(find_spec("httpx") is None, reason="the openai extra is missing")
MODEL = {"id": "m", "owned_by": "vllm", "max_model_len": 8192}
FLAGS = ("--mode", "completion", "--load", 8, "--rows", 40)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_release.write(tmp_path_factory.mktemp("against") / "ruler", rows=20)


def flat(text: str) -> str:
    return " ".join(text.split())


def other_answer(request: Request) -> Reply:
    """Answer as a server that loses the last value."""
    reply = answer_from_prompt(request)
    text = reply.body["choices"][0]["text"]
    return answer(text[: len(text) // 2] + " or so")


def against(
    root: Path, out: Path, url: str, other: object, *flags: object
) -> tuple[Printed, dict[str, Any]]:
    """Compare two deployments; what was printed, and the verdict."""
    verdict = out / "verdict.json"
    printed = ruler(
        *("doctor", "--base-url", url, "-m", "m", "-d", root, "--against", other),
        *("--out", out / "answers", "--json", verdict, *FLAGS, *flags),
    )
    return printed, json.loads(verdict.read_text()) if verdict.is_file() else {}


def test_two_servers_with_the_same_answers_show_no_difference(root, tmp_path):
    with (
        model_server(answer_from_prompt, models=(MODEL,)) as one,
        model_server(answer_from_prompt, models=(MODEL,)) as two,
    ):
        printed, verdict = against(root, tmp_path, one.url, two.url)
    assert printed.code == 0, printed
    assert verdict["outcome"] == "same"
    assert "No difference seen in 40 rows: at most 7.2 % of answers differ (95 %)" in flat(
        printed.stdout
    )
    tasks = {
        record["config"] for record in read_records(tmp_path / "answers" / "a" / "answers.jsonl")
    }
    assert tasks == {"cwe_4k", "vt_4k"}  # of its tasks, those that reveal most


def test_a_server_with_other_answers_is_a_different_deployment(root, tmp_path):
    with (
        model_server(answer_from_prompt, models=(MODEL,)) as one,
        model_server(other_answer, models=(MODEL,)) as two,
    ):
        printed, verdict = against(root, tmp_path, one.url, two.url)
    assert printed.code == 1, printed
    assert verdict["outcome"] == "different"
    text = flat(printed.stdout)
    assert text.startswith("Different deployment.")
    assert "Different is not worse" in text
    assert "ruler decide" in text
    first = verdict["partings"][0]
    assert f"after {first['at']} characters" in text
    assert first["a"] != first["b"]
    assert (tmp_path / "answers" / "b" / "run.json").is_file()  # an ordinary run


def test_a_server_that_never_repeats_itself_is_too_noisy(root, tmp_path):
    count = 0

    def vary(request: Request) -> Reply:
        nonlocal count
        count += 1
        return answer(f"answer {count}")

    with (
        model_server(vary, models=(MODEL,)) as one,
        model_server(vary, models=(MODEL,)) as two,
    ):
        printed, verdict = against(root, tmp_path, one.url, two.url)
    assert (printed.code, verdict["outcome"]) == (3, "noisy"), printed
    assert "Too noisy to tell." in printed.stdout


def test_prefix_caches_take_no_part_in_a_comparison(root, tmp_path):
    """Both servers answer differently on a cache hit, as some do; no request hits a cache."""

    def cached() -> Any:
        seen: set[tuple[Any, str]] = set()

        def reply(request: Request) -> Reply:
            key = request.body.get("cache_salt"), request.prompt
            is_hit = key in seen
            seen.add(key)
            return answer("from the cache") if is_hit else answer_from_prompt(request)

        return reply

    with (
        model_server(cached(), models=(MODEL,)) as one,
        model_server(cached(), models=(MODEL,)) as two,
    ):
        printed, verdict = against(root, tmp_path, one.url, two.url)
    assert printed.code == 0, printed
    assert verdict["conditions"][0]["noise"] == 0


def test_answers_are_stored_and_compared_later(root, tmp_path):
    run = tmp_path / "RUN"
    with model_server(answer_from_prompt, models=(MODEL,)) as server:
        common = ("doctor", "--base-url", server.url, "-m", "m", "-d", root, *FLAGS)
        ruler_output(*common, "--save", run)
        assert len([*read_records(run / "answers.jsonl")]) == 40
        printed, verdict = against(root, tmp_path, server.url, run)
        assert (printed.code, verdict["outcome"]) == (0, "same"), printed
    with model_server(other_answer, models=(MODEL,)) as changed:
        printed, verdict = against(root, tmp_path / "later", changed.url, run)
        assert (printed.code, verdict["outcome"]) == (1, "different"), printed


def test_stored_rows_that_were_shortened_show_another_deployment(root, tmp_path):
    run = tmp_path / "RUN"
    with (
        model_server(shortens_every_fourth, models=(MODEL,)) as server,
        model_server(answer_from_prompt, models=(MODEL,)) as whole,
    ):
        ruler("doctor", "--base-url", server.url, "-m", "m", "-d", root, *FLAGS, "--save", run)
        printed, verdict = against(root, tmp_path, whole.url, run)
    assert (printed.code, verdict["outcome"]) == (1, "different"), printed
    text = flat(printed.stdout)
    assert re.search(r"The stored answers come from shortened prompts in \d+ rows? that", text)


def fails_every_third(request: Request) -> Reply:
    """Answer as a server that cannot answer every third row."""
    if request.row % 3 or request.row < 6:
        return answer_from_prompt(request)
    return Reply(400, {"error": {"message": "invalid character in prompt"}})


def test_stored_rows_that_failed_are_sent_and_reassure_nobody(root, tmp_path):
    """The rows that only one side answers are the evidence: they are not left out."""
    run = tmp_path / "RUN"
    with model_server(fails_every_third, models=(MODEL,)) as server:
        ruler("doctor", "--base-url", server.url, "-m", "m", "-d", root, *FLAGS, "--save", run)
    with model_server(answer_from_prompt, models=(MODEL,)) as whole:
        printed, verdict = against(root, tmp_path, whole.url, run)
    assert (printed.code, verdict["outcome"]) == (3, "few"), printed
    text = flat(printed.stdout)
    assert re.search(r"Cannot tell\. (\d+) of 40 rows cannot be compared: \1 rows have an", text)
    assert "No difference seen" not in text
    assert "0 rows failed on the server and 12 in the stored answers" in text
    assert "--retry-failed" in text


def test_rows_that_a_run_never_reached_are_named(root, tmp_path):
    run = tmp_path / "RUN"
    with model_server(answer_from_prompt, models=(MODEL,)) as server:
        common = ("-d", root, "-c", "cwe_4k,vt_4k", "-b", "openai", "--base-url", server.url)
        ruler_output("run", *common, "-m", "m", "-o", run, "--mode", "completion")
        lines = (run / "answers.jsonl").read_text().splitlines(keepends=True)
        (run / "answers.jsonl").write_text("".join(lines[:35]))
        printed, verdict = against(root, tmp_path, server.url, run)
    assert printed.code == 0, printed
    assert "has no record of 5 of the 40 rows of its configurations" in verdict["notes"][0]
    assert "has no record of 5 of the 40 rows" in flat(printed.stdout)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--mode", "chat"), "was run with mode = 'chat', and this comparison has 'completion'"),
        (("--temperature", 0.7), "was not run with temperature 0"),
        (("--presence-penalty", 1.5), "presence_penalty = 1.5, and this comparison has 0"),
        (("--engine-arg", "repetition_penalty=1.2"), "'repetition_penalty': 1.2"),
    ],
)
def test_stored_answers_of_other_prompts_are_refused(flags, words, root, tmp_path):
    run = tmp_path / "RUN"
    with model_server(answer_from_prompt, models=(MODEL,)) as server:
        ruler_output(
            *("run", "-d", root, "-c", "vt_4k", "-b", "openai", "--base-url", server.url),
            *("-m", "m", "-o", run, "--mode", "completion", *flags),
        )
        printed, _ = against(root, tmp_path, server.url, run)
    assert printed.code == 2, printed
    assert words in flat(printed.stderr)


def test_stored_answers_whose_prompts_began_with_a_salt_are_refused(root, tmp_path):
    """The sides of an examination, if the server has no field for the salt."""
    model = {**MODEL, "owned_by": "test"}
    with model_server(answer_from_prompt, models=(model,)) as server:
        common = ("doctor", "--base-url", server.url, "-m", "m", "-d", root, *FLAGS)
        ruler(*common, "--configs", "vt_4k", "--out", tmp_path / "examination")
        printed, _ = against(root, tmp_path, server.url, tmp_path / "examination" / "cold")
    assert printed.code == 2, printed
    assert "began with a line that keeps prefix caches apart" in flat(printed.stderr)


def test_stored_answers_of_another_vendor_are_compared(root, tmp_path):
    """A router's field names the vendor: the prompts and the sampling are the same."""
    run = tmp_path / "RUN"
    other, own = (f'provider={{"only": ["{name}"]}}' for name in ("one", "two"))
    with model_server(answer_from_prompt, models=(MODEL,)) as server:
        ruler_output(
            *("run", "-d", root, "-c", "cwe_4k,vt_4k", "-b", "openai", "--base-url", server.url),
            *("-m", "m", "-o", run, "--mode", "completion", "--engine-arg", other),
        )
        printed, verdict = against(root, tmp_path, server.url, run, "--engine-arg", own)
    assert (printed.code, verdict["outcome"]) == (0, "same"), printed


def test_stored_answers_of_other_rows_are_refused(root, tmp_path):
    other = small_release.write(tmp_path / "other", rows=5, lines=20)
    run = tmp_path / "RUN"
    with model_server(answer_from_prompt, models=(MODEL,)) as server:
        ruler_output(
            *("run", "-d", other, "-c", "vt_4k", "-b", "openai", "--base-url", server.url),
            *("-m", "m", "-o", run, "--mode", "completion"),
        )
        printed, _ = against(root, tmp_path, server.url, run)
    assert printed.code == 2, printed
    assert "has rows of another release" in flat(printed.stderr)


def test_a_server_with_another_model_is_refused(root, tmp_path):
    other = {**MODEL, "id": "x"}
    with (
        model_server(answer_from_prompt, models=(MODEL,)) as one,
        model_server(answer_from_prompt, models=({**other, "owned_by": "llamacpp"},)) as two,
    ):
        printed, _ = against(root, tmp_path, one.url, two.url)
        assert printed.code == 2, printed
        assert "has no model 'm'" in flat(printed.stderr)
        named, _ = against(root, tmp_path, one.url, two.url, "--against-model", "x")
        assert named.code == 0, named


def test_a_server_that_is_compared_with_itself_is_noted(root, tmp_path):
    with model_server(answer_from_prompt, models=(MODEL,)) as server:
        printed, verdict = against(root, tmp_path, server.url, server.url)
    assert printed.code == 0, printed
    assert "Both have the same address" in verdict["notes"][0]
    assert "Both have the same address" in printed.stdout


def test_a_shorter_context_length_is_noted(root, tmp_path):
    with (
        model_server(answer_from_prompt, models=(MODEL,)) as one,
        model_server(answer_from_prompt, models=({**MODEL, "max_model_len": 4500},)) as two,
    ):
        printed, verdict = against(root, tmp_path, one.url, two.url)
    assert printed.code == 0, printed
    assert verdict["notes"] == ["Their context windows differ: 8,192 and 4,500 tokens."]


def shortens_every_fourth(request: Request) -> Reply:
    """Answer as a server that reads a quarter of some prompts, and says how much it read."""
    reply = answer_from_prompt(request)
    words = len(request.prompt.split())
    tokens = words if request.row % 4 else words // 4
    reply.body["usage"] = {"prompt_tokens": tokens, "completion_tokens": 8}
    return reply


def test_a_server_that_shortens_prompts_which_the_other_reads_is_another_deployment(root, tmp_path):
    with (
        model_server(answer_from_prompt, models=(MODEL,)) as one,
        model_server(shortens_every_fourth, models=(MODEL,)) as two,
    ):
        printed, verdict = against(root, tmp_path / "b", one.url, two.url)
        swapped, _ = against(root, tmp_path / "a", two.url, one.url)
        both, same = against(root, tmp_path / "both", two.url, two.url, "--rows", 60)
    assert (printed.code, verdict["outcome"]) == (1, "different"), printed
    text = flat(printed.stdout)
    assert re.search(r"The other server shortened \d+ prompts? that the first read whole\.", text)
    assert re.search(
        r"\d+ rows? did not fit both and (is|are) not compared; the first: the server", text
    )
    assert "that the other read whole" in flat(swapped.stdout)
    assert swapped.code == 1
    assert (both.code, same["outcome"]) == (3, "few"), both  # a quarter of the rows was not read
    assert re.search(r"Cannot tell\. \d+ of 60 rows cannot be compared", flat(both.stdout))


def test_against_takes_a_place_that_exists(root, tmp_path):
    error = ruler_error(
        *("doctor", "--base-url", "http://127.0.0.1:9/v1", "-m", "m", "-d", root),
        *("--against", tmp_path / "nothing", "--out", tmp_path / "out"),
    )
    assert "hf, or a RUN folder" in flat(error)


def test_sampled_answers_cannot_be_compared(root):
    error = ruler_error(
        *("doctor", "--base-url", "http://127.0.0.1:9/v1", "-m", "m", "-d", root),
        *("--against", "hf", "--temperature", 0.5),
    )
    assert "greedy" in error
