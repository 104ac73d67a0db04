"""Scores as .eval_results of a model's repository."""
