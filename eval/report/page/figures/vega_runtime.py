"""Vega's runtime, which draws the page's charts: made once, then kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ruler_dataset import write_whole

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_runtime() -> str:
    """Vega, Vega-Lite and vega-embed in one script of a megabyte, as `vegaEmbed`.

    Making it takes two seconds. A cache folder that cannot be written is done without.
    """
    import vl_convert

    name = f"vega-{version('vl-convert-python')}"
    folder = _cache_folder()
    if (kept := kept_script(folder, name)) is not None:
        return kept
    text = str(vl_convert.javascript_bundle(_SNIPPET))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}-{_digest(text)}.js", text)
    except OSError:
        pass
    return text


def kept_script(folder: Path, name: str) -> str | None:
    """The script FOLDER/NAME-DIGEST.js whose text has the digest in its name, or None."""
    for path in folder.glob(f"{name}-*.js"):
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.stem == f"{name}-{_digest(text)}":
            return text
    return None


def _cache_folder() -> Path:
    """The user's cache: $RULER_CACHE, or the platform's cache folder."""
    from platformdirs import user_cache_path

    return Path(os.environ.get("RULER_CACHE") or user_cache_path("ruler-release"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
