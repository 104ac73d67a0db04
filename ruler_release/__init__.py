"""RULER and ONERULER from Python: a function for each main command.

    import ruler_release as ruler
    rows = ruler.load("ORG/ruler", "niah_mk_4k")

`api` has the functions, `commands/` the commands that call them; `ruler` starts at `app.main`.
"""

from ruler_common.errors import RulerError
from ruler_release.api import (
    build,
    compare,
    decide,
    doctor,
    errors,
    export,
    load,
    report,
    run,
    score,
    tokens_by_tokenizer,
    verify,
)

__all__ = [
    "RulerError",
    "build",
    "compare",
    "decide",
    "doctor",
    "errors",
    "export",
    "load",
    "report",
    "run",
    "score",
    "tokens_by_tokenizer",
    "verify",
]
