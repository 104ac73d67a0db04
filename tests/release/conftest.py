"""Fixtures of the commands' tests: a hand-written release, and servers that fail."""

from tests.eval.run.conftest import serve, small

__all__ = ["serve", "small"]
