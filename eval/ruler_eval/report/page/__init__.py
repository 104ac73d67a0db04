"""The page of results: one HTML file with tables, charts and the rows behind every number."""
