"""The charts of the page, as Vega-Lite specifications made with Altair."""
