"""`ruler merge` for runs: the folders that shards of one run made, in one folder.

    merge_runs(Path("runs/all"), [Path("parts/1"), Path("parts/2")])     # rows by configuration

Shards that write into one folder on shared storage need no merging. Settings must agree; an answer
stands before a failure; two different answers to one row are refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_eval.run.records import RUN_FILE, Record, Records
from ruler_eval.run.run_settings import check_settings, configs_of


def merge_runs(to: Path, parts: Sequence[Path]) -> dict[str, int]:
    """Join runs into the folder `to`; how many rows of each configuration are there then.

    Raises RulerError where the runs do not go together, or no folder has rows of a configuration
    that they were made for; then nothing is written. The folders of the parts stay as they are.
    """
    whole = Records(to)
    runs = [Records(part) for part in parts]
    configs: dict[str, None] = dict.fromkeys(configs_of(whole.settings()))
    before = whole if whole.settings() else runs[0]
    for run in runs:
        settings = run.settings()
        if not settings:
            raise RulerError(f"'{run.folder}' is no run: it has no {RUN_FILE}.")
        known = {name: value for name, value in settings.items() if name != "sessions"}
        check_settings(before.settings(), known, before.folder)
        configs |= dict.fromkeys(configs_of(settings))
        run.check(list(configs))
    whole.check(list(configs))
    found = {config: _merged(config, [whole, *runs]) for config in configs}
    if absent := [config for config, rows in found.items() if not rows]:
        shards = {session["shard"] for run in runs for session in run.settings()["sessions"]}
        here = ", ".join(sorted(shard for shard in shards if shard)) or "none"
        raise RulerError(
            f"None of these folders has rows of {absent[0]} ({len(absent)} configurations are "
            f"missing; shards here: {here}): add the folders of the other shards."
        )
    if not whole.lock():
        raise RulerError(f"'{to}' cannot be written: name another folder.")
    try:
        for run in runs:
            settings = run.settings()
            for session in settings.pop("sessions", []):
                whole.record_settings(settings, session)
        for config, rows in found.items():
            whole.replace(config, rows)
    finally:
        whole.close()
    return {config: len(rows) for config, rows in found.items()}


def _merged(config: str, runs: Sequence[Records]) -> dict[int, Record]:
    """The rows of a configuration out of several runs, by index."""
    rows: dict[int, Record] = {}
    for run in runs:
        for index, record in run.of(config).items():
            there = rows.get(index)
            if there is None or there["finish_reason"] == "error":
                rows[index] = record
            elif record["finish_reason"] != "error" and _answer(record) != _answer(there):
                raise RulerError(
                    f"'{run.folder}' answers {config} row {index} otherwise than another folder: "
                    "merge the shards of one run."
                )
    return rows


def _answer(record: Record) -> str:
    """What must agree where two runs hold the same row."""
    return json.dumps([record["prediction"], record["finish_reason"]])
