"""Runs models on a frozen release and scores them; README.md follows one prediction."""
