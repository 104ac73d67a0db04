"""A small build loads only what it needs, because loading takes longer than its rows."""

from __future__ import annotations

import subprocess
import sys

SLOW = ["datasets", "pandas", "pydantic", "requests", "scipy", "transformers"]
PROGRAM = """
import sys
from ruler_release.app import app
command = ["build", sys.argv[1], "--lengths", "4k", "--rows", "2", "--sources", "embedded"]
app.main([*command, "--tasks", "all"], standalone_mode=False)
print("imported:", [name for name in sys.argv[2:] if name in sys.modules])
"""


def test_a_build_imports_no_slow_package_that_it_does_not_use(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "ruler"), *SLOW]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported: []"
