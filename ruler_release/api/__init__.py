"""The project from Python: what the commands do, one call each, silent unless `progress`.

    import ruler_release as ruler
    ruler.build("out", lengths="4k", samples=5, sources="embedded")
    ruler.run("out", configs="all_4k", backend="oracle", out="runs/oracle")
    results = ruler.score("runs/oracle")

If several names or files can be given, one may be given without a list: `lengths="4k"` or
`lengths=["4k", "128k"]`. What the caller has to correct raises RulerError, one sentence that names
the command's flag: `--lengths` is `lengths`. With `progress` the commands' bars are shown on
stderr, if that is a terminal. A call imports what it needs, the module only the options.
"""

from ruler_release.api.decisions import decide
from ruler_release.api.releases import build, load, verify
from ruler_release.api.runs import run
from ruler_release.api.scores import compare, report, score
from ruler_release.api.tokenizer_counts import tokens_by_tokenizer

__all__ = [
    "build",
    "compare",
    "decide",
    "load",
    "report",
    "run",
    "score",
    "tokens_by_tokenizer",
    "verify",
]
