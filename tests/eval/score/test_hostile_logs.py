"""A log of some hundred bytes takes no more memory than one of them may, and no time."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_eval.score.formats import inspect_log
from ruler_eval.score.formats.zip_members import MOST_LISTED, MOST_UNPACKED, ZipMembers
from tests.eval.score.hostile_logs import HEADER, SAMPLE, claimed, packed, sound
from tests.shares import share

MOST_MEGABYTES = 700
"""Of a process that reads a log: inspect-ai itself takes about 100, a sample no more than this."""


@pytest.fixture(autouse=True, scope="module")
def inspect_installed() -> None:
    """Asked only when a test runs: to import it takes seconds, and each worker reads this file."""
    pytest.importorskip("inspect_ai", reason="the inspect extra is not installed")


def members() -> dict[str, bytes]:
    return {name: json.dumps(part).encode() for name, part in sound().items()}


def peak(file: Path) -> tuple[str, float]:
    """What `ruler score` says of a log, in a process of its own, and its most megabytes."""
    program = (
        "import pathlib, sys; from ruler_release.app import main\n"
        "sys.argv[0] = 'ruler'\n"
        "try: main()\n"  # ru_maxrss would count the process that this one was forked from
        "finally: print(pathlib.Path('/proc/self/status').read_text()"
        ".partition('VmHWM:')[2].split()[0])"
    )
    limit = 6 << 30  # so that a test that fails takes no machine with it

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", program, "score", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=bounded,
    )
    assert "Traceback" not in done.stderr
    return done.stderr, int(done.stdout.split()[-1]) / 1024


def test_a_sound_log_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.eval"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file.write_bytes(packed(members(), method))
        (row,) = inspect_log.predictions(file, keep_prompts=True)
        assert (row.config, row.index, row.text) == ("vt_4k", 0, "ABCDE")
        assert (row.outputs, row.prompt, row.prompt_tokens) == (("ABCDE",), "Find all.", 9)
        assert inspect_log.settings(file)["model"] == "mockllm/model"


@pytest.mark.parametrize("level", [1, 19])
def test_the_compression_of_inspect_is_read_within_bounds(tmp_path: Path, level: int) -> None:
    import inspect_ai.log  # noqa: F401  (it teaches zipfile Zstandard)

    method: int = zipfile.ZIP_ZSTANDARD  # type: ignore[attr-defined]
    file = tmp_path / "x.eval"
    with zipfile.ZipFile(file, "w", method, compresslevel=level) as log:
        for name, data in members().items():
            log.writestr(name, data)
        log.writestr("bomb", b" " * (MOST_UNPACKED + 1))
    assert file.stat().st_size < 20_000
    assert [row.text for row in inspect_log.predictions(file)] == ["ABCDE"]
    with ZipMembers(file) as there, pytest.raises(RulerError, match="'bomb' unpacks to more than"):
        there.read("bomb")


@pytest.mark.nightly
def test_a_member_that_unpacks_to_gigabytes_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "x.eval"
    bomb = members()[SAMPLE].replace(b"Find all.", b"x" * (600 << 20))
    file.write_bytes(packed({**members(), SAMPLE: bomb}))
    del bomb
    assert file.stat().st_size < 700_000
    said, megabytes = peak(file)
    assert f"'{SAMPLE}' unpacks to more than 67,108,864 bytes: it is not read." in said
    assert megabytes < MOST_MEGABYTES


@pytest.mark.parametrize("name", share(2, [HEADER, SAMPLE]))
def test_lists_within_lists_take_no_memory(tmp_path: Path, name: str) -> None:
    file = tmp_path / "x.eval"
    file.write_bytes(packed({**members(), name: b'{"input": ' + b"[" * 100_000}))
    said, megabytes = peak(file)
    assert "is no log that Inspect can read" in said
    assert megabytes < MOST_MEGABYTES


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"input": ' + b"[" * 200 + b"]" * 200 + b"}", "deeper than 100 levels"),
        (b'{"input": [' + b"[]," * 3_000_000 + b"[]]}", "more than 5,000,000 values"),
        (b'{"id": 1, "id": 2}', "'id' stands there twice"),
        (b"[]", "is no log that Inspect can read"),
        (b"\xff", "is no log that Inspect can read"),
    ],
)
def test_a_sample_that_is_none_is_one_sentence(tmp_path: Path, text: bytes, why: str) -> None:
    file = tmp_path / "x.eval"
    file.write_bytes(packed({**members(), SAMPLE: text}))
    with pytest.raises(RulerError, match=why):
        [*inspect_log.predictions(file)]


def test_sizes_and_numbers_that_a_log_claims_are_not_believed(tmp_path: Path) -> None:
    file, many = tmp_path / "x.eval", sound()
    file.write_bytes(claimed(packed({HEADER: members()[HEADER]}), 1 << 40))
    assert [*inspect_log.predictions(file)] == []
    many[HEADER]["eval"]["config"]["epochs"] = 10**9
    parts = {name: json.dumps(part).encode() for name, part in many.items()}
    file.write_bytes(packed({**parts, "_journal/summaries/999999999.json": b"[]"}))
    assert [row.text for row in inspect_log.predictions(file)] == ["ABCDE"]


def test_a_list_of_members_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    file, log = tmp_path / "x.eval", bytearray(packed({HEADER: members()[HEADER]}))
    start, end = log.rindex(b"PK\x01\x02"), log.rindex(b"PK\x05\x06")
    log[end + 12 : end + 16] = (MOST_LISTED + end - start + 1).to_bytes(4, "little")
    log[end:end] = bytes(MOST_LISTED + 1)
    file.write_bytes(log)
    with pytest.raises(RulerError, match="its list of members is too long"):
        [*inspect_log.predictions(file)]


@pytest.mark.parametrize("about", [[], 1, {"sessions": 1}, {"sessions": [{"started": "soon"}]}])
def test_what_a_log_says_of_its_run_is_checked_as_a_run_json_is(
    tmp_path: Path, about: object
) -> None:
    file, parts = tmp_path / "x.eval", sound()
    parts[HEADER]["eval"]["metadata"]["ruler_release"] = about
    file.write_bytes(packed({name: json.dumps(part).encode() for name, part in parts.items()}))
    with pytest.raises(RulerError, match="is damaged"):
        inspect_log.settings(file)
