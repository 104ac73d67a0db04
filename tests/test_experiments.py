"""The commands of docs/experiments.md run in order, on small releases and with the oracle."""

from __future__ import annotations

import re
import shutil

import pytest

from tests import in_process
from tests.project import ROOT

TEXT = (ROOT / "docs/experiments.md").read_text(encoding="utf-8")
# The rows per file of the releases that take the place of the page's
SMALL = {"ruler": 20, "complexity": 2, "correlation": 2, "oneruler": 6}


def commands() -> list[str]:
    """Return the commands of the blocks and then of the tables, each once, without an ellipsis."""
    blocks = re.findall(r"^```bash\n(.*?)^```", TEXT, re.M | re.S)
    result = [line for block in blocks for line in block.splitlines()]
    rest = re.sub(r"^```.*?^```", "", TEXT, flags=re.M | re.S)
    result += re.findall(r"`(ruler [^`]+)`", rest)
    return [line for line in dict.fromkeys(result) if "…" not in line]


def small(line: str) -> str:
    """Return a command for the small releases, with the oracle instead of a model."""
    line = line.replace("--backend vllm --model MODEL", "--backend oracle --model oracle")
    if build := re.match(r"ruler build (\w+)", line):
        length = "8k" if build[1] == "oneruler" else "0k,4k" if build[1] == "complexity" else "4k"
        line += f" --lengths {length} --rows {SMALL[build[1]]} --sources embedded"
        line += " --languages en,zh,en-zh,zh-en" if build[1] == "oneruler" else ""
    return line.replace("64k,128k", "8k")


@pytest.mark.nightly
def test_every_command_runs(release, oneruler, suite_release, tmp_path):
    releases = {"ruler": release, "oneruler": oneruler}
    releases |= {name: suite_release(f"ruler_{name}") for name in ("complexity", "correlation")}
    for name, folder in releases.items():
        shutil.copytree(folder, tmp_path / name)
    listed = commands()
    assert len(listed) > 20
    for line in listed:
        shutil.rmtree(tmp_path / "runs/other", ignore_errors=True)
        if "runs/other" in line:  # another model on the same rows
            first = line.split("runs/")[1].split()[0]
            other = tmp_path / "runs/other"
            shutil.copytree(tmp_path / "runs" / first, other)
            (other / "results.json").unlink(missing_ok=True)
            text = (other / "run.json").read_text(encoding="utf-8")
            (other / "run.json").write_text(text.replace('"oracle"', '"other"'), encoding="utf-8")
        done = in_process.ruler(*small(line).split()[1:], cwd=tmp_path)
        assert done.code == 0, f"{line}: {done.stderr}{done.stdout}"
