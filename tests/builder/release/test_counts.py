"""A row is made once in a build and once in a verify; a file is read once for it, and again
for its digest and for the row that the card shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ruler_builder.options import BuildOptions
from ruler_builder.release import build as building
from ruler_builder.release.build import FileRows, build
from ruler_builder.tasks.base import NewRow, Task
from ruler_common.rows import Row
from ruler_release.api import verify


def test_rows_are_made_once_and_files_encoded_and_read_once(tmp_path, monkeypatch):
    made: Counter[tuple[str, int]] = Counter()
    encoded: Counter[str] = Counter()
    mapped: Counter[str] = Counter()
    hashed: Counter[str] = Counter()
    make, write, sha256_of, memory_map = (
        FileRows.__iter__,
        pq.ParquetWriter.write_batch,
        building.sha256_of,
        pa.memory_map,
    )
    finish = Task.finish

    def count_rows(self: FileRows) -> Iterator[Row]:
        for row in make(self):
            made[self.config.name, row["index"]] += 1
            yield row

    def count_full(self: Task[Any], index: int, *rest: Any, **more: Any) -> NewRow:
        if self.fills:
            encoded["full rows"] += 1
        return finish(self, index, *rest, **more)

    def count_written(self: pq.ParquetWriter, batch: Any, *rest: Any) -> None:
        encoded["rows written"] += batch.num_rows
        write(self, batch, *rest)

    def count_hashed(path: Path) -> str:
        hashed[path.name] += 1
        return sha256_of(path)

    def count_mapped(path: str) -> Any:
        mapped[Path(path).name] += 1
        return memory_map(path)

    monkeypatch.setattr(FileRows, "__iter__", count_rows)
    monkeypatch.setattr(Task, "finish", count_full)
    monkeypatch.setattr(pq.ParquetWriter, "write_batch", count_written)
    monkeypatch.setattr(building, "sha256_of", count_hashed)
    monkeypatch.setattr(pa, "memory_map", count_mapped)
    root = tmp_path / "out"
    order = BuildOptions(root, lengths=("2k", "4k"), samples=12, sources=("embedded",))
    files = build(order).manifest["files"]
    rows = {(e["config"], index) for e in files.values() for index in range(e["rows"])}
    assert made == Counter(rows)
    assert encoded == {"full rows": len(rows), "rows written": len(rows)}
    assert hashed == Counter(Path(path).name for path in files)
    made.clear()
    encoded.clear()
    assert verify(root).proved
    assert made == Counter(rows)
    assert encoded == {"full rows": len(rows)}
    assert mapped == Counter(Path(path).name for path in files)
