"""How much a build makes, and what that takes, before it starts.

size = size_of(BuildOrder(Path("ruler")))
size.rows, size.tokens          # 39000, 1677312000

Bytes and time are those of the builds in tests/bench/RELEASE.md, which had the extra `fast`; texts
of other languages or sources may differ by half.
"""

from __future__ import annotations

from dataclasses import dataclass

from ruler_builder.release.build import existing_release
from ruler_builder.release.order import BuildOrder, file_jobs, jobs_of_shard
from ruler_builder.release.suite import read_suite

_BYTES = {"ruler": 0.34, "oneruler": 0.18}  # a token; ONERULER's rows share their books
_SECONDS_OF_ROW = 0.004
_SECONDS_OF_TOKEN = 1.1e-7


@dataclass(frozen=True)
class BuildSize:
    """What an order asks for and the release lacks; tokens are those of full windows."""

    dataset: str
    files: int
    rows: int
    tokens: int

    @property
    def bytes(self) -> float:
        """What its files take on disk, about."""
        return self.tokens * _BYTES[self.dataset]

    @property
    def cpu_seconds(self) -> float:
        """What all processes together take, about, with the extra `fast`."""
        return self.rows * _SECONDS_OF_ROW + self.tokens * _SECONDS_OF_TOKEN


def size_of(order: BuildOrder) -> BuildSize:
    """The size of what is to be made; of a shard its part. Raises RulerError as `build` does."""
    suite = read_suite(order.suite)
    jobs = jobs_of_shard(order, file_jobs(order, suite))
    release = existing_release(order.root)
    todo = [job for job in jobs if not release or job.config.path not in release["files"]]
    rows, tokens = sum(job.rows for job in todo), sum(job.tokens for job in todo)
    return BuildSize(suite.dataset, len(todo), rows, tokens)
