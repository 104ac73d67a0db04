"""Stop when the answer is known: verdicts and estimates from a part of the rows."""
