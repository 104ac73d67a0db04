"""The commands of README.md and docs/*.md, and how tests run them.

    run(blocks("docs/build.md", "Commands", "bash")[0], folder)

Lines that begin with `ruler` run in this process, one after another, as `bash` would run them; that
the shell does the same is shown by the quick start.
"""

from __future__ import annotations

import re
import shlex
from glob import glob
from pathlib import Path

from tests import in_process

ROOT = Path(__file__).resolve().parent.parent


def sections(page: str) -> dict[str, str]:
    """Heading -> the text below it, of the sections of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {heading: body for heading, _, body in (part.partition("\n") for part in parts)}


def blocks(page: str, heading: str, language: str) -> list[str]:
    """The fenced blocks of a language under a heading of a page."""
    return re.findall(rf"```{language}\n(.*?)```", sections(page)[heading], re.DOTALL)


def commands(block: str) -> list[str]:
    """The `ruler` lines of a block, continued lines joined, comments left out."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run(block: str, folder: Path, **variables: object) -> str:
    """Run the lines of a block in a folder; what they print. Each must end with 0."""
    shown = []
    for line in commands(block):
        for name, value in variables.items():
            line = re.sub(rf"\${name}\b", str(value), line)
        program, *words = shlex.split(line, comments=True)
        assert program == "ruler", line
        assert not any("$" in word for word in words), line
        named = [sorted(glob(word, root_dir=folder)) or [word] for word in words]
        done = in_process.ruler(*(word for result in named for word in result), cwd=folder)
        assert done.code == 0, f"{line}\n{done.stdout}{done.stderr}"
        shown.append(done.stdout)
    return "".join(shown)
