"""Run `ruler` commands and Python programs of a user of the fake Hub, in one process.

This file is also the process: it reads a command from each line (JSON), and answers with its exit
code and output. One process is faster than one for each command, because importing `datasets` takes
long; it is a separate one, because huggingface_hub reads HF_ENDPOINT when it is imported.
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
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


def environment(url: str, home: Path, **changes: str | None) -> dict[str, str]:
    """Return the environment of a user of the fake Hub; None removes a variable."""
    variables: dict[str, str | None] = {
        **os.environ,
        "HF_ENDPOINT": url,
        "HF_TOKEN": "hf_owner",
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "HF_HUB_OFFLINE": None,
        **changes,
    }
    return {name: value for name, value in variables.items() if value is not None}


class Client:
    """A process that runs commands until it is closed."""

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
        """Run a command that must end with `code`, and return its output in one line."""
        done = self.run(*arguments, **env)
        assert done.code == code, done.out + done.err
        assert "Traceback" not in done.err
        return " ".join((done.out + done.err).split())

    def run(self, *arguments: str | Path, **env: str | None) -> Done:
        """Run a command with these environment variables."""
        assert self.process.stdin
        assert self.process.stdout
        request = {"arguments": [str(argument) for argument in arguments], "env": env}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return Done(**json.loads(self.process.stdout.readline()))

    def python(self, program: str) -> Any:
        """Run a program that must succeed, and return its last line of output, read as JSON."""
        done = self.run("-c", program)
        assert done.code == 0, done.err
        return json.loads(done.out.splitlines()[-1])

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def _serve() -> None:
    import ruler_release.app

    replies = sys.stdout
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        old_environment = dict(os.environ)
        for name, value in request["env"].items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        sys.argv, code = ["ruler", *request["arguments"]], 0
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                match request["arguments"]:
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
        os.environ.update(old_environment)
        replies.write(
            json.dumps({"code": code, "out": out.getvalue(), "err": err.getvalue()}) + "\n"
        )
        replies.flush()


if __name__ == "__main__":
    _serve()
