"""`ruler example`: every command that it names works on what it wrote."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path

import pytest

import ruler_eval.example
from docs.abridge_example_rows import COLUMNS, write_abridged
from ruler_eval.analysis.errors import collect
from ruler_eval.example.write_example import RUNS
from ruler_eval.frozen_release import Release
from ruler_eval.run.records import Records
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.stored import open_scores
from tests.eval.scoring_helpers import record
from tests.in_process import ruler

EXAMPLE = Path(ruler_eval.example.__file__).parent
KINDS: dict[str, dict[str, int]] = {
    "kv-f16": {"other": 40, "distractor": 28, "wrong words": 38, "incomplete": 70},
    "kv-q4_0": {"wrong words": 46, "other": 56, "distractor": 23, "incomplete": 61},
}
"""Of the wrong answers of each run, as the whole rows give them."""


def errors_of(run: Path, **source: object) -> dict[tuple[str, int], tuple[object, ...]]:
    """The kind of each wrong row, and how near a distractor stood."""
    scores = open_scores(PredictionOptions(run, **source))
    result = collect(scores.configs, scores.release)
    return {
        (error["config"], error["index"]): (error["kind"], error["found"], error["gap"])
        for error in result
    }


def test_the_commands_that_it_names_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stdout, _, code = ruler("example")
    assert code == 0
    commands = [
        line.split(None, 1)[1] for line in stdout.splitlines() if line.startswith("  ruler")
    ]
    assert [command.split()[0] for command in commands] == [
        *("score", "score", "errors", "compare", "report")
    ]
    outputs = {}
    for command in commands:
        out, error, code = ruler(*shlex.split(command))
        assert code == 0, error
        outputs.setdefault(command.split()[0], out)
    assert "Beside published models (all" in outputs["score"]
    assert (
        "distractor: the value of another needle, or a variable of another chain"
        in outputs["errors"]
    )
    assert "niah_multikey_3_2k" in outputs["compare"]
    page = (tmp_path / "ruler-example/report.html").read_text(encoding="utf-8")
    assert "Different deployment. The answers differ in 6 of 8 rows" in page
    assert "on average over 13 tasks at 4K." in page  # at 2K a task is missing
    assert " wrong rows were sorted" not in page  # all of them were
    assert "README.md" in stdout


def test_the_commands_of_its_readme_work_in_its_folder(tmp_path, monkeypatch):
    assert ruler("example", tmp_path / "here")[2] == 0
    monkeypatch.chdir(tmp_path / "here")
    text = Path("README.md").read_text(encoding="utf-8")
    for line in text.split("```bash\n")[1].split("```")[0].splitlines():
        _, error, code = ruler(*shlex.split(line, comments=True)[1:])
        assert code == 0, error
    assert Path("report.html").is_file()


def test_a_page_of_runs_that_were_never_scored_scores_them(tmp_path):
    ruler("example", tmp_path / "here")
    run, refs = tmp_path / "here/kv-f16", tmp_path / "here/references"
    for _ in range(2):  # and a page of a run whose answers changed
        _, error, code = ruler("report", run, "--references", refs, "--out", tmp_path / "p.html")
        assert (code, f"Scored '{run}'" in error) == (0, True), error
        lines = (run / "answers.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (run / "answers.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    error = ruler("report", run, "--out", tmp_path / "p.html")[1]
    assert "add --dataset" in error


def test_errors_are_sorted_by_the_pieces_of_the_prompts_as_by_the_whole(tmp_path):
    ruler("example", tmp_path / "here")
    for run, kinds in KINDS.items():
        result = errors_of(tmp_path / "here" / run, references=EXAMPLE / "references")
        assert Counter(kind for kind, _, _ in result.values()) == kinds


@pytest.mark.nightly
def test_abridged_rows_give_every_answer_the_kind_that_the_whole_rows_give(tmp_path, release):
    """Real answers, and texts of the prompts, as answers to other rows of the same tasks."""
    opened, run = Release.open(str(release)), tmp_path / "run"
    answers: dict[str, list[str]] = {}
    for line in Records(EXAMPLE / RUNS[0]).read():
        task = line["config"].rsplit("_", 1)[0]
        answers.setdefault(task, []).append(line["prediction"])
    run.mkdir()
    for task, texts in answers.items():
        config, lines = f"{task}_4k", []
        for row, text in zip(opened.rows(config, COLUMNS), texts, strict=False):
            place = row["index"]
            if place % 2:  # what is in the text, at its beginning or further on
                words = row["input"][row["context_start"] + place % 4 * 600 :].split()
                text = " ".join(words[: 3 + 5 * (place % 5)])
            lines.append(json.dumps(record(config, place, text)) + "\n")
        (run / f"{config}.jsonl").write_text("".join(lines), encoding="utf-8")
    write_abridged(opened, [run], tmp_path / "references")
    whole = errors_of(run, dataset=str(release))
    whole = {key: error for key, error in whole.items() if error[0] != "missing"}
    result = errors_of(run, references=tmp_path / "references")
    assert len(Counter(kind for kind, _, _ in whole.values())) >= 3
    assert result.keys() == whole.keys()
    for key, error in whole.items():
        if error[0] != "repeats the prompt":  # the pieces do not hold the text that is copied
            assert result[key] == pytest.approx(error, abs=1e-3)


def test_its_readme_counts_the_rows_and_the_wrong_answers():
    text = " ".join((EXAMPLE / "README.md").read_text(encoding="utf-8").split())
    rows = Counter(line["config"] for line in Records(EXAMPLE / RUNS[0]).read())
    assert set(rows.values()) == {10}
    tasks = Counter(config.rsplit("_", 1)[1] for config in rows)
    assert f"10 of each of {tasks['2k']} tasks at 2k (qa_2 does not fit)" in text
    assert f"10 of each of {tasks['4k']} tasks at 4k" in text
    wrong = sum(sum(kinds.values()) for kinds in KINDS.values())
    assert f"27 of the {wrong} wrong ones" in text  # 27: `ruler errors` with the whole prompts


def test_both_runs_answer_the_same_rows_with_one_setting_changed():
    full, quantised = (Records(EXAMPLE / name) for name in RUNS)
    assert full.digests() == quantised.digests()
    rows = [{(line["config"], line["index"]) for line in run.read()} for run in (full, quantised)]
    assert rows[0] == rows[1]
    first, second = full.settings(), quantised.settings()
    changed = {name for name in first if first[name] != second[name]}
    assert changed == {"model"}


def test_a_folder_in_use_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    _, error, code = ruler("example", tmp_path)
    assert (code, "exists already: name another folder" in error) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
