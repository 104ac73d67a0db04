"""Build everything that is frozen, step by step, and write what it takes into RELEASE.md.

    python builder/release.py WORK                      # goes on with the first missing step
    python builder/release.py WORK --only ruler/tekken  # the steps whose names begin so

A step is a dataset, a tokenizer and a length. It is built in the folder WORK, audited and added to
the lock by freeze.py, measured, and removed. release.jsonl, beside this file, lists the
steps that are done: commit it and the lock after each step, and the same command goes on from there
on any machine. A step that was interrupted is finished, and marked in the table, since its time is
that of its last part. RELEASE.md is written from release.jsonl alone. Needs RULER_MIRROR or full
caches. To begin again, delete release.jsonl and the digests in the lock.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ruler_builder.tokens.tokenizers import named
from ruler_common.files import write_whole
from ruler_common.manifest import read_manifest
from ruler_common.names import DEFAULT_TOKENIZER, LENGTHS, parse_length
from ruler_common.text import end_if_unread

TABLE = Path(__file__).with_name("RELEASE.md")
JOURNAL = Path(__file__).with_name("release.jsonl")
FREEZE = Path(__file__).with_name("freeze.py")
SHORT = ("2k",)
"""Lengths below the default ones, of ruler with the default tokenizer, for models with a window of
4k or 8k tokens. Some rows of qa_2 need more than 2k: the task is left out there."""
BEYOND = ("256k", "512k", "1m")
"""Lengths above the default ones, of ruler."""
LONG = ("tekken", "o200k_base", "qwen2.5", "llama3")
"""Tokenizers whose rows are frozen at these lengths too."""
PAGE = """\
# The frozen build, measured

Written by `python builder/release.py`: {done} of {total} steps. Time is wall-clock seconds, which
other work on the machine lengthens; CPU is the seconds that all processes took. Memory is the most
that all processes of a build held at once (resident, GiB). A step marked * was interrupted: its
figures are those of its last part.

All builds together took {cpu:.0f} minutes of CPU and {time:.0f} minutes by the clock, all audits
{audit_cpu:.0f} minutes of CPU.

{titles}
|---|---|---|---:|---:|---:|---:|---:|---:|---:|
{rows}
"""
TITLES = (
    "| dataset | tokenizer | length | files | rows "
    "| build, time | build, CPU | audit, CPU | memory | MB |"
)


@dataclass(frozen=True)
class Step:
    """A data set, a tokenizer and a length, built together."""

    dataset: str
    tokenizer: str
    length: str

    @property
    def name(self) -> str:
        """The name, such as `ruler/tekken/4k`."""
        return f"{self.dataset}/{self.tokenizer}/{self.length}"


@dataclass(frozen=True, kw_only=True)
class Took:
    """What a command took: wall-clock and CPU seconds, and its peak memory in GiB."""

    time: float
    cpu: float
    memory: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A finished step: its files, rows and bytes on disk, and what its commands took."""

    name: str
    workers: int
    resumed: bool
    files: int
    rows: int
    bytes: int
    build: Took
    audit: Took

    @classmethod
    def from_json(cls, text: str) -> Measured:
        """Return the step of a line of the journal."""
        values = json.loads(text)
        took = {key: Took(**values[key]) for key in ("build", "audit")}
        return cls(**{**values, **took})


def steps() -> list[Step]:
    """Return the steps of everything that is frozen: the short lengths of all tokenizers first."""
    listed = [Step("ruler", name, length) for length in LENGTHS["ruler"] for name in named()]
    listed += [Step("ruler", DEFAULT_TOKENIZER, length) for length in SHORT]
    tokenizers = ("tekken", "o200k_base")
    listed += [Step("oneruler", name, n) for n in LENGTHS["oneruler"] for name in tokenizers]
    listed.sort(key=lambda step: parse_length(step.length, step.dataset))
    return [*listed, *(Step("ruler", name, length) for length in BEYOND for name in LONG)]


def finished() -> dict[str, Measured]:
    """Return the steps of the journal by name."""
    text = JOURNAL.read_text(encoding="utf-8") if JOURNAL.exists() else ""
    return {step.name: step for step in map(Measured.from_json, text.splitlines())}


def run(command: Sequence[str | Path]) -> Took:
    """Run a command, and return what all its processes took."""
    started, cpu, peak = time.perf_counter(), cpu_of_children(), 0.0
    process = subprocess.Popen(command)

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    watcher.join()
    if process.returncode:
        sys.exit(f"This failed: {' '.join(map(str, command))}")
    return Took(
        time=round(time.perf_counter() - started, 1),
        cpu=round(cpu_of_children() - cpu, 1),
        memory=round(peak / 2**30, 2),
    )


def cpu_of_children() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except (OSError, IndexError):  # it has ended
            continue
    members = [pid]
    for member in members:
        members += [child for child, parent in parents.items() if parent == member]
    return members


def resident(pid: int) -> int:
    """Return a process's resident memory in bytes, shared pages included."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def measure(step: Step, work: Path, workers: int) -> Measured:
    """Build, audit and freeze a step, and return what that took."""
    root = work / step.name
    resumed = root.exists()
    root.parent.mkdir(parents=True, exist_ok=True)
    flags = ["--suite", step.dataset, "--tokenizer", step.tokenizer, "--lengths", step.length]
    if step.length in SHORT:
        flags.append("--skip-impossible")
    ruler = [sys.executable, "-m", "ruler_release"]
    build = run([*ruler, "build", str(root), *flags, "--workers", str(workers)])
    audit = run([sys.executable, FREEZE, root])
    files = read_manifest(root)["files"].values()
    return Measured(
        name=step.name,
        workers=workers,
        resumed=resumed,
        files=len(files),
        rows=sum(entry["rows"] for entry in files),
        bytes=sum(entry["bytes"] for entry in files),
        build=build,
        audit=audit,
    )


def page(done: list[Measured]) -> str:
    """Return the text of RELEASE.md: a line for each step, and the sums."""
    builds, audits = [step.build for step in done], [step.audit for step in done]
    return PAGE.format(
        done=len(done),
        total=len(steps()),
        cpu=sum(took.cpu for took in builds) / 60,
        time=sum(took.time for took in builds) / 60,
        audit_cpu=sum(took.cpu for took in audits) / 60,
        titles=TITLES,
        rows="\n".join(map(line, done)),
    )


def line(step: Measured) -> str:
    """Return a line of the table."""
    dataset, tokenizer, length = step.name.split("/")
    memory = max(step.build.memory, step.audit.memory)
    return (
        f"| {dataset} | {tokenizer} | {length}{' *' if step.resumed else ''} | {step.files} "
        f"| {step.rows:,} | {step.build.time:,.0f} | {step.build.cpu:,.0f} | {step.audit.cpu:,.0f} "
        f"| {memory:.2f} | {step.bytes / 1e6:,.0f} |"
    )


def main() -> None:
    """Read the command line, and make the missing steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="the steps whose names begin so")
    parser.add_argument("--dry-run", action="store_true", help="list the steps")
    arguments = parser.parse_args()
    for step in steps():
        if not step.name.startswith(arguments.only):
            continue
        is_done = step.name in finished()
        if is_done or arguments.dry_run:
            print(step.name, "is done" if is_done else "is to be made", flush=True)
            continue
        measured = measure(step, arguments.work, arguments.workers)
        with JOURNAL.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(measured)) + "\n")
        done = finished()
        write_whole(TABLE, page([done[step.name] for step in steps() if step.name in done]))
        shutil.rmtree(arguments.work / step.name)


if __name__ == "__main__":
    end_if_unread(main)
