"""The commands of docs/score.md, run as a reader would run them."""

from __future__ import annotations

import shlex

from tests import documents, in_process
from tests.eval.scoring_helpers import right

PAGE = "docs/score.md"


def test_every_command_of_the_page_runs(write_run, built, tmp_path):
    commands = documents.commands(*documents.blocks(PAGE, "Commands", "bash"))
    assert {command.split()[1] for command in commands} == {
        *("score", "errors", "compare", "decide", "analyze", "report")
    }
    (tmp_path / "runs").mkdir()
    for name, misses in (("qwen", 7), ("llama", 3)):
        run = write_run(
            lambda config, row, m=misses: right(config, row) if hash_of(config, row) % m else "",
            name,
        )
        run.rename(tmp_path / "runs" / name)
    (tmp_path / "ruler").symlink_to(built)
    for command in commands:
        name, *words = shlex.split(command, comments=True)
        assert name == "ruler"
        arguments = [file for word in words for file in (sorted(tmp_path.glob(word)) or [word])]
        done = in_process.ruler(*arguments, cwd=tmp_path)
        codes = (0, 1, 3) if "--max-drop" in command else (0,)  # there the code is the verdict
        assert done.code in codes, f"{command}\n{done.stderr}"
        assert done.stdout


def hash_of(config, row):
    return sum(map(ord, f"{config}{row['index']}"))


def test_the_python_of_the_page_runs(monkeypatch, capsys):
    """In this process: importing evaluate takes one of its own two seconds."""
    (code,) = documents.blocks(PAGE, "The metric alone", "python")
    monkeypatch.chdir(documents.ROOT)
    exec(code, {"__name__": "__main__"})
    assert "'score': 100.0" in capsys.readouterr().out


def test_the_python_for_tables_and_losses_on_the_page_runs(
    write_run, tmp_path, monkeypatch, capsys
):
    write_run(right, "qwen").rename(tmp_path / "qwen")
    (tmp_path / "runs").mkdir()
    (tmp_path / "qwen").rename(tmp_path / "runs" / "qwen")
    monkeypatch.chdir(tmp_path)
    (loss,) = documents.blocks(PAGE, "The loss from one length to another", "python")
    exec(loss.replace('"8k", "128k"', '"4k", "8k"'), {"__name__": "__main__"})
    assert capsys.readouterr().out.startswith("0.0 [")
    (table,) = documents.blocks(PAGE, "All rows in one table", "python")
    assert in_process.ruler("score", "runs/qwen", cwd=tmp_path).code == 0
    exec(table, {"__name__": "__main__"})
    assert "task" in capsys.readouterr().out
