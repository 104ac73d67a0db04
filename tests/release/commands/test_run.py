"""`ruler run` as a user types it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
from collections import Counter
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ruler_common.text import TERMINAL_WIDTH
from ruler_eval.run.progress import RunSummary
from ruler_release.commands import quickstart
from ruler_release.commands.run import default_folder, next_step, show_states
from tests.in_process import Printed, ruler, ruler_command
from tests.model_server import Reply, answer, model_server
from tests.run_folder import answers, edit_answers


def ruler_run(*flags: str) -> Printed:
    return ruler("run", *flags)


@pytest.fixture
def flags(small: Path, tmp_path: Path) -> list[str]:
    return ["--dataset", str(small), "--configs", "some_4k", "--out", str(tmp_path / "RUN")]


def test_the_quick_way_needs_no_model(flags):
    result = ruler_run(*flags, "--backend", "oracle")
    assert result.code == 0, result.stderr
    assert result.stdout.startswith("No failures: 10 rows answered.")
    assert "Next: ruler score" in result.stdout


def test_failed_rows_make_the_exit_code_1(flags):
    pytest.importorskip("httpx", reason="the openai extra is not installed")
    with model_server(lambda r: Reply(400) if r.row % 2 == 0 else answer()) as server:
        result = ruler_run(*flags, "--backend", "openai", "--model", "m", "--base-url", server.url)
        assert result.code == 1
        assert result.stdout.startswith("5 of 10 rows FAILED; the first: ")
        again_command = result.stdout.strip().rpartition("run the failed rows again: ruler ")[2]
        assert again_command.endswith("--retry-failed")
        second = ruler(*shlex.split(again_command))
        assert "5 of 10 rows FAILED" in second.stdout  # this server refuses them for good


def test_the_quick_start_runs_all_that_a_release_holds(small, tmp_path):
    quickstart.answer_release(small, tmp_path / "RUN")
    assert len({record["config"] for record in answers(tmp_path / "RUN")}) == 4


def summary_of(shard: str | None = None, missing: int = 0, **states: int) -> RunSummary:
    summary = RunSummary(shard)
    summary.states["vt_4k"] = Counter(states)
    summary.missing = missing
    return summary


def test_the_next_step_is_right_for_what_was_done_and_quoted_for_the_shell():
    assert next_step(summary_of(stop=5), "runs/my model") == "Next: ruler score 'runs/my model'"
    none_fits = next_step(summary_of(does_not_fit=5), "runs/a")
    assert "no row fits" in none_fits
    assert "ruler score" not in none_fits
    some_fit = next_step(summary_of(stop=1, does_not_fit=5), "runs/a")
    assert some_fit == "Next: ruler score runs/a"
    shard = next_step(summary_of("1/2", missing=5, stop=5), "runs/a")
    assert shard == "Next: run the other shards, then ruler score runs/a"
    batch = next_step(summary_of(missing=5), "runs/a")
    assert batch.endswith("batch, then ruler batch read runs/a ANSWERS.jsonl")


def test_eval_runs_scores_and_reports_in_one_folder(small, tmp_path, monkeypatch):
    asked = ("eval", "-d", small, "-c", "some_4k", "-b", "oracle", "-m", "org/My model:1")
    done = ruler(*asked, "--fail-under", 85, cwd=tmp_path)
    assert done.code == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == f"My-model-1-{date.today().isoformat()}"
    assert {"run.json", "results.json", "report.html"} <= {path.name for path in folder.iterdir()}
    assert "100.0" in done.stdout
    edit_answers(
        folder, lambda line: {**line, "prediction": "no"} if line["config"][0] == "n" else line
    )
    below = ruler("score", folder, "--fail-under", 85, cwd=tmp_path)
    assert (below.code, "below --fail-under 85" in below.stderr) == (1, True)
    assert ruler("score", folder, "--fail-under", 1, cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-b", "oracle", "--shard", "1/2"), "`ruler eval` scores a whole run"),
        (("-b", "batch", "-m", "m"), "`ruler eval` needs the answers at once"),
        (("-b", "oracle", "--claimed", "big"), "Unknown length 'big'"),
        (("-b", "oracle", "--threshold", "0.9"), "did you mean 90?"),
    ],
)
def test_eval_refuses_what_it_could_not_score_before_the_run(small, tmp_path, flags, words):
    printed = ruler("eval", "-d", small, "-c", "vt_4k", *flags, "-o", tmp_path / "RUN")
    assert (printed.code, words in printed.stderr) == (2, True), printed
    assert not (tmp_path / "RUN").exists()


@pytest.mark.parametrize("command", ["run", "eval"])
def test_a_row_that_the_server_shortened_makes_the_exit_code_1_and_can_be_run_again(
    command, small, tmp_path
):
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    short = answer("42")
    short.body["usage"] = usage
    flags = ("-d", small, "-c", "vt_4k", "-b", "openai", "-m", "m", "-o", tmp_path / "RUN")
    with model_server(lambda r: short if r.row == 2 else answer()) as server:
        printed = ruler(command, *flags, "--base-url", server.url)
        assert printed.code == 1, printed
        assert "The server shortened 1 prompt: give it a longer context" in flat(printed.stdout)
    with model_server() as server:
        again = ruler(command, *flags, "--base-url", server.url, "--retry-failed")
        assert again.code == 0, again
        assert len(server.requests) == 1
    scored = ruler("score", tmp_path / "RUN")
    assert (scored.code, "5 rows" in scored.stdout) == (0, True), scored


def flat(text: str) -> str:
    return " ".join(text.split())


def test_eval_takes_this_folder_for_the_run_if_it_is_named(small, tmp_path):
    flags = ("-d", small, "-c", "vt_4k", "-b", "oracle")
    done = ruler("eval", *flags, "--out", ".", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert (tmp_path / "run.json").is_file()
    assert not (tmp_path / "runs").exists()


def test_the_looks_of_a_decision_are_one_updating_line(small, tmp_path):
    """The last look replaces the one before, on a line that the bar of the run does not share."""
    base = tmp_path / "base"
    ruler("eval", "-d", small, "-c", "vt_4k", "-b", "oracle", "-o", base)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
    command = ruler_command(
        "decide", base, "--max-drop", 2, "-b", "oracle", "-o", tmp_path / "decided"
    )
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    screen = os.read(ours, 100_000).decode()
    os.close(ours)
    for text in re.split(r"[\r\n]+", screen):  # what is drawn without going back to a line's start
        if " of each task" in text:
            assert re.fullmatch(r"(\x1b\[A)*\d+ of \d+ rows of each task: B lost .*", text), text
    assert not re.search(r"points so far; [^\r]*\n", screen)
    assert "of each task" not in done.stdout.partition("The drop from")[0]


def test_eval_resumes_the_unfinished_run_of_another_day(tmp_path):
    parent = tmp_path / "runs"
    today = parent / f"qwen-{date.today().isoformat()}"
    assert default_folder("org/qwen/", parent) == today
    begun = parent / "qwen-2025-01-02"
    begun.mkdir(parents=True)
    (begun / "run.json").write_text("{}")
    assert default_folder("org/qwen", parent) == begun
    (begun / "results.json").write_text("{}")
    assert default_folder("org/qwen", parent) == today


# ---- Rows by state -------------------------------------------------------------------------------


def printed_lines(states: dict[str, Counter[str]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    missing = sum(not counts for counts in states.values())
    summary = SimpleNamespace(states=states, unfinished=Counter[str](), missing=missing)
    show_states(cast(Any, summary))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= TERMINAL_WIDTH
    return lines


def test_a_run_without_trouble_is_one_line(capsys):
    states = {"vt_4k": Counter(stop=5), "cwe_4k": Counter(stop=5)}
    assert printed_lines(states, capsys) == [
        "All rows of 2 configurations were answered completely."
    ]


def test_states_that_no_row_has_take_no_column(capsys):
    lines = printed_lines({"vt_4k": Counter(error=5), "cwe_4k": Counter(stop=3, length=2)}, capsys)
    assert lines[0].split() == ["configuration", "ended", "truncated", "failed"]
    assert [line.split() for line in lines[2:]] == [
        ["vt_4k", "0", "0", "5"],
        ["cwe_4k", "3", "2", "0"],
    ]


def test_configurations_in_trouble_are_listed_and_the_others_counted(capsys):
    states = {f"niah_single_32k_{number}": Counter(stop=5) for number in range(9)}
    states["niah_single_nonone_128k_en-pl_qwen2.5"] = Counter(stop=4, does_not_fit=1)
    lines = printed_lines(states, capsys)
    assert lines[2].split() == ["niah_single_nonone_128k_en-pl_qwen2.5", "4", "1"]
    assert lines[3] == "All rows of 9 other configurations were answered completely."


def test_a_shard_of_very_many_configurations_says_what_others_have_to_answer(capsys):
    states = {f"vt_{number}": Counter({"stop": 1} if number % 2 else {}) for number in range(202)}
    assert printed_lines(states, capsys) == [
        "The rows so far of 101 configurations were answered completely.",
        "No row of 101 configurations was answered yet.",
    ]


def test_shards_that_are_scored_together_have_their_results_in_the_folder_around_them(
    release, tmp_path
):
    """In the folder of one shard they would be taken for the scores of that shard."""
    for part in ("1/2", "2/2"):
        flags = ("--configs", "vt_4k,cwe_4k", "--backend", "oracle", "--shard", part)
        done = ruler("run", "--dataset", release, *flags, "--out", tmp_path / "RUN")
        assert done.code == 0, done.stderr
    done = ruler("score", tmp_path / "RUN/1of2", tmp_path / "RUN/2of2")
    assert done.code == 0, done.stderr
    assert (tmp_path / "RUN/results.json").is_file()
    assert not (tmp_path / "RUN/2of2/results.json").exists()
