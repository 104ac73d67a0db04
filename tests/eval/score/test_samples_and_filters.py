"""Several records of a row: samples of several seeds, filters of one answer, parts of a file."""

from __future__ import annotations

import itertools
import json

import pytest

from ruler_common.errors import RulerError
from ruler_eval.score.results import load
from tests.eval.score.test_forms import A, B, lm_eval, nemo, opencompass
from tests.eval.scoring_helpers import column, read, write_lines
from tests.in_process import ruler_error, ruler_output

TIME = "2026-11-01T10-00-00.000000"


def filtered(index, refs, name, text):
    return {**lm_eval(index, refs, text), "filter": name, "resps": [["ABC DEF"]]}


@pytest.mark.parametrize("order", [*itertools.permutations(["strict", "none", "a"])])
def test_the_filter_with_the_whole_answer_is_read_whatever_the_order(order, tmp_path):
    texts = {"strict": "[invalid]", "none": "ABC DEF", "a": "no"}
    records = [filtered(index, A, name, texts[name]) for name in order for index in (0, 1)]
    path = write_lines(tmp_path / f"samples_ruler_vt_{TIME}.jsonl", *records)
    predictions = read(path)
    assert [row.text for row in predictions.rows] == ["ABC DEF", "ABC DEF"]
    assert predictions.damaged == [
        f"{path} has the answers of 3 filters (a, none, strict): those of the filter 'none' are "
        "read"
    ]


def test_without_that_filter_the_first_by_name_is_read_and_named(tmp_path):
    records = [filtered(0, A, name, name) for name in ("strict", "flexible")]
    path = write_lines(tmp_path / f"samples_ruler_vt_{TIME}.jsonl", *records)
    predictions = read(path)
    assert [row.text for row in predictions.rows] == ["flexible"]
    assert "those of the filter 'flexible' are read" in predictions.damaged[0]
    path = write_lines(tmp_path / f"samples_ruler_vt_{TIME}.jsonl", records[0])
    assert [row.text for row in read(path).rows] == ["strict"]


@pytest.mark.parametrize(
    ("text", "is_noted"),
    [("[invalid]", True), ("ABC", True), ("ABC DEF", False), (" ABC DEF\n", False)],
)
def test_a_filter_that_changed_what_the_model_wrote_is_named(text, is_noted, tmp_path):
    records = [filtered(index, A, "strict", text) for index in (0, 1)]
    path = write_lines(tmp_path / f"samples_ruler_vt_{TIME}.jsonl", *records)
    note = (
        f"{path}: 2 answers of the filter 'strict' are not what the model wrote, which is in "
        f"`resps` (the first at {path}:1)"
    )
    assert read(path).damaged == ([note] if is_noted else [])


@pytest.mark.parametrize("index_name", ["id", "index"])
@pytest.mark.parametrize("field", ["sample", "seed", "repeat", "epoch"])
def test_lines_of_several_seeds_are_samples(field, index_name, tmp_path):
    lines = [
        {"config": "vt_4k", index_name: index, "prediction": text, "outputs": ["ABC"], field: seed}
        for seed, text in ((7, "ABC"), (42, "no"))
        for index in (0, 1)
    ]
    path = write_lines(tmp_path / "vt_4k.jsonl", *lines)
    out = tmp_path / "r.json"
    stdout = ruler_output("score", path, "--out", out)
    assert column(load(out), "score", "vt_4k") == [0.5, 0.5]
    assert load(out)["configurations"]["vt_4k"]["repeats"] == 2
    assert "duplicated" not in stdout


@pytest.mark.parametrize(
    "names",
    [
        ["seed_1/vt_4k.jsonl", "seed_2/vt_4k.jsonl"],
        ["seed1/4096/pred/vt_4k.jsonl", "seed2/4096/pred/vt_4k.jsonl"],
        ["rs0/vt_4k.jsonl", "rs1/vt_4k.jsonl"],
        ["seed_7/a/seed_1/vt_4k.jsonl", "seed_7/a/seed_2/vt_4k.jsonl"],
    ],
)
def test_files_of_several_seeds_are_samples(names, tmp_path):
    for name, text in zip(names, ("ABC", "no"), strict=True):
        write_lines(tmp_path / name, {"id": 0, "prediction": text, "outputs": ["ABC"]})
    out = tmp_path / "r.json"
    stdout = ruler_output("score", *(tmp_path / name for name in names), "--out", out)
    assert column(load(out), "score", "vt_4k") == [0.5]
    assert "are read as samples of one run" in " ".join(stdout.split())


def test_two_numbers_in_a_path_do_not_join_two_runs(tmp_path):
    names = ("seed_1/rs0/vt_4k.jsonl", "seed_2/rs0/vt_4k.jsonl")
    for name in names:
        write_lines(tmp_path / name, {"id": 0, "prediction": "ABC", "outputs": ["ABC"]})
    with pytest.raises(RulerError, match="Two runs answer 'vt_4k'"):
        read(*(tmp_path / name for name in names))


def test_a_list_of_texts_is_noted_as_samples(tmp_path):
    """It may be a list of tokens, of which each would be scored alone."""
    line = {"id": 0, "prediction": ["It", "is"], "outputs": ["ABC"]}
    (note,) = read(write_lines(tmp_path / "vt_4k.jsonl", line)).damaged
    assert "1 record with several answers, read as samples of a row" in note


@pytest.mark.parametrize("index_name", ["id", "index"])
def test_answers_of_two_models_in_a_file_are_refused(index_name, tmp_path):
    lines = [
        {"config": "vt_4k", index_name: index, "prediction": "x", "outputs": ["x"], "model": model}
        for index, model in enumerate(("qwen", "llama"))
    ]
    path = write_lines(tmp_path / "vt_4k.jsonl", *lines)
    with pytest.raises(RulerError, match=r"of two models \(qwen and llama\)"):
        read(path)
    with pytest.raises(RulerError, match=r"of two models \(qwen and llama\)"):
        read(path, columns="prediction=prediction,model=model,config=config,outputs=outputs")


def test_rows_with_one_index_and_other_prompts_are_two_rows(tmp_path):
    lines = [
        {"index": 5, "pred": text, "input": f"Prompt {text}", "outputs": ["ABC"]}
        for text in ("ABC", "no")
    ]
    path = write_lines(tmp_path / "4096/pred/vt.jsonl", *lines)
    out = tmp_path / "r.json"
    stdout = ruler_output("score", path, "--out", out)
    assert column(load(out), "score", "vt_4k") == [1, 0]
    assert "different rows have the same index" in " ".join(stdout.split())


def test_the_seeds_of_nemo_skills_are_samples(tmp_path):
    folder = tmp_path / "eval-results/ruler.vt_4k"
    for seed, text in ((0, "ABC DEF"), (1, "no")):
        write_lines(folder / f"output-rs{seed}.jsonl", nemo(0, A, text))
    for sources in ([folder], sorted(folder.iterdir())):
        rows = read(*sources).rows
        assert [(row.sample, row.text) for row in rows] == [(0, "ABC DEF"), (1, "no")]


def test_the_parts_of_opencompass_are_numbered_on(tmp_path):
    folder = tmp_path / "predictions/llama"
    folder.mkdir(parents=True)
    parts = []
    for number, (refs, text) in enumerate(((A, "ABC"), (B, "GHI"))):
        parts.append(folder / f"ruler_qa_hotpotqa_8k_{number}.json")
        records = {str(row): opencompass(refs, f"{text} {row}") for row in range(2)}
        parts[-1].write_text(json.dumps(records))
    predictions = read(folder.parent.parent)
    assert [(row.config, row.index, row.text) for row in predictions.rows] == [
        ("qa_2_8k", 0, "ABC 0"),
        ("qa_2_8k", 1, "ABC 1"),
        ("qa_2_8k", 2, "GHI 0"),
        ("qa_2_8k", 3, "GHI 1"),
    ]
    parts[0].unlink()
    with pytest.raises(RulerError, match=r"needs the part before it, 'ruler_qa_hotpotqa_8k_0.json"):
        read(parts[1])


def test_a_record_that_contradicts_the_flag_is_refused(tmp_path):
    line = {"config": "vt_4k", "index": 0, "prediction": "x"}
    path = write_lines(tmp_path / "a.jsonl", line)
    with pytest.raises(RulerError, match="answers for 'vt_4k', but --config is cwe_4k"):
        read(path, config="cwe_4k")


def test_checkpoints_of_a_training_are_not_samples_of_one_model(tmp_path):
    for name in ("epoch_1", "epoch_2"):
        line = {"id": 0, "prediction": name, "outputs": ["ABC"]}
        write_lines(tmp_path / name / "vt_4k.jsonl", line)
    with pytest.raises(RulerError, match="Two runs answer 'vt_4k'"):
        read(tmp_path / "epoch_1/vt_4k.jsonl", tmp_path / "epoch_2/vt_4k.jsonl")


def test_a_file_with_mostly_empty_answers_says_so(tmp_path):
    """As one whose answers a server's parser put into the reasoning."""
    lines = [
        {"id": index, "outputs": ["ABC"], "prediction": {"content": "", "reasoning": "ABC"}}
        for index in (0, 1)
    ]
    (note,) = read(write_lines(tmp_path / "vt_4k.jsonl", *lines)).damaged
    assert "2 empty predictions" in note


def test_samples_of_two_rows_under_one_index_are_refused_without_naming_a_release(tmp_path):
    records = [
        {"index": 0, "prediction": "ABC", "outputs": [reference], "sample": sample}
        for sample, reference in enumerate(("ABC", "DEF"))
    ]
    error = ruler_error("score", write_lines(tmp_path / "vt_4k.jsonl", *records))
    assert "is not a sample of row 0: its references differ from the earlier samples'." in error
