"""A client of the stand-in: one process that runs `ruler` commands, as separate calls would.

Started as a script it reads a command a line (JSON) and answers with its exit code and output. A
user's Python program is run there, too: to import `datasets` takes longer than to load a file.
huggingface_hub reads its environment when it is imported, so this process has HF_ENDPOINT set.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(url: str, home: Path, **more: str | None) -> dict[str, str]:
    """What a user of the stand-in has set; None takes a variable away."""
    given: dict[str, str | None] = {
        **os.environ,
        "HF_ENDPOINT": url,
        "HF_TOKEN": "hf_owner",
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "HF_HUB_OFFLINE": None,
        **more,
    }
    return {name: value for name, value in given.items() if value is not None}


class Client:
    """Runs commands in a process that stays."""

    def __init__(self, url: str, home: Path, **env: str | None) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            env=environment(url, home, **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ruler(self, *arguments: str | Path, code: int = 0, **env: str | None) -> str:
        """Run a command that must end with `code`; what it said, in one line of words."""
        done = self.run(*arguments, **env)
        assert done.code == code, done.out + done.err
        assert "Traceback" not in done.err
        return " ".join((done.out + done.err).split())

    def run(self, *arguments: str | Path, **env: str | None) -> Done:
        """Run a command with other environment variables for its time."""
        assert self.process.stdin
        assert self.process.stdout
        order = {"arguments": [str(argument) for argument in arguments], "env": env}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return Done(**json.loads(self.process.stdout.readline()))

    def python(self, program: str) -> Any:
        """Run a program that must end well; what it printed last, as JSON."""
        done = self.run("-c", program)
        assert done.code == 0, done.err
        return json.loads(done.out.splitlines()[-1])

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def _serve() -> None:
    import ruler_release.app

    answers = sys.stdout
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        before = dict(os.environ)
        for name, value in order["env"].items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        sys.argv, code = ["ruler", *order["arguments"]], 0
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                match order["arguments"]:
                    case ["-c", program]:
                        exec(program, {"__name__": "__main__"})
                    case _:
                        ruler_release.app.main()
            except SystemExit as end:
                code = int(end.code or 0)
            except Exception as error:  # what a user would see as a traceback
                code = 1
                print(f"Traceback: {error!r}", file=sys.stderr)
        os.environ.clear()
        os.environ.update(before)
        answers.write(
            json.dumps({"code": code, "out": out.getvalue(), "err": err.getvalue()}) + "\n"
        )
        answers.flush()


if __name__ == "__main__":
    _serve()
