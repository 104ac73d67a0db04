"""What `ruler tokenizers` shows."""

from __future__ import annotations

from typing import Any

from builder.common.terminal import out, table


def show_tokenizers(named: dict[str, dict[str, Any]]) -> None:
    """The named tokenizers."""
    rows = [(name, entry["library"], entry["title"]) for name, entry in named.items()]
    table("", "name", "counted by", "what it is", rows=rows)
    out.print("Any other: --tokenizer NAME=hf:ORG/NAME[@REVISION] or NAME=FOLDER")
