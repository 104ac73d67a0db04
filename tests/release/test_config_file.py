"""Flags in a TOML file."""

from __future__ import annotations

import json

import pytest

from ruler_eval.score import results
from tests.in_process import ruler, ruler_error


@pytest.fixture
def here(release, tmp_path, monkeypatch):
    """A folder with run.toml, which a command has written."""
    monkeypatch.chdir(tmp_path)
    flags = ("-d", release, "-c", "vt_4k,cwe_4k", "-b", "oracle", "-o", "runs/a")
    done = ruler("eval", *flags, "--limit", "3", "--published", "--write-config", "run.toml")
    assert done.stdout == "Written. Next: ruler eval --config run.toml\n"
    assert not (tmp_path / "runs").exists()
    return tmp_path


def test_a_file_of_flags_runs_as_its_command(here):
    assert ruler("eval", "--config", "run.toml").code == 0
    assert {cell["n"] for cell in results.load(here / "runs/a")["configurations"].values()} == {3}


def test_a_flag_on_the_command_line_has_precedence(here):
    assert ruler("eval", "--limit", "2", "--config", "run.toml", "-o", "runs/b").code == 0
    assert {cell["n"] for cell in results.load(here / "runs/b")["configurations"].values()} == {2}


def test_only_a_file_of_flags_is_replaced(here):
    flags = ("-d", "ruler", "-c", "vt_4k", "-b", "oracle", "--write-config")
    assert ruler("eval", *flags, "run.toml").code == 0
    for text in ('extends = "ruler"\n[tasks.vt]\nfamily = "variable_tracking"\n', "not TOML"):
        (here / "suite.toml").write_text(text)
        error = ruler_error("eval", *flags, "suite.toml")
        assert "'suite.toml' holds more than flags, which would be lost: name another" in error
        assert (here / "suite.toml").read_text() == text


def test_keys_may_be_lists_and_have_underscores(here):
    text = (here / "run.toml").read_text().replace('"vt_4k,cwe_4k"', '["vt_4k", "cwe_4k"]')
    (here / "run.toml").write_text(text + "max_model_len = 8192\n")
    assert "6 rows of 2 conf" in ruler("eval", "--config", "run.toml", "--dry-run").stdout


def test_the_environment_names_what_no_flag_names(release, here, monkeypatch):
    monkeypatch.setenv("RULER_DATASET", str(release))
    monkeypatch.setenv("RULER_MODEL", "org/mine")
    flags = ("-c", "vt_4k", "-b", "oracle", "--limit", 1)
    assert ruler("run", *flags, "-o", "runs/a").code == 0
    assert json.loads((here / "runs/a/run.json").read_text())["model"] == "org/mine"
    assert ruler("run", *flags, "-m", "other", "-o", "runs/b").code == 0
    assert json.loads((here / "runs/b/run.json").read_text())["model"] == "other"
    assert ruler("score", "runs/a").code == 0
    done = ruler("decide", "runs/a", "--max-drop", 2, "-b", "oracle", "-o", "runs/c", "--dry-run")
    assert (done.code, "To do: " in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('modle = "x"', "Unknown key in 'run.toml': 'modle'. Did you mean 'mode'?"),
        ("seed = true", "'run.toml': seed takes a text, a number or a list of these."),
        ('published = "yes"', "'run.toml': published takes true or false."),
        ("[seed]", "'run.toml': seed takes a text, a number or a list of these."),
        ('seed = "x"', "Invalid value for '--seed': 'x' is not a valid integer."),
        ("model = ", "'run.toml' is not valid TOML:"),
    ],
)
def test_a_mistake_in_the_file_is_named(here, line, sentence):
    text = (here / "run.toml").read_text().replace("published = true\n", "")
    (here / "run.toml").write_text(f"{text}{line}\n")
    done = ruler("eval", "--config", "run.toml")
    assert (done.code, sentence in done.stderr) == (2, True), done.stderr
