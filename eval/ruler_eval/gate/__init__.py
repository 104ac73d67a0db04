"""Sequential tests and estimates that use as few rows as possible."""
