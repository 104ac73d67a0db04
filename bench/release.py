"""Build everything that is frozen, step by step, and write what it takes into RELEASE.md.

    python -m bench.release WORK --workers 2 --verify

A step is a data set, a tokenizer and a length: it is built, with --verify verified, frozen by
builder/freeze.py, measured and removed (--keep keeps it). Steps that WORK/steps.jsonl lists are
done: the same command goes on after an interruption, also in the middle of a step, whose time is
then that of its last part; --verify after --keep verifies what was kept; --only ruler/tekken takes
the steps whose names begin so; --frozen FOLDER freezes into a file there, not into the package's;
and --from-start forgets what was frozen before the first step. Needs RULER_MIRROR or full caches.

    python -m bench.release WORK --frozen WORK/frozen --from-start  # all of it
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ruler_builder.tokens.tokenizers import named
from ruler_common.files import write_whole
from ruler_common.manifest import MANIFEST, read_manifest
from ruler_common.names import LENGTHS
from tests.in_process import ruler_command

TABLE = Path(__file__).with_name("RELEASE.md")
BEYOND = ("256k", "512k", "1m")
"""Lengths above the default ones, of ruler."""
LONG = ("tekken", "o200k_base", "qwen2.5", "llama3")
"""Tokenizers whose rows are frozen at these lengths too."""
PAGE = """\
# The frozen build, measured

Written by `python -m bench.release`, {workers} workers, {cores} cores,
{memory:.0f} GiB. Time is wall-clock seconds, which other work on the machine lengthens; CPU is the
seconds that all processes took. Memory is the most that all processes of a build held at once
(resident, GiB).

All builds together took {cpu:.0f} minutes of CPU, {share:.0f} on each of {cores} cores, and
{time:.0f} minutes by the clock.

{titles}
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
{rows}
"""
TITLES = (
    "| data set | tokenizer | length | files | rows | build, time | build, CPU "
    "| verify, time | verify, CPU | memory | MB |"
)


@dataclass(frozen=True)
class Step:
    """A data set, a tokenizer and a length, built together."""

    dataset: str
    tokenizer: str
    length: str

    @property
    def name(self) -> str:
        return f"{self.dataset}/{self.tokenizer}/{self.length}"


@dataclass(frozen=True, kw_only=True)
class Took:
    """What a command took: wall-clock and CPU seconds, and its peak memory in GiB."""

    time: float
    cpu: float
    memory: float = 0.0

    @classmethod
    def total(cls, parts: Sequence[Took]) -> Took:
        return cls(
            time=sum(part.time for part in parts),
            cpu=sum(part.cpu for part in parts),
            memory=max((part.memory for part in parts), default=0.0),
        )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A finished step: its files, rows and bytes on disk, and what its commands took."""

    name: str
    workers: int
    files: int
    rows: int
    bytes: int
    build: Took
    verify: Took | None

    @classmethod
    def from_json(cls, text: str) -> Measured:
        values = json.loads(text)
        took = {key: values[key] and Took(**values[key]) for key in ("build", "verify")}
        return cls(**{**values, **took})


def steps() -> Iterator[Step]:
    """Yield the steps of everything that is frozen."""
    for tokenizer in named():
        beyond = BEYOND if tokenizer in LONG else ()
        yield from (Step("ruler", tokenizer, length) for length in (*LENGTHS["ruler"], *beyond))
    for tokenizer in ("tekken", "o200k_base"):
        yield from (Step("oneruler", tokenizer, length) for length in LENGTHS["oneruler"])


def run(*command: str | Path) -> Took:
    """Run a `ruler` command, and return what all its processes took."""
    started, cpu, peak = time.perf_counter(), cpu_of_children(), 0.0
    process = subprocess.Popen(ruler_command(*command))

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    watcher.join()
    if process.returncode:
        sys.exit(f"This failed: ruler {' '.join(map(str, command))}")
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


def measure(step: Step, work: Path, workers: int, verify: bool) -> Measured:
    """Build a step and verify it, and return what that took."""
    root = work / step.name
    if (root / MANIFEST).exists():  # whole, but not frozen yet: measured from its beginning
        shutil.rmtree(root)
    root.parent.mkdir(parents=True, exist_ok=True)
    flags = ("--suite", step.dataset, "--tokenizer", step.tokenizer, "--lengths", step.length)
    build = run("build", root, *flags, "--workers", str(workers))
    files = read_manifest(root)["files"].values()
    return Measured(
        name=step.name,
        workers=workers,
        files=len(files),
        rows=sum(entry["rows"] for entry in files),
        bytes=sum(entry["bytes"] for entry in files),
        build=build,
        verify=run("verify", root, "--workers", str(workers)) if verify else None,
    )


def page(done: list[Measured]) -> str:
    """Return the text of RELEASE.md: a line for each step, and the sums."""
    lines = [line(*step.name.split("/"), step) for step in done]
    verified = [step.verify for step in done if step.verify]
    total = Measured(
        name="",
        workers=done[0].workers,
        files=sum(step.files for step in done),
        rows=sum(step.rows for step in done),
        bytes=sum(step.bytes for step in done),
        build=Took.total([step.build for step in done]),
        verify=Took.total(verified) if len(verified) == len(done) else None,
    )
    lines.append(line("**all**", "", "", total))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = os.cpu_count() or 1
    return PAGE.format(
        workers=done[0].workers,
        cores=cores,
        memory=memory,
        cpu=total.build.cpu / 60,
        share=total.build.cpu / 60 / cores,
        time=total.build.time / 60,
        titles=TITLES,
        rows="\n".join(lines),
    )


def line(dataset: str, tokenizer: str, length: str, measured: Measured) -> str:
    """Return a line of the table."""
    build, verify = measured.build, " | "
    if measured.verify:
        verify = f"{measured.verify.time:,.0f} | {measured.verify.cpu:,.0f}"
    return (
        f"| {dataset} | {tokenizer} | {length} | {measured.files} | {measured.rows:,} "
        f"| {build.time:,.0f} | {build.cpu:,.0f} | {verify} | {build.memory:.2f} "
        f"| {measured.bytes / 1e6:,.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--frozen", type=Path, help="folder of the digests, else the package's")
    for flag in ("--verify", "--keep", "--from-start", "--dry-run"):
        parser.add_argument(flag, action="store_true")
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    journal = work / "steps.jsonl"
    text = journal.read_text(encoding="utf-8") if journal.exists() else ""
    done = {step.name: step for step in map(Measured.from_json, text.splitlines())}
    wanted = [step for step in steps() if step.name.startswith(arguments.only)]
    to = ("--to", arguments.frozen) if arguments.frozen else ()
    from_start = arguments.from_start and not done
    for step in wanted:
        made, kept = done.get(step.name), (work / step.name).is_dir()
        unverified = made and not made.verify and arguments.verify and kept
        if arguments.dry_run or (made and not unverified):
            print(step.name, "is done" if made else "is to be made")
            continue
        if made:
            verify = run("verify", work / step.name, "--workers", str(arguments.workers))
            made = replace(made, verify=verify)
        else:
            made = measure(step, work, arguments.workers, arguments.verify)
            script = [sys.executable, "builder/freeze.py", str(work / step.name), *map(str, to)]
            subprocess.run([*script, *(["--replace"] if from_start else [])], check=True)
            from_start = False
        done[step.name] = made
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(made)) + "\n")
        if not arguments.keep:
            shutil.rmtree(work / step.name)
        order = [step.name for step in steps() if step.name in done]
        write_whole(TABLE, page([done[name] for name in order]))


if __name__ == "__main__":
    main()
