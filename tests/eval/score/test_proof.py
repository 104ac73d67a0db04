"""A digest or the prompts prove which rows were answered; else the output says "Unverified"."""

from __future__ import annotations

import json

import pytest

from ruler_eval.example.write_example import RUNS, write_example
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import record, right, write_lines
from tests.in_process import ruler

COLUMNS = ("index", "outputs", "input", "answer_prefix", "question")


@pytest.fixture
def score(built, tmp_path):
    """Score lines of the reference code's or this project's form: (first line, proof, error)."""

    def call(name, lines, *flags):
        path = tmp_path / name
        write_lines(path, *lines)
        out = tmp_path / "results.json"
        flags = flags or ("--dataset", built)
        stdout, error, code = ruler("score", path, *flags, "--out", out)
        if code:
            return "", None, error
        (cell,) = load(out)["configurations"].values()
        return " ".join(stdout.split("\n\n")[0].split()), cell["proof"], error

    return call


@pytest.fixture
def rows(frozen):
    return list(frozen.rows("niah_single_2_4k", COLUMNS))


def test_lines_with_nothing_to_compare_are_reported_as_unverified(score, rows):
    lines = [record("niah_single_2_4k", row["index"], right("", row)) for row in rows]
    first, proof, _ = score("mine.jsonl", lines)
    assert proof == "none"
    assert first.endswith(
        "Unverified: nothing ties these answers to these rows (no digest, prompt or reference) "
        "(1 of 1 configurations)"
    )


def test_equal_references_do_not_prove_the_length(score, rows):
    """A row asks the same at every length: answers at 8k are not proved to be those of 4k."""
    lines = [{"index": r["index"], "pred": right("", r), "outputs": r["outputs"]} for r in rows]
    first, proof, _ = score("4096/pred/niah_single_2.jsonl", lines)
    assert proof == "references"
    assert "Unverified: the references agree, but other lengths and languages share them" in first
    first, proof, _ = score("8192/pred/niah_single_2.jsonl", lines)
    assert (proof, "Unverified" in first) == ("references", True)


def test_prompts_in_the_file_are_compared_with_the_rows(score, rows):
    def lines(asked):
        return [{"index": r["index"], "pred": right("", r), "input": asked(r)} for r in rows]

    def wrapped(row):
        return f"<s>[INST] {row['input']} [/INST]{row['answer_prefix']}"

    name = "4096/pred/niah_single_2.jsonl"
    first, proof, _ = score(name, lines(wrapped))
    assert (proof, "Unverified" in first) == ("prompt", False)
    for asked, row in ((lambda r: wrapped(rows[r["index"] - 1]), 0), (lambda r: "What is it?", 0)):
        _, _, error = score(name, lines(asked))
        assert f":1' is not that of row {row} of 'niah_single_2_4k'" in error
        assert "leave --dataset out to score it by its own references." in error
    _, _, error = score("8192/pred/niah_single_2.jsonl", lines(wrapped))
    assert "is not that of row 0 of 'niah_single_2_8k'" in error


def test_answers_with_references_are_scored_as_rows_of_their_own_files(score, rows, tmp_path):
    lines = [{"index": r["index"], "pred": right("", r), "outputs": r["outputs"]} for r in rows]
    first, proof, _ = score("4096/pred/niah_single_2.jsonl", lines, "--tokenizer", "tekken")
    assert (proof, "Unverified" in first) == ("file", False)
    assert "custom rows: scored without a release" in first
    data = tmp_path / "4096/data/niah_single_2.jsonl"
    data.parent.mkdir(parents=True)
    data.write_text("".join(json.dumps({**line, "index": line["index"]}) + "\n" for line in lines))
    bare = [{"index": line["index"], "pred": line["pred"]} for line in lines]
    name, flags = "4096/pred/niah_single_2.jsonl", ("--references", tmp_path / "4096/data")
    assert score(name, lines, *flags)[1] == "file"
    first, proof, _ = score(name, bare, *flags)
    assert (proof, "Unverified: nothing ties" in first) == ("none", True)


def test_references_with_the_digests_of_their_rows_prove_a_run_on_these_rows(tmp_path):
    example, out = tmp_path / "example", tmp_path / "results.json"
    write_example(example)
    digests = example / "references/rows.json"
    command = ("score", example / RUNS[0], "--references", example / "references", "--out", out)

    def proofs():
        return {cell["proof"] for cell in load(out)["configurations"].values()}

    stdout, error, code = ruler(*command)
    assert (code, "Unverified" in stdout, proofs()) == (0, False, {"rows"}), error
    assert "frozen rows 1.0.0, references from a folder" in " ".join(stdout.split())
    _, error, code = ruler("results", out, "--model", "org/model", "--dataset-repo", "org/ruler")
    assert (code, "references from a folder: add --custom-rows" in error) == (2, True)
    text = digests.read_text(encoding="utf-8")
    digests.write_text(text.replace(json.loads(text)["vt_2k"], "0" * 64), encoding="utf-8")
    _, error, code = ruler(*command)
    assert (code, "has the references of other rows of vt_2k" in error) == (2, True)
    digests.unlink()
    stdout, _, code = ruler(*command)
    assert (code, proofs()) == (0, {"none"})
    assert "custom rows: scored without a release" in " ".join(stdout.split())
    digests.write_text(text, encoding="utf-8")
    for session in (example / RUNS[0] / "sessions").iterdir():
        facts = json.loads(session.read_text(encoding="utf-8"))
        del facts["rows"]  # as in files of which no run recorded the digests
        session.write_text(json.dumps(facts), encoding="utf-8")
    stdout, _, code = ruler(*command)
    assert (code, proofs()) == (0, {"none"})
    assert "custom rows: scored without a release" in " ".join(stdout.split())
