"""The errors that a user sees, each as one sentence.

    raise missing_packages("ray", "--pool ray")
    # RulerError: --pool ray needs packages that are not installed (extra `ray`):
    #   pip install 'ray>=2.40'

The project is on no package index, so `pip install ruler-release[ray]` finds nothing. The packages
that an extra stands for are in the metadata of every installation.
"""

from __future__ import annotations

import re
import shlex

DISTRIBUTION = "ruler-release"
"""What pip calls this project."""


class RulerError(ValueError):
    """A mistake that the user can correct: one sentence with the remedy; `ruler` exits with 2."""


class Unreachable(RulerError):
    """The Hub could not be asked: no network, or HF_HUB_OFFLINE is set."""


class MissingPackages(RulerError):
    """The packages of an extra are not installed."""


def system_error_sentence(error: OSError) -> str:
    """Return one sentence, with a remedy if there is one, for an error of a file or folder."""
    if error.filename is None:
        return f"{error.strerror or error}. Finished work is kept."
    path = f"'{error.filename2 or error.filename}'"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder: name a file."
    if isinstance(error, NotADirectoryError):
        return f"A part of the path {path} is a file, not a folder: correct the path."
    if isinstance(error, FileNotFoundError):
        return f"There is no file or folder {path}: correct the path."
    if isinstance(error, FileExistsError):
        return f"{path} exists already and is not a folder: choose another path."
    if isinstance(error, PermissionError):
        return f"No permission for {path}: change its permissions, or choose another path."
    return f"{error.strerror}: {path}. Finished work is kept."


def missing_packages(extra: str, what: str) -> MissingPackages:
    """Return the error of something that needs the packages of an extra, with what to run."""
    return MissingPackages(
        f"{what} needs packages that are not installed (extra `{extra}`): {install_command(extra)}"
    )


def install_command(extra: str) -> str:
    """Return `pip install` with the packages of an extra: `pip install 'ray>=2.40'`."""
    return f"pip install {shlex.join(packages_of(extra))}"


def packages_of(extra: str) -> list[str]:
    """Return the requirements that an extra adds, those of the extras that it names among them."""
    from importlib import metadata  # slow to import

    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        requirements = []
    packages = []
    for requirement in requirements:
        package, _, marker = requirement.partition(";")
        if f"extra == '{extra}'" not in marker.replace('"', "'"):
            continue
        nested = re.match(rf"{DISTRIBUTION}\[(.+)\]", package.strip())
        if nested:
            for name in nested[1].split(","):
                packages += packages_of(name.strip())
        else:
            packages.append(re.sub(r"\s", "", package))
    return packages or [f"{DISTRIBUTION}[{extra}]"]
