"""Pinned files: find one in the mirror, the cache or on the network, and check every byte.

    store = Store(mirror=Path("mirror"))
    data = store.read(Pinned("squad/dev-v2.0.json", sha256="80a5…", bytes=4370528, urls=(…,)))

Downloads go through pooch, resume where they stopped and appear under their name only when whole.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_dataset import RulerError, sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Pinned:
    """One file, known by its digest: path in a mirror or the cache, bytes, where to get it."""

    path: str
    sha256: str
    bytes: int
    urls: tuple[str, ...] = ()


def cache_dir() -> Path:
    """The user's cache: $RULER_CACHE, or the platform's cache folder."""
    import pooch

    return Path(os.environ.get("RULER_CACHE") or pooch.os_cache("ruler-release"))


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
        folders = [self.mirror] if self.mirror else []
        for folder in [*folders, cache_dir()]:
            if (path := folder / file.path).is_file():
                return path
        return None

    def get(self, file: Pinned, progress: Callable[[int], Any] | None = None) -> Path:
        """The path of the checked file, downloaded if need be. Raises RulerError."""
        path = self.local(file)
        if path is None:
            return download(file, progress)
        if (found := sha256_of(path)) != file.sha256:
            raise RulerError(
                f"'{path}' has the wrong digest: expected sha256 {file.sha256}, found {found}; "
                "it is not used and not deleted: move it away or replace it."
            )
        return path

    def read(self, file: Pinned) -> bytes:
        """The bytes of the checked file. Raises RulerError."""
        data = self.get(file).read_bytes()
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise RulerError(f"'{file.path}' changed while it was read: run the command again.")
        return data


def download(file: Pinned, progress: Callable[[int], Any] | None = None) -> Path:
    """Download a file into the cache, resuming a part that is there. Raises RulerError.

    Processes that want the same file wait for the first of them.
    """
    from filelock import FileLock

    target = cache_dir() / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    locks = cache_dir() / ".locks"
    locks.mkdir(exist_ok=True)
    with FileLock(locks / file.sha256):
        if target.is_file() and sha256_of(target) == file.sha256:
            return target
        return _download(file, target, progress)


def _download(file: Pinned, target: Path, progress: Callable[[int], Any] | None) -> Path:
    import pooch
    import requests

    part = target.with_name(target.name + ".part")
    reasons = []
    for url in file.urls:
        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}",
                fname=target.name,
                path=target.parent,
                downloader=_Resumable(part, file.bytes, progress),
            )
            part.unlink(missing_ok=True)
            return target
        except requests.RequestException as error:
            reasons.append(f"{url}: {type(error).__name__}")
        except ValueError:  # pooch: the digest differs
            wrong, found = target.with_name(target.name + ".wrong"), sha256_of(part)
            os.replace(part, wrong)
            reasons.append(f"{url}: sha256 {found}, not {file.sha256}; kept as '{wrong}'")
    where = " or ".join(file.urls) or "the network"
    why = f" [{'; '.join(reasons)}]" if reasons else ""
    raise RulerError(
        f"Cannot get '{file.path}' ({file.bytes} bytes, sha256 {file.sha256}) from {where}{why}: "
        "put it into a folder at that path and name the folder with --mirror DIR or RULER_MIRROR."
    )


class _Resumable:
    """A pooch downloader that continues a partial file with an HTTP Range request."""

    def __init__(self, part: Path, size: int, progress: Callable[[int], Any] | None) -> None:
        self.part, self.size, self.progress = part, size, progress

    def __call__(self, url: str, output_file: Any, _pooch: Any) -> None:
        import shutil

        import requests

        have = self.part.stat().st_size if self.part.exists() else 0
        if have < self.size:
            headers = {"Range": f"bytes={have}-"} if have else {}
            with requests.get(url, headers=headers, stream=True, timeout=30) as response:
                response.raise_for_status()
                resumed = response.status_code == requests.codes.partial_content
                done = have if resumed else 0
                with self.part.open("ab" if resumed else "wb") as out:
                    for chunk in response.iter_content(1 << 18):
                        out.write(chunk)
                        done += len(chunk)
                        if self.progress:
                            self.progress(done)
                        if done > self.size:  # not the pinned file: its digest will say so
                            break
        shutil.copyfile(self.part, output_file)
