"""Files that people have: read without a flag where nothing is ambiguous, else one sentence."""

from __future__ import annotations

import csv
import gzip
import json
import re

import pytest

from ruler_common.errors import RulerError
from ruler_eval.score.results import load
from ruler_eval.score.row_finder import AskedRows
from tests.eval.score.test_prediction_files import reference, sample
from tests.eval.scoring_helpers import column, read, record, right, write_lines
from tests.in_process import ruler, ruler_error, ruler_output


def scored(tmp_path, *arguments):
    out = tmp_path / "r.json"
    stdout = ruler_output("score", *arguments, "--out", out)
    return load(out), stdout


def write_csv(path, header, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


# ---- Fields of other programs ------------------------------------------------------------------


@pytest.mark.parametrize("null", ["None", "nan", "null", "False", "0", "N/A", ""])
def test_a_printed_null_is_not_an_error_and_not_reasoning(null, tmp_path):
    fields = {"error": null, "thinking": null, "outputs": ["ABC"]}
    path = write_lines(tmp_path / "a.jsonl", record("vt_4k", 0, "ABC", **fields))
    (row,) = read(path).rows
    assert (row.failed, row.thinking) == (False, None)
    path = write_lines(tmp_path / "a.jsonl", record("vt_4k", 0, "ABC", error="timed out"))
    assert read(path).rows[0].failed


@pytest.mark.parametrize("reason", ["abort", "incomplete", "content_filter", "SAFETY", "odd"])
def test_an_answer_with_another_end_is_noted(reason, tmp_path):
    ends = ["stop", reason, "length", reason]
    fields = [{"finish_reason": end, "outputs": ["ABC"]} for end in ends]
    lines = [record("vt_4k", place, "ABC", **more) for place, more in enumerate(fields)]
    (note,) = read(write_lines(tmp_path / "a.jsonl", *lines)).damaged
    assert f"2 answers ended with '{reason}' and may be incomplete: scored as they are" in note
    assert note.endswith("(the first at " + str(tmp_path / "a.jsonl") + ":2)")
    plain = ["stop", "eos_token", "MAX_TOKENS", "null", ""]
    lines = [record("vt_4k", place, "ABC", finish_reason=end) for place, end in enumerate(plain)]
    assert read(write_lines(tmp_path / "a.jsonl", *lines)).damaged == []


def test_columns_in_a_line_are_refused_with_the_form_to_write(tmp_path):
    """A document of columns is read, but a record has one configuration."""
    columns = {"config": ["vt_4k"] * 2, "index": [0, 1], "prediction": ["a", "b"]}
    with pytest.raises(RulerError, match="write a record for each answer"):
        read(write_lines(tmp_path / "a.jsonl", columns, columns))
    path = write_lines(tmp_path / "a.json", columns)
    assert [(row.config, row.index, row.text) for row in read(path).rows] == [
        ("vt_4k", 0, "a"),
        ("vt_4k", 1, "b"),
    ]


def test_a_file_of_scores_is_called_so(tmp_path):
    path = write_lines(tmp_path / "results.json", {"score_version": "3", "configurations": {}})
    with pytest.raises(RulerError, match="has scores, and not answers: name the RUN folder"):
        read(path)


def test_of_the_answers_of_two_models_in_a_record_one_is_named(tmp_path):
    line = {"index": 0, "outputs": ["brak"], "response-a": "brak", "response-b": "nic"}
    folder = tmp_path / "pl/niah_none/8000"
    assert [row.text for row in read(write_lines(folder / "prediction_b.jsonl", line)).rows] == [
        "nic"
    ]
    with pytest.raises(RulerError, match="--columns prediction=response-a,index=index"):
        read(write_lines(folder / "prediction_x.jsonl", line))


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"config": "vt_8k"}, {}),
        ({"config": "cwe_4k"}, {}),
        ({"task": "cwe"}, {}),
        ({"max_length": 8192}, {}),
        ({}, {"length": "8k"}),
        ({}, {"config": "vt_8k"}),
        ({"task": "cwe", "max_length": 4096}, {}),
    ],
)
@pytest.mark.parametrize("index", ["id", "index"])
def test_a_file_whose_name_contradicts_its_records_or_a_flag_is_refused(
    fields, options, index, tmp_path
):
    line = {index: 0, "prediction": "ABC", "outputs": ["ABC"]}
    path = write_lines(tmp_path / "llama_vt_4k.jsonl", {**line, **fields})
    with pytest.raises(RulerError, match="is called 'vt_4k', but its records or the options say"):
        read(path, **options)
    agreeing = {"task": "vt", "max_length": 4096}
    path = write_lines(tmp_path / "llama_vt_4k.jsonl", {**line, **agreeing})
    assert [row.config for row in read(path, config="vt_4k_qwen2.5").rows] == ["vt_4k_qwen2.5"]
    assert [row.config for row in read(path, length="4k").rows] == ["vt_4k"]


# ---- Which run -------------------------------------------------------------------------------


def test_a_folder_of_several_runs_is_refused_and_they_are_named(write_run, tmp_path):
    write_run(right, "runs_a", ["vt_4k"])
    for name in ("a", "b"):
        folder = tmp_path / "runs" / name
        folder.parent.mkdir(exist_ok=True)
        write_run(right, f"run_{name}", ["vt_4k"]).rename(folder)
    error = ruler_error("score", tmp_path / "runs")
    assert "has several runs" in error
    assert str(tmp_path / "runs/a") in error
    assert str(tmp_path / "runs/b") in error


def test_two_models_of_the_reference_code_are_two_runs(tmp_path):
    write_lines(tmp_path / "a/synthetic/4096/pred/vt.jsonl", reference(0))
    write_lines(tmp_path / "b/synthetic/8192/pred/vt.jsonl", reference(0))
    with pytest.raises(RulerError, match="has several runs"):
        read(tmp_path)


def test_two_runs_of_one_configuration_are_refused_wherever_they_lie(tmp_path):
    a = write_lines(tmp_path / "a/4096/pred/vt.jsonl", reference(0))
    b = write_lines(tmp_path / "b/4096/pred/vt.jsonl", reference(0))
    with pytest.raises(RulerError, match="Two runs answer 'vt_4k'"):
        read(a, b)
    for hour in ("10", "11"):
        name = f"samples_ruler_vt_2026-01-01T{hour}-00-00.000000.jsonl"
        write_lines(tmp_path / "lm" / name, sample(0, 0, 4096, "a"))
    with pytest.raises(RulerError, match="Two runs answer 'vt_4k'"):
        read(tmp_path / "lm")


def test_runs_of_two_models_are_not_joined(write_run):
    a = write_run(right, "a", ["vt_4k"])
    b = write_run(right, "b", ["cwe_4k"])
    files = [run / f"{config}.jsonl" for run, config in ((a, "vt_4k"), (b, "cwe_4k"))]
    assert "is another run (model b, before it a)" in ruler("score", *files)[1]
    lines = ruler_output("score", a, b).splitlines()
    (start,) = [place for place, line in enumerate(lines) if line.startswith("model ")]
    assert [line.split()[0] for line in lines[start + 2 : start + 4]] == ["a", "b"]


def test_one_model_in_two_folders_is_one_run(write_run, tmp_path):
    a = write_run(right, "a", ["vt_4k"])
    b = write_run(right, "b", ["cwe_4k"])
    path = b / "run.json"
    path.write_text(path.read_text().replace('"model": "b"', '"model": "a"'))
    results, _ = scored(tmp_path, a, b)
    assert set(results["configurations"]) == {"vt_4k", "cwe_4k"}
    assert set(results["run"]["rows"]) == {"vt_4k", "cwe_4k"}
    settings = [json.loads((folder / "run.json").read_text()) for folder in (a, b)]
    for name, before, now in (
        ("direct", False, True),
        ("sampling", {"temperature": 0.0}, {"temperature": 1.0}),
        ("revision", "1", "2"),
    ):
        for folder, run, value in zip((a, b), settings, (before, now), strict=True):
            (folder / "run.json").write_text(json.dumps(run | {name: value}))
        files = [a / "vt_4k.jsonl", b / "cwe_4k.jsonl"]
        assert f"is another run ({name} {now}, before it {before})" in ruler("score", *files)[1]
        stdout = ruler_output("score", a, b)  # two runs of one model, side by side
        assert {f"a ({folder})" for folder in (a, b)} <= {*re.findall(r"a \([^)]*\)", stdout)}


# ---- Which rows ------------------------------------------------------------------------------


def as_submission(path, rows):
    return write_csv(path, ["Task", "ID", "Prediction"], *rows)


def test_a_submission_with_ids_outside_the_release_is_refused(built, tmp_path):
    rows = [["vt", i, "A"] for i in range(5)] + [["niah_single_1", 2407 + i, "1"] for i in range(5)]
    path = as_submission(tmp_path / "4096/pred/submission.csv", rows)
    error = ruler_error("score", path, "--dataset", built)
    assert "5 of 5 predictions for 'niah_single_1_4k' are for rows that" in error
    assert "--references FOLDER" in error


@pytest.mark.parametrize("layout", ["data/{}/validation.jsonl", "data/{}.jsonl"])
def test_a_submission_is_scored_by_the_reference_codes_data_line_by_line(tmp_path, layout):
    rows = [["vt", 7, "A and B"], ["vt", 7, "only D"], ["qa_1", 0, "no"]]
    path = as_submission(tmp_path / "4096/pred/submission.csv", rows)
    data = tmp_path / "4096" / layout.format("vt")
    write_lines(data, {"index": 7, "outputs": ["A", "B"]}, {"index": 7, "outputs": ["C", "D"]})
    results, stdout = scored(tmp_path, path, "--references", tmp_path / "4096/data")
    assert column(results, "score", "vt_4k") == [1, 0.5]
    assert "Note: qa_1_4k: no references in" in stdout


def test_references_of_other_rows_are_refused(tmp_path):
    path = as_submission(tmp_path / "4096/pred/submission.csv", [["vt", 7, "A"], ["vt", 9, "A"]])
    write_lines(tmp_path / "4096/data/vt.jsonl", {"index": 7, "outputs": ["A"]})
    folder = tmp_path / "4096/data"
    assert "has other rows of vt_4k" in ruler("score", path, "--references", folder)[1]
    assert "There is no folder" in ruler("score", path, "--references", tmp_path / "gone")[1]
    assert "has no references for vt_4k" in ruler("score", path, "--references", path.parent)[1]
    (path.parent / "manifest.json").write_text("{}")
    error = ruler("score", path, "--references", path.parent)[1]
    assert "is a release: name it with --dataset, not --references." in error
    both = ruler("score", path, "--references", folder, "--dataset", "x")[1]
    assert "give only one of them" in both
    with_references = write_lines(
        tmp_path / "4096/pred/vt.jsonl", {"index": 7, "pred": "A", "outputs": ["B"], "input": "x"}
    )
    text = "has other references than"
    assert text in ruler("score", with_references, "--references", folder)[1]
    write_lines(tmp_path / "4096/data/vt.jsonl", {"index": 7, "outputs": [None]})
    text = "is not a line of a data file: the references are '[None]', not a list of texts."
    assert text in ruler("score", with_references, "--references", folder)[1]


# ---- Formats ---------------------------------------------------------------------------------

KVPRESS = ["predicted_answer", "answer_prefix", "compression_ratio", "task", "question", "answer"]


def kvpress(folder, *rows):
    return write_csv(folder / "predictions.csv", KVPRESS, *rows)


def test_kvpress_predictions_are_read_with_their_length_model_and_references(tmp_path):
    folder = tmp_path / "ruler__4096__org--model__knorm__0.50"
    path = kvpress(
        folder,
        [" A B", "Answer: ", 0.5, "vt", "Question: Find all. ", "['A' 'B']"],
        [" yes", "Answer:", 0.5, "qa_1", "Answer. Question: Is it? ", "[\"it's\" 'yes']"],
        [" C", "Answer: ", 0.5, "vt", "Question: Find more. ", "['C', 'D']"],
    )
    results, stdout = scored(tmp_path, path)
    cells = results["configurations"]
    assert column(results, "score", "vt_4k") == [1, 0.5]
    assert cells["qa_1_4k"]["score"] == 100
    assert stdout.startswith("org/model knorm 0.50 · ruler · custom rows: scored without a release")
    (folder / "config.yaml").write_text("data_dir: 8192\nmodel: other/name\npress_name: snapkv\n")
    results, stdout = scored(tmp_path, folder)
    assert list(results["configurations"]) == ["vt_8k", "qa_1_8k"]
    assert results["model"].startswith("other/name snapkv")


def test_kvpress_predictions_on_an_exported_release_are_scored_against_it(frozen, built, tmp_path):
    rows = [
        [" ".join(row["outputs"]), "", 0, "vt", f"Question: {row['question']} ", row["outputs"]]
        for row in frozen.rows("vt_4k", ("outputs", "question"))
    ]
    path = kvpress(tmp_path / "ruler__4096__m__p__0.10", *rows)
    results, _ = scored(tmp_path, path, "--dataset", built)
    assert results["configurations"]["vt_4k"]["score"] == 100
    rows[1][4] = "Question: What else? "
    path = kvpress(tmp_path / "ruler__4096__m__p__0.10", *rows)
    error = ruler("score", path, "--dataset", built)[1]
    assert f"'{path}:3' has a question or references that no other row of vt_4k" in error


COLUMNS_ASKED = ("index", "task", "outputs", "question")


def kvpress_answers(release, *tasks):
    """The answers that kvpress writes to all rows of tasks at 4k, those to odd rows right."""
    return [
        [
            " ".join(row["outputs"]) if row["index"] % 2 else " none",
            *("", 0.5, task, f"Question: {row['question']} ", row["outputs"]),
        ]
        for task in tasks
        for row in release.rows(f"{task}_4k", COLUMNS_ASKED)
    ]


def test_a_sample_of_rows_of_kvpress_is_scored_by_the_rows_it_asks(frozen, built, tmp_path):
    """Every tenth row or so, in a random order, as `--fraction` takes them."""
    answers = kvpress_answers(frozen, "vt", "cwe", "fwe", "qa_1")  # cwe and fwe ask one question
    chosen = [answers[place] for place in (13, 4, 17, 1, 8, 7, 3, 11)]
    path = kvpress(tmp_path / "ruler__4096__org--m__knorm__0.50__fraction0.400", *chosen)
    results, _ = scored(tmp_path, path, "--dataset", built, "--partial")
    rows = results["rows"]
    asked = {
        (config, index): score
        for config, index, score in zip(rows["config"], rows["index"], rows["score"], strict=True)
    }
    places = [("vt_4k", 1), ("vt_4k", 3), ("vt_4k", 4), ("cwe_4k", 2), ("cwe_4k", 3)]
    places += [("fwe_4k", 1), ("fwe_4k", 3), ("qa_1_4k", 2)]
    assert asked == {(config, index): index % 2 for config, index in places}
    assert results["model"] == "org/m knorm 0.50"


def test_a_sample_without_a_release_says_that_its_rows_are_not_known(frozen, tmp_path):
    path = kvpress(
        tmp_path / "ruler__4096__m__knorm__0.50__fraction0.400" / "1",  # the second run
        *kvpress_answers(frozen, "vt")[3:],
    )
    results, stdout = scored(tmp_path, path)
    assert results["model"] == "m knorm 0.50"
    assert "name the release with --dataset to find out which they are" in " ".join(stdout.split())


def test_kvpress_answers_with_the_question_in_the_context_are_found_by_their_references(
    frozen, built, tmp_path
):
    answers = kvpress_answers(frozen, "vt")
    for answer in answers:
        answer[4] = ""
    path = kvpress(tmp_path / "ruler__4096__m__knorm__0.50__query_aware", *answers[::-1])
    results, _ = scored(tmp_path, path, "--dataset", built)
    assert column(results, "score", "vt_4k") == [0, 1, 0, 1, 0]
    assert results["model"] == "m knorm 0.50 query_aware"


def test_rows_that_ask_the_same_are_taken_in_order_and_a_sample_of_them_is_noted():
    rows = [{"index": i, "question": q, "outputs": ["A"]} for i, q in enumerate("xyx")]
    asked = AskedRows(rows, knows_questions=True)
    assert (asked.take("x", ("A",)), asked.ambiguous) == (0, 1)
    assert (asked.take("x", ("A",)), asked.ambiguous) == (2, 0)
    assert asked.take("x", ("A",)) is None


def test_lengths_of_foreign_files_are_shown_as_they_are(tmp_path):
    name = "samples_ruler_vt_2026-01-01T00-00-00.000000.jsonl"
    samples = [sample(i, 0, tokens, "a") for i, tokens in enumerate((4096, 10000, 128000, 131072))]
    path = write_lines(tmp_path / name, *samples)
    results, stdout = scored(tmp_path, path)
    assert list(results["configurations"]) == ["vt_4k", "vt_10000", "vt_128000", "vt_128k"]
    assert [cell["max_length"] for cell in results["configurations"].values()] == [
        *(4096, 10000, 128000, 131072)
    ]
    headers = [line.split() for line in stdout.splitlines() if line.startswith("task")]
    assert headers[0] == ["task", "4K", "10000", "128000", "128K"]
    path.write_text("\n".join(path.read_text().splitlines()[:3]))
    results, stdout = scored(tmp_path, path)
    group = results["summary"]["unknown tokenizer"]["en"]["multi-hop tracing (VT)"]
    assert group["effective_length_name"] == "128000"
    rows = [line for line in stdout.splitlines() if line.startswith("multi-hop")]
    effective = [row.partition("(")[0].split()[-1] for row in rows]
    assert "128000" in effective


# ---- Names -----------------------------------------------------------------------------------


def test_the_tokenizer_is_the_releases_only_one_or_asked_for(frozen, built, tmp_path, monkeypatch):
    path = write_lines(tmp_path / "4096/pred/vt.jsonl", reference(0, input="", outputs=["A"]))
    files = {"vt_4k_qwen2.5": {}}
    monkeypatch.setattr(type(frozen), "configs", property(lambda release: files))

    def read_configs(**options):
        return [row.config for row in read(path, dataset=built, **options).rows]

    assert read_configs() == ["vt_4k_qwen2.5"]
    files["vt_4k"] = {}
    with pytest.raises(RulerError, match=r"under qwen2\.5 and tekken: add --tokenizer"):
        read_configs()
    assert read_configs(tokenizer="tekken") == ["vt_4k"]


def test_the_tokenizer_asked_for_is_not_ignored_if_the_file_names_its_configuration(tmp_path):
    line = {"index": 0, "prediction": "ABC", "outputs": ["ABC"]}
    path = write_lines(tmp_path / "vt_4k.jsonl", line)
    assert read(path, tokenizer="qwen2.5").rows[0].config == "vt_4k_qwen2.5"
    with pytest.raises(RulerError, match=r"'vt_4k', whose tokenizer is tekken, but --tokenizer is"):
        read(path, tokenizer="qwen2.5", config="vt_4k")
    path = write_lines(tmp_path / "vt_4k_qwen2.5.jsonl", {**line, "config": "vt_4k_qwen2.5"})
    assert read(path, tokenizer="qwen2.5").rows[0].config == "vt_4k_qwen2.5"
    with pytest.raises(RulerError, match=r"whose tokenizer is qwen2\.5, but --tokenizer is tekken"):
        read(path, tokenizer="tekken")


def test_a_length_in_capitals_is_the_same_length(tmp_path):
    line = {"task": "vt", "tokens": "4K", "gen": "ABC", "gold": ["ABC"]}
    columns = "prediction=gen,outputs=gold,task=task,length=tokens"
    assert read(write_lines(tmp_path / "a.jsonl", line), columns=columns).rows[0].config == "vt_4k"


def test_rows_with_lengths_of_their_own_are_named(tmp_path):
    """The reference code's column `length` has the tokens of the row, not those of the task."""
    columns = "prediction=gen,outputs=gold,task=task,length=length"
    for lengths, is_noted in (([3950, 3951, 3960, 3977], True), ([4096, 8192, 500, 1000], False)):
        lines = [{"task": "vt", "length": n, "gen": "A", "gold": ["A"]} for n in lengths]
        notes = read(write_lines(tmp_path / "a.jsonl", *lines), columns=columns).damaged
        note = "has rows of 4 lengths from 3950 to 3977 tokens, each scored by itself"
        assert any(note in text for text in notes) == is_noted


def test_an_out_that_is_a_folder_names_the_file_to_give(write_run, tmp_path):
    run = write_run(right, configs=["vt_4k"])
    for command in (["score", run], ["errors", run], ["compare", run, run], ["analyze", run]):
        assert (
            f"'{tmp_path}' is a folder: name a file with --out, such as {tmp_path}/"
            in ruler_error(*command, "--out", tmp_path)
        )
    assert "is a folder: name a file with --json, such as" in ruler_error(
        "decide", run, run, "--max-drop", 1, "--json", tmp_path
    )


def test_a_missing_results_json_names_the_command_that_makes_it(write_run):
    run = write_run(right, configs=["vt_4k"])
    file = run / "results.json"
    for command in (
        ["compare", file, run.parent / "other"],
        ["analyze", file],
        ["results", file, "--model", "o/m"],
    ):
        assert f"'{file}' does not exist. Make it: ruler score {run}" in ruler_error(*command)


# ---- Errors without a release ----------------------------------------------------------------


def test_errors_are_sorted_by_the_prompts_that_files_hold(frozen, built, tmp_path):
    """The kinds of a release's rows and of the same rows read from their prompts alone."""
    configs = ["niah_multikey_1_4k", "niah_multivalue_4k", "vt_4k", "cwe_4k", "qa_1_4k", "fwe_4k"]
    folder, run = tmp_path / "theirs/4096/pred", tmp_path / "run"
    run.mkdir()
    for config in configs:
        ours, theirs = [], []
        columns = ("index", "input", "outputs", "answer_prefix", "evidence", "task")
        for row in frozen.rows(config, columns):
            distractors = [span for span in row["evidence"] if not span["answer"]]
            text = (
                row["input"][distractors[0]["start"] : distractors[0]["end"]]
                if distractors
                else "none of it"
            )
            text = [text, "The answer is not given.", row["outputs"][0], "...", "zzz"][row["index"]]
            text = text[:60] if row["index"] == 0 else text
            ours.append(record(config, row["index"], text))
            line = {name: row[name] for name in ("index", "input", "outputs", "answer_prefix")}
            theirs.append({**line, "pred": text})
        write_lines(run / f"{config}.jsonl", *ours)
        write_lines(folder / f"{config.removesuffix('_4k')}.jsonl", *theirs)
    kinds = {}
    for name, arguments in (("ours", [run, "--dataset", built]), ("theirs", [folder])):
        out = tmp_path / f"{name}.jsonl"
        ruler_output("errors", *arguments, "--out", out)
        result = map(json.loads, out.read_text().splitlines())
        kinds[name] = {(e["config"], e["index"]): e["kind"] for e in result}
    assert kinds["theirs"] == kinds["ours"]
    assert len(kinds["ours"]) > 20
    assert len(set(kinds["ours"].values())) >= 4


@pytest.mark.parametrize(
    "names",
    [
        ("qwen_vt_4k", "llama_cwe_4k"),
        ("qwen_vt_4k", "llama_vt_4k"),
        ("vt_4k", "old_cwe_4k"),
        ("run1_vt_4k", "run2_cwe_4k"),
        ("qwen2_vt_4k", "qwen3_cwe_4k"),
        ("vt_4k_qwen", "cwe_4k_llama"),
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv"])
@pytest.mark.parametrize("has_config", [False, True])
def test_files_of_two_runs_by_their_names_are_refused_unless_a_model_is_named(
    names, suffix, has_config, tmp_path
):
    files = [tmp_path / f"{name}{suffix}" for name in names]
    for file, name in zip(files, names, strict=True):
        line = {"index": 0, "prediction": "ABC", "outputs": "['ABC']"}
        if has_config:
            line["config"] = re.search(r"(vt|cwe)_4k.*", name)[0]
        if suffix == ".csv":
            write_csv(file, [*line], [*line.values()])
        else:
            write_lines(file, line)
        if suffix == ".jsonl.gz":
            file.write_bytes(gzip.compress(file.read_bytes()))
    with pytest.raises(RulerError, match="are of two runs: give the files of one run"):
        read(*files)
    if suffix != ".csv":
        with pytest.raises(RulerError, match="are of two runs: give the files of one run"):
            read(tmp_path)
    assert len(read(*files, name="a model").rows) == 2


@pytest.mark.parametrize(
    "names",
    [
        ("vt_4k.jsonl", "cwe_4k.jsonl"),
        ("qwen_vt_4k.jsonl", "qwen_cwe_4k.jsonl"),
        ("01_vt_4k.jsonl", "02_cwe_4k.jsonl"),
        ("2026-11-01_vt_4k.jsonl", "2026-11-02_cwe_4k.jsonl"),
        ("seed_1_vt_4k.jsonl", "seed_2_vt_4k.jsonl"),
    ],
)
def test_files_of_one_run_are_read_together(names, tmp_path):
    for name in names:
        write_lines(tmp_path / name, {"index": 0, "prediction": "ABC", "outputs": ["ABC"]})
    predictions = read(tmp_path)
    assert len(predictions.rows) == 2
    assert not any("two runs" in note for note in predictions.damaged)


def test_files_that_name_neither_model_nor_configuration_are_noted_as_one_run(tmp_path):
    for name, config in (("qwen", "vt_4k"), ("llama", "cwe_4k"), ("x", "fwe_4k")):
        line = {"config": config, "index": 0, "prediction": "ABC", "outputs": ["ABC"]}
        write_lines(tmp_path / f"{name}.jsonl", line)
    (note,) = read(tmp_path).damaged
    assert "llama.jsonl and 2 other files are read as one run" in note
    assert read(tmp_path, name="a model").damaged == []


def test_folders_that_do_not_name_a_model_are_noted_as_one_run(tmp_path):
    files = []
    for model, config in (("qwen", "vt_4k"), ("llama", "cwe_4k")):
        line = {"index": 0, "prediction": "ABC", "outputs": ["ABC"]}
        files.append(write_lines(tmp_path / model / f"{config}.jsonl", line))
    (note,) = read(*files).damaged
    assert "qwen and 1 other folder are read as one run" in note
    assert read(*files, name="a model").damaged == []
