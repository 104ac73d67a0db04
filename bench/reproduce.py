"""Show that rows are the same under other versions of Python and NumPy, hash seeds and locales.

    export RULER_MIRROR=MIRROR
    python -m bench.reproduce                                       # with this Python
    python -m bench.reproduce ENV-1/bin/python ENV-2/bin/python     # and with others

Every task of both data sets is made at a small length, ONERULER's in all 26 languages, and cwe also
above 128k (extra `long`). Each Python runs twice: PYTHONHASHSEED 0 with a UTF-8 locale, and 1 with
the locale C. The first difference is shown, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from ruler_builder.parse_options import language_pairs
from ruler_builder.pinned import Store
from ruler_builder.release.folder import digest_row
from ruler_builder.tasks.base import TaskKey
from ruler_builder.tasks.registry import read_suite
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.sources import Sources
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.names import TASKS
from ruler_common.text import end_if_unread

ROOT = Path(__file__).parent.parent
LENGTHS = {"ruler": 4096, "oneruler": 8000}
LONG = 140_000  # tokens; wonderwords' words do not suffice
ROWS = 2  # of each task
SETTINGS = (
    {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C"},
)


def keys() -> Iterator[TaskKey]:
    """Yield each task of both data sets at its length, and the list of words above 128k."""
    for dataset, length in LENGTHS.items():
        for language, instruction in language_pairs(dataset):
            for task in TASKS[dataset]:
                if language == instruction or task == "niah_single":
                    yield TaskKey(
                        dataset=dataset,
                        task=task,
                        max_length=length,
                        reserve=128,
                        language=language,
                        instruction_language=instruction,
                    )
    yield TaskKey(dataset="ruler", task="cwe", max_length=LONG, reserve=128)


def digests() -> dict[str, str]:
    """Return the digest of the first rows of each task."""
    store = Store()
    counted_sources = CountedSources(Sources(store), load_counter("tekken", store))
    result = {}
    for key in sorted(keys(), key=lambda key: key.language):  # one book is kept at a time
        task, digest = read_suite(key.dataset).task(key, counted_sources), sha256()
        for index in range(ROWS):
            digest_row(digest, task.row(index).columns)
        pair = f"{key.language}-{key.instruction_language}"
        result[f"{key.dataset} {key.task} {key.max_length} {pair}"] = digest.hexdigest()
    return dict(sorted(result.items()))


def environment() -> str:
    """Return what rows might depend on here."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "tiktoken", "scipy"))
    return (
        f"Python {platform.python_version()}, Unicode {unicodedata.unidata_version}, {libraries}, "
        f"PYTHONHASHSEED {os.environ.get('PYTHONHASHSEED')}, LC_ALL {os.environ.get('LC_ALL')}"
    )


def main() -> None:
    """Compare the digests of all environments, or print those of this one as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", help="Other Pythons with this package and `long`.")
    parser.add_argument("--json", action="store_true", help="Print the digests of this process.")
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps({"environment": environment(), "digests": digests()}))
        return
    first: dict[str, str] = {}
    for python in [sys.executable, *arguments.pythons]:
        for setting in SETTINGS:
            done = subprocess.run(
                [python, "-m", "bench.reproduce", "--json"],
                env={**os.environ, **setting, "PYTHONPATH": f"{ROOT}:{ROOT}/builder:{ROOT}/eval"},
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            result = json.loads(done.stdout)
            first = first or result["digests"]
            whole = sha256(json.dumps(result["digests"]).encode()).hexdigest()
            print(f"{whole[:16]} of {len(result['digests'])} tasks: {result['environment']}")
            if result["digests"] != first:
                changed = [n for n in first if result["digests"].get(n) != first[n]]
                sys.exit(f"{len(changed)} tasks have other rows, first {changed[:1]}.")


if __name__ == "__main__":
    end_if_unread(main)
