"""The project from Python: what the commands do, one call each, silent unless `progress`.

    import ruler_release as ruler
    ruler.build("out", lengths="4k", samples=5, sources="embedded")
    ruler.run("out", configs="all_4k", backend="oracle", out="runs/oracle")
    results = ruler.score("runs/oracle")

Where several names or files can be given, one may stand alone: `lengths="4k"` or
`lengths=["4k", "128k"]`. What the caller has to mend raises RulerError, one sentence that names the
command's flag: `--lengths` is `lengths`. With `progress` the commands' bars are shown on stderr,
where that is a terminal. A call imports what it needs, the module nothing.
"""

from ruler_release.api.decisions import decide, decide_run
from ruler_release.api.releases import build, load, verify
from ruler_release.api.scores import compare, report, run, score
from ruler_release.api.tokenizer_counts import tokens_by_tokenizer

__all__ = [
    "build",
    "compare",
    "decide",
    "decide_run",
    "load",
    "report",
    "run",
    "score",
    "tokens_by_tokenizer",
    "verify",
]
