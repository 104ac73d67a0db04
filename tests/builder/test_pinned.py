"""Sources are found in the mirror, the cache or the network, and every byte is checked."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ruler_builder.pinned import Pinned, Store, WheelMember, cache_dir
from ruler_builder.text.sources import Sources, named_sources
from ruler_builder.tokens.tokenizers import pinned_files
from ruler_common import text
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from tests.full_disk import limit_file_size
from tests.in_process import Terminal, ruler_command

TEXT = b"It was a bright cold day in April. " * 40_000  # 1.4 MB: several chunks
CHANGED = TEXT[:7] + b"X" + TEXT[8:]
DIGEST = hashlib.sha256(TEXT).hexdigest()
PATH = "corpus/text.txt"
CLOSED = "http://127.0.0.1:9/text.txt"  # a closed port
WHEEL = "ruler_tests_data-1.0-py3-none-any.whl"


def pinned(*urls: str) -> Pinned:
    return Pinned(path=PATH, sha256=DIGEST, bytes=len(TEXT), urls=urls)


def put(folder: Path, data: bytes = TEXT, path: str = PATH) -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def files_in(folder: Path) -> list[str]:
    """Return the paths of all files in a folder."""
    paths = folder.rglob("*")
    return sorted(path.relative_to(folder).as_posix() for path in paths if path.is_file())


def get_code(file: Pinned) -> str:
    """Return a Python program that gets a file and prints its path."""
    return (
        f"from ruler_builder.pinned import Pinned, Store, WheelMember\nprint(Store().get({file!r}))"
    )


class Server:
    """Serve one text and a package index with one wheel; `requests` are the paths of both."""

    def __init__(self) -> None:
        self.text, self.status, self.broken = TEXT, 200, 0
        self.stops_after = 0  # bytes of the text, if any
        self.stopped = threading.Event()
        self.wheel = b""
        self.requests: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kind, body = "text/html", f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
                if self.path.endswith((".txt", ".whl")):
                    server.requests.append(self.path)
                    kind = "application/zip"
                    body = server.wheel if self.path.endswith(".whl") else server.text
                self.send_response(server.status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                is_broken = 0 < len(server.requests) <= server.broken
                body = body[: len(body) // 2] if is_broken else body
                if server.stops_after:
                    self.wfile.write(body[: server.stops_after])
                    server.stopped.set()
                    self.rfile.read()  # until the client ends
                else:
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Start the only reachable server, also for pip; the cache is empty and there is no mirror."""
    served = Server()
    for name, value in {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": f"{served.url}/simple",
        "PIP_CACHE_DIR": str(tmp_path / "pip"),
        "PIP_RETRIES": "1",
        "no_proxy": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(time, "sleep", lambda _: None)  # between retries
    yield served
    served.http.shutdown()
    served.http.server_close()


@pytest.fixture
def file(server: Server) -> Pinned:
    """Return the text on the server."""
    return pinned(f"{server.url}/text.txt")


# ---- Where a file is found -----------------------------------------------------------------------


def test_the_mirror_is_searched_then_the_cache_then_the_network(cache, folder, server, file):
    assert Store(folder).read(file) == TEXT
    assert (cache / PATH).read_bytes() == TEXT
    assert (cache / PATH).stat().st_mode & 0o777 == 0o644  # other users may share the cache
    assert Store(folder).get(file) == cache / PATH
    assert Store(folder).get(file) == cache / PATH
    assert Store(put(folder).parents[1]).get(file) == folder / PATH
    assert server.requests == ["/text.txt"]


def test_an_option_overrides_the_mirror_of_the_environment(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RULER_MIRROR", str(tmp_path))
    assert Store().mirror == tmp_path
    assert Store(folder).mirror == folder
    with pytest.raises(RulerError, match="is not a folder: correct --mirror or RULER_MIRROR"):
        Store(tmp_path / "nowhere")


def test_the_default_cache_is_in_the_users_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RULER_CACHE")
    assert cache_dir().name == "ruler-release"
    assert cache_dir().is_relative_to(tmp_path)


# ---- Every byte is checked -----------------------------------------------------------------------


def test_a_damaged_file_in_the_mirror_is_named_and_not_changed(folder, server, file):
    path = put(folder, CHANGED)
    with pytest.raises(RulerError) as refusal:
        Store(folder).read(file)
    for part in (f"'{path}' is damaged", sha256_of(path), f"expected {DIGEST}", "Replace it"):
        assert part in str(refusal.value)
    assert path.read_bytes() == CHANGED
    assert server.requests == []


def test_a_damaged_file_in_the_cache_is_downloaded_again(cache, file):
    put(cache, CHANGED)
    assert Store().read(file) == TEXT
    assert (cache / PATH).read_bytes() == TEXT


def test_a_damaged_file_in_the_cache_is_named_if_it_cannot_be_downloaded(cache, server):
    path = put(cache, CHANGED)
    with pytest.raises(RulerError) as refusal:
        Store().read(pinned(CLOSED))
    assert str(refusal.value).startswith(f"'{path}' is damaged. Cannot download '{PATH}' (")


def test_each_place_that_failed_is_named_once_with_its_reason(server, file):
    server.status = 404
    with pytest.raises(RulerError) as refusal:
        Store().read(pinned(CLOSED, *file.urls))
    places = f"from {CLOSED} (ConnectionError) or from {file.urls[0]} (HTTP 404). Download it"
    assert places in str(refusal.value)


@pytest.mark.parametrize("text", [TEXT[:-1] + b"X", TEXT + b"more", b"<html>Moved</html>"])
def test_a_wrong_download_is_deleted(cache, server, file, text):
    server.text = text
    with pytest.raises(RulerError, match="its sha256 differs; the download was deleted"):
        Store().get(file)
    assert list((cache / PATH).parent.iterdir()) == []


# ---- The network ---------------------------------------------------------------------------------


def test_without_network_and_mirror_the_message_has_the_remedy(server, cache):
    with pytest.raises(RulerError) as refusal:
        Store().read(pinned(CLOSED))
    message = str(refusal.value)
    for part in (str(len(TEXT)), DIGEST, CLOSED):
        assert part in message
    remedy = f". Download it by hand to DIR/{PATH}, then pass --mirror DIR or set RULER_MIRROR=DIR."
    assert message.endswith(remedy)
    assert message.count(". ") == 1
    assert "\n" not in message
    assert not (cache / PATH).exists()


def test_a_second_url_is_tried_if_the_first_does_not_answer(file):
    assert Store().read(pinned(CLOSED, *file.urls)) == TEXT


def test_a_broken_download_is_retried_with_a_progress_bar(cache, server, file, monkeypatch):
    server.broken = 1
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert Store().get(file, progress=True) == cache / PATH
    assert len(server.requests) == 2
    assert "text.txt:" in stream.getvalue()
    assert "/1.40M" in stream.getvalue()


def test_quiet_hides_the_progress_bar_of_a_download(file, monkeypatch):
    monkeypatch.setattr(text, "_progress_is_shown", True)  # `hide_progress` is for the process
    text.hide_progress()
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    Store().get(file, progress=True)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("broken", "status", "tries"), [(99, 200, 3), (0, 404, 1)])
def test_a_failed_download_leaves_no_file_in_the_cache(cache, server, file, broken, status, tries):
    server.broken, server.status = broken, status
    with pytest.raises(RulerError, match=r"Cannot download 'corpus/text\.txt'"):
        Store().get(file)
    assert len(server.requests) >= tries
    assert Store().local(file) is None


def test_a_full_disk_leaves_no_file_in_the_cache(cache, file):
    with limit_file_size(len(TEXT) // 2), pytest.raises(OSError, match="File too large"):
        Store().get(file)
    assert files_in(cache) == [".download.lock"]
    assert Store().read(file) == TEXT


def test_a_killed_download_leaves_no_file_under_its_name(cache, server, file):
    server.stops_after = len(TEXT) // 2
    process = subprocess.Popen([sys.executable, "-c", get_code(file)])
    assert server.stopped.wait(60)
    process.kill()
    process.wait()
    server.stops_after = 0
    assert Store().local(file) is None
    assert Store().read(file) == TEXT
    assert files_in(cache) == [".download.lock", PATH]  # the killed one's part is gone


def test_two_processes_download_a_file_once(cache, server, file):
    command = [sys.executable, "-c", get_code(file)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert {process.communicate()[0].strip() for process in processes} == {str(cache / PATH)}
    assert server.requests == ["/text.txt"]


# ---- Files of a wheel ----------------------------------------------------------------------------


@pytest.fixture
def member(server: Server, tmp_path: Path) -> Pinned:
    """Return a file of the wheel on the index."""
    path = tmp_path / WHEEL
    info = "ruler_tests_data-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("ruler_tests_data/data.bin", TEXT)
        packed.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: ruler-tests-data\nVersion: 1.0\n"
        )
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\n")
        packed.writestr(f"{info}/RECORD", "")
    server.wheel = path.read_bytes()
    wheel = WheelMember(
        package="ruler-tests-data",
        version="1.0",
        member="ruler_tests_data/data.bin",
    )
    return Pinned(path="data.bin", sha256=DIGEST, bytes=len(TEXT), wheel=wheel)


def pip_refusal(file: Pinned, cache: Path) -> str:
    """Return the message for a file of a wheel that cannot be downloaded."""
    with pytest.raises(RulerError) as refusal:
        Store().get(file)
    text = str(refusal.value)
    assert "\n" not in text
    assert text.startswith("Cannot download 'data.bin' (")
    assert text.endswith("then pass --mirror DIR or set RULER_MIRROR=DIR.")
    assert not (cache / "data.bin").exists()
    return text


def test_a_wheel_is_downloaded_once_for_its_files(server, member, cache):
    assert Store().read(member) == TEXT
    (cache / "data.bin").unlink()
    assert Store().read(member) == TEXT
    assert server.requests == [f"/{WHEEL}"]
    assert sorted(path.name for path in cache.iterdir()) == [".download.lock", "data.bin", "wheels"]


def test_a_file_name_that_the_locale_cannot_write_is_refused_with_the_remedy(tmp_path):
    program = (
        "from ruler_builder.pinned import Store\n"
        "from ruler_builder.text.sources import Sources\n"
        "from ruler_common.errors import RulerError\n"
        "try:\n    Sources(Store()).read('book-sr')\nexcept RulerError as e:\n    print(e)\n"
    )
    ascii_only = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **ascii_only, "RULER_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("The locale cannot write the file name 'oneruler/books/sr/")
    assert ": set PYTHONUTF8=1." in done.stdout


def test_an_error_of_pip_is_one_sentence(server, member, cache, tmp_path, monkeypatch):
    changed = replace(member, sha256="0" * 64)
    assert "data.bin in ruler-tests-data has another sha256" in pip_refusal(changed, cache)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    no_match = "pip: No matching distribution found for ruler-tests-data==1.0"
    assert no_match in pip_refusal(changed, cache)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    monkeypatch.setattr(sys, "executable", str(bare / "bin" / "python"))
    monkeypatch.setenv("PATH", str(bare / "bin"))
    assert "python: No module named pip" in pip_refusal(changed, cache)


def test_the_file_may_come_from_another_version_than_the_pinned_one(server, member, cache):
    missing = replace(member, wheel=replace(member.wheel, version="2.0"))
    assert Store().read(missing) == TEXT
    changed = replace(missing, path="other.bin", sha256="0" * 64)
    with pytest.raises(RulerError, match=r"No matching distribution found for ruler-tests-data==2"):
        Store().get(changed)
    assert not (cache / "other.bin").exists()


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_uv_unpacks_a_wheel_for_a_python_without_pip(server, member, cache, tmp_path, monkeypatch):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    monkeypatch.setattr(sys, "executable", str(bare / "bin" / "python"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    (tmp_path / "constraints.txt").write_text("torch<=2\n")  # of the user, for other installs
    monkeypatch.setenv("UV_CONSTRAINT", str(tmp_path / "constraints.txt"))
    assert Store().read(member) == TEXT
    (cache / "data.bin").unlink()
    absent = replace(member, sha256="0" * 64, wheel=replace(member.wheel, package="ruler-absent"))
    with pytest.raises(RulerError, match=r"uv: .*Download it by hand to DIR/data\.bin"):
        Store().get(absent)
    assert not (cache / "data.bin").exists()


def test_a_file_of_an_installed_package_is_not_downloaded(server, tmp_path, monkeypatch):
    (tekken,) = pinned_files("tekken")
    installed = Store().get(tekken)
    assert installed == tekken.wheel.installed() == Store().local(tekken)
    other = replace(tekken, sha256="0" * 64, bytes=1)  # the package has another version of it
    assert Store().local(other) is None
    with pytest.raises(RulerError, match=r"Cannot download 'mistral_common/tekken_240911\.json'"):
        Store().get(other)


@pytest.mark.nightly
def test_an_empty_cache_and_no_mirror_get_rulers_three_sources(cache):
    """With the real package index, as a user runs it."""
    command = ruler_command("sources", "fetch", "essays", "squad", "hotpotqa")
    done = subprocess.run(command, capture_output=True, text=True)
    if "pip: No matching distribution found" in done.stderr:
        pytest.skip("pip reaches no package index here")
    assert done.returncode == 0, done.stderr
    for source in named_sources(["ruler"]).values():
        path = cache / source.canonical.file.path
        assert sha256_of(path) == source.canonical.file.sha256
        assert f"{source.name}: {path}\n" in done.stdout


def test_the_message_for_a_missing_book_names_its_url_and_the_embedded_texts(server, monkeypatch):
    for scheme in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    with pytest.raises(RulerError) as refusal:
        Sources(Store()).read("book-sr")
    for part in ("ili%C4%87_sr.txt", "--mirror DIR", "own texts (en, zh): --sources embedded"):
        assert part in str(refusal.value)
