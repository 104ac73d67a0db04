"""The errors that a user sees, each as one sentence."""

from __future__ import annotations


class RulerError(ValueError):
    """A mistake that the user can correct: one sentence with the remedy; `ruler` exits with 2."""


class Unreachable(RulerError):
    """The Hub could not be asked: no network, or HF_HUB_OFFLINE is set."""
