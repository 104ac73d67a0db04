"""Scores: read predictions, join them to rows, score, aggregate, intervals."""
