"""The metric, an `evaluate` module: `evaluate.load("eval/ruler_score")`."""
