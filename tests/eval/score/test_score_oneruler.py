"""ONERULER from prediction files to tables."""

from __future__ import annotations

import json

import pytest

from ruler_eval.frozen_release import Release
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import column, tagged, write_lines, write_oneruler, write_run_folder
from tests.in_process import ruler_output


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Two languages, one of them Korean instructions over an English book."""
    return write_oneruler(tmp_path_factory.mktemp("oneruler"))


def answers(many, folder, answer):
    """A run; `answer(row, text)` gives the fields of a line, `text` is a right answer."""
    release = Release.open(str(many))

    def fields(config, row):
        return answer(row, tagged(release, config, ", ".join(row["outputs"])))

    return write_run_folder(folder, many, fields)


def results_of(many, folder, *options):
    stdout = ruler_output("score", folder, "--dataset", many, "--out", folder / "r", *options)
    return load(folder / "r"), stdout


def test_right_answers_in_the_instructions_language(many, tmp_path):
    folder = answers(many, tmp_path / "run", lambda row, text: {"prediction": text})
    results, stdout = results_of(many, folder, "--all")
    cells = results["configurations"]
    assert {cell["score"] for cell in cells.values()} == {100}
    assert cells["niah_none_8k_en-ko_cl100k"]["instruction_language"] == "ko"
    assert cells["cwe_easy_8k_pl_cl100k"]["words_right"] == 10
    assert set(results["summary"]["cl100k"]) == {"pl", "en-ko"}
    assert set(results["summary"]["cl100k"]["pl"]) == {"niah", "cwe", "all"}
    assert "Words right of ten, mean over the rows" in stdout
    assert "cwe_easy  10.0" in stdout


def test_truncated_answers_are_wrong_and_of_o3_leave_the_authors_denominator(many, tmp_path):
    def answer(row, text):
        return {"prediction": text, "finish_reason": "length" if row["index"] == 0 else "stop"}

    def cell(*options):
        results, stdout = results_of(many, folder, *options)
        assert not options or "--compat authors" in " ".join(stdout.split())
        return results["configurations"]["niah_single_8k_pl_cl100k"]

    folder = answers(many, tmp_path / "run", answer)
    ours = cell()
    assert (ours["score"], ours["n"], ours["truncated"], ours["truncated_scored"]) == (75, 4, 1, 0)
    theirs = cell("--compat", "authors")
    assert (theirs["score"], theirs["n"], theirs["dropped"]) == (100, 4, 0)
    (folder / "run.json").write_text(json.dumps({"model": "o3-mini"}))
    theirs = cell("--compat", "authors")
    assert (theirs["score"], theirs["n"], theirs["dropped"]) == (100, 3, 1)


def test_the_authors_outputs_are_those_of_the_model_that_their_files_name(tmp_path):
    endings = ["stop"] * 6 + ["length"] * 6
    for model, score, n in (("o3-mini", 100, 6), ("o4-mini", 50, 12)):
        for language, none in (("pl", "brak"), ("ko", "없음")):
            path = tmp_path / f"{model}/{language}/niah_none/8000/prediction_{model}.jsonl"
            lines = [
                {"index": i, "outputs": [none], f"response-{model}": text, "finish_reason": ending}
                for i, ending in enumerate(endings)
                for text in [none if ending == "stop" else "hm"]
            ]
            write_lines(path, *lines)
        out = tmp_path / f"{model}.json"
        ruler_output("score", tmp_path / model, "--compat", "authors", "--out", out)
        results = load(out)
        assert results["model"] == model
        cell = results["configurations"]["niah_none_8k_pl"]
        rows = len(column(results, "score", "niah_none_8k_pl"))
        assert (cell["score"], cell["n"], rows) == (score, n, n)
        mean = results["summary"]["unknown tokenizer"]["*"]["niah"]["lengths"]["8k"]
        low, high = mean["interval"]
        assert low <= mean["score"] == score <= high


def test_partial_lists_score_nothing_and_their_right_words_are_reported(many, tmp_path):
    def answer(row, text):
        return {"prediction": text.replace("słowoa", "inne").replace("słowob", "obce")}

    cells = results_of(many, answers(many, tmp_path / "run", answer))[0]["configurations"]
    cell = cells["cwe_easy_8k_pl_cl100k"]
    assert (cell["score"], cell["words_right"]) == (0, 8)


def test_each_of_several_references_has_a_separate_depth(many, tmp_path):
    def answer(row, text):
        return {"prediction": row["outputs"][0]}

    cells = results_of(many, answers(many, tmp_path / "run", answer))[0]["configurations"]
    depth = cells["niah_multivalue_8k_pl_cl100k"]["depth"]
    assert depth[0]["score"] == 100
    assert sum(bin["n"] for bin in depth) == 16
    assert sum(bin["score"] * bin["n"] for bin in depth if bin["n"]) == 400
    assert cells["niah_none_8k_pl_cl100k"]["depth"] is None


def test_none_in_answer_to_many_questions_is_not_taken_for_a_text_of_a_gateway(tmp_path):
    """ONERULER's prompts offer the word, and some models give it too often."""
    root = write_oneruler(tmp_path / "release", rows=6)
    release = Release.open(str(root))
    for text, is_noted in (("Brak.", False), ("Try again.", True)):
        run = write_run_folder(
            tmp_path / text,
            root,
            lambda config, row, text=text: tagged(release, config, text),
            [f"{task}_8k_pl_cl100k" for task in ("niah_single", "niah_multivalue")],
        )
        ruler_output("score", run)
        notes = load(run / "results.json")["notes"]
        assert any("word for word" in note for note in notes) is is_noted
