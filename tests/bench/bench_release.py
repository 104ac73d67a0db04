"""Build everything that is frozen, step by step, and write what it takes into RELEASE.md.

    python -m tests.bench.bench_release WORK --workers 2 --verify

A step is a data set, a tokenizer and a length: it is built, with --verify verified, frozen (`ruler
freeze`), measured and removed (--keep keeps it). Steps that WORK/steps.jsonl lists are done: the
same command goes on after an interruption; --only ruler/tekken takes the steps whose names begin
so, and --anew forgets what was frozen before the first step. Needs RULER_MIRROR or full caches.
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
from dataclasses import asdict, dataclass
from pathlib import Path

from builder.tokens.tokenizers import named
from ruler_dataset import LENGTHS, read_manifest, write_whole

TABLE = Path(__file__).with_name("RELEASE.md")
BEYOND = ("256k", "512k", "1m")
"""Lengths above the default ones, of ruler with tekken."""
PAGE = """\
# The frozen build, measured

Written by `python -m tests.bench.bench_release`, {workers} workers, {cores} cores,
{memory:.0f} GiB. Seconds are wall-clock time; memory is the most that all processes of a build
held at once (resident, GiB).

| data set | tokenizer | length | files | rows | build s | verify s | memory GiB | MB |
|---|---|---|---:|---:|---:|---:|---:|---:|
{rows}
"""


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
class Measured:
    """What a step took: seconds, GiB of memory at once, bytes on disk."""

    name: str
    workers: int
    files: int
    rows: int
    build: float
    verify: float | None
    memory: float
    bytes: int


def steps() -> Iterator[Step]:
    """Everything that the lock holds."""
    for tokenizer in named():
        beyond = BEYOND if tokenizer == "tekken" else ()
        yield from (Step("ruler", tokenizer, length) for length in (*LENGTHS["ruler"], *beyond))
    for tokenizer in ("tekken", "o200k_base"):
        yield from (Step("oneruler", tokenizer, length) for length in LENGTHS["oneruler"])


def run(*command: str | Path) -> tuple[float, float]:
    """Run a `ruler` command; seconds, and the GiB that its processes held at once."""
    begun, most = time.perf_counter(), 0.0
    process = subprocess.Popen([sys.executable, "-m", "ruler_cli", *map(str, command)])

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
    return time.perf_counter() - begun, most / 2**30


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
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    flags = ("--dataset", step.dataset, "--tokenizer", step.tokenizer, "--lengths", step.length)
    build, memory = run("build", root, *flags, "--workers", str(workers))
    seconds = run("verify", root, "--workers", str(workers))[0] if verify else None
    files = read_manifest(root)["files"].values()
    return Measured(
        name=step.name,
        workers=workers,
        files=len(files),
        rows=sum(entry["rows"] for entry in files),
        build=round(build, 1),
        verify=seconds and round(seconds, 1),
        memory=round(memory, 2),
        bytes=sum(entry["bytes"] for entry in files),
    )


def page(done: list[Measured]) -> str:
    """RELEASE.md: a line for each step, and the sums."""
    lines = [line(*one.name.split("/"), one) for one in done]
    verified = [one.verify for one in done if one.verify]
    total = Measured(
        name="",
        workers=done[0].workers,
        files=sum(one.files for one in done),
        rows=sum(one.rows for one in done),
        build=sum(one.build for one in done),
        verify=sum(verified) or None,
        memory=max(one.memory for one in done),
        bytes=sum(one.bytes for one in done),
    )
    lines.append(line("**all**", "", "", total))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    rows = "\n".join(lines)
    return PAGE.format(workers=done[0].workers, cores=os.cpu_count(), memory=memory, rows=rows)


def line(dataset: str, tokenizer: str, length: str, one: Measured) -> str:
    verify = f"{one.verify:,.0f}" if one.verify else ""
    return (
        f"| {dataset} | {tokenizer} | {length} | {one.files} | {one.rows:,} | {one.build:,.0f} "
        f"| {verify} | {one.memory:.2f} | {one.bytes / 1e6:,.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--frozen", type=Path, help="folder of the digests, else the package's")
    for flag in ("--verify", "--keep", "--anew", "--dry-run"):
        parser.add_argument(flag, action="store_true")
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    journal = work / "steps.jsonl"
    text = journal.read_text(encoding="utf-8") if journal.exists() else ""
    done = {one["name"]: Measured(**one) for one in map(json.loads, text.splitlines())}
    wanted = [step for step in steps() if step.name.startswith(arguments.only)]
    to = ("--to", arguments.frozen) if arguments.frozen else ()
    anew = arguments.anew and not done
    for step in wanted:
        if step.name in done or arguments.dry_run:
            print(step.name, "is done" if step.name in done else "is to be made")
            continue
        made = measure(step, work, arguments.workers, arguments.verify)
        run("freeze", work / step.name, *to, *(["--anew"] if anew else []))
        anew = False
        done[step.name] = made
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(made)) + "\n")
        if not arguments.keep:
            shutil.rmtree(work / step.name)
        order = [step.name for step in steps() if step.name in done]
        write_whole(TABLE, page([done[name] for name in order]))


if __name__ == "__main__":
    main()
