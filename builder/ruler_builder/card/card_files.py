"""The files of a release that are rendered from its manifest: card, eval.yaml, croissant.json.

    card_files(root, manifest)        # {"README.md": "…", "eval.yaml": "name: RULER …"}

`ruler build` and `ruler fetch` write them, `ruler push` checks them.
"""

from __future__ import annotations

from pathlib import Path

from ruler_builder.card import croissant, eval_yaml
from ruler_builder.card.render import first_row, render
from ruler_common.errors import RulerError
from ruler_common.manifest_form import MANIFEST, Manifest

CARD = "README.md"


def card_files(
    root: Path, manifest: Manifest, benchmark: bool = True, repo: str | None = None
) -> dict[str, str]:
    """File name -> text, for the release in `root`; eval.yaml only for a `benchmark`.

    Card and croissant.json name the Hub's dataset `repo`, ORG/NAME, or describe the folder.
    Raises RulerError for a manifest that lacks what these show: it may be anyone's.
    """
    try:
        files = {CARD: render(manifest, first_row(root, manifest), repo)}
        if benchmark:
            files[eval_yaml.FILE] = eval_yaml.eval_yaml(manifest)
        files[croissant.FILE] = croissant.croissant(manifest, repo)
    except Exception as error:  # whatever a manifest lacks: a wording, a parameter, rows
        why = f"{type(error).__name__}: {error}"
        raise RulerError(
            f"No card can be made from '{root / MANIFEST}' ({why}): build or get it anew."
        ) from error
    return files
