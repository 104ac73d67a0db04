"""RULER and ONERULER from Python: build, verify, load, run, score, compare, decide and report.

    import ruler_release as ruler
    rows = ruler.load("ORG/ruler", "niah_mk_4k")

`api` has the functions, `commands/` the commands that call them; `ruler` starts at `app.main`.
"""

from ruler_common.errors import RulerError
from ruler_release.api import build, compare, decide, load, report, run, score, verify

__all__ = ["RulerError", "build", "compare", "decide", "load", "report", "run", "score", "verify"]
