"""Flags are the fields of options, in every command; short flags; the help."""

from __future__ import annotations

import dataclasses
import inspect

import click
import pytest

import ruler_release
from ruler_builder.options import BuildOptions, VerifyOptions
from ruler_common.options import flag_of, flags_of, options_of
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.export.options import ExportOptions
from ruler_eval.gate.options import NOT_IN_DECIDE, DecideOptions
from ruler_eval.report.options import ReportOptions
from ruler_eval.run.options import RunOptions
from ruler_eval.score.options import ErrorsOptions, ScoreOptions
from ruler_release.app import PANELS, app
from ruler_release.commands.batch import BatchWriteCommand
from ruler_release.commands.build import BuildCommand, VerifyCommand
from ruler_release.commands.doctor import DoctorCommand
from ruler_release.commands.run import DecideCommand, EvalCommand, RunCommand
from ruler_release.commands.score import ErrorsCommand, ScoreCommand
from tests.embedded_release import build_embedded, contents
from tests.in_process import ruler, ruler_error, ruler_output

OPTIONS = {
    "build": BuildCommand,
    "verify": VerifyCommand,
    "run": RunCommand,
    "eval": EvalCommand,
    "doctor": DoctorCommand,
    "decide": DecideCommand,
    "score": ScoreCommand,
    "errors": ErrorsCommand,
    "report": ReportOptions,
    "export": ExportOptions,
    "batch write": BatchWriteCommand,
}
CALLS = {
    "build": BuildOptions,
    "verify": VerifyOptions,
    "run": RunOptions,
    "decide": DecideOptions,
    "doctor": DoctorOptions,
    "score": ScoreOptions,
    "errors": ErrorsOptions,
    "report": ReportOptions,
    "export": ExportOptions,
}
OF_EVERY_COMMAND = {"debug", "quiet"}
OF_A_FILE = {"config", "write_config"}  # of `ruler eval`
LETTERS = {"--dataset": "-d", "--configs": "-c", "--backend": "-b", "--model": "-m", "--out": "-o"}


def every_command() -> list[tuple[tuple[str, ...], click.Command]]:
    """Each command of `ruler`, with the words that call it."""
    waiting: list[tuple[tuple[str, ...], click.Command]] = [((), app)]
    result = []
    while waiting:
        words, command = waiting.pop()
        waiting += [((*words, n), c) for n, c in getattr(command, "commands", {}).items()]
        result.append((words, command))
    return result


@pytest.mark.parametrize("name", OPTIONS)
def test_every_field_is_a_flag_and_every_flag_a_field(name):
    command = dict(every_command())[tuple(name.split())]
    flags = flags_of(OPTIONS[name])
    others = OF_EVERY_COMMAND | (OF_A_FILE if name == "eval" else set())
    own = [flag for flag in command.params if flag.name not in others]
    assert {parameter.name for parameter in own} == {*flags}
    for parameter in own:
        option = flags[parameter.name].option
        if not option.argument:
            assert flag_of(parameter.name, option) in parameter.opts
    for_python = {field.name for field in dataclasses.fields(OPTIONS[name])} - {*flags}
    holders = {flag.holder for flag in flags.values()}
    fixed = {"batch write": {"backend", "answers"}, "doctor": {"level"}}
    assert for_python <= {"progress", "cache_salt", *holders, *fixed.get(name, ())}


@pytest.mark.parametrize("name", CALLS)
def test_a_python_call_has_the_fields_as_arguments(name):
    result = inspect.signature(getattr(ruler_release, name))
    named = {field.name for field in dataclasses.fields(CALLS[name])} | {*flags_of(CALLS[name])}
    assert {*result.parameters} == named
    text = " ".join(getattr(ruler_release, name).__doc__.split())
    for field, flag in flags_of(CALLS[name]).items():
        assert flag.option.help
        assert f" {field}: {' '.join(flag.option.text.split())}" in text


@pytest.mark.parametrize("kind", [EvalCommand, DecideCommand])
def test_a_command_with_a_run_has_the_flags_of_run_and_lists_none_again(kind):
    run, flags = flags_of(RunOptions), flags_of(kind)
    not_there = {*NOT_IN_DECIDE} if kind is DecideCommand else set()
    assert {name for name, flag in flags.items() if flag.holder == "run"} == {*run} - not_there
    for name, flag in flags.items():
        if flag.holder == "run":
            assert flag.option.help == run[name].option.help
    assert not {*run} & {field.name for field in dataclasses.fields(kind)}


def test_values_are_checked_once_for_flags_and_python(release, tmp_path):
    with pytest.raises(ruler_release.RulerError, match="--rows takes a number of at least 1"):
        ruler_release.build(tmp_path / "out", rows=0)
    _, error, code = ruler("build", tmp_path / "out", "--rows", 0)
    assert (code, "--rows takes a number of at least 1, not 0." in error) == (2, True)


@pytest.mark.parametrize("flag", ["--lengths", "--tasks", "--languages"])
def test_a_list_of_no_names_is_refused(tmp_path, flag):
    error = ruler_error("build", tmp_path / "out", flag, " , ")
    assert error == f"Error: {flag} names nothing: give a name, or leave it out.\n"


def test_an_empty_path_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = ruler_error("build", "", "--lengths", "4k", "--rows", 1, "--sources", "embedded")
    assert "Invalid value for 'DIR': it is empty: name a file or a folder." in error
    assert not [*tmp_path.iterdir()]


def test_the_rows_of_a_file_have_a_second_spelling_that_the_help_does_not_show(tmp_path):
    flags = ("--lengths", "1k", "--tasks", "vt", "--sources", "embedded", "--workers", 1)
    ruler_output("build", tmp_path / "first", *flags, "--rows", 2)
    ruler_output("build", tmp_path / "second", *flags, "--samples", 2)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    help_text = ruler_output("build", "--help")
    assert "--rows" in help_text
    assert "sample" not in help_text
    with pytest.raises(TypeError, match=r"^build\(\) has no argument 'samples': it is 'rows'\.$"):
        ruler_release.build(tmp_path / "third", samples=2)
    assert not (tmp_path / "third").exists()


def test_a_tilde_that_the_shell_left_in_a_path_is_the_users_folder(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    build_embedded(home / "ruler", lengths=("4k",), tasks=("vt",), rows=1)
    ruler_output("run", "--dataset=~/ruler", "-c", "vt_4k", "-b", "oracle", "--out=~/runs/a")
    ruler_output("score", "~/runs/a")
    ruler_release.report("~/runs/a", out="~/page.html")
    assert (home / "runs/a/results.json").is_file()
    assert (home / "page.html").is_file()
    assert not (tmp_path / "~").exists()


def test_every_command_is_in_a_group_of_the_help():
    help_text, _, code = ruler()
    assert code == 0
    heads = [line[:-1] for line in help_text.splitlines() if line.endswith(":") and line[0] != " "]
    assert heads == ["Options", *PANELS]
    assert {*app.commands} == {*app.panels}


def test_the_ten_most_used_flags_of_run_come_first():
    first = [option.panel for option in options_of(RunCommand).values()][:10]
    assert first == ["Most used"] * 10


def test_every_flag_is_explained_and_no_word_is_cut_in_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words, command in every_command():
        help_text = ruler(*words, "--help")[0]
        assert max(map(len, help_text.split("Example")[0].splitlines())) <= 80, words
        for parameter in command.params:
            if words and parameter.name in OF_EVERY_COMMAND:
                continue
            option = getattr(command, "options", {}).get(parameter.name)
            text = option.text if option else parameter.help
            assert text, f"{words} {parameter.opts}"
            words_shown = "".join(help_text.split())  # a word may be wrapped at its hyphens
            missing = [word for word in text.split() if word not in words_shown]
            assert not missing, f"{words} {parameter.opts}"


def test_the_help_of_every_command_ends_with_an_example():
    for words, command in every_command():
        if words and words != ("batch",):
            last = ruler(*words, "--help")[0].strip().splitlines()[-1]
            assert last.strip().startswith("Example"), words
            assert f"ruler {' '.join(words[:1])}" in last
            assert len(last) <= 100, words
        assert command.help


def test_a_letter_means_the_same_in_every_command():
    result = 0
    for _, command in every_command():
        for parameter in command.params:
            letters = [name for name in parameter.opts if len(name) == 2 and name[0] == "-"]
            wanted = [LETTERS[name] for name in parameter.opts if name in LETTERS]
            assert letters == wanted, f"{command.name} {parameter.opts}"
            result += bool(wanted)
    assert result > 20
