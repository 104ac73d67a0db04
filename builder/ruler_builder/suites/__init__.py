"""The project's suites: a TOML file for each, such as ruler.toml."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def suite_names() -> list[str]:
    """Return the names of the project's suites; quick, since `ruler build --help` lists them."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))
