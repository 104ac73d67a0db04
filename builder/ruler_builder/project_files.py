"""Find the project's files that are not code: card templates, CHANGELOG.md and CITATION.cff.

    project_file("CITATION.cff")
    project_file("dataset_cards")           # a folder

In a checkout they lie at its top; a wheel installs them under share/ruler-release.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from ruler_common.errors import RulerError

DISTRIBUTION = "ruler-release"
_SHARE = f"share/{DISTRIBUTION}"
# In a checkout its builder/, else what holds the installed packages.
_ROOT = Path(__file__).resolve().parents[1]


def project_file(name: str) -> Path:
    """Return the path of a file or folder, named as in a checkout.

    RulerError if it is not installed.
    """
    if (_ROOT.parent / "pyproject.toml").is_file() and _ROOT.name == "builder":
        return _ROOT.parent / name
    for share in _shares():
        if (share / name).exists():
            return share / name
    raise RulerError(
        f"The installed {DISTRIBUTION} has no {name}: install it again, as you installed it, with "
        "`pip install --force-reinstall`."
    )


def _shares() -> list[Path]:
    """Where an installer may have put the folder: as it recorded, or beside the packages."""
    try:
        recorded = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        recorded = []
    changelogs = (path for path in recorded if path.as_posix().endswith(f"{_SHARE}/CHANGELOG.md"))
    folders = [Path(str(path.locate())).parent for path in changelogs]
    return [*folders, _ROOT / _SHARE]  # `pip install --target` moves the folder and records no move
