"""`ruler example`: every command that it names works on what it wrote."""

from __future__ import annotations

import json
import shlex

from tests.eval.scoring_helpers import ruler


def test_the_commands_that_it_names_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stdout, _, code = ruler("example")
    assert code == 0
    commands = [
        line.split(None, 1)[1] for line in stdout.splitlines() if line.startswith("  ruler")
    ]
    assert [command.split()[0] for command in commands] == [
        *("score", "score", "compare", "report", "errors")
    ]
    for command in commands[:-1]:  # the last needs the rows, which are not in the package
        out, error, code = ruler(*shlex.split(command))
        assert code == 0, error
        if command.startswith("score ruler-example/run"):
            assert "Beside published models (all" in out
    assert (tmp_path / "ruler-example" / "report.html").stat().st_size > 100_000
    assert "README.md" in stdout


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
    assert (code, "is there already: name another folder" in error) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
