"""Fixtures of the commands' tests: a hand-written release."""

from tests.eval.run.conftest import small

__all__ = ["small"]
