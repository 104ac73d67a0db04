"""Find the commands of README.md and docs/*.md, and run them.

    run(blocks("docs/build.md", "Commands", "bash")[0], folder)

`run` calls `ruler` in this process for each line, which is faster than `run_bash`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from glob import glob
from pathlib import Path

from tests.in_process import ruler
from tests.project import ROOT


def sections(page: str) -> dict[str, str]:
    """Return the text of each section of a page, by its heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {heading: body for heading, _, body in (part.partition("\n") for part in parts)}


def blocks(page: str, heading: str, language: str) -> list[str]:
    """Return the code blocks in a language under a heading of a page."""
    return re.findall(rf"```{language}\n(.*?)```", sections(page)[heading], re.DOTALL)


def commands(block: str) -> list[str]:
    """Return the command lines of a block without comments; continued lines are joined."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run(block: str, folder: Path, **variables: object) -> str:
    """Run the `ruler` commands of a block in a folder, and return their output."""
    output = []
    for line in commands(block):
        for name, value in variables.items():
            line = re.sub(rf"\${name}\b", str(value), line)
        program, *words = shlex.split(line, comments=True)
        assert program == "ruler", line
        assert not any("$" in word for word in words), line
        arguments = []
        for word in words:
            arguments += sorted(glob(word, root_dir=folder)) or [word]
        done = ruler(*arguments, cwd=folder)
        assert done.code == 0, f"{line}\n{done.stdout}{done.stderr}"
        output.append(done.stdout)
    return "".join(output)


def run_bash(script: str, folder: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Run a script in bash with `ruler` in its PATH, and return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
