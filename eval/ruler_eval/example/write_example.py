"""Write a real model's answers into a folder (`ruler example`).

    write_example(Path("ruler-example"))  # kv-f16, kv-q4_0, references, doctor

The two runs are of one model on the same rows and the same engine: with its KV cache in 16 bits,
and with the keys of the cache quantised to 4 bits. `ruler doctor --against` compared them too.
"""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import check_folder

RUNS = ("kv-f16", "kv-q4_0")
REFERENCES, EXAMINATION = "references", "doctor"


def write_example(folder: Path) -> None:
    """Write the runs, their references, and the examination of their servers.

    Raises RulerError if the folder exists.
    """
    check_folder(folder)
    if folder.exists() and any(folder.iterdir()):
        raise RulerError(f"'{folder}' exists already: name another folder.")
    with as_file(files(__package__)) as packaged:
        for name in (*RUNS, REFERENCES, EXAMINATION):
            shutil.copytree(packaged / name, folder / name)
        shutil.copy(packaged / "README.md", folder)
