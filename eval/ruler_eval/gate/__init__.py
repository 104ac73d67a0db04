"""The gate: verdicts and estimates from as few rows as they take."""
