"""Logs of Inspect that a stranger wrote: a sound one in parts, and zip files of any bytes.

sound()                                  # {"header.json": {…}, "samples/vt_4k-0_epoch_1.json": {…}}
packed({"header.json": b"{}"})           # the bytes of a zip
claimed(packed(…), "header.json", 1 << 40)     # which says of a member that it is larger
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

HEADER, SAMPLE = "header.json", "samples/vt_4k-0_epoch_1.json"


def sound() -> dict[str, Any]:
    """The members of a log of one row."""
    task: dict[str, Any] = {"task": "ruler_release/ruler", "task_id": "a", "run_id": "a"}
    about = {"mode": "chat", "dataset": "ruler", "sessions": [{"configs": ["vt_4k"]}]}
    header = {
        "version": 2,
        "status": "success",
        "eval": {
            **task,
            "eval_id": "a",
            "created": "2026-01-01T00:00:00+00:00",
            "dataset": {"samples": 1, "sample_ids": ["vt_4k-0"]},
            "model": "mockllm/model",
            "config": {"epochs": 1},
            "metadata": {"ruler_release": about},
        },
    }
    message = {"role": "assistant", "content": "ABCDE"}
    sample = {
        "id": "vt_4k-0",
        "epoch": 1,
        "input": [{"role": "user", "content": "Find all."}],
        "target": ["ABCDE"],
        "metadata": {"config": "vt_4k", "index": 0},
        "output": {
            "model": "mockllm/model",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
        },
    }
    return {HEADER: header, SAMPLE: sample}


def packed(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as log:
        for name, data in members.items():
            log.writestr(name, data)
    return out.getvalue()


def claimed(log: bytes, size: int) -> bytes:
    """A zip file of one member whose list says that it is packed to `size` bytes."""
    data = bytearray(log)
    at, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x05\x06")
    name, extra = struct.unpack_from("<HH", data, at + 28)
    more = struct.pack("<HHQ", 1, 8, size)
    struct.pack_into("<I", data, at + 20, 0xFFFFFFFF)
    struct.pack_into("<H", data, at + 30, extra + len(more))
    struct.pack_into("<I", data, end + 12, end - at + len(more))
    data[at + 46 + name : at + 46 + name] = more
    return bytes(data)
