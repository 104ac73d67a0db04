"""Read a TOML file on every supported Python (tomllib is new in 3.11)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_dataset import RulerError

if sys.version_info >= (3, 11) or TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import tomllib
else:
    import tomli as tomllib


def read_toml(path: Path | Traversable) -> dict[str, Any]:
    """The contents of a TOML file; RulerError where it is missing or malformed."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RulerError(f"Cannot read '{path}': {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise RulerError(f"'{path}' is not valid TOML: {error}.") from error
