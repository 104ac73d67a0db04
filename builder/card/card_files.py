"""The files of a release that are rendered from its manifest: the card and eval.yaml.

    card_files(root, manifest)        # {"README.md": "…", "eval.yaml": "name: RULER …"}

`ruler build` and `ruler fetch` write them, `ruler push` checks them.
"""

from __future__ import annotations

from pathlib import Path

from builder.card import eval_yaml
from builder.card.render import first_row, render
from ruler_dataset import Manifest

CARD = "README.md"


def card_files(root: Path, manifest: Manifest, benchmark: bool = True) -> dict[str, str]:
    """File name -> text, for the release in `root`; eval.yaml only for a `benchmark`."""
    files = {CARD: render(manifest, first_row(root, manifest))}
    if benchmark:
        files[eval_yaml.FILE] = eval_yaml.eval_yaml(manifest)
    return files
