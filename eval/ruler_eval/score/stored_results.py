"""Write and read results.json; its form is in ruler_eval/score/results_file.py.

write(results, Path("runs/qwen/results.json"))
load(Path("runs/qwen"))["configurations"]["vt_4k"]["score"]
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import cast

from ruler_common.errors import RulerError
from ruler_common.files import read_bytes, write_whole
from ruler_common.parsing import parse_json
from ruler_eval.score.results_file import FORMAT, Results


def write(results: Results, path: Path) -> None:
    """Write results.json, whole or not at all."""
    text = json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False, default=asdict)
    write_whole(path, text + "\n")


def load(path: Path) -> Results:
    """Read a results.json, or the one in a RUN folder.

    Raises RulerError if there is none, if it is another file, or of another format.
    """
    path = path / "results.json" if path.is_dir() else path
    if not path.exists():
        if path.name == "results.json":
            raise RulerError(
                f"There is no '{path}'. Make it: ruler score {path.parent} --out {path}"
            )
        raise RulerError(f"There is no '{path}': name a scored RUN folder or a results.json.")
    remedy = "Write it again with `ruler score`."
    what = "not a results.json of `ruler score`"
    found = cast(Results, parse_json(read_bytes(path), Results, path, remedy, FORMAT, what))
    if found["format"] != FORMAT:
        raise RulerError(f"'{path}' has the older format {found['format']}. {remedy}")
    return found
