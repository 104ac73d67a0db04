"""What `ruler example` writes: a real model's answers in a folder.

    write_example(Path("ruler-example"))      # its folders run, first-line and references

`first-line` holds the same answers, each ended at its first line, as a server with a stop string
would have done: a second run on the same rows, for what compares two.
"""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import write_whole

FIRST_LINE = "first-line"


def write_example(folder: Path) -> None:
    """Write the run, its variant and the references. Raises RulerError for a folder in use."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RulerError(f"'{folder}' is there already: name another folder.")
    with as_file(files(__package__)) as packaged:
        for name in ("run", "references"):
            shutil.copytree(packaged / name, folder / name)
        shutil.copy(packaged / "README.md", folder)
    run, variant = folder / "run", folder / FIRST_LINE
    variant.mkdir()
    for path in sorted(run.glob("*.jsonl")):
        lines = map(_first_line, path.read_text(encoding="utf-8").splitlines())
        write_whole(variant / path.name, "".join(lines))
    settings = json.loads((run / "run.json").read_text(encoding="utf-8"))
    settings["model"] = f"{settings['model']}, first line"
    write_whole(variant / "run.json", json.dumps(settings, ensure_ascii=False, indent=2) + "\n")


def _first_line(line: str) -> str:
    """Return a record whose answer ends at the first line end after some other text."""
    record = json.loads(line)
    text = record["prediction"]
    start = len(text) - len(text.lstrip())
    first, ended, _ = text[start:].partition("\n")
    if ended:
        record |= {"prediction": text[:start] + first, "finish_reason": "stop"}
    return json.dumps(record, ensure_ascii=False) + "\n"
