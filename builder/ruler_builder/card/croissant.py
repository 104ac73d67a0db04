"""croissant.json: a release described for machines, by the Croissant vocabulary (version 1.0).

    croissant(manifest)                 # of a folder: files by their paths beside croissant.json
    croissant(manifest, "ORG/ruler")    # of a Hub repository: files contained in its git clone

Search engines and mlcroissant read it. It lists every Parquet file with its sha256 and one record
set for the columns that all share; the Hub's own description stops at 100 configurations and has no
digests. Its form stands in dataset_cards/croissant.json.jinja, its prose in croissant.toml.
`ruler push` sends that of the repository, in the Hub's own form: `url`, and the files in a clone,
which `mlcroissant.Dataset(…, mapping={"repo": FOLDER})` replaces by a download.
"""

from __future__ import annotations

import re
from pathlib import Path

from ruler_builder.card.provenance import citation_file, languages, licences
from ruler_builder.card.render import citations, column_meanings, templates
from ruler_builder.common.project_files import project_file
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.manifest_form import Manifest
from ruler_common.parsing import json_value, read_toml
from ruler_common.rows import COLUMNS

FILE = "croissant.json"
_HUB = "https://huggingface.co/datasets/"
_TYPES = {"int32": "cr:Int32", "float32": "cr:Float32", "string": "sc:Text", "bool": "sc:Boolean"}
# A licence as sources.toml calls it -> its identifier in SPDX's list of licences.
_SPDX = {name: name for name in ("CC0-1.0", "MIT")} | {"CC BY-SA 4.0": "CC-BY-SA-4.0"}


def croissant(manifest: Manifest, repo: str | None = None) -> str:
    """The text of a release's croissant.json: a line for each property, file and field.

    Of the folder that holds it, or of the Hub's dataset `repo`, ORG/NAME.
    """
    return (
        templates()
        .get_template(f"{FILE}.jinja")
        .render(
            manifest=manifest,
            repo=repo,
            hub=_HUB,
            prose=read_toml(project_file("dataset_cards") / "croissant.toml"),
            cff=citation_file(),
            licences=[*map(_licence, licences(manifest))],
            citations=citations(manifest),
            languages=languages(manifest),
            columns=COLUMNS,
            span=dict(re.findall(r"(\w+): (\w+)", COLUMNS["evidence"])),
            types=_TYPES,
            meaning=column_meanings(),
        )
    )


def _licence(name: str) -> str:
    """The address of a licence, as Croissant recommends; what is said of rights where none is."""
    return f"https://spdx.org/licenses/{_SPDX[name]}.html" if name in _SPDX else name


def described_repository(root: Path) -> str | None:
    """The Hub repository, ORG/NAME, that the croissant.json of a folder describes; None if none."""
    if not (root / FILE).is_file():  # a pipe would never end
        return None
    try:
        url = json_value(read_bytes(root / FILE))["url"]
    except (RulerError, OSError, ValueError, LookupError, TypeError):
        return None
    return url.removeprefix(_HUB) if isinstance(url, str) and url.startswith(_HUB) else None
