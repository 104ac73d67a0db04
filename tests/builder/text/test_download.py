from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.text.download import Pinned, Store, cache_dir, download
from ruler_builder.tokens.tokenizers import named, pinned_files
from ruler_common.errors import RulerError
from tests.full_disk import files_of_at_most

TEXT = b"It was a bright cold day in April. " * 40_000  # 1.4 MB: several chunks
DIGEST = hashlib.sha256(TEXT).hexdigest()
PATH = "corpus/text.txt"
CLOSED = "http://127.0.0.1:9/text.txt"
"""A URL nobody answers: the port of the discard service, closed."""


def pinned(*urls: str) -> Pinned:
    return Pinned(path=PATH, sha256=DIGEST, bytes=len(TEXT), urls=urls)


def put(folder: Path, data: bytes = TEXT, path: str = PATH) -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


class Served:
    """What a test server gives, and the Range header of each request it had."""

    def __init__(
        self, data: bytes = TEXT, ranges: bool = True, stop_after: int = 0, status: int = 200
    ) -> None:
        self.data, self.ranges, self.stop_after, self.status = data, ranges, stop_after, status
        self.asked: list[str | None] = []


Serve = Callable[[Served], str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serve over HTTP on this machine; returns a URL."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    servers = []

    def start(served: Served) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers["Range"]
                served.asked.append(wanted)
                first = int(wanted[6:].split("-")[0]) if wanted and served.ranges else 0
                body = served.data[first:]
                self.send_response(206 if wanted and served.ranges else served.status)
                if wanted and served.ranges:
                    last = len(served.data) - 1
                    self.send_header("Content-Range", f"bytes {first}-{last}/{last + 1}")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: served.stop_after or None])  # then the line goes dead

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


def test_the_mirror_is_searched_before_the_cache(cache: Path, folder: Path) -> None:
    put(cache)
    there = put(folder)
    assert Store(folder).get(pinned(CLOSED)) == there


def test_the_cache_is_searched_before_the_network(cache: Path, folder: Path, serve: Serve) -> None:
    served = Served()
    there = put(cache)
    assert Store(folder).get(pinned(serve(served))) == there
    assert served.asked == []


def test_the_network_is_asked_last_and_fills_the_cache(
    cache: Path, folder: Path, serve: Serve
) -> None:
    served = Served()
    file = pinned(serve(served))
    assert Store(folder).read(file) == TEXT
    assert (cache / PATH).read_bytes() == TEXT
    assert Store(folder).read(file) == TEXT
    assert served.asked == [None]


def test_nothing_of_a_download_stays_on_a_full_disk(
    cache: Path, folder: Path, serve: Serve
) -> None:
    file = pinned(serve(Served()))
    with files_of_at_most(len(TEXT) // 2), pytest.raises(OSError, match="File too large"):
        Store(folder).get(file)
    assert [path.name for path in (cache / PATH).parent.iterdir()] == []
    assert Store(folder).read(file) == TEXT


def test_the_environment_names_a_mirror_where_no_option_does(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RULER_MIRROR", str(tmp_path))
    there = put(folder)
    assert Store(None).mirror == tmp_path
    assert Store(folder).get(pinned()) == there


def test_a_mirror_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RulerError, match="is not a folder: correct --mirror or RULER_MIRROR"):
        Store(tmp_path / "nowhere")


def test_the_cache_is_the_users_unless_the_environment_names_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RULER_CACHE")
    assert cache_dir().name == "ruler-release"
    assert cache_dir().is_relative_to(tmp_path)


# ---- Every byte is checked ---------------------------------------------------------------------


@pytest.mark.parametrize("where", ["mirror", "cache"])
def test_a_changed_byte_is_refused_and_the_file_is_left_alone(
    where: str, cache: Path, folder: Path, serve: Serve
) -> None:
    changed = TEXT[:7] + b"X" + TEXT[8:]
    found = hashlib.sha256(changed).hexdigest()
    there = put(folder if where == "mirror" else cache, changed)
    served = Served()
    with pytest.raises(RulerError) as refusal:
        Store(folder).read(pinned(serve(served)))
    for message in (str(there), f"expected sha256 {DIGEST}", f"found {found}", "not deleted"):
        assert message in str(refusal.value)
    assert there.read_bytes() == changed
    assert served.asked == []


def test_every_pinned_tokenizer_file_is_what_the_mirror_holds(store: Store, mirror: Path) -> None:
    files = [file for name in named() for file in pinned_files(name)]
    assert len(files) == 10
    for file in files:
        assert store.get(file) == mirror / file.path
        assert len(store.read(file)) == file.bytes


# ---- The network -------------------------------------------------------------------------------


def test_no_network_and_no_mirror_is_one_sentence_with_the_remedy(cache: Path) -> None:
    with pytest.raises(RulerError) as refusal:
        Store(None).read(pinned(CLOSED))
    message = str(refusal.value)
    for part in (PATH, str(len(TEXT)), DIGEST, CLOSED, "--mirror DIR", "RULER_MIRROR"):
        assert part in message
    assert message.count(". ") == 0
    assert "\n" not in message
    assert not (cache / PATH).exists()


def test_a_second_url_is_tried_where_the_first_does_not_answer(cache: Path, serve: Serve) -> None:
    assert download(pinned(CLOSED, serve(Served()))).read_bytes() == TEXT


def test_a_download_resumes_where_it_stopped(cache: Path, serve: Serve) -> None:
    served = Served(stop_after=700_000)
    file = pinned(serve(served))
    with pytest.raises(RulerError):
        download(file)
    part = cache / (PATH + ".part")
    have = part.stat().st_size
    assert 0 < have <= 700_000
    assert not (cache / PATH).exists()
    served.stop_after = 0
    assert download(file).read_bytes() == TEXT
    assert served.asked == [None, f"bytes={have}-"]
    assert [path.name for path in (cache / PATH).parent.iterdir()] == [Path(PATH).name]


def test_a_download_starts_anew_where_the_server_ignores_ranges(cache: Path, serve: Serve) -> None:
    put(cache, TEXT[:500_000], PATH + ".part")
    served = Served(ranges=False)
    assert download(pinned(serve(served))).read_bytes() == TEXT
    assert served.asked == ["bytes=500000-"]


def test_a_whole_part_is_used_without_a_request(cache: Path, serve: Serve) -> None:
    put(cache, TEXT, PATH + ".part")
    served = Served()
    assert download(pinned(serve(served))).read_bytes() == TEXT
    assert served.asked == []


def test_a_file_has_no_final_name_before_it_is_whole(cache: Path, serve: Serve) -> None:
    seen: list[tuple[int, bool]] = []

    def progress(done: int) -> None:
        seen.append((done, (cache / PATH).exists()))

    download(pinned(serve(Served())), progress)
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == (len(TEXT), False)
    assert not any(there for _, there in seen)


def test_progress_counts_what_was_there_already(cache: Path, serve: Serve) -> None:
    put(cache, TEXT[:500_000], PATH + ".part")
    seen: list[int] = []
    download(pinned(serve(Served())), seen.append)
    assert seen[0] > 500_000
    assert seen[-1] == len(TEXT)


@pytest.mark.parametrize("wrong", [TEXT[:-1] + b"X", TEXT + b"more", b"<html>Moved</html>"])
def test_a_wrong_download_is_kept_aside_and_not_used(
    wrong: bytes, cache: Path, serve: Serve
) -> None:
    with pytest.raises(RulerError) as refusal:
        download(pinned(serve(Served(wrong))))
    aside = cache / (PATH + ".wrong")
    assert aside.read_bytes()[:18] == wrong[:18]
    found = hashlib.sha256(aside.read_bytes()).hexdigest()
    assert f"sha256 {found}, not {DIGEST}; kept as '{aside}'" in str(refusal.value)
    assert not (cache / PATH).exists()
    assert not (cache / (PATH + ".part")).exists()


def test_a_damaged_part_does_not_spoil_the_next_download(cache: Path, serve: Serve) -> None:
    put(cache, b"X" * 500_000, PATH + ".part")
    file = pinned(serve(Served()))
    with pytest.raises(RulerError, match="kept as"):
        download(file)
    assert download(file).read_bytes() == TEXT


def test_a_missing_page_leaves_nothing_behind(cache: Path, serve: Serve) -> None:
    with pytest.raises(RulerError, match="HTTPError"):
        download(pinned(serve(Served(status=404))))
    assert list((cache / PATH).parent.iterdir()) == []


def test_two_processes_that_want_one_file_download_it_once(tmp_path: Path) -> None:
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
            "from ruler_builder.text.download import Pinned, Store\n"
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
