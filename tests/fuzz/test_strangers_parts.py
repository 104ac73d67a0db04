"""Whatever a stranger puts into a log, a suite, a tokenizer, a Parquet file or a build's own files.

As tests/fuzz/test_strangers_files.py: a result or one sentence, nothing written elsewhere.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruler_common.files import sha256_of
from ruler_common.manifest_form import MANIFEST
from tests.eval.score.hostile_logs import packed, sound
from tests.fuzz.conftest import KEPT
from tests.fuzz.hostile import VALUES, changed, changes, damage, damaged, written
from tests.fuzz.sandbox import Sandbox

FLIPPED = ("flip", "insert", "truncate")
SMALL = ("--sources", "embedded", "--lengths", "1k", "--samples", "2", "--workers", "1")
SCORE = ("score", "case/in", "--dataset", "base/ruler", "--out", "case/OUT/r.json")

STEP = int(os.environ.get("RULER_FUZZ_STEP", "5"))
"""Every fifth case is tried, or all: `RULER_FUZZ_STEP=1 pytest tests/fuzz`."""


def spoiled(data: bytes, rng: random.Random) -> bytes:
    """Bytes of which a few are others, more or gone."""
    for _ in range(rng.randint(1, 3)):
        how = (rng.choice(FLIPPED), rng.getrandbits(20), rng.randbytes(rng.randint(1, 4)))
        data = damaged(data, how)
    return data


def rewritten(document: Any, rng: random.Random) -> bytes:
    """A JSON document as a stranger may have written it."""
    text = written(changed(document, changes(rng)))
    return damaged(text.encode("utf-8", "surrogatepass"), damage(rng))


@pytest.mark.parametrize("seed", range(0, 300, STEP))
def test_a_strangers_log(sandbox: Sandbox, seed: int) -> None:
    pytest.importorskip("inspect_ai", reason="the inspect extra is not installed")
    rng, parts = random.Random(seed), sound()
    data = {name: json.dumps(part).encode() for name, part in parts.items()}
    name = rng.choice([*parts])
    data[name] = rewritten(parts[name], rng)
    log = packed(data)
    sandbox.new()
    sandbox.write("in/x.eval", spoiled(log, rng) if rng.random() < 0.4 else log)
    assert sandbox.run(*rng.choice((SCORE, (*SCORE, "--partial")))).faults() == []


SUITE = """dataset = "ruler"
lengths = ["1k"]
[groups]
mine = ["niah_a"]
[tasks.niah_a]
family = "niah"
haystack = "noise"
keys = "words"
values = "numbers"
"""


@pytest.mark.parametrize("seed", range(0, 150, STEP))
def test_a_strangers_suite(sandbox: Sandbox, seed: int) -> None:
    rng, lines = random.Random(seed), SUITE.splitlines()
    value = rng.choice(VALUES)
    text = "[" * 5000 if value == "@deep@" else json.dumps(value)
    at = rng.randrange(len(lines))
    lines[at] = rng.choice((f"{lines[at].partition('=')[0]} = {text}", f"x = {text}", lines[at]))
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    sandbox.new()
    sandbox.write("suite.toml", spoiled(data, rng) if rng.random() < 0.4 else data)
    done = sandbox.run("build", "case/out", "--suite", "case/suite.toml", "--tasks", "none", *SMALL)
    assert (done.faults(), done.code) == ([], 2)


@pytest.mark.parametrize("seed", range(0, 60, STEP))
def test_a_strangers_tokenizer(sandbox: Sandbox, made: Callable[[str], Path], seed: int) -> None:
    rng = random.Random(seed)
    sandbox.new()
    folder = shutil.copytree(made("gpt2"), sandbox.case / "tokenizer")
    name = rng.choice(("tokenizer.json", "tokenizer.json", "tokenizer_config.json"))
    document = json.loads((folder / name).read_bytes())
    data = json.dumps(document).encode()
    hostile = (b"[]", b"null", b"[" * 100_000, b'{"model": []}', b'{"model": {"type": "BPE"}}')
    ways = (rng.choice(hostile), spoiled(data, rng), rewritten(document, rng))
    sandbox.write(f"tokenizer/{name}", rng.choice(ways))
    task = ("--tasks", "niah_single_1", "--tokenizer", "mine=case/tokenizer")
    assert sandbox.run("build", "case/out", *task, *SMALL).faults() == []


READS_ROWS = (
    ("verify", "case/ruler", "--workers", "1"),
    ("score", "base/RUN-ruler", "--dataset", "case/ruler", "--out", "case/OUT/r.json"),
    ("export", "case/ruler", "--format", "upstream", "--to", "case/OUT"),
    ("show", "vt_4k", "1", "--dataset", "case/ruler"),
)


@pytest.mark.parametrize("seed", range(0, 120, STEP))
def test_a_strangers_parquet_file(sandbox: Sandbox, seed: int) -> None:
    rng, path = random.Random(seed), KEPT["ruler"][0]
    sound_file = (sandbox.base / "ruler" / path).read_bytes()
    at = rng.choice((0, len(sound_file) - rng.randint(1, min(4000, len(sound_file)))))
    data = sound_file[:at] + spoiled(sound_file[at:], rng)
    sandbox.new("ruler")
    sandbox.write(f"ruler/{path}", data)
    manifest = json.loads((sandbox.base / "ruler" / MANIFEST).read_bytes())
    manifest["files"][path]["sha256"] = sha256_of(sandbox.case / "ruler" / path)
    sandbox.write(f"ruler/{MANIFEST}", json.dumps(manifest))
    assert sandbox.run(*rng.choice(READS_ROWS)).faults() == []


BUILD = ("build", "case/ruler", "--sources", "embedded", "--lengths", "4k", "--samples", "3")


@pytest.mark.parametrize("seed", range(0, 60, STEP))
def test_a_strangers_unfinished_build(sandbox: Sandbox, seed: int) -> None:
    rng = random.Random(seed)
    manifest = json.loads((sandbox.base / "ruler" / MANIFEST).read_bytes())
    path, entry = next(iter(manifest["files"].items()))
    sandbox.new("ruler")
    record = rewritten({**manifest, "files": {path: entry}}, rng)
    sandbox.write(f"ruler/.build/{path.removesuffix('parquet')}json", record)
    line = rng.choice((BUILD, ("verify", "case/ruler")))
    assert sandbox.run(*line, *(("--tasks", "vt") if line == BUILD else ())).faults() == []


ROW = {
    **{"config": "vt_4k", "index": 0, "max_new_tokens": 30, "reasoning_tokens": 0},
    **{"row_tokens": 4000, "prompt_tokens": None, "opening": None},
}
MESSAGE = {"role": "assistant", "content": "A"}
BODY = {"choices": [{"message": MESSAGE, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}
ANSWER = {"custom_id": "vt_4k/0", "response": {"status_code": 200, "body": BODY}, "error": None}


@pytest.mark.parametrize("seed", [*range(0, 80, STEP), 1176, 1209])
def test_a_strangers_batch(sandbox: Sandbox, seed: int) -> None:
    rng = random.Random(seed)
    run = json.loads((sandbox.base / "RUN-ruler" / "run.json").read_bytes())
    parts: dict[str, Any] = {
        "RUN/batch/asked.jsonl": ROW,
        "answers.jsonl": ANSWER,
        "RUN/run.json": {**run, "backend": "batch"},
    }
    changed_one = rng.choice([*parts])
    sandbox.new()
    for path, part in parts.items():
        text = rewritten(part, rng) if path == changed_one else json.dumps(part).encode()
        sandbox.write(path, text + b"\n")
    assert sandbox.run("batch", "read", "case/RUN", "case/answers.jsonl").faults() == []


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


RELEASE = ("--dataset", "base/ruler", "--configs", "all", "--backend", "oracle")
PLACES = {
    "RUN-ruler/vt_4k.jsonl": [
        ("score", "case/RUN-ruler"),
        ("errors", "case/RUN-ruler"),
        ("run", *RELEASE, "--out", "case/RUN-ruler"),
    ],
    "RUN-ruler/run.json": [("run", *RELEASE, "--out", "case/RUN-ruler")],
    "RUN-ruler/results.json": [
        ("compare", "case/RUN-ruler", "base/RUN-ruler"),
        ("report", "case/RUN-ruler", "--out", "case/OUT.html"),
    ],
    "RUN-ruler/errors.json": [
        ("analyze", "base/RUN-ruler", "--errors", "case/RUN-ruler/errors.json")
    ],
    "RUN-ruler/x.eval": [("score", "case/RUN-ruler/x.eval")],
    "RUN-ruler/4096/pred/submission.csv": [("score", "case/RUN-ruler/4096/pred/submission.csv")],
    "ruler/manifest.json": [("list", "case/ruler")],
    "ruler/data/tekken/4k/vt.parquet": [
        ("score", "base/RUN-ruler", "--dataset", "case/ruler", "--out", "case/OUT")
    ],
    "ruler/.build/plan.json": [("verify", "case/ruler"), (*BUILD, "--tasks", "vt")],
    "ruler/.build/shard.json": [("merge", "case/OUT", "case/ruler")],
    "ruler/suite.toml": [("build", "case/out", "--suite", "case/ruler/suite.toml")],
    "ruler/tokenizer.json": [("build", "case/out", "--tokenizer", "m=case/ruler", *SMALL)],
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
@pytest.mark.parametrize("make", [pipe, device, Path.mkdir])
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_is_refused_and_not_waited_for(
    sandbox: Sandbox, place: str, make: Callable[[Path], None]
) -> None:
    for line in PLACES[place]:
        sandbox.new("ruler", "RUN-ruler")
        path = sandbox.case / place
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        done = sandbox.run(*line)
        assert done.faults() == [], line
        assert done.code == 2 or line[0] == "verify", line
