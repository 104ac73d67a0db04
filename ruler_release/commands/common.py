"""What several commands do with their options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import check_writable, write_whole
from ruler_common.options import Place


def check_file(path: Place | None, name: str, flag: str = "--out") -> None:
    """Refuse a file that cannot be written, before any work. `name` is an example of a name."""
    if path is None:
        return
    path = Path(path)
    if path.is_dir():
        raise RulerError(f"'{path}' is a folder: name a file with {flag}, such as {path / name}.")
    check_writable(path)


def write_json(path: Path | None, value: Mapping[str, Any]) -> None:
    """Write what a command value to its file, if it has one."""
    if path is not None:
        write_whole(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
