"""Names that a shell completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import typer
from typer.main import get_command

from ruler_release import completion
from ruler_release.app import app


def completed(text: str, **given: object) -> list[str]:
    context = typer.Context(get_command(app))
    context.params = given
    return completion.configurations(context, text)


def test_configurations_are_completed_from_the_release_or_the_published_names(release: Path):
    assert completed("all_1", dataset="ORG/ruler") == ["all_16k", "all_128k"]
    assert completed("vt_4k,qa_1_6") == ["vt_4k,qa_1_64k"]
    assert "niah_none_8k" in completed("niah_none", dataset="ORG/oneruler")
    assert completed("vt_", dataset=str(release)) == ["vt_4k"]
    assert "niah_mk_4k" in completed("niah_m", dataset=str(release))  # groups too
    assert completion.backends("o") == ["openai", "oracle"]
    assert completion.suites("ruler_c") == ["ruler_complexity", "ruler_correlation"]


def test_what_a_build_takes_is_completed_for_its_suite():
    context = typer.Context(get_command(app))
    context.params = {"suite": "oneruler"}
    assert completion.tasks(context, "cwe,niah_n") == ["cwe,niah_none"]
    assert completion.lengths(context, "") == ["8k", "32k", "64k", "128k"]
    context.params = {"suite": "mine.toml"}
    assert completion.tasks(context, "niah") == []
    assert completion.tokenizers("qw") == ["qwen2.5"]
    assert completion.languages("pl,k") == ["pl,ko"]
    assert (completion.modes("c"), completion.cuts("w")) == (["chat", "completion"], ["wrong"])
    assert completion.formats("kv") == ["kvpress"]


def test_a_damaged_release_completes_nothing(tmp_path: Path):
    (tmp_path / "manifest.json").write_text("{")
    assert completed("vt", dataset=str(tmp_path)) == []


def test_a_shell_asks_the_program(release: Path):
    line = f"ruler run -d {release} --configs vt"
    asked = {"_RULER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "5"}
    command = [sys.executable, "-m", "ruler_release"]
    done = subprocess.run(
        command, env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("vt_4k\n", "")
