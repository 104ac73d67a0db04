"""Rows that lm-evaluation-harness made itself, at a length of no release: scored, and called own.

Its tasks `niah_single_1`, `ruler_vt` and so on make rows of any length: `--metadata
'{"max_seq_lengths": [500], "tokenizer": …}'`. The record is that of lm-eval 0.4.13.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ruler_eval.score.results import load
from tests.in_process import ruler

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
HEAD = (
    "A special magic number is hidden within the following text. Make sure to memorize it. I will "
    "quiz you about the number afterwards.\n"
)
STAMP = "2026-11-23T14-58-08.103736"
TOKENS = 500


def sample(index: int, key: str, value: str, answer: str) -> dict[str, object]:
    """A line of `--log_samples`, with all that the harness writes."""
    needle = f"One of the special magic numbers for {key} is: {value}."
    context = "\n".join([NOISE] * index + [needle] + [NOISE] * (12 - index))
    asked = f"What is the special magic number for {key} mentioned in the provided text?"
    doc = {
        "index": index,
        "input": f"{HEAD}{context}\n{asked}",
        "outputs": [value],
        "length": 455,
        "max_length": TOKENS,
        "gen_prefix": f"The special magic number for {key} mentioned in the provided text is",
    }
    how = {"do_sample": False, "temperature": 0.0, "max_gen_toks": 128, "until": []}
    prompt = f"{doc['input']} {doc['gen_prefix']}"
    return {
        "doc_id": index,
        "doc": doc,
        "target": str(doc["outputs"]),
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": how}},
        "resps": [[answer]],
        "filtered_resps": [answer],
        "filter": "none",
        "metrics": ["4096", str(TOKENS)],
        "doc_hash": "c4ace038",
        "prompt_hash": "778b320b",
        "target_hash": "62560db1",
        "4096": -1.0,
        str(TOKENS): float(value in answer),
    }


def test_samples_of_500_tokens_are_scored_and_called_own_rows(tmp_path):
    folder = tmp_path / "org__model"
    folder.mkdir()
    rows = [
        sample(0, "rabid-goodie", "9152513", " 9152513."),
        sample(1, "calm-otter", "2718281", " 2718281"),
        sample(2, "late-bread", "3141592", " 3141952."),
    ]
    path = folder / f"samples_niah_single_1_{STAMP}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    made = {"model_name": "org/model", "results": {"niah_single_1": {"500,none": 2 / 3}}}
    (folder / f"results_{STAMP}.json").write_text(json.dumps(made), encoding="utf-8")
    for given in (path, folder, tmp_path):
        shown, error, code = ruler("score", given, "--out", tmp_path / "r.json")
        assert code == 0, error
        assert shown.splitlines()[0].startswith(
            "org/model · ruler · custom rows: scored without a "
        )
        found = load(tmp_path / "r.json")
        cell = found["configurations"]["niah_single_1_500"]
        assert (cell["length"], cell["max_length"], cell["n"]) == ("500", TOKENS, 3)
        assert cell["score"] == pytest.approx(200 / 3)
        assert (cell["proof"], found["dataset"]["data_version"]) == ("own", None)
    shown, error, code = ruler("errors", path)
    assert (code, "wrong words" in shown) == (0, True), error


@pytest.mark.nightly
def test_what_the_harness_itself_writes_for_500_tokens_is_scored(made, tmp_path):
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    (tmp_path / "nltk/tokenizers/punkt_tab").mkdir(parents=True)  # else it asks the network
    metadata = json.dumps({"max_seq_lengths": [TOKENS], "tokenizer": str(made("gpt2"))})
    arguments = ["--model", "dummy", "--tasks", "niah_single_1", "--metadata", metadata]
    arguments += ["--limit", "3", "--log_samples", "--output_path", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "NLTK_DATA": str(tmp_path / "nltk")},
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").rglob("samples_*.jsonl")
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    mine = sample(0, "a-b", "1", "c")
    assert (line.keys(), line["doc"].keys()) == (mine.keys(), mine["doc"].keys())
    shown, error, code = ruler("score", tmp_path / "out")
    assert code == 0, error
    assert "custom rows: scored without a release" in shown
    assert "niah_single_1" in shown
