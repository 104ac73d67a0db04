"""Judges predictions on a frozen release; README.md follows one prediction."""
