"""Names that a shell completes, short flags, and the groups of `ruler --help`."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.main import get_command

from ruler_release.app import PANELS, app
from ruler_release.commands import flags
from tests.eval.scoring_helpers import ruler


def completed(text: str, **given: object) -> list[str]:
    context = typer.Context(get_command(app))
    context.params = given
    return flags.configurations(context, text)


def test_configurations_are_completed_from_the_release_or_the_published_names(release: Path):
    assert completed("all_1", dataset="ORG/ruler") == ["all_16k", "all_128k"]
    assert completed("vt_4k,qa_1_6") == ["vt_4k,qa_1_64k"]
    assert "niah_none_8k" in completed("niah_none", dataset="ORG/oneruler")
    assert completed("vt_", dataset=str(release)) == ["vt_4k"]
    assert flags.backends("o") == ["openai", "oracle"]
    assert flags.suites("ruler_c") == ["ruler_complexity", "ruler_correlation"]


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
