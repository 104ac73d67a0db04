"""How many planted faults `ruler verify` names: `python -m tests.bench.count_faults`.

Each fault of tests/builder/proof/planted_*.py is planted in a row of a small release, everything
else following it: read back with the sources at hand and without, and compared with the row made
anew. Those of tests/builder/verify are rows that are sound by themselves, but another drew them.
"""

from __future__ import annotations

import copy
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from ruler_builder.common.parquet_rows import with_exact_depths
from ruler_builder.oneruler.language_pairs import Languages
from ruler_builder.proof.laws import breaches
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.release.build import build
from ruler_builder.release.order import BuildOrder
from ruler_builder.sources.download import Store
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.manifest import read_manifest
from tests.builder.proof.planted_oneruler import ONERULER
from tests.builder.proof.planted_ruler import RULER
from tests.builder.proof.planting import Row, follow, read, rows_of, wording_of
from tests.builder.verify.test_manifest_anew import FAULTS as OF_MANIFESTS
from tests.builder.verify.test_rebuild import FAULTS as OF_DRAWS
from tests.conftest import Silent

ROW = 3


class Nothing(SourcesAtHand):
    """No source is here."""

    def have(self, *names: str) -> bool:
        """Whether these sources can be read: none can."""
        self.missing.update(names)
        return False


def count(
    root: Path, path: str, row: Row, counter: TokenCounter, sources: SourcesAtHand | None
) -> bool:
    """Whether the laws name a fault in a row that is read back with these sources."""
    about = wording_of(root, path, counter, sources)
    faults: list[Any] = [
        *read(row, about).faults,
        *breaches(row, row["length"] - row["max_new_tokens"], about),
    ]
    return bool(faults)


def main() -> None:
    """Plant, read back, count."""
    counter = load_counter("tekken", Store(None))
    found: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        ruler, oneruler = Path(folder) / "ruler", Path(folder) / "oneruler"
        asked: dict[str, Any] = {"samples": 6, "sources": ("embedded",)}
        build(BuildOrder(ruler, lengths=("4k",), **asked), Silent())
        languages = Languages(("en", "zh", "en-zh", "zh-en"))
        of_many = {**asked, "suite": "oneruler", "languages": languages}
        build(BuildOrder(oneruler, lengths=("8k",), **of_many), Silent())
        faults = [
            *(("RULER", ruler, f"4k/{task}", fault) for (task, _), fault in RULER.items()),
            *(("ONERULER", oneruler, f"8k/{file}", fault) for (file, _), fault in ONERULER.items()),
        ]
        without = {root: Nothing(read_manifest(root), None) for root in (ruler, oneruler)}
        for title, root, name, fault in faults:
            path = f"data/tekken/{name}.parquet"
            sound = rows_of(root, path)[ROW]
            row = copy.deepcopy(sound)
            fault(row)
            follow(row, counter)
            tally = found.setdefault(f"rows of {title}", Counter())
            tally["planted"] += 1
            tally["laws"] += count(root, path, row, counter, None)
            tally["laws without sources"] += count(root, path, row, counter, without[root])
            tally["made anew"] += with_exact_depths(row) != with_exact_depths(sound)
    print(f"{'class':18} planted  laws  laws without sources  made anew")
    for title, tally in found.items():
        numbers = (tally["planted"], tally["laws"], tally["laws without sources"])
        print("{:18} {:7} {:5} {:21} {:10}".format(title, *numbers, tally["made anew"]))
    print(f"sound rows that another drew: {len(OF_DRAWS)} kinds, named by making them anew alone")
    print(f"manifests: {len(OF_MANIFESTS)} kinds, named by making the manifest anew")


if __name__ == "__main__":
    main()
