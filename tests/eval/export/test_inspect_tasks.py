"""Inspect's tasks: what a model is asked, how its answers are scored, and the log read back.

Inspect's own `mockllm` provider answers, in this process. A real model: run/test_export_engines.py,
tests/vllm/test_vllm_inspect.py; the commands: tests/test_readme.py.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click import ClickException

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import Release
from ruler_eval.run.prompts import DIRECT
from tests.eval.export.export_helpers import answer, in_hub_cache, scored
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler as ruler_command
from tests.model_server import answer_from_prompt, model_server

TASKS = ("niah_multivalue", "vt", "qa_1")
COLUMNS = ("index", "input", "answer_prefix", "outputs", "max_new_tokens")


@pytest.fixture(scope="module")
def package():
    """The module with the tasks, imported here since only these tests need Inspect."""
    pytest.importorskip("inspect_ai", reason="the inspect extra is not installed")
    import ruler_release.inspect_tasks

    return ruler_release.inspect_tasks


def output(text, stop="stop", reasoning=None):
    """What a provider gives back; its usage is there, so that nothing is counted."""
    from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage

    thoughts = [ContentReasoning(reasoning=reasoning)] if reasoning else []
    result = ModelOutput.from_content("mockllm", [*thoughts, ContentText(text=text)], stop)
    result.usage = ModelUsage(input_tokens=9, output_tokens=5, total_tokens=14)
    return result


def evaluate(task, reply, logs):
    """Run a task in this process; the log and what the model was asked."""
    import inspect_ai
    from inspect_ai.model import get_model

    asked = []

    def respond(turns, tools, choice, config):
        asked.append((turns, config))
        return reply(turns)

    model = get_model("mockllm/model", custom_outputs=respond, memoize=False)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(logs), display="none")
    return log, asked


def knowing(release):
    """Answers of every kind to the rows of a release; some truncated, some with reasoning."""
    rows = {
        row["input"]: row for config in release.configs for row in release.rows(config, COLUMNS)
    }

    def reply(turns):
        row = rows[turns[0].text]
        stop = "max_tokens" if row["index"] % 5 == 3 else "stop"
        return output(answer(row), stop, "I think." if row["index"] == 1 else None)

    return reply


def metrics_of(log):
    """The metrics of a log's one scorer."""
    (result,) = log.results.scores
    return {name: metric.value for name, metric in result.metrics.items()}


@pytest.fixture(scope="module")
def logged(package, built, frozen, tmp_path_factory):
    """A log of TASKS, and what the model was asked."""
    logs = tmp_path_factory.mktemp("logs")
    configs = [f"{task}_4k" for task in TASKS]
    return evaluate(package.ruler(str(built), configs), knowing(frozen), logs)


# ---- RULER -----------------------------------------------------------------------------------


def test_the_scores_of_the_tasks_are_those_of_ruler_score_on_the_log(logged, built, tmp_path):
    log, _ = logged
    assert log.status == "success"
    scores = scored(log.location, built, tmp_path / "results.json")
    metrics = metrics_of(log)
    assert {name: 100 * metrics[name.removesuffix("_4k")] for name in scores} == pytest.approx(
        scores
    )
    assert list(scores) == [f"{task}_4k" for task in TASKS]
    assert 100 * metrics["all"] == pytest.approx(sum(scores.values()) / 3)
    assert len(set(scores.values())) > 1


def test_every_row_is_asked_once_with_its_prefix_and_its_own_budget(logged, frozen):
    _, asked = logged
    rows = [row for t in TASKS for row in frozen.rows(f"{t}_4k", COLUMNS)]
    wanted = {
        (("user", row["input"]), ("assistant", row["answer_prefix"][1:]), row["max_new_tokens"])
        for row in rows
    }
    got = {
        (*((turn.role, turn.text) for turn in turns), config.max_tokens) for turns, config in asked
    }
    assert got == wanted
    assert len(asked) == len(rows) == 15
    assert {config.temperature for _, config in asked} == {0}


def test_the_log_holds_the_data_version_and_the_files_digests(logged, frozen):
    log, _ = logged
    assert log.eval.task_version == "1.0.0"
    facts = log.eval.metadata["ruler_release"]
    assert facts["rows"]["vt_4k"] == frozen.rows_sha256("vt_4k")
    assert (facts["mode"], len(facts["rows"])) == ("prefill", 3)


def test_ruler_score_finds_the_release_and_the_model_in_the_log(logged, tmp_path):
    log, _ = logged
    out, error, code = ruler_command("score", log.location, "--out", tmp_path / "r.json")
    assert code == 0, error
    assert out.startswith("mockllm/model · ruler · custom rows: embedded texts")
    results = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    cells = results["configurations"].values()
    assert sum(cell["missing"] + cell["failed"] for cell in cells) == 0
    assert {cell["truncated"] for cell in cells} == {1}  # row 3 of each
    assert {cell["thinking"] for cell in cells} == {1}  # row 1 of each


def test_a_hub_repository_is_asked_at_its_revision(package, built, frozen, tmp_path):
    commit = in_hub_cache(built, "org/inspect", "v1.0.0")
    task = package.ruler("org/inspect", "vt_4k", revision="v1.0.0", limit=1)
    log, ((turns, _),) = evaluate(task, knowing(frozen), tmp_path)
    (row,) = frozen.some_rows("vt_4k", COLUMNS, frozen.order("vt_4k")[:1])
    assert turns[0].text == row["input"]
    facts = log.eval.metadata["ruler_release"]
    assert (facts["data_revision"], facts["rows"]["vt_4k"]) == (
        commit,
        frozen.rows_sha256("vt_4k"),
    )


def test_standard_errors_are_those_of_the_rows_and_of_a_mean_over_tasks(package):
    from inspect_ai.scorer import SampleScore, Score

    values = {"vt": [0.0, 1.0, 1.0, 0.5], "qa_1": [1.0, 0.0]}
    rows = [
        SampleScore(score=Score(value=value), sample_metadata={"group": group})
        for group, result in values.items()
        for value in result
    ]
    squares = (0.6875 / 3 / 4, 0.5 / 1 / 2)  # sums of squared deviations over n - 1, over n
    assert package.all_stderr()(rows) == pytest.approx(sum(squares) ** 0.5 / 2)
    assert package.all_stderr()(rows[:1]) == 0


def test_a_task_at_two_lengths_is_grouped_by_configuration(package, built, frozen, tmp_path):
    log, asked = evaluate(
        package.ruler(str(built), "vt_4k,vt_8k", limit=2), knowing(frozen), tmp_path
    )
    assert set(metrics_of(log)) == {
        *("vt_4k", "vt_8k", "all", "all_stderr", "vt_4k_stderr", "vt_8k_stderr")
    }
    assert len(asked) == 4
    _, error, code = ruler_command("score", tmp_path, "--partial", "--out", tmp_path / "r.json")
    assert code == 0, error


@pytest.mark.parametrize("mode", ["chat", "direct", "completion"])
def test_a_mode_is_the_prompt_of_ruler_run(package, built, frozen, tmp_path, mode):
    arguments = {"mode": "chat", "direct": True} if mode == "direct" else {"mode": mode}
    task = package.ruler(str(built), ["qa_1_4k"], limit=1, thinking=0, **arguments)
    _, ((turns, _),) = evaluate(task, lambda turns: output("x"), tmp_path)
    row = next(frozen.rows("qa_1_4k", COLUMNS))
    ends = {"chat": "", "direct": DIRECT + " Answer:", "completion": " Answer:"}
    assert [(turn.role, turn.text) for turn in turns] == [("user", row["input"] + ends[mode])]


def test_reasoning_has_room_beyond_the_answers_tokens(package, built, tmp_path):
    task = package.ruler(str(built), "qa_1_4k", mode="chat", limit=1, thinking=1000)
    log, ((_, config),) = evaluate(
        task, lambda turns: output("", "max_tokens", "Still thinking"), tmp_path
    )
    assert config.max_tokens == 32 + 1000
    (sample,) = log.samples
    assert sample.scores["ruler_scorer"].metadata["thinking"] == "truncated"


# ---- ONERULER --------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("which", ["real", "by hand"])
def test_languages_are_scored_as_ruler_score_does(package, which, request, tmp_path):
    if which == "real":  # en, zh and the pairs of the two
        root = request.getfixturevalue("oneruler")
        task, name = package.oneruler(str(root), "*_8k,*_en-zh", limit=6), None
    else:
        root = write_oneruler(tmp_path / "oneruler", ["pl", "ko", "zh"])
        task, name = package.oneruler(str(root), "*"), "niah_none_8k_ko_cl100k"
    log, asked = evaluate(task, knowing(Release.open(str(root))), tmp_path / "logs")
    metrics = metrics_of(log)
    scores = scored(log.location, root, tmp_path / "results.json")
    assert {name: 100 * metrics[name] for name in scores} == pytest.approx(scores)
    assert len(set(scores.values())) > 1
    assert {len(turns) for turns, _ in asked} == {1}
    assert name is None or name in scores


# ---- Logs ------------------------------------------------------------------------------------


def test_an_answer_that_failed_or_did_not_fit_does_not_count(package, built, tmp_path):
    replies = iter(["fits not", "error", "right"])

    def reply(turns):
        kind = next(replies)
        if kind == "error":
            raise RuntimeError("the server is gone")
        stop = "model_length" if kind == "fits not" else "stop"
        return output("The maximum context length is …", stop)

    task = package.ruler(str(built), "qa_1_4k", limit=3)
    task.fail_on_error = False
    log, _ = evaluate(task, reply, tmp_path)
    ruler_command("score", log.location, "--out", tmp_path / "r.json")
    cell = json.loads((tmp_path / "r.json").read_text())["configurations"]["qa_1_4k"]
    assert (cell["failed"], cell["does_not_fit"], cell["missing"]) == (2, 1, 0)
    assert (cell["rows_requested"], cell["rows_available"]) == (3, 5)


def test_the_log_is_what_inspect_reads_and_holds_whole_answers(package, built, frozen, tmp_path):
    from inspect_ai.log import read_eval_log

    from ruler_eval.score.inspect_log import predictions

    long = "word " * 2000
    task = package.ruler(str(built), "qa_1_4k", limit=1)
    log, _ = evaluate(task, lambda turns: output(long), tmp_path)
    (sample,) = read_eval_log(log.location).samples
    first = frozen.order("qa_1_4k")[0]  # the limit takes the frozen order
    assert sample.id == f"qa_1_4k-{first}"
    assert sample.scores["ruler_scorer"].answer == sample.output.completion == long
    (read,) = predictions(Path(log.location), keep_prompts=True)
    (row,) = frozen.some_rows("qa_1_4k", COLUMNS, [first])
    assert (read.text, read.outputs) == (long, tuple(row["outputs"]))
    assert read.prompt == row["input"] + row["answer_prefix"].removeprefix(" ")


def test_a_log_is_read_as_json_and_its_epochs_are_samples(package, built, tmp_path):
    from inspect_ai.log import read_eval_log, write_eval_log

    replies = itertools.cycle(["no", "none"])
    task = package.ruler(str(built), "qa_1_4k", limit=2)
    task.epochs = 2
    log, _ = evaluate(task, lambda turns: output(next(replies)), tmp_path / "logs")
    write_eval_log(read_eval_log(log.location), tmp_path / "log.json")
    for path in (log.location, tmp_path / "log.json"):
        ruler_command("score", path, "--out", tmp_path / "r.json")
        cell = json.loads((tmp_path / "r.json").read_text())["configurations"]["qa_1_4k"]
        assert (cell["rows_requested"], cell["repeats"], cell["duplicated"]) == (2, 2, 0)


def test_an_answer_that_a_filter_ended_is_noted(package, built, tmp_path):
    task = package.ruler(str(built), "qa_1_4k", limit=2)
    log, _ = evaluate(task, lambda turns: output("part", "content_filter"), tmp_path)
    stdout, error, code = ruler_command("score", log.location, "--out", tmp_path / "r.json")
    assert code == 0, error
    assert "2 answers ended with 'content_filter' and may be incomplete" in " ".join(stdout.split())


def test_a_log_of_another_task_is_refused(logged, tmp_path):
    from inspect_ai.log import read_eval_log, write_eval_log

    log, _ = logged
    other_log = tmp_path / "other.eval"
    other_log.write_bytes(b"no zip")
    _, error, code = ruler_command("score", other_log)
    assert (code, f"'{other_log}' cannot be read by Inspect: " in error) == (2, True)
    header = read_eval_log(log.location, header_only=True)
    header.eval.metadata, header.eval.task, header.samples = None, "gsm8k", []
    write_eval_log(header, other_log)
    assert zipfile.is_zipfile(other_log)
    _, error, code = ruler_command("score", other_log)
    assert (code, "is a log of 'gsm8k'" in error) == (2, True)


# ---- Mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"config": "all_16k"}, "This release has no 'all_16k'"),
        ({"config": "vt_4k", "mode": "prefil"}, "Did you mean 'prefill'?"),
        ({"config": "vt_4k", "revision": "v1"}, "revision is for a Hub repository"),
        ({"config": "vt_4k", "limit": 0}, "leaves no rows"),
        ({"config": "vt_4k", "mode": "prefill", "thinking": 9}, "cannot reason before"),
    ],
)
def test_a_mistake_is_one_sentence(package, built, arguments, text):
    with pytest.raises(ClickException) as error:
        package.ruler(str(built), **arguments)
    assert text in error.value.message


def test_a_missing_argument_is_named(package, built):
    with pytest.raises(ClickException, match="add -T config=…, such as all_4k"):
        package.ruler(str(built))
    with pytest.raises(ClickException, match="add -T dataset=…, such as ruler"):
        package.oneruler(config="all_8k_en")


class Provider:
    """A model of a provider, as Inspect names one."""

    def __init__(self, name, template=None):
        self.name = name
        self.api = type("Api", (), {"chat_template": template})

    def __str__(self):
        return f"{self.name}/org/model"


def test_a_provider_that_would_ask_something_else_is_refused(package):
    check = package.check_provider
    refused = [("prefill", "hf"), ("prefill", "openai"), ("prefill", "anthropic")]
    refused += [("completion", "vllm"), ("chat", "vllm-completions")]
    for mode, provider in refused:
        with pytest.raises(RulerError):
            check(mode, Provider(provider), True)
    check("prefill", Provider("vllm"), True)
    check("prefill", Provider("hf"), False)  # ONERULER: there is no prefix
    check("chat", Provider("openai"), True)
    check("completion", Provider("vllm-completions"), True)
    check("completion", Provider("hf", "{{ messages[0].content }}"), True)


@pytest.fixture(scope="module")
def server():
    """One server for all: Inspect's provider vllm keeps the address of the first."""
    with model_server(answer_from_prompt) as running:
        yield running


@pytest.mark.parametrize(
    ("provider", "mode", "roles"),
    [
        ("openai/gpt-x", "chat", {("user",)}),
        ("vllm/m", "prefill", {("user", "assistant")}),
        ("vllm-completions/m", "completion", None),
    ],
)
def test_without_a_mode_the_provider_decides(
    package, built, server, tmp_path, provider, mode, roles
):
    import inspect_ai

    before = len(server.requests)
    (log,) = inspect_ai.eval(
        "ruler_release/ruler",
        task_args={"dataset": str(built), "config": "vt_4k", "limit": 2},
        model=provider,
        model_base_url=server.url,
        model_args={"api_key": "x"},
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    assert log.eval.metadata["ruler_release"]["mode"] == mode
    sent = [request.body for request in server.requests[before:]]
    assert len(sent) == 2
    for body in sent:
        turns = body.get("messages")
        assert roles == (turns and {tuple(turn["role"] for turn in turns)})


def inspect_eval(*arguments, folder, server):
    """Run `inspect eval` as a user does; its output and exit code."""
    more = ("--model-base-url", server.url, "--display", "plain")
    done = subprocess.run(
        [Path(sys.executable).with_name("inspect"), "eval", *arguments, *more],
        cwd=folder,
        env=os.environ | {"OPENAI_API_KEY": "x"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.stdout, done.returncode


def test_a_model_that_cannot_continue_a_turn_is_refused_before_the_first_row(
    package, built, server, tmp_path
):
    arguments = ["-T", f"dataset={built}", "-T", "config=vt_4k", "-T", "mode=prefill"]
    before = len(server.requests)
    output, code = inspect_eval(
        *("ruler_release/ruler", *arguments, "--model", "openai/gpt-x"),
        folder=tmp_path,
        server=server,
    )
    assert code == 1
    assert output == (
        "Error: Inspect's provider openai does not continue the assistant's turn: use -T "
        "mode=chat, or a model of vllm, sglang, sagemaker.\n"
    )
    assert len(server.requests) == before
    assert not (tmp_path / "logs").exists()


@pytest.mark.nightly
def test_the_commands_of_the_module_run_as_written(package, built, oneruler, server, tmp_path):
    """Local folders stand for the Hub's repository, and short rows for the long ones."""
    (tmp_path / "ruler").symlink_to(built)
    (tmp_path / "oneruler").symlink_to(oneruler)
    commands = re.findall(r"^    inspect eval ((?:.*\\\n)*.*)$", package.__doc__, re.MULTILINE)
    assert len(commands) == 3
    names = {
        "ORG/oneruler": "oneruler",
        " -T revision=v1.0.0": "",
        "all_8k_pl": "niah_none_8k_en",
        "all_4k": "vt_4k",
        "vllm/ORG/MODEL": "vllm/m",
        "openai/MODEL": "openai/gpt-x",
    }
    for command in commands:
        for name, value in names.items():
            command = command.replace(name, value)
        output, code = inspect_eval(*shlex.split(command), folder=tmp_path, server=server)
        assert code == 0, output
        assert "Traceback" not in output
    assert len(list((tmp_path / "logs").glob("*.eval"))) == 3


def test_inspect_reads_every_argument_that_the_module_names(package):
    from inspect_ai._cli.util import parse_cli_args

    texts = package.__doc__ + package.TEMPLATE_THAT_ADDS_NOTHING
    pairs = re.findall(r"-[TM] ('[^']+'|\S+)", texts)
    for pair in pairs:
        (text,) = shlex.split(pair)
        parse_cli_args([text], force_str=False)
    assert "'chat_template=\"{{ messages[0].content }}\"'" in pairs


def test_a_log_without_the_package_that_reads_it_names_the_extra(logged, monkeypatch):
    log, _ = logged
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    _, error, code = ruler_command("score", log.location)
    assert code == 2
    assert (
        "a log of Inspect, needs packages that are not installed (extra `inspect`): pip install"
        in error
    )
    assert "inspect-ai" in error
