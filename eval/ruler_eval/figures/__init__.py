"""Every figure of the scores, once: its records, its table, its chart and its sentences."""
