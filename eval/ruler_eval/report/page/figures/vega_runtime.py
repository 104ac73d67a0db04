"""Vega's runtime, which draws the page's charts: Vega, Vega-Lite and vega-embed in one script.

vega.js.gz is what vl-convert-python 1.9.0 makes of them. It is kept here since that package, 88 MB
with a JavaScript engine, serves for nothing else but figures as files. VEGA_LICENSES.md has the
licences of its parts. Newer ones are put in its place by

    python -m ruler_eval.report.page.figures.vega_runtime
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

_KEPT = Path(__file__).with_name("vega.js.gz")


@cache
def vega_runtime() -> str:
    """The script, of a megabyte; it sets `window.vegaEmbed`."""
    return gzip.decompress(_KEPT.read_bytes()).decode()


def made_anew() -> str:
    """The script as the installed vl-convert-python makes it, in two seconds."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


if __name__ == "__main__":
    _KEPT.write_bytes(gzip.compress(made_anew().encode(), 9, mtime=0))
