from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.text.sources import Pinned, Store, cache_dir
from ruler_common.errors import RulerError
from tests.full_disk import files_of_at_most

TEXT = b"It was a bright cold day in April. " * 40_000  # 1.4 MB: several chunks
DIGEST = hashlib.sha256(TEXT).hexdigest()
PATH = "corpus/text.txt"
CLOSED = "http://127.0.0.1:9/text.txt"
"""A URL that does not answer: the port of the discard service, closed."""


def pinned(*urls: str) -> Pinned:
    return Pinned(path=PATH, sha256=DIGEST, bytes=len(TEXT), urls=urls)


def put(folder: Path, data: bytes = TEXT, path: str = PATH) -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


class Served:
    """What a test server sends, and how often it was asked.

    The connection breaks in the middle of the first `broken` answers.
    """

    def __init__(self, data: bytes = TEXT, broken: int = 0, status: int = 200) -> None:
        self.data, self.broken, self.status = data, broken, status
        self.requests = 0


Serve = Callable[[Served], str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serve over HTTP on this machine; returns a URL."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    servers = []

    def start(served: Served) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.requests += 1
                self.send_response(served.status)
                self.send_header("Content-Length", str(len(served.data)))
                self.end_headers()
                half = served.requests <= served.broken
                self.wfile.write(served.data[: len(served.data) // 2] if half else served.data)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/text.txt"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


# ---- Where a file is found ---------------------------------------------------------------------


def test_the_mirror_is_searched_before_the_cache(cache, folder):
    put(cache)
    there = put(folder)
    assert Store(folder).get(pinned(CLOSED)) == there


def test_the_cache_is_searched_before_the_network(cache, folder, serve):
    served = Served()
    there = put(cache)
    assert Store(folder).get(pinned(serve(served))) == there
    assert served.requests == 0


def test_the_network_is_asked_last_and_fills_the_cache(cache, folder, serve):
    served = Served()
    file = pinned(serve(served))
    assert Store(folder).read(file) == TEXT
    assert (cache / PATH).read_bytes() == TEXT
    assert Store(folder).read(file) == TEXT
    assert served.requests == 1


def test_nothing_of_a_download_stays_on_a_full_disk(cache, folder, serve):
    file = pinned(serve(Served()))
    with files_of_at_most(len(TEXT) // 2), pytest.raises(OSError, match="File too large"):
        Store(folder).get(file)
    assert [path.name for path in (cache / PATH).parent.iterdir()] == []
    assert Store(folder).read(file) == TEXT


def test_the_environment_names_a_mirror_where_no_option_does(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RULER_MIRROR", str(tmp_path))
    there = put(folder)
    assert Store(None).mirror == tmp_path
    assert Store(folder).get(pinned()) == there


def test_a_mirror_that_is_not_a_folder_is_refused(tmp_path):
    with pytest.raises(RulerError, match="is not a folder: correct --mirror or RULER_MIRROR"):
        Store(tmp_path / "nowhere")


def test_the_cache_is_the_users_unless_the_environment_names_one(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RULER_CACHE")
    assert cache_dir().name == "ruler-release"
    assert cache_dir().is_relative_to(tmp_path)


# ---- Every byte is checked ---------------------------------------------------------------------


CHANGED = TEXT[:7] + b"X" + TEXT[8:]


def test_a_damaged_file_in_the_mirror_is_named_and_left_alone(cache, folder, serve):
    there = put(folder, CHANGED)
    served = Served()
    with pytest.raises(RulerError) as refusal:
        Store(folder).read(pinned(serve(served)))
    found = hashlib.sha256(CHANGED).hexdigest()
    for message in (f"'{there}' is damaged", found, f"expected {DIGEST}", "Replace it"):
        assert message in str(refusal.value)
    assert there.read_bytes() == CHANGED
    assert served.requests == 0


def test_a_damaged_file_in_the_cache_is_downloaded_again(cache, serve):
    put(cache, CHANGED)
    assert Store(None).read(pinned(serve(Served()))) == TEXT
    assert (cache / PATH).read_bytes() == TEXT


# ---- The network -------------------------------------------------------------------------------


def test_no_network_and_no_mirror_is_one_sentence_with_the_remedy(cache):
    with pytest.raises(RulerError) as refusal:
        Store(None).read(pinned(CLOSED))
    message = str(refusal.value)
    for part in (PATH, str(len(TEXT)), DIGEST, CLOSED, "--mirror DIR", "RULER_MIRROR"):
        assert part in message
    assert message.count(". ") == 0
    assert "\n" not in message
    assert not (cache / PATH).exists()


def test_a_second_url_is_tried_if_the_first_does_not_answer(cache, serve):
    assert Store(None).read(pinned(CLOSED, serve(Served()))) == TEXT


def test_a_broken_download_is_tried_again(cache, serve):
    served = Served(broken=1)
    assert Store(None).read(pinned(serve(served))) == TEXT
    assert served.requests == 2


def test_a_download_that_always_breaks_leaves_nothing_behind(cache, serve):
    served = Served(broken=99)
    with pytest.raises(RulerError, match=r"Cannot download 'corpus/text\.txt'"):
        Store(None).get(pinned(serve(served)))
    assert served.requests == 3
    assert list((cache / PATH).parent.iterdir()) == []


def test_a_terminal_shows_the_progress_of_a_download(cache, serve, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert Store(None).get(pinned(serve(Served(broken=1))), progress=True) == cache / PATH
    assert re.search(r"text\.txt:  [1-9]\d%", stream.getvalue())  # half of it, or nearly
    assert "k/1.40M" in stream.getvalue()


class Terminal(io.StringIO):
    """A text stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_downloaded_file_can_be_read_by_other_users_of_the_cache(cache, serve):
    Store(None).get(pinned(serve(Served())))
    assert (cache / PATH).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("wrong", [TEXT[:-1] + b"X", TEXT + b"more", b"<html>Moved</html>"])
def test_a_wrong_download_is_not_kept(wrong, cache, serve):
    with pytest.raises(RulerError, match="its sha256 differs; the download was deleted"):
        Store(None).get(pinned(serve(Served(wrong))))
    assert list((cache / PATH).parent.iterdir()) == []


def test_a_missing_page_leaves_nothing_behind(cache, serve):
    with pytest.raises(RulerError, match="HTTPError"):
        Store(None).get(pinned(serve(Served(status=404))))
    assert list((cache / PATH).parent.iterdir()) == []


def test_two_processes_that_want_one_file_download_it_once(tmp_path):
    """With a server of its own that counts requests, and an empty cache."""
    import hashlib
    import http.server
    import os
    import threading

    data, asked = os.urandom(3_000_000), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/file"
        digest = hashlib.sha256(data).hexdigest()
        code = (
            "from ruler_builder.text.sources import Pinned, Store\n"
            f"file = Pinned(path='a/file', sha256='{digest}', bytes={len(data)}, urls=('{url}',))\n"
            "print(Store().get(file))"
        )
        environment = {**os.environ, "RULER_CACHE": str(tmp_path / "cache")}
        environment.pop("RULER_MIRROR", None)
        both = [
            subprocess.Popen([sys.executable, "-c", code], env=environment, text=True, stdout=-1)
            for _ in range(3)
        ]
        paths = {process.communicate()[0].strip() for process in both}
        server.shutdown()
    assert paths == {str(tmp_path / "cache/a/file")}
    assert asked == ["/file"]
