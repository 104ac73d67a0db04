"""Judges predictions on a frozen release; knows it only through ruler_dataset, never builder."""
