"""`ruler doctor RUN`: what a finished run shows about its engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

import ruler_dataset
from ruler_eval.doctor.answers import Answer
from ruler_eval.doctor.observe import ObservedRow, find_patterns
from tests.eval.run import small_release
from tests.in_process import ruler
from tests.run_folder import answers, edit_answers, without, write_answers

ROWS = 20
CONFIGS = ("niah_single_1_4k", "vt_4k", "cwe_4k", "qa_1_4k")
Change = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_release.write(tmp_path_factory.mktemp("observe") / "ruler", rows=ROWS)


@pytest.fixture(scope="module")
def run(root: Path) -> Path:
    """A run of the oracle: every answer is right."""
    out = root.with_name("RUN")
    flags = ("--backend", "oracle", "--out", out)
    assert ruler("run", "--dataset", root, "--configs", ",".join(CONFIGS), *flags).code == 0
    return out


def changed(run: Path, out: Path, root: Path, change: Change, **settings: Any) -> Path:
    """Copy a run, each record changed by a function of the record and its row."""
    shutil.copytree(run, out)
    (session,) = (out / "sessions").iterdir()
    for name, value in settings.items():
        file = session if name in ("rows", "source") else out / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))
    rows = {}
    for config in CONFIGS:
        for row in ruler_dataset.load(root, config):
            rows[config, row["index"]] = row
    edit_answers(out, lambda record: change(record, rows[record["config"], record["index"]]))
    return out


def test_a_run_on_an_older_commit_of_the_hub_is_examined_with_its_rows(
    run: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the Hub's cache, as on a machine without a network; the main branch has other rows."""
    old, new = "0123456789abcdef" * 2 + "01234567", "f" * 40
    hub_cache = tmp_path / "cache/datasets--org--ruler"
    shutil.copytree(root, hub_cache / "snapshots" / old)
    small_release.write(hub_cache / "snapshots" / new, rows=ROWS // 2)
    (hub_cache / "refs").mkdir()
    (hub_cache / "refs/main").write_text(new)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    on_hub = {"source": "org/ruler", "data_revision": old}
    folder = changed(run, tmp_path / "RUN", root, lambda record, row: record, **on_hub)
    code, _, seen = observed(folder, tmp_path)
    assert (code, seen["rows"]) == (0, len(CONFIGS) * ROWS)


def observed(run: Path, tmp_path: Path) -> tuple[int, str, dict[str, Any]]:
    """The exit code of `ruler doctor RUN`, its text on one line, and its JSON."""
    out = tmp_path / "seen.json"
    printed = ruler("doctor", run, "--json", out)
    return printed.code, " ".join(printed.stdout.split()), json.loads(out.read_text())


def test_a_run_without_a_pattern_is_not_called_sound(run, tmp_path):
    code, text, seen = observed(run, tmp_path)
    assert code == 0
    assert seen["patterns"] == []
    assert "No pattern of a broken engine in 80 rows." in text
    assert "an observation, not a proof" in text


def test_answers_that_repeat_the_prompt_have_no_answer_prefix(run, root, tmp_path):
    def repeat(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | {"prediction": row["input"][200:500]}

    code, text, seen = observed(changed(run, tmp_path / "R", root, repeat), tmp_path)
    assert code == 1
    assert [pattern["name"] for pattern in seen["patterns"]] == ["template"]
    assert "answer prefix or the chat template is missing" in text


def test_reasoning_without_thinking_is_a_pattern(run, root, tmp_path):
    def think(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | {"prediction": record["prediction"], "thinking": "Let me see …"}

    code, _, seen = observed(changed(run, tmp_path / "R", root, think), tmp_path)
    assert (code, [pattern["name"] for pattern in seen["patterns"]]) == (1, ["reasoning"])


def test_answers_that_a_parser_took_for_reasoning_are_a_pattern(run, root, tmp_path):
    def separate(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | {"prediction": "", "thinking": record["prediction"], "thinking_ended": True}

    code, text, seen = observed(changed(run, tmp_path / "R", root, separate), tmp_path)
    assert (code, [pattern["name"] for pattern in seen["patterns"]]) == (1, ["reasoning"])
    assert "Start the server without its `--reasoning-parser`" in text


@pytest.mark.parametrize("mark", ["<mm:think>", "<longcat_think>", "<|think:start|>", "[THINK]"])
def test_marks_in_answers_are_a_pattern_whatever_their_name(run, root, tmp_path, mark):
    def think(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | {"prediction": f"{mark}Let me see"}

    _, _, seen = observed(changed(run, tmp_path / "R", root, think), tmp_path)
    assert "reasoning" in [pattern["name"] for pattern in seen["patterns"]]


def test_answers_that_all_end_at_the_limit_lack_tokens(run, root, tmp_path):
    def cut(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | {"prediction": "First, I will", "finish_reason": "length"}

    cut_run = changed(run, tmp_path / "R", root, cut, mode="prefill")
    code, _, seen = observed(cut_run, tmp_path)
    assert (code, [pattern["name"] for pattern in seen["patterns"]]) == (1, ["budget"])
    base = changed(run, tmp_path / "B", root, cut, mode="completion")
    assert observed(base, tmp_path)[0] == 0  # a base model goes on to the limit


def test_prompts_that_the_server_shortened_are_counted(run, root, tmp_path):
    why = "the server shortened the prompt: it read 2050 of 3900 tokens"

    def shorten(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | {"finish_reason": "does_not_fit", "error": why, "failure": "truncated"}

    code, text, seen = observed(changed(run, tmp_path / "R", root, shorten), tmp_path)
    assert (code, seen["patterns"][0]["name"]) == (1, "tokens")
    assert "it read 2050 of 3900 tokens" in text


@pytest.mark.parametrize(
    ("longer", "names"),
    [
        ({"vt": 0.1, "cwe": 0.1, "fwe": 0.1}, ["window"]),
        ({"vt": 0.1, "cwe": 0.1, "fwe": 0.6}, []),
        ({"vt": 0.1, "cwe": 0.1}, []),  # fwe at the shorter length only: two tasks are too few
        ({"vt": 0.1, "cwe": 0.1, "fwe": 0.1, "qa_1": 0.9}, ["window"]),  # qa_1 at the longer only
    ],
)
def test_all_tasks_that_fall_at_one_length_point_to_the_window(longer, names):
    shares = {("vt", 4096): 0.9, ("cwe", 4096): 0.9, ("fwe", 4096): 0.9}
    shares |= {(task, 8192): share for task, share in longer.items()}
    rows = [
        observed_row(task, length, index, score=index < 20 * share)
        for (task, length), share in shares.items()
        for index in range(20)
    ]
    patterns = find_patterns(rows, {})
    assert [pattern.name for pattern in patterns] == names
    assert not any(pattern.is_proof for pattern in patterns)  # a weak model may do so too


def test_scores_by_position_follow_the_order_of_the_file(run, root, tmp_path):
    def spoil_the_last_third(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | {"prediction": "no"} if record["index"] >= 14 else record

    folder = changed(run, tmp_path / "R", root, spoil_the_last_third)
    position = position_of(observed(folder, tmp_path)[2])
    assert [group["label"] for group in position["groups"]] == [
        "first third", "second third", "last third",
    ]  # fmt: skip
    first, second, last = [group["difference"] for group in position["groups"]]
    assert first == pytest.approx(second)
    assert last < first - 90
    decided = changed(run, tmp_path / "D", root, spoil_the_last_third, decide={"max_drop": 2.0})
    assert position_of(observed(decided, tmp_path)[2])["groups"] == []


def position_of(seen: dict[str, Any]) -> dict[str, Any]:
    (position,) = [c for c in seen["circumstances"] if c["title"] == "Position in the run"]
    return position


def observed_row(task: str, length: int, index: int, score: bool) -> ObservedRow:
    """A row of a run that was answered within its tokens."""
    record: Any = {"error": None, "prediction": "12345", "finish_reason": "stop"}
    return ObservedRow(
        record=record,
        answer=Answer(score=float(score)),
        task=task,
        length=length,
        max_new_tokens=32,
        place=index / 20,
    )


def test_scores_are_shown_by_cached_share(run, root, tmp_path):
    def cache(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        hit = record["index"] % 2 == 0
        usage = {"prompt_tokens": 100, "completion_tokens": 5, "thinking_tokens": 0}
        usage["cached_tokens"] = 90 if hit else 0
        text = "nothing" if hit else record["prediction"]
        return record | {"prediction": text, "usage": usage}

    _, text, seen = observed(changed(run, tmp_path / "R", root, cache), tmp_path)
    (shares,) = [item for item in seen["circumstances"] if item["title"].startswith("Cached")]
    assert [(group["label"], group["rows"]) for group in shares["groups"]] == [
        ("none", 40),
        ("half or more", 40),
    ]
    assert shares["groups"][1]["difference"] < -40 < 40 < shares["groups"][0]["difference"]
    assert "Cached share of the prompt" in text


def test_groups_of_few_rows_are_not_compared(run, root, tmp_path):
    def retry(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        is_few = record["config"] == "vt_4k" and record["index"] < 9
        return record | {"tries": 2 if is_few else 1}

    _, text, observation = observed(changed(run, tmp_path / "R", root, retry), tmp_path)
    (tries,) = [item for item in observation["circumstances"] if item["title"] == "Tries"]
    assert tries["groups"] == []
    assert "Tries: too few rows to compare (one: 71, several: 9)." in text


def test_a_row_with_two_lines_counts_once(run, root, tmp_path):
    copy = changed(run, tmp_path / "R", root, lambda record, row: record)
    without(copy, "cwe_4k", "qa_1_4k")
    records = answers(copy)
    failed = [{**record, **FAILED} for record in records if record["config"] == "vt_4k"]
    write_answers(copy, [*failed, *records])
    code, _, observation = observed(copy, tmp_path)
    assert (code, observation["rows"], observation["patterns"]) == (0, 40, [])


FAILED = {"prediction": "", "finish_reason": "error", "error": "HTTP 500: no memory"}


def test_requests_that_failed_are_named_and_count_as_no_answers(run, root, tmp_path):
    def fail(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        return record | FAILED

    code, text, seen = observed(changed(run, tmp_path / "R", root, fail), tmp_path)
    assert (code, [pattern["name"] for pattern in seen["patterns"]]) == (1, ["failures"])
    assert "80 of 80 requests failed, such as: HTTP 500: no memory." in text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"config": "vt_4k", "index": 3, "finish_reason": "stop"}, "is damaged"),
        ({"index": 900}, "answers rows of vt_4k that the release does not have"),
        ({"usage": "many"}, "is damaged"),
        ({"prediction": None}, "is damaged"),
    ],
)
def test_a_damaged_line_is_one_sentence(line, words, run, root, tmp_path):
    copy = changed(run, tmp_path / "R", root, lambda record, row: record)
    vt = answers(copy, "vt_4k")
    write_answers(copy, [*vt, line if "finish_reason" in line else vt[0] | line])
    printed = ruler("doctor", copy)
    assert printed.code == 2, printed
    assert words in " ".join(printed.stderr.split())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"source": 5}, "is damaged: source"),
        ({"thinking": 5}, "is damaged: thinking"),
        ({"rows": {"vt_4k": "0" * 64}}, "was run on different rows"),
        ({"rows": {"nothing_4k": "0" * 64}}, "was run on different rows"),
        ({"source": None}, "is damaged: sessions.0.source"),
        # A folder, not the repository of this name
        ({"source": "releases/ruler"}, "made on 'releases/ruler', which was not found"),
    ],
)
def test_a_damaged_run_json_is_one_sentence(settings, words, run, root, tmp_path):
    printed = ruler("doctor", changed(run, tmp_path / "R", root, lambda r, row: r, **settings))
    assert printed.code == 2, printed
    assert words in " ".join(printed.stderr.split())


def test_a_run_that_does_not_name_its_release_is_one_sentence(run, root, tmp_path):
    copy = changed(run, tmp_path / "R", root, lambda record, row: record)
    (session,) = (copy / "sessions").iterdir()
    facts = json.loads(session.read_text())
    del facts["source"]
    session.write_text(json.dumps(facts))
    printed = ruler("doctor", copy)
    assert printed.code == 2, printed
    assert "does not name its release: add --dataset" in " ".join(printed.stderr.split())


def test_a_folder_without_a_run_is_one_sentence(tmp_path):
    printed = ruler("doctor", tmp_path)
    assert printed.code == 2
    assert "it has no run.json" in printed.stderr
    printed = ruler("doctor", tmp_path / "nothing")
    assert printed.code == 2
    assert "There is no folder" in printed.stderr
