"""A configuration's cell: rows joined with answers, each scored, and what they come to."""
