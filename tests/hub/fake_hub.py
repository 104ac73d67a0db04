"""Serve a fake Hub on this machine, for huggingface_hub, datasets and evaluate.

    hub = FakeHub()            # HF_ENDPOINT=hub.url HF_TOKEN=hf_owner HF_HUB_DISABLE_XET=1
    hub.repos["datasets/org/ruler"].tags
    hub.fail("POST", "/commit/", 429, headers={"Retry-After": "0"})
    hub.hold_after = 3                      # the fourth large file never finishes uploading
    hub.intruder = "datasets/org/ruler"     # someone else commits just before the next commit

Like the Hub, it requires tokens, divides listings into pages, and redirects large files to another
address. It records requests and uploads.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.hub_reading import Reading
from tests.hub.hub_store import Answer, Dropped, Refusal, Repo
from tests.hub.hub_writing import Writing

USERS = {
    "hf_owner": {"name": "alice", "orgs": ["org"], "write": True},
    "hf_reader": {"name": "bob", "orgs": ["org"], "write": False},
    "hf_guest": {"name": "carol", "orgs": [], "write": True},
}
_API = r"/api/(?P<kind>datasets|spaces|models)/(?P<name>[^/]+/[^/]+)"
_FILE = r"/(?P<kind>datasets|spaces)/(?P<name>[^/]+/[^/]+)"
_DAILY = "/api/agent-harnesses"  # huggingface_hub requests it once a day
_MODEL = r"/(?P<name>[^/]+/[^/]+)"  # a model's address has no kind


@dataclass
class Failure:
    """An error to answer with."""

    method: str
    pattern: str
    status: int
    message: str
    headers: dict[str, str]
    times: int


@dataclass
class FakeHub:
    """The server, and the requests and uploads so far."""

    repos: dict[str, Repo] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    hold_after: int | None = None
    drop_next: int = 0
    intruder: str | None = None
    results_error: str | None = None  # what the Hub finds wrong with files of .eval_results
    holding: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        handler = type("Handler", (_Handler,), {"hub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        port = self.server.server_address[1]
        self.url, self.large_url = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def fail(
        self,
        method: str,
        pattern: str,
        status: int,
        message: str = "on purpose",
        headers: dict[str, str] | None = None,
        times: int = 1,
    ) -> None:
        """Answer the next matching requests with an error."""
        self.failures.append(Failure(method, pattern, status, message, headers or {}, times))

    def dataset(self, name: str) -> Repo:
        return self.repos[f"datasets/{name}"]

    def sent_since(self, mark: int) -> list[str]:
        """Return the requests after the first `mark` that upload, commit, tag or create."""
        changing = re.compile(r"PUT|POST .*/(commit|tag)/|POST /api/repos/create")
        return [line for line in self.requests[mark:] if changing.match(line)]


class _Handler(Reading, Writing, BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_GET

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        self.address, self.query = unquote(parts.path), parse_qs(parts.query)
        self.raw = parts.path
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            self.body = self._chunks()
        if self.address != _DAILY:
            self.hub.requests.append(f"{self.command} {self.path}")
        try:
            status, body, headers = self._failure() or self._route()
        except Refusal as refusal:
            status, body = refusal.status, {"error": refusal.message}
            headers = {"X-Error-Message": refusal.message}
            headers |= {"X-Error-Code": refusal.code} if refusal.code else {}
        except Dropped:
            self.close_connection = True
            self.connection.close()
            return
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _chunks(self) -> bytes:
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _failure(self) -> Answer | None:
        with self.hub.lock:
            for failure in self.hub.failures:
                is_path = re.search(failure.pattern, self.address)
                if failure.times and failure.method == self.command and is_path:
                    failure.times -= 1
                    return failure.status, {"error": failure.message}, failure.headers
        return None

    def _route(self) -> Answer:
        routes: list[tuple[str, str, Callable[..., Answer]]] = [
            ("POST", "/api/repos/create", self.create),
            ("POST", "/api/validate-yaml", self.validate),
            ("PUT", "/large/(?P<upload>.+)", self.put),
            ("GET HEAD", "/large/(?P<fetch>.+)", self.large),
            ("POST", _FILE + r"\.git/info/lfs/objects/batch", self.batch),
            ("POST", _API + "/preupload/(?P<revision>[^/]+)", self.preupload),
            ("POST", _API + "/commit/(?P<revision>[^/]+)", self.commit),
            ("POST", _API + "/tag/(?P<revision>[^/]+)", self.tag),
            ("GET", _API + "/refs", self.refs),
            ("POST", _API + "/paths-info/(?P<revision>[^/]+)", self.paths_info),
            ("GET", _API + "/tree/(?P<revision>[^/]+)(?:/(?P<path>.+))?", self.tree),
            ("GET", _API + "(?:/revision/(?P<revision>[^/]+))?", self.info),
            ("GET HEAD", _FILE + "/resolve/(?P<revision>[^/]+)/(?P<path>.+)", self.resolve),
            ("GET HEAD", _MODEL + "/resolve/(?P<revision>[^/]+)/(?P<path>.+)", self.model_file),
        ]
        for methods, pattern, handle in routes:
            match = re.fullmatch(pattern, self.raw)  # before unquoting: refs%2Fpr%2F1 is one part
            if self.command in methods.split() and match:
                return handle(**{name: unquote(v) for name, v in match.groupdict().items() if v})
        raise Refusal(404, f"the fake Hub has no {self.command} {self.address}")

    def model_file(self, **asked: str) -> Answer:
        return self.resolve("models", **asked)

    # ---- users ----

    def user(self, writes: bool = False) -> dict[str, Any] | None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token and token not in USERS:
            raise Refusal(401, "Invalid credentials in Authorization header")
        user = USERS.get(token)
        if writes and user is None:
            raise Refusal(401, "Invalid username or password.")
        return user

    def repo(self, kind: str, name: str, writes: bool = False) -> Repo:
        user, repo = self.user(writes), self.hub.repos.get(f"{kind}/{name}")
        owner = name.split("/")[0]
        is_member = user is not None and owner in (user["name"], *user["orgs"])
        if repo is None or (repo.private and not is_member):
            raise Refusal(404 if user else 401, "Repository not found", "RepoNotFound")
        if writes and not (is_member and user and user["write"]):
            raise Refusal(403, f"You don't have the rights to write to {name}")
        return repo
