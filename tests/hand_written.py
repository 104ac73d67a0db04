"""Write a release without the builder: Parquet files of given rows and their manifest.

write_release(root, {Config("ruler", "vt", "4k"): rows}, groups={"all": ["vt"]})
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruler_common.files import sha256_of
from ruler_common.manifest import MANIFEST
from ruler_common.names import Config
from ruler_common.rows import canary_of, features

_ENTRY = {
    "max_rows": None,
    "fill": 1.0,
    "unit": 1,
    "exhausted": 0,
    "repeats": 0,
    "counted_by": "tiktoken 0.9",
    "bytes": 0,
    "sha256": "",
    "rows_sha256": "",
}
_TOKENIZER = {"spec": "", "title": "", "library": "", "version": ""}


def write_release(
    root: Path,
    tables: Mapping[Config, Sequence[Mapping[str, Any]]],
    entry: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> Path:
    """Write a release, and return its folder.

    Args:
        root: The folder to write.
        tables: The rows of each configuration.
        entry: Fields to set in the manifest's entry of every file.
        manifest: Fields of the manifest. `tasks` may be a list of names; the default is the
            tasks of the tables.
    """
    files = {config.path: _write_file(root, config, rows) for config, rows in tables.items()}
    dataset = next(iter(tables)).dataset
    tasks = manifest.get("tasks")
    if not isinstance(tasks, dict):
        budgets = {config.task: rows[0]["max_new_tokens"] for config, rows in tables.items()}
        tasks = {
            task: {"family": "niah", "max_new_tokens": budgets.get(task, 128)}
            for task in tasks or budgets
        }
    fields = {
        "format": 1,
        "dataset": dataset,
        "data_version": "1.0.0",
        "canary": canary_of(dataset, "1.0.0"),
        "builder_version": "0.1.0",
        "seed": 0,
        "reserve": 128,
        "families": {task["family"]: {} for task in tasks.values()},
        "groups": {},
        "sources": {},
        "words": {},
        "languages": {},
        "tokenizers": {config.tokenizer: _TOKENIZER for config in tables},
        **manifest,
        "tasks": tasks,
        "files": {path: {**fields, **(entry or {})} for path, fields in files.items()},
    }
    (root / MANIFEST).write_text(json.dumps(fields), encoding="utf-8")
    return root


def _write_file(root: Path, config: Config, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Write a configuration's Parquet file, and return its entry in the manifest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = root / config.path
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr(list(rows)).encode())
    canary = {"canary": canary_of(config.dataset, "1.0.0")}
    rows = [{**canary, **row} for row in rows]
    table = pa.Table.from_pylist(rows, schema=features().arrow_schema)
    pq.write_table(table, path, row_group_size=50)
    lengths = [row["length"] for row in rows]
    return {
        **_ENTRY,
        "tokens": {"min": min(lengths), "mean": sum(lengths) / len(rows), "max": max(lengths)},
        "config": config.name,
        "task": config.task,
        "tokenizer": config.tokenizer,
        "length": config.length,
        "max_length": config.max_length,
        "language": config.language,
        "instruction_language": config.instruction_language,
        "rows": len(rows),
        "bytes": path.stat().st_size,
        "sha256": sha256_of(path),
        "rows_sha256": digest.hexdigest(),
    }
