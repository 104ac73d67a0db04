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
from collections.abc import Iterator
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
    """What a command took: seconds of time and of CPU, and the most GiB of memory at once."""

    time: float
    cpu: float
    memory: float = 0.0

    def __add__(self, other: Took) -> Took:
        memory = max(self.memory, other.memory)
        return Took(time=self.time + other.time, cpu=self.cpu + other.cpu, memory=memory)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A step that was made: its files, rows and bytes on disk, and what its commands took."""

    name: str
    workers: int
    files: int
    rows: int
    bytes: int
    build: Took
    verify: Took | None

    @classmethod
    def of_json(cls, text: str) -> Measured:
        values = json.loads(text)
        took = {key: values[key] and Took(**values[key]) for key in ("build", "verify")}
        return cls(**{**values, **took})


def steps() -> Iterator[Step]:
    """Everything that the lock holds."""
    for tokenizer in named():
        beyond = BEYOND if tokenizer in LONG else ()
        yield from (Step("ruler", tokenizer, length) for length in (*LENGTHS["ruler"], *beyond))
    for tokenizer in ("tekken", "o200k_base"):
        yield from (Step("oneruler", tokenizer, length) for length in LENGTHS["oneruler"])


def run(*command: str | Path) -> Took:
    """Run a `ruler` command; what it and all processes that it started took."""
    begun, used, most = time.perf_counter(), cpu_of_children(), 0.0
    process = subprocess.Popen(ruler_command(*command))

    def watch() -> None:
        nonlocal most
        while process.poll() is None:
            most = max(most, sum(map(resident, family(process.pid))))
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    watcher.join()
    if process.returncode:
        sys.exit(f"This failed: ruler {' '.join(map(str, command))}")
    return Took(
        time=round(time.perf_counter() - begun, 1),
        cpu=round(cpu_of_children() - used, 1),
        memory=round(most / 2**30, 2),
    )


def cpu_of_children() -> float:
    """Seconds of CPU of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except (OSError, IndexError):  # it has ended
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def resident(pid: int) -> int:
    """Bytes of memory a process holds; shared pages count in each."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def measure(step: Step, work: Path, workers: int, verify: bool) -> Measured:
    """Build a step, verify it, and say what it took."""
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
    """RELEASE.md: a line for each step, and the sums."""
    lines = [line(*one.name.split("/"), one) for one in done]
    nothing = Took(time=0, cpu=0)
    verified = [one.verify for one in done if one.verify]
    total = Measured(
        name="",
        workers=done[0].workers,
        files=sum(one.files for one in done),
        rows=sum(one.rows for one in done),
        bytes=sum(one.bytes for one in done),
        build=sum((one.build for one in done), nothing),
        verify=sum(verified, nothing) if len(verified) == len(done) else None,
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


def line(dataset: str, tokenizer: str, length: str, one: Measured) -> str:
    verify = f"{one.verify.time:,.0f} | {one.verify.cpu:,.0f}" if one.verify else " | "
    return (
        f"| {dataset} | {tokenizer} | {length} | {one.files} | {one.rows:,} "
        f"| {one.build.time:,.0f} | {one.build.cpu:,.0f} | {verify} | {one.build.memory:.2f} "
        f"| {one.bytes / 1e6:,.0f} |"
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
    done = {one.name: one for one in map(Measured.of_json, text.splitlines())}
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
