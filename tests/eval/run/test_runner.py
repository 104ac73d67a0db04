"""A run answers the missing rows, records every row once, and resumes after it was killed."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations, groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_common.names import Config
from ruler_eval.frozen_release import Release
from ruler_eval.run import progress, runner
from ruler_eval.run import records as records_module
from ruler_eval.run.backend import Completion, EngineDied
from ruler_eval.run.options import RunOptions
from ruler_eval.run.oracle import Oracle
from ruler_eval.run.plan import read_rows
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import Record, Records, read_records
from ruler_eval.run.row_state import record_of
from ruler_eval.run.runner import OpenRun, run
from tests.eval.run import small_release
from tests.in_process import ruler_error, ruler_output
from tests.model_server import Reply, Request, answer, model_server
from tests.run_folder import answers, edit_answers


def lines(folder: Path) -> list[str]:
    """Return the lines of all answers below a folder, sorted by row, without their order."""
    found = [line for path in folder.rglob("answers.jsonl") for line in path.open()]
    return sorted(found, key=lambda line: (json.loads(line)["config"], json.loads(line)["index"]))


def sessions(folder: Path) -> list[Any]:
    return Records(folder).sessions()


def test_every_row_is_answered_once(options):
    outcome = run(options)
    assert dict(outcome.total) == {"stop": 20}
    tasks = ("cwe_4k", "niah_single_1_4k", "qa_1_4k", "vt_4k")
    rows = [(record["config"], record["index"]) for record in answers(options.out)]
    assert rows == [(task, index) for task in tasks for index in range(5)]
    assert [path.name for path in options.out.glob("*.jsonl")] == ["answers.jsonl"]


def test_run_json_records_what_can_change_a_score(options, small):
    run(options)
    settings = json.loads((options.out / "run.json").read_text())
    manifest = read_manifest(small)
    assert settings["model"] == settings["backend"] == "oracle"
    assert settings["mode"] == "chat"
    assert (settings["dataset"], settings["data_version"]) == ("ruler", "1.0.0")
    assert settings["sampling"] == {"temperature": 0.0, "top_p": 1.0, "seed": 0}
    (session,) = sessions(options.out)
    digests = {file["config"]: file["rows_sha256"] for file in manifest["files"].values()}
    assert session["rows"] == digests
    assert session["started"] < session["ended"]
    assert {"python", "datasets", "transformers"} <= set(session["versions"])


def test_run_json_is_written_once(options):
    run(replace(options, configs="vt_4k"))
    before = (options.out / "run.json").stat()
    run(options)
    after = (options.out / "run.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert [session["configs"] for session in sessions(options.out)] == [
        ["vt_4k"],
        ["niah_single_1_4k", "vt_4k", "cwe_4k", "qa_1_4k"],
    ]


def test_a_run_of_an_older_version_is_not_continued(options):
    run(options)
    path = options.out / "run.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(RulerError, match="older version of ruler, which can be scored and not"):
        run(options)


def test_only_missing_or_half_written_rows_are_run_again(options):
    run(options)
    original = lines(options.out)
    vt = [line for line in original if '"vt_4k"' in line]
    kept = vt[0].replace('"prediction": "', '"prediction": "KEPT ')
    # a crash: row 3 of vt is half-written, 1 and 4 and all of cwe are missing
    others = [line for line in original if '"vt_4k"' not in line and '"cwe_4k"' not in line]
    (options.out / "answers.jsonl").write_text("".join([*others, kept, vt[2], vt[3][:40]]))
    run(options)
    assert lines(options.out) == [kept if line == vt[0] else line for line in original]


def test_a_torn_line_of_any_length_is_removed(options, monkeypatch):
    monkeypatch.setattr(records_module, "TAIL_BYTES", 7)
    run(options)
    original = lines(options.out)
    path = options.out / "answers.jsonl"
    for length in (1, 7, 8, 60):
        with path.open("a") as file:
            file.write(original[0][:length])
        run(replace(options, retry_failed=True))
        assert lines(options.out) == original
    path.write_text(original[0][:-1])  # the only line
    run(options)
    assert lines(options.out) == original


def test_sessions_record_the_limit(options):
    """So `ruler score` does not count rows as wrong that were never requested."""
    for limit in (2, 1, 3, None, 4):
        run(replace(options, limit=limit))
    assert [session["limit"] for session in sessions(options.out)] == [2, 3, None]


def test_a_resumed_run_keeps_failed_rows_without_retry_failed(options):
    run(options)
    original = lines(options.out)

    def fail(record: dict[str, Any]) -> Any:
        if record["config"] == "cwe_4k":  # there is other work: the run does start
            return None
        if (record["config"], record["index"]) == ("vt_4k", 1):
            return {**record, "prediction": "", "finish_reason": "error", "error": "HTTP 504: slow"}
        if (record["config"], record["index"]) == ("vt_4k", 2):
            return {**record, "prediction": "", "finish_reason": "does_not_fit", "error": "long"}
        return record

    edit_answers(options.out, fail)
    written = len(answers(options.out))
    outcome = run(options)
    assert dict(outcome.total) == {"stop": 18, "error": 1, "does_not_fit": 1}
    assert "vt_4k row 1: HTTP 504: slow" in outcome.lines()[0]
    assert len(answers(options.out)) == written + 5
    assert dict(run(replace(options, retry_failed=True)).total) == {"stop": 20}
    assert len(answers(options.out)) == written + 7  # it is appended, and the last line counts
    read = [json.dumps(record, ensure_ascii=False) + "\n" for record in Records(options.out).read()]
    assert sorted(read) == sorted(original)


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"mode": "completion"}, "mode"),
        ({"model": "other"}, "model"),
        ({"temperature": 0.7}, "sampling.temperature"),
        ({"engine_args": {"dtype": "half"}}, "arguments.dtype"),
    ],
)
def test_a_run_is_not_resumed_with_another_setting(options, change, setting):
    run(replace(options, limit=2))
    before = lines(options.out)
    with pytest.raises(RulerError, match=setting) as error:
        run(replace(options, **change))
    assert "--out" in str(error.value)
    assert lines(options.out) == before


@pytest.mark.parametrize("configs", ["vt_4k", "qa_1_4k"])
def test_a_run_is_not_continued_with_rows_of_another_release(options, tmp_path, configs):
    """It is scored with one release, which must have all its rows."""
    run(replace(options, configs=("vt_4k",)))
    release = small_release.write(tmp_path / "changed", seed=1)
    before = lines(options.out)
    with pytest.raises(RulerError, match=r"has rows of another release \(vt_4k of '.*ruler'\)"):
        run(replace(options, dataset=str(release), configs=(configs,)))
    assert lines(options.out) == before


def test_a_run_is_continued_with_the_same_release_in_another_place(options, small, tmp_path):
    run(replace(options, configs=("vt_4k",)))
    moved = shutil.copytree(small, tmp_path / "moved")
    assert run(replace(options, dataset=str(moved))).total == {"stop": 20}


def test_shards_take_whole_files_and_have_together_the_rows_of_the_run(options, tmp_path):
    run(options)
    shards = tmp_path / "S"
    summaries = [run(replace(options, out=shards, shard=f"{i}/3")) for i in (3, 1, 2)]
    assert [summary.total["stop"] for summary in summaries] == [5, 10, 5]
    assert [path.name for path in sorted(shards.iterdir())] == ["1of3", "2of3", "3of3"]
    assert lines(shards) == lines(options.out)
    assert [sessions(shards / f"{i}of3")[0]["shard"] for i in (1, 2, 3)] == ["1/3", "2/3", "3/3"]


def test_shards_are_scored_together(options, tmp_path):
    run(options)
    ruler_output("score", options.out)
    expected = json.loads((options.out / "results.json").read_text())["configurations"]
    shards = tmp_path / "S"
    for i in (1, 2, 3):
        run(replace(options, out=shards, shard=f"{i}/3"))
    ruler_output("score", shards)
    assert json.loads((shards / "results.json").read_text())["configurations"] == expected
    folders = [shards / f"{i}of3" for i in (1, 2, 3)]
    ruler_output("score", *folders, "--out", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["configurations"] == expected
    ruler_output("compare", options.out, shards)


def test_shards_of_different_runs_are_not_scored_together(options, tmp_path):
    shards = tmp_path / "S"
    run(replace(options, out=shards, shard="1/2"))
    with pytest.raises(RulerError, match=r"1of2' was run with repeats = 1, not 2"):
        run(replace(options, out=shards, shard="2/2", repeats=2))
    run(replace(options, out=tmp_path / "T", shard="2/2", repeats=2))
    (tmp_path / "T/2of2").rename(shards / "2of2")
    error = ruler_error("score", shards)
    assert "2of2" in error
    assert "another run" in error


def test_shards_of_two_releases_are_not_scored_together(options, tmp_path):
    other = small_release.write(tmp_path / "other" / "ruler", seed=1)
    run(replace(options, shard="1/2"))
    run(replace(options, dataset=str(other), out=tmp_path / "T", shard="2/2"))
    (tmp_path / "T/2of2").rename(options.out / "2of2")
    for files in ([options.out], [options.out / "1of2", options.out / "2of2"]):
        error = ruler_error("score", *files)
        assert "2of2' is of another release (it has other rows of 'niah_single_1_4k')" in error


def test_shards_in_folders_of_any_name_are_scored_together(options, tmp_path):
    for i, name in enumerate("ab", start=1):
        run(replace(options, shard=f"{i}/2"))
        (options.out / f"{i}of2").rename(tmp_path / name)
    ruler_output("score", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "r.json")
    cells = json.loads((tmp_path / "r.json").read_text())["configurations"]
    assert [cell["n"] for cell in cells.values()] == [5, 5, 5, 5]
    assert all(cell["missing"] == 0 for cell in cells.values())


def test_a_run_has_shards_or_not(options, tmp_path):
    run(replace(options, shard="1/2"))
    with pytest.raises(RulerError, match=r"has shards, such as .*1of2': add --shard"):
        run(options)
    with pytest.raises(RulerError, match="is a shard of another number"):
        run(replace(options, shard="2/3"))
    whole = replace(options, out=tmp_path / "WHOLE")
    run(whole)
    with pytest.raises(RulerError, match="was run without --shard"):
        run(replace(whole, shard="1/2"))


def test_shards_that_run_at_the_same_time_do_not_lose_rows(small, tmp_path, options, ruler_run):
    run(options)
    flags = ["--dataset", str(small), "--configs", "all_4k", "--backend", "oracle"]
    out = tmp_path / "S"
    runs = [ruler_run(*flags, "--out", str(out), "--shard", f"{i}/3") for i in (1, 2, 3)]
    for process in runs:
        assert process.wait() == 0, process.stderr.read()
    assert lines(out) == lines(options.out)


def test_one_of_several_runs_that_start_at_the_same_time_gets_the_folder(tmp_path):
    starts = threading.Barrier(8)

    def begin(folder: Path) -> Records | None:
        records = Records(folder)
        starts.wait()
        try:
            return records if records.lock() else None
        except RulerError:
            return None

    with ThreadPoolExecutor(8) as pool:
        for turn in range(3):
            owners = [*filter(None, pool.map(begin, [tmp_path / str(turn)] * 8))]
            assert len(owners) == 1
            owners[0].close()


def test_two_runs_do_not_write_the_same_folder(options):
    for shard in (None, "1/2"):
        asked = replace(options, shard=shard, out=options.out / str(shard)[:1])
        first = Records(asked.folder)
        first.lock()
        with pytest.raises(RulerError, match="Another run"):
            run(asked)
        first.close()
        assert run(asked).total["stop"] in (10, 20)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"configs": ("vv_4k",)}, "Did you mean 'vt'"),
        ({"configs": ("vt_8k",)}, "has no 'vt_8k'"),
        ({"configs": ()}, "--configs"),
        ({"dataset": "nowhere"}, "ruler build"),
        ({"dataset": "/no/such/folder"}, "ruler build"),
        ({"data_revision": "main"}, "is for a Hub repository"),
        ({"backend": "vlm"}, "Did you mean 'vllm'"),
        ({"mode": "prefil"}, "Did you mean 'prefill'"),
        ({"limit": 0}, "--limit"),
    ],
)
def test_an_invalid_option_is_a_one_line_error_and_writes_nothing(options, change, text):
    with pytest.raises(RulerError, match=text) as error:
        run(replace(options, **change))
    assert "\n" not in str(error.value)
    assert not list(options.out.glob("*.json*"))


def test_damaged_data_is_not_run(options, tmp_path):
    root = small_release.write(tmp_path / "bad")
    path = root / Config("ruler", "vt", "4k").path
    path.write_bytes(path.read_bytes()[:-9] + b"123456789")
    with pytest.raises(RulerError, match="sha256"):
        run(replace(options, dataset=str(root), configs=("vt_4k",)))


def test_a_release_on_the_hub_is_run_at_one_commit(small, options, tmp_path, monkeypatch):
    """From the Hub's cache, as on a machine without a network."""
    run(options)
    commit = "0123456789abcdef" * 2 + "01234567"
    hub_cache = tmp_path / "cache/datasets--org--ruler"
    shutil.copytree(small, hub_cache / "snapshots" / commit)
    (hub_cache / "refs").mkdir()
    (hub_cache / "refs/main").write_text(commit)
    flags = ["--dataset", "org/ruler", "--configs", "all_4k", "--backend", "oracle"]
    flags += ["--out", str(tmp_path / "HUB")]
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    ruler_output("run", *flags)
    assert lines(tmp_path / "HUB") == lines(options.out)
    assert json.loads((tmp_path / "HUB/run.json").read_text())["data_revision"] == commit
    assert [session["source"] for session in sessions(tmp_path / "HUB")] == ["org/ruler"]


def test_a_run_is_scored_from_another_folder_than_it_was_made_in(small, tmp_path):
    flags = ["--dataset", small.name, "--configs", "all_4k", "--backend", "oracle"]
    ruler_output("run", *flags, "--out", tmp_path / "RUN", cwd=small.parent)
    (session,) = sessions(tmp_path / "RUN")
    assert session["source"] == str(small.absolute())
    ruler_output("score", tmp_path / "RUN", cwd=tmp_path)
    results = json.loads((tmp_path / "RUN/results.json").read_text())
    assert results["dataset"]["source"] == str(small.absolute())


def test_killed_at_any_moment_it_loses_only_the_rows_in_flight(small, options, ruler_run):
    def slowly(_: Request) -> Reply:
        time.sleep(0.2)
        return answer()

    def records() -> list[Any]:
        return list(read_records(options.out / "answers.jsonl"))

    flags = ["--dataset", str(small), "--configs", "all_4k", "--backend", "openai", "--model", "m"]
    with model_server(slowly) as server:
        flags += ["--base-url", server.url, "--concurrency", "2", "--out", str(options.out)]
        process = ruler_run(*flags)
        while len(records()) < 5:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert 5 <= len(records()) < 20
        process = ruler_run(*flags)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert stdout.startswith("No failures: 20 rows answered.")
    assert len({(r["config"], r["index"]) for r in records()}) == len(records()) == 20
    assert len(server.requests) <= 20 + 2  # two rows were in flight


def resume_after(
    signals: list[tuple[signal.Signals, int]], small: Path, out: Path, ruler_run: Any
) -> None:
    """Stop a run with each signal when so many more requests have come in, then let it finish."""
    flags = ["--dataset", str(small), "--configs", "all_4k", "--backend", "openai", "--model", "m"]
    arrived = threading.Semaphore(0)

    def reply(request: Request) -> Reply:
        arrived.release()
        time.sleep(0.01)
        return answer(f"answer to {len(request.prompt)}")

    with model_server(reply) as server:
        flags += ["--base-url", server.url, "--concurrency", "3", "--out", str(out)]
        for number, requests in signals:
            process = ruler_run(*flags)
            for _ in range(requests):
                if not arrived.acquire(timeout=60):
                    break
            process.send_signal(number)
            _, stderr = process.communicate(timeout=60)
            assert process.returncode in (0, 130, -signal.SIGKILL), stderr
            assert "Traceback" not in stderr
            while arrived.acquire(blocking=False):
                pass
        process = ruler_run(*flags)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert stdout.startswith("No failures: 20 rows answered.")


@pytest.mark.parametrize("place", [1, 4, 9])
def test_a_run_that_is_stopped_anywhere_continues_to_the_same_answers(
    small, tmp_path, ruler_run, place
):
    resume_after([], small, tmp_path / "WHOLE", ruler_run)
    stops = [(signal.SIGKILL, place), (signal.SIGINT, place)]
    resume_after(stops, small, tmp_path / "RUN", ruler_run)
    whole, stopped = answers(tmp_path / "WHOLE"), answers(tmp_path / "RUN")
    rows = [(line["config"], line["index"], line["prediction"]) for line in stopped]
    assert rows == [(line["config"], line["index"], line["prediction"]) for line in whole]


@pytest.mark.nightly
def test_a_run_that_is_stopped_twenty_times_continues_to_the_same_answers(
    small, tmp_path, ruler_run
):
    places = random.Random()
    resume_after([], small, tmp_path / "WHOLE", ruler_run)
    for turn in range(10):
        stops = [
            (signal.SIGKILL, places.randint(1, 8)),
            (signal.SIGINT, places.randint(1, 8)),
        ]
        resume_after(stops, small, tmp_path / str(turn), ruler_run)
        whole, stopped = answers(tmp_path / "WHOLE"), answers(tmp_path / str(turn))
        rows = [(line["config"], line["index"], line["prediction"]) for line in stopped]
        assert rows == [(line["config"], line["index"], line["prediction"]) for line in whole]


def test_rows_with_a_common_beginning_are_next_to_each_other(tmp_path):
    root = small_release.write(tmp_path / "ruler", rows=8, lines=40, only=("niah_single_1",))
    rows = [row for _, row in read_rows(Release.open(str(root)), {"niah_single_1_4k": range(8)})]
    texts = [row["input"] for row in rows]
    assert sorted(row["index"] for row in rows) == list(range(8))
    shared = [common_beginning(a, b) for a, b in pairwise(texts)]
    of_any_two = [common_beginning(a, b) for a, b in combinations(texts, 2)]
    assert max(shared) == max(of_any_two)
    assert sum(shared) / len(shared) > sum(of_any_two) / len(of_any_two)


def common_beginning(a: str, b: str) -> int:
    """Return the number of characters with which both texts begin."""
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)


def test_configurations_take_turns_and_each_row_group_is_read_once(tmp_path, monkeypatch):
    """A run that is interrupted has about as many rows of every task."""
    import pyarrow.parquet as pq

    root = small_release.write(tmp_path / "ruler", rows=120, lines=6, only=("vt", "qa_1"))
    release = Release.open(str(root))
    columns_of_reads: list[list[str]] = []
    original_read = pq.ParquetFile.read_row_group

    def record_call(self: pq.ParquetFile, group: int, columns: list[str]) -> Any:
        columns_of_reads.append(columns)
        return original_read(self, group, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", record_call)
    sent = [(config, row["index"]) for config, row in read_rows(release, {
        "vt_4k": range(120), "qa_1_4k": [*range(45), 117, 119],
    })]  # fmt: skip
    turns = [(config, len(list(rows))) for config, rows in groupby(sent, key=lambda row: row[0])]
    assert turns == [("vt_4k", 50), ("qa_1_4k", 45), ("vt_4k", 50), ("qa_1_4k", 2), ("vt_4k", 20)]
    assert len({*sent}) == len(sent) == 167
    assert sum("input" in columns for columns in columns_of_reads) == 3 + 2


def test_the_summary_leads_with_failures():
    outcome = RunSummary()
    prompt = Prompt(
        config="vt_4k", index=2, messages=(), text="?", token_ids=None, max_new_tokens=5
    )
    failed = record_of(Completion(prompt, error="HTTP 500: no"))
    endless = record_of(Completion(prompt, "<think>hm", "length"))
    outcome.add(failed)
    outcome.add(endless)
    lines = outcome.lines()
    assert lines[0] == "1 of 2 rows FAILED; the first: vt_4k row 2: HTTP 500: no"
    assert "--retry-failed" in lines[1]
    assert any("reasoning of 1 row did not end" in line for line in lines)
    assert any(line.startswith("Truncated at max_new_tokens: ") for line in lines)


def test_a_run_that_answered_some_rows_continues_with_the_others(tmp_path):
    root = small_release.write(tmp_path / "ruler", rows=25, lines=6, only=("vt", "qa_1"))
    options = RunOptions(root, configs="all_4k", backend="oracle", out=tmp_path / "RUN")
    first = {"vt_4k": [7, 3], "qa_1_4k": [24]}
    records: list[Record] = []
    with OpenRun(options) as open_run:
        open_run.on_record = records.append
        open_run.answer(first)
        assert dict(open_run.count_states(first).total) == {"stop": 3}
    assert [*Records(options.out).read()] == records
    assert "ended" in sessions(options.out)[0]
    with OpenRun(options) as open_run:
        open_run.answer(first)
        assert len(sessions(options.out)) == 1
        assert open_run.count_states(open_run.plan.rows).missing == 47
    assert run(options).total["stop"] == 50


def test_an_engine_that_dies_is_restarted_once_and_no_row_is_answered_twice(
    options, monkeypatch, capsys
):
    real_generate = Oracle.generate
    rows_before_death: list[int | None] = [7, None]  # one for each start of the engine
    sent_rows: list[tuple[str, int]] = []

    def generate(self: Oracle, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        max_rows = rows_before_death.pop(0)
        for number, completion in enumerate(real_generate(self, prompts)):
            if number == max_rows:
                raise EngineDied("The engine ended while it ran: no memory.")
            sent_rows.append((completion.prompt.config, completion.prompt.index))
            yield completion

    monkeypatch.setattr(Oracle, "generate", generate)
    outcome = run(replace(options, progress=True))
    assert dict(outcome.total) == {"stop": 20}
    assert len(sent_rows) == len(set(sent_rows)) == 20
    assert "no memory. It is started again." in " ".join(capsys.readouterr().err.split())
    rows_before_death[:] = [5, 5]
    with pytest.raises(RulerError, match="no memory"):
        run(replace(options, out=options.out.with_name("twice")))


def test_an_engine_that_cannot_be_restarted_raises_one_error(options, monkeypatch):
    closed: list[Oracle] = []

    def generate(self: Oracle, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        monkeypatch.setattr(runner, "start_backend", refuse)
        raise EngineDied("The engine ended while it ran: no memory.")

    def refuse(*_: Any) -> Any:
        raise RulerError("The engine cannot start: no memory.")

    monkeypatch.setattr(Oracle, "generate", generate)
    monkeypatch.setattr(Oracle, "close", lambda self: closed.append(self))
    with pytest.raises(RulerError, match="cannot start: no memory"):
        run(options)
    assert len(closed) == 1


class FakePrompter:
    """Renders and counts rows that only have an index, without a tokenizer or a model.

    It is the prompter and the backend. Row 0 waits until row 1 is rendered; row 3 cannot be
    rendered.
    """

    tokenizer = None
    counts_tokens = True

    def __init__(self) -> None:
        self.second_is_done = threading.Event()

    def __call__(self, config: str, row: dict[str, Any]) -> Prompt:
        index = row["index"]
        if index == 0:
            assert self.second_is_done.wait(30)
        elif index == 1:
            self.second_is_done.set()
        elif index == 3:
            raise RulerError("no template")
        fields = {"text": None, "token_ids": None, "max_new_tokens": 1}
        return Prompt(config=config, index=index, messages=(), **fields)

    def count(self, prompt: Prompt) -> int:
        return 7


def test_prompts_come_in_the_order_of_rows(monkeypatch):
    monkeypatch.setattr(runner.os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    taken_rows: list[int] = []

    def rows() -> Iterator[Any]:
        for index in range(20):
            taken_rows.append(index)
            yield "vt_4k", {"index": index}

    prompter: Any = FakePrompter()
    prompts = runner.render_ahead(rows(), prompter, prompter)
    first = [next(prompts) for _ in range(3)]
    assert [prompt.index for prompt in first] == [0, 1, 2]
    assert {prompt.counted_tokens for prompt in first} == {7}
    with pytest.raises(RulerError, match="no template"):
        next(prompts)
    assert len(taken_rows) <= 8  # a few rows ahead of the row that was asked for


def test_without_a_terminal_the_progress_is_a_line_now_and_then(options, capfd, monkeypatch):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    run(replace(options, progress=True))
    lines = [line for line in capfd.readouterr().err.splitlines() if "remaining" in line]
    assert len(lines) == 20
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d rows 10/20, \d+ tokens/s, about \d:\d\d:\d\d remaining", lines[9]
    )
