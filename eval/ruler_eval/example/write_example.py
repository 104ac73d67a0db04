"""Write a real model's answers into a folder (`ruler example`).

    write_example(Path("ruler-example"))      # writes the folders run, first-line and references

`first-line` has the same answers, truncated after their first line, like those of a server with a
stop string. It is a second run on the same rows, to try commands that compare two runs.
"""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import check_folder, write_whole
from ruler_eval.run.records import ANSWERS

FIRST_LINE = "first-line"


def write_example(folder: Path) -> None:
    """Write the run, its variant and the references. Raises RulerError if the folder exists."""
    check_folder(folder)
    if folder.exists() and any(folder.iterdir()):
        raise RulerError(f"'{folder}' exists already: name another folder.")
    with as_file(files(__package__)) as packaged:
        for name in ("run", "references"):
            shutil.copytree(packaged / name, folder / name)
        shutil.copy(packaged / "README.md", folder)
    run, variant = folder / "run", folder / FIRST_LINE
    shutil.copytree(run, variant)
    lines = (run / ANSWERS).read_text(encoding="utf-8").splitlines()
    write_whole(variant / ANSWERS, "".join(_first_line(line) for line in lines))
    settings = json.loads((run / "run.json").read_text(encoding="utf-8"))
    settings["model"] = f"{settings['model']}, first line"
    write_whole(variant / "run.json", json.dumps(settings, ensure_ascii=False, indent=2) + "\n")


def _first_line(line: str) -> str:
    """Return a record whose answer ends after its first line that is not blank."""
    record = json.loads(line)
    text = record["prediction"]
    start = len(text) - len(text.lstrip())
    first, line_end, _ = text[start:].partition("\n")
    if line_end:
        record |= {"prediction": text[:start] + first, "finish_reason": "stop"}
    return json.dumps(record, ensure_ascii=False) + "\n"
