"""What an engine writes while it starts and runs, kept in a file, and the cause of its end in it.

    log = EngineLog("vLLM")
    with log.taken():                    # what this process and its children write from here on
        llm = vllm.LLM(…)
    root_cause(log.text())               # "ValueError: Available memory on node 0 is less …"

An engine of several processes ends with "See root cause above" and a hundred lines of tracebacks;
the cause is the first error in them.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ruler_eval.run.backends.secrets import hide_keys

MOST = 500
"""Characters of a cause."""
_LINE_START = re.compile(
    r"^(?:\x1b\[[\d;]*m)*(?:\([^()]*pid=\d+\)\s*)?(?:\x1b\[[\d;]*m)*"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d [\d:]+ \[[^\]]*\] ?)?"
)
_ERROR = re.compile(r"^(?:[a-z_]\w*\.)*(?P<name>[A-Z]\w*(?:Error|Exception))(?:: (?P<text>.*))?$")
_NEXT = re.compile(r"Traceback |During handling |The above exception |Process \S+:$")
_HOLLOW = re.compile(
    r"initialization failed|[Ss]ee (?:the )?root cause|Engine ?Core encountered|EngineDeadError"
    r"|died unexpectedly"
)
"""Errors that only report that there was an error in another process."""


class EngineLog:
    """The file that takes an engine's output; it is left where an engine ends with an error."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        handle, name = tempfile.mkstemp(prefix=f"ruler-{engine.lower()}-", suffix=".log")
        os.close(handle)
        self.path = Path(name)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Send stdout and stderr of this process, and of those it starts, to the file.

        A terminal shows that the engine is starting. With `ruler --debug` nothing is redirected.
        """
        if logging.getLogger("ruler_eval").isEnabledFor(logging.DEBUG):
            yield
            return
        _flush()
        saved = os.dup(1), os.dup(2)
        try:
            with self.path.open("ab") as file, _spinner(f"Starting {self.engine}", saved[1]):
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
                yield
        finally:
            _flush()
            for number, descriptor in enumerate(saved, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)

    def text(self) -> str:
        """All that was written."""
        return self.path.read_text(encoding="utf-8", errors="replace")

    def reason(self, error: BaseException) -> str:
        """Why the engine ended: the error's own text, or the root cause in the log; one line."""
        own = hide_keys(" ".join(str(error).split()), MOST)
        if own and not _HOLLOW.search(own):
            return own.rstrip(".")
        log = hide_keys(self.text())
        self.path.write_text(log, encoding="utf-8")  # it stays, and may be shown to others
        found = root_cause(log)
        if found is None and re.search(r": -9\b", own):
            found = "the system killed its process, for want of memory perhaps"
        return (found or own or type(error).__name__).rstrip(".") + f" (its log: {self.path})"

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


def root_cause(log: str) -> str | None:
    """The first error of a log that says something of its own, on one line; None without one."""
    lines = [_LINE_START.sub("", line).rstrip() for line in log.splitlines()]
    for number, line in enumerate(lines):
        match = _ERROR.match(line)
        if match is None or _HOLLOW.search(line):
            continue
        text = [f"{match['name']}: {match['text']}" if match["text"] else match["name"]]
        for more in lines[number + 1 :]:  # a message of several lines
            if not more or _ERROR.match(more) or _NEXT.match(more):
                break
            text.append(more.strip())
        return " ".join(" ".join(text).split())[:MOST]
    return None


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


@contextmanager
def _spinner(text: str, descriptor: int) -> Iterator[None]:
    """A moving sign on the terminal behind a descriptor; nothing where it is no terminal."""
    if not os.isatty(descriptor):
        yield
        return
    from rich.console import Console

    with os.fdopen(os.dup(descriptor), "w") as terminal, Console(file=terminal).status(text):
        yield
