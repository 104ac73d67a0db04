"""Short flags, and the groups of `ruler --help`."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from typer.main import get_command

from ruler_release import api
from ruler_release.app import PANELS, app
from tests.eval.scoring_helpers import ruler


def test_the_most_used_flags_have_a_letter(release: Path, tmp_path: Path):
    given = ("-d", release, "-c", "vt_4k", "-b", "oracle", "-m", "right", "-o", tmp_path / "run")
    _, error, code = ruler("run", *given)
    assert code == 0, error
    _, error, code = ruler("score", tmp_path / "run", "-d", release, "-o", tmp_path / "scored.json")
    assert code == 0, error
    assert (tmp_path / "scored.json").is_file()


def test_every_command_is_in_a_group_of_the_help():
    shown, _, code = ruler()
    assert code == 0
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("╭─")][1:] == [
        *PANELS
    ]
    commands = get_command(app).commands
    assert {command.rich_help_panel for command in commands.values()} == {*PANELS}


LETTERS = {"--dataset": "-d", "--configs": "-c", "--backend": "-b", "--model": "-m", "--out": "-o"}


def every_command():
    """Each command of `ruler`, with the words that call it."""
    waiting = [((), get_command(app))]
    while waiting:
        words, command = waiting.pop()
        waiting += [((*words, n), c) for n, c in getattr(command, "commands", {}).items()]
        yield words, command


def test_every_flag_is_explained_and_no_word_is_cut_in_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words, command in every_command():
        shown = ruler(*words, "--help")[0]
        for parameter in command.params:
            named = f"{words} {parameter.opts}"
            if not getattr(parameter, "hidden", False):
                assert parameter.help, named
                said = parameter.help.replace("`", "").split()
                assert not [word for word in said if word not in shown], named


def test_a_letter_means_the_same_in_every_command():
    found = 0
    for _, command in every_command():
        for parameter in command.params:
            letters = [name for name in parameter.opts if len(name) == 2 and name[0] == "-"]
            wanted = [LETTERS[name] for name in parameter.opts if name in LETTERS]
            assert letters == wanted, f"{command.name} {parameter.opts}"
            found += bool(wanted)
    assert found > 20


SAME = [("build", "reserve", "Tokens of each window"), ("run", "timeout", "openai: seconds for")]
SAME += [("score", "cut", "What a truncated"), ("verify", "audit", "Check every row")]


@pytest.mark.parametrize(("command", "argument", "said"), SAME)
def test_a_flag_is_the_argument_of_its_name_in_python(command: str, argument: str, said: str):
    flags = {flag.name: flag for flag in get_command(app).commands[command].params}
    default = inspect.signature(getattr(api, command)).parameters[argument].default
    assert flags[argument].default == default
    assert flags[argument].help.startswith(said)
    assert flags[argument].opts == [f"--{argument.replace('_', '-')}"]
