"""The paths of the project and its packages in a checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "ruler_common": "ruler_common",
    "ruler_dataset": "ruler_dataset.py",
    "ruler_builder": "builder/ruler_builder",
    "ruler_score": "eval/ruler_score",
    "ruler_eval": "eval/ruler_eval",
    "ruler_release": "ruler_release",
}
