"""A progress bar over steps, on stderr where that is a terminal.

    for config in steps(configs, "Exporting"): …

`ruler run` has a bar of its own, which moves by tokens (run/progress.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

Step = TypeVar("Step")


def steps(
    things: Iterable[Step], label: str, total: int | None = None, quiet: bool = False
) -> Iterator[Step]:
    """Yield the things one by one, and show how many are done, unless `quiet`.

    `total` is how many there are, for things that have no length.
    """
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield from things
    else:
        yield from track(things, label, total=total, console=console, transient=True)
