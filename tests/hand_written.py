"""Write a release by hand: its files, and the fields of a manifest that a test does not need."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruler_common.files import sha256_of
from ruler_common.names import Config
from ruler_common.rows import canary_of, features

_ENTRY = {
    "most_rows": None,
    "tokens": {"min": 0, "mean": 0.0, "max": 0},
    "fill": 1.0,
    "unit": 0,
    "exhausted": 0,
    "repeats": 0,
    "counted_by": "tiktoken 0.9",
    "bytes": 0,
    "sha256": "",
    "rows_sha256": "",
}
_TOKENIZER = {"spec": "", "title": "", "library": "", "version": ""}
_LANGUAGE = {
    "parts": {},
    "cwe": "",
    "none_word": "",
    "separator": " ",
    "stop": ".",
    "nouns": [],
    "errata": [],
}


def whole(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with every field, its own where it has them."""
    found = {
        "data_version": "1.0.0",
        "canary": canary_of(manifest.get("dataset", "ruler"), "1.0.0"),
        "builder_version": "0.1.0",
        "seed": 0,
        "reserve": 128,
        "families": {},
        "sources": {},
        "words": {},
        "languages": {},
        "tokenizers": {},
        **manifest,
    }
    files = {path: {**_ENTRY, **entry} for path, entry in found["files"].items()}
    tokenizers = {entry["tokenizer"]: {} for entry in files.values()} | found["tokenizers"]
    tasks = found["tasks"]
    described = {
        task: {"family": "niah", **(tasks[task] if isinstance(tasks, dict) else {})}
        for task in tasks
    }
    families = {task["family"]: {} for task in described.values()} | found["families"]
    languages = found["languages"].items()
    return found | {
        "files": files,
        "tasks": described,
        "families": families,
        "tokenizers": {name: {**_TOKENIZER, **about} for name, about in tokenizers.items()},
        "languages": {code: {"code": code, **_LANGUAGE, **worded} for code, worded in languages},
    }


def write_file(
    root: Path, config: Config, rows: Sequence[Mapping[str, Any]], **entry: Any
) -> dict[str, Any]:
    """Write a configuration's Parquet file into a release; its entry, with these fields."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = root / config.path
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr(list(rows)).encode())
    canary = {"canary": canary_of(config.dataset, "1.0.0")}
    rows = [{**canary, **row} for row in rows]
    table = pa.Table.from_pylist(rows, schema=features().arrow_schema)
    pq.write_table(table, path, row_group_size=50)
    return {
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
        **entry,
    }
