"""The formats in which figures are written: known to the flags without loading what writes them."""

FORMATS = ("text", "markdown", "latex", "csv", "json")
"""The formats of tables."""
CHARTS = ("svg", "pdf")
SUFFIXES = {"text": "txt", "markdown": "md", "latex": "tex", "csv": "csv", "json": "json"}
