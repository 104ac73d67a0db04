"""How a release's Parquet files are written, for what builds them and what proves them.

Long rows share most of their text, so a row group is one page: the compressor then sees the rows
side by side (an essay file of 500 rows of 600 KB takes a few MB).
"""

from __future__ import annotations

from typing import Any

_STATISTICS = ["index", "length", "max_length"]  # of long texts they would bloat the footer
FORM: dict[str, Any] = {
    "use_dictionary": False,
    "data_page_size": 1 << 30,
    "write_statistics": _STATISTICS,
}
"""Arguments of pyarrow's ParquetWriter, but for the compression."""
