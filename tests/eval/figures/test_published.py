"""`ruler score --published`: published models below the scored one."""

from __future__ import annotations

import itertools
import json

import pytest

from ruler_common.manifest import SUITE_DIGESTS, read_manifest, suite_digest
from ruler_common.names import TASKS
from tests.eval.scoring_helpers import record, right, write_lines, write_oneruler
from tests.in_process import ruler, ruler_output


def test_published_models_are_listed_below_the_run_in_every_group(write_run):
    asked = ("score", write_run(right), "--published", "--name", "mine")
    stdout = ruler_output(*asked, "--all")
    start = "Not comparable with published models"
    blocks = [" ".join(block.split("\n")) for block in stdout.split("\n\n")]
    titles = [block for block in blocks if block.startswith(start)]
    why = "not comparable, because these are custom rows: embedded texts (essays, "
    assert why in " ".join(stdout.split())
    assert [title.split("(", 1)[1].rsplit(",", 1)[0].split(",")[0] for title in titles] == [
        "all",
        "retrieval (NIAH)",
        "multi-hop tracing (VT)",
        "aggregation (CWE/FWE)",
        "question answering",
        "niah_single_1",
        "niah_single_2",
    ]
    passkey = " ".join(blocks[blocks.index(titles[5]) + 1].split())
    assert " Command-R-plus (104B) 100.0 100.0 99.8 99.8 100.0 97.2 99.5 " in passkey
    scores, weighted, note = (
        " ".join(block.split()) for block in blocks[blocks.index(titles[0]) + 1 :][:3]
    )
    assert scores.index("own: mine ") < scores.index(
        "Jamba-1.5-large (94B/398B) [1] 96.7 96.6 96.4 96.0 95.4 95.1 96.0 "
    )
    assert scores.count(">128K") + scores.count("128K ") >= 1
    assert " Jamba-1.5-large (94B/398B) [1] 95.7 96.3 " in weighted
    assert "[1] arXiv:2408.12570, [2] " in note
    assert "measured on other rows" in " ".join(stdout.split())
    assert "Mixtral-base" not in stdout
    brief, _, _ = ruler(*asked)
    assert brief.count(start) == 1
    assert "of groups of tasks and of single tasks: --all." in brief


def test_a_base_model_is_listed_with_base_models(write_run):
    run = write_run(right)
    stdout, _, _ = ruler("score", run, "--published", "--threshold", "base")
    assert "Mixtral-base (8x7B)" in stdout
    assert "Jamba-1.5-large" not in stdout


def test_onerulers_models_are_listed_for_each_language(tmp_path, monkeypatch):
    root = write_oneruler(tmp_path / "oneruler")
    file = tmp_path / "predictions.jsonl"
    config = "niah_single_8k_pl_cl100k"
    lines = [json.dumps(record(config, index, "1000000")) for index in range(4)]
    file.write_text("\n".join(lines), encoding="utf-8")
    arguments = ("score", file, "--dataset", root, "--published")
    stdout, _, _ = ruler(*arguments)
    assert "No published results match these scores of oneruler." in stdout  # its tasks are others

    suite = suite_digest(read_manifest(root))
    monkeypatch.setitem(SUITE_DIGESTS, "oneruler", suite)
    stdout, _, _ = ruler(*arguments)
    (title,) = [line for line in stdout.splitlines() if line.startswith("Not comparable")]
    assert title.startswith("Not comparable with published models (niah, pl, ")
    (gemini,) = [line for line in stdout.splitlines() if line.startswith("Gemini 1.5 Flash")]
    (own,) = [line for line in stdout.splitlines() if line.startswith("own: unnamed model")]
    assert " 1 of 5 " in own
    assert gemini.split()[-4:] == ["98.0", "100.0", "100.0", "98.0"]


@pytest.mark.parametrize(
    ("lengths", "own"),
    [(("4k",), ["100.0", "100.0"]), (("2k", "4k"), ["100.0", "-"]), (("2k",), None)],
)
def test_an_average_over_lengths_of_no_published_model_is_not_beside_theirs(tmp_path, lengths, own):
    """The first column is 4K, and Avg. is over the lengths of its row."""
    lines = []
    for task, length in itertools.product(TASKS["ruler"], lengths):
        lines.append(record(f"{task}_{length}", 0, "1000000", outputs=["1000000"]))
    file = write_lines(tmp_path / "answers.jsonl", *lines)
    stdout = ruler_output("score", file, "--published")
    rows = [line.split() for line in stdout.splitlines() if line.startswith("own: ")]
    assert [rows[0][3], rows[0][9]] == own if own else not rows


def test_tasks_that_lack_a_score_at_a_length_of_no_published_model_are_not_counted(tmp_path):
    lines = []
    for task, length in itertools.product(TASKS["ruler"], ("2k", "4k")):
        if (task, length) != ("qa_2", "2k"):
            lines.append(record(f"{task}_{length}", 0, "1000000", outputs=["1000000"]))
    file = write_lines(tmp_path / "answers.jsonl", *lines)
    stdout = ruler_output("score", file, "--published")
    own = next(line for line in stdout.splitlines() if line.startswith("own: "))
    assert own.split()[2:4] == ["model", "100.0"]
