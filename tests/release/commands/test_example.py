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
from ruler_eval.frozen_release import Release
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.stored import open_scores
from tests.eval.scoring_helpers import record
from tests.in_process import ruler

EXAMPLE = Path(ruler_eval.example.__file__).parent
KINDS = {"other": 46, "incomplete": 67, "wrong words": 47, "distractor": 31}
"""Of the example run's answers, as the whole rows give them."""


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
    assert "Not comparable with published models (all" in outputs["score"]
    assert (
        "distractor: the value of another needle, or a variable of another chain"
        in outputs["errors"]
    )
    assert "niah_multikey_3_4k_smollm2" in outputs["compare"]
    page = (tmp_path / "ruler-example/report.html").read_text(encoding="utf-8")
    assert "of 392 wrong rows were sorted" not in page  # all of them were
    assert "README.md" in stdout


def test_the_commands_of_its_readme_work_in_its_folder(tmp_path, monkeypatch):
    assert ruler("example", tmp_path / "here")[2] == 0
    monkeypatch.chdir(tmp_path / "here")
    text = Path("README.md").read_text(encoding="utf-8")
    for line in text.split("```bash\n")[1].split("```")[0].splitlines():
        _, error, code = ruler(*shlex.split(line, comments=True)[1:])
        assert code == 0, error
    assert Path("report.html").is_file()


def test_errors_are_sorted_by_the_pieces_of_the_prompts_as_by_the_whole(tmp_path):
    ruler("example", tmp_path / "here")
    for run, wrong in (("run", 191), ("first-line", 201)):
        result = errors_of(tmp_path / "here" / run, references=EXAMPLE / "references")
        assert len(result) == wrong
        if run == "run":
            assert Counter(kind for kind, _, _ in result.values()) == KINDS


@pytest.mark.nightly
def test_abridged_rows_give_every_answer_the_kind_that_the_whole_rows_give(tmp_path, release):
    opened, run = Release.open(str(release)), tmp_path / "run"
    run.mkdir()
    for path in sorted((EXAMPLE / "run").glob("*.jsonl")):
        config, lines = path.stem.removesuffix("_smollm2"), []
        answers = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for row, line in zip(opened.rows(config, COLUMNS), answers, strict=True):
            place, answer = row["index"], line["prediction"]
            if place % 2:  # what is in the text, at its beginning or further on
                words = row["input"][row["context_start"] + place % 4 * 600 :].split()
                answer = " ".join(words[: 3 + 5 * (place % 5)])
            lines.append(json.dumps(record(config, place, answer)) + "\n")
        (run / f"{config}.jsonl").write_text("".join(lines[:12]), encoding="utf-8")
    write_abridged(opened, [run], tmp_path / "references")
    whole = errors_of(run, dataset=str(release))
    whole = {key: error for key, error in whole.items() if error[0] != "missing"}
    result = errors_of(run, references=tmp_path / "references")
    assert len(Counter(kind for kind, _, _ in whole.values())) >= 3
    assert result.keys() == whole.keys()
    for key, error in whole.items():
        if error[0] != "repeats the prompt":  # the pieces do not hold the text that is copied
            assert result[key] == pytest.approx(error, abs=1e-3)


def test_the_second_run_holds_the_same_rows_each_ended_at_its_first_line(tmp_path):
    ruler("example", tmp_path / "here")
    whole, first = tmp_path / "here" / "run", tmp_path / "here" / "first-line"
    changed = 0
    for path in sorted(whole.glob("*.jsonl")):
        pairs = zip(
            path.open(encoding="utf-8"), (first / path.name).open(encoding="utf-8"), strict=True
        )
        for line, shorter in pairs:
            a, b = json.loads(line), json.loads(shorter)
            assert (a["config"], a["index"]) == (b["config"], b["index"])
            assert a["prediction"].startswith(b["prediction"])
            assert "\n" not in b["prediction"].strip()
            changed += a["prediction"] != b["prediction"]
    assert changed > 10


def test_a_folder_in_use_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    _, error, code = ruler("example", tmp_path)
    assert (code, "exists already: name another folder" in error) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
