"""Write the runtime of the charts: Vega, Vega-Lite and vega-embed in one script.

python -m docs.embed_vega                 # after a change of vl-convert-python's version

vega.js.gz is what vl-convert-python 1.9.0 makes of them. It is kept with the page since that
package, 88 MB with a JavaScript engine, serves for nothing else but figures as files.
VEGA_LICENSES.md beside it has the licences of its parts.
"""

from __future__ import annotations

import gzip

from ruler_eval.report.page.write_page import VEGA


def made_anew() -> str:
    """The script as the installed vl-convert-python makes it, in two seconds."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


if __name__ == "__main__":
    VEGA.write_bytes(gzip.compress(made_anew().encode(), 9, mtime=0))
