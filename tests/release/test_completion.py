"""Names that a shell completes."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from ruler_release.completion import NAMES
from tests.in_process import ruler, ruler_command


def completed(*words: str) -> list[str]:
    """What a shell gets for a command line whose last word is begun."""
    asked = {"_RULER_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("ruler", *words))}
    asked["COMP_CWORD"] = str(len(words))
    done = subprocess.run(
        ruler_command(), env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return [line.removeprefix("plain,") for line in done.stdout.splitlines() if line]


def test_configurations_are_completed_from_the_release_or_the_published_names(release):
    configs = NAMES["configs"]
    assert configs({"dataset": "ORG/ruler"}, "all_1") == ["all_16k", "all_128k"]
    assert configs({}, "vt_4k,qa_1_6") == ["vt_4k,qa_1_64k"]
    assert "niah_none_8k" in configs({"dataset": "ORG/oneruler"}, "niah_none")
    assert configs({"dataset": release}, "vt_") == ["vt_4k"]
    assert "niah_mk_4k" in configs({"dataset": str(release)}, "niah_m")  # groups too


def test_what_a_build_takes_is_completed_for_its_suite():
    suite = {"suite": "oneruler"}
    assert NAMES["tasks"](suite, "cwe,niah_n") == ["cwe,niah_none"]
    assert NAMES["lengths"](suite, "") == ["8k", "32k", "64k", "128k"]
    assert NAMES["tasks"]({"suite": "mine.toml"}, "niah") == []
    assert NAMES["tokenizers"]({}, "qw") == ["qwen2.5"]
    assert NAMES["languages"]({}, "pl,k") == ["pl,ko"]
    assert NAMES["suite"]({}, "ruler_c") == ["ruler_complexity", "ruler_correlation"]


def test_a_shell_asks_the_program(release):
    assert completed("run", "-d", str(release), "--configs", "vt") == ["vt_4k"]
    assert completed("run", "--mode", "c") == ["chat", "completion"]
    assert completed("quicks") == ["quickstart"]


def test_a_damaged_release_completes_nothing(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    assert completed("run", "-d", str(tmp_path), "--configs", "vt") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_a_shell_is_printed_and_harmless_without_ruler(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    done = ruler("--install-completion")
    assert (done.code, done.stdout.count("\n")) == (0, 1)
    assert f"_RULER_COMPLETE={shell}_source ruler" in done.stdout
    assert done.stderr.startswith("Add this line to ~/.")
    assert not list(tmp_path.iterdir())
    if program := shutil.which(shell):
        bare = subprocess.run(
            [program, "-c", done.stdout], env={"PATH": "/nowhere"}, capture_output=True, text=True
        )
        assert (bare.returncode, bare.stdout, bare.stderr) == (0, "", "")


def test_the_line_completes_in_a_real_bash(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/bash")
    line = ruler("--install-completion").stdout
    script = f"{line}\ncomplete -p ruler"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert "_ruler_completion" in done.stdout


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_the_line_completes_in_a_zsh_that_has_not_turned_completion_on(monkeypatch, tmp_path):
    monkeypatch.setenv("SHELL", "/bin/zsh")
    line = ruler("--install-completion").stdout
    done = subprocess.run(
        ["zsh", "-f", "-c", f"{line}\nprint $_comps[ruler]"],
        env={**os.environ, "ZDOTDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("_ruler_completion\n", "")


def test_a_shell_without_completion_is_named(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/ksh")
    done = ruler("--install-completion")
    assert (done.code, "'ksh' is not one of bash, zsh, fish" in done.stderr) == (2, True)
